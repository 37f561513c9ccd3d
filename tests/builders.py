"""Objects as the API server sends them: realistic in size and shape, all defaulted but the point of the test."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

BORN = "2026-03-01T08:00:00Z"


def uid_of(*parts: object) -> str:
    """A uid that looks like one and is the same in every run."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "/".join(map(str, parts))))


def a_pod(
    name: str = "web-7d4b9c6f5-x2x9z",
    *,
    namespace: str = "default",
    template: str = "web",
    uid: str = "",
    version: int = 1,
    node: str = "node-1",
    phase: str = "",
    requests: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    tolerations: Sequence[Json] = (),
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Json:
    """A pod of a ReplicaSet named ``template``, about 3.5 KB with all that kubelet and API server add.

    Without a ``node`` it is pending. ``spec`` and ``status`` are laid over what stands there.
    """
    container = {
        "name": "app",
        "image": f"registry.example.org/shop/{template}:1.42.0",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": f"{template}-secret", "key": "token"}}},
        ],
        "resources": {
            "limits": {"memory": "512Mi"},
            "requests": dict(requests or {"cpu": "250m", "memory": "512Mi"}),
        },
        "volumeMounts": [
            {"name": "cache", "mountPath": "/cache"},
            {
                "name": _access_volume(namespace, name)["name"],
                "readOnly": True,
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            },
        ],
        "livenessProbe": _probe("/healthz"),
        "readinessProbe": _probe("/ready"),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "generateName": f"{template}-7d4b9c6f5-",
            "namespace": namespace,
            "uid": uid or uid_of("pod", namespace, name),
            "resourceVersion": str(version),
            "generation": 1,
            "creationTimestamp": BORN,
            "labels": dict(labels or {"app": template, "pod-template-hash": "7d4b9c6f5"}),
            "annotations": {"checksum/config": "5f2c9d" * 10, **(annotations or {})},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"{template}-7d4b9c6f5",
                    "uid": uid_of("replicaset", namespace, template),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "volumes": [{"name": "cache", "emptyDir": {}}, _access_volume(namespace, name)],
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [*_DEFAULT_TOLERATIONS, *tolerations],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            **({"nodeName": node} if node else {}),
            **(spec or {}),
        },
        "status": {**(_running(node) if node else _PENDING), **({"phase": phase} if phase else {}), **(status or {})},
    }


def a_node(
    name: str = "node-1",
    *,
    uid: str = "",
    version: int = 1,
    ready: bool = True,
    allocatable: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    provider_id: str | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
) -> Json:
    """A node of 4 CPUs and 16 GiB; ``labels`` are added to the standard ones."""
    room = {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "80Gi", "pods": "110", **(allocatable or {})}
    pressures = ("MemoryPressure", "DiskPressure", "PIDPressure")
    conditions = [_node_condition(kind, "False", "KubeletHasEnough") for kind in pressures]
    conditions.append(_node_condition("Ready", "True" if ready else "False", "KubeletReady"))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": uid or uid_of("node", name),
            "resourceVersion": str(version),
            "creationTimestamp": BORN,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": "cx32",
                "topology.kubernetes.io/region": "eu-central",
                "topology.kubernetes.io/zone": "fsn1",
                **(labels or {}),
            },
            "annotations": {"node.alpha.kubernetes.io/ttl": "0", **(annotations or {})},
        },
        "spec": {
            "providerID": f"hcloud://{name}" if provider_id is None else provider_id,
            **({"taints": list(taints)} if taints else {}),
            **(spec or {}),
        },
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": conditions,
            "addresses": [{"type": "InternalIP", "address": "10.0.0.2"}, {"type": "Hostname", "address": name}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": uid_of("machine", name).replace("-", ""),
                "bootID": uid_of("boot", name),
                "kubeletVersion": "v1.36.3",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
            "images": [{"names": ["registry.example.org/shop/web:1.42.0"], "sizeBytes": 123456789}],
            **(status or {}),
        },
    }


def a_list(items: Sequence[Json] | None, *, version: int = 1, next_page: str = "", kind: str = "PodList") -> Json:
    """A page of a list."""
    metadata = {"resourceVersion": str(version), **({"continue": next_page} if next_page else {})}
    return {"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": items}


def a_bookmark(version: int, *, kind: str = "Pod", ends_initial_events: bool = False) -> Json:
    """A bookmark's object, with the nulls that Go writes for an object that is empty but for its version."""
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if ends_initial_events else {}
    return {
        "kind": kind,
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(version), "creationTimestamp": None, **annotations},
        "spec": {"containers": None} if kind == "Pod" else {},
        "status": {},
    }


def a_status(code: int, reason: str = "", message: str = "", *, retry_after: int = 0) -> Json:
    """An error as the API server puts it."""
    details = {"details": {"retryAfterSeconds": retry_after}} if retry_after else {}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        **details,
    }


def _access_volume(namespace: str, name: str) -> Json:
    """The volume that the API server adds to every pod, under a name that no two pods have in common."""
    sources: list[Json] = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    ]
    volume_name = f"kube-api-access-{uid_of(namespace, name)[:5]}"
    return {"name": volume_name, "projected": {"sources": sources, "defaultMode": 420}}


def _probe(path: str) -> Json:
    return {
        "httpGet": {"path": path, "port": "http", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def _condition(kind: str, *, status: str = "True", reason: str = "") -> Json:
    condition = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": BORN}
    return {**condition, **({"reason": reason} if reason else {})}


def _node_condition(kind: str, status: str, reason: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "kubelet is posting its status",
        "lastHeartbeatTime": BORN,
        "lastTransitionTime": BORN,
    }


def _running(node: str) -> Json:
    return {
        "phase": "Running",
        "conditions": [
            _condition("PodReadyToStartContainers"),
            _condition("Initialized"),
            _condition("Ready"),
            _condition("ContainersReady"),
            _condition("PodScheduled"),
        ],
        "hostIP": "10.0.0.2",
        "podIP": "10.244.1.17",
        "podIPs": [{"ip": "10.244.1.17"}],
        "startTime": BORN,
        "containerStatuses": [
            {
                "name": "app",
                "state": {"running": {"startedAt": BORN}},
                "lastState": {},
                "ready": True,
                "restartCount": 0,
                "image": "registry.example.org/shop/web:1.42.0",
                "imageID": f"registry.example.org/shop/web@sha256:{'0123456789abcdef' * 4}",
                "containerID": f"containerd://{uid_of('container', node).replace('-', '') * 2}",
                "started": True,
            }
        ],
        "qosClass": "Burstable",
    }


_PENDING: Json = {
    "phase": "Pending",
    "conditions": [_condition("PodScheduled", status="False", reason="Unschedulable")],
    "qosClass": "Burstable",
}
_DEFAULT_TOLERATIONS: list[Json] = [
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]
