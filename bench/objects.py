"""Realistic objects, as bytes: pods of about 3.5 KB and nodes of about 6 KB, as an API server sends them.

A pod here carries what a pod of a Deployment carries on a real cluster: managed fields of two managers, a projected
token volume with a name of its own, a probe, environment, five conditions, a container status with what is allocated to
it. Its 300 templates differ in labels, requests and constraints, its pods in everything that differs on a real cluster.
"""

import json
from typing import Any, Final

TEMPLATES: Final = 300
_TIME: Final = "2026-11-01T10:%02d:%02dZ"
_ZONES: Final = ("fsn1", "nbg1", "hel1")


def _json(value: Any) -> bytes:  # noqa: ANN401 - any JSON
    return json.dumps(value, separators=(",", ":")).encode()


def _managed(manager: str, fields: dict[str, Any], *, subresource: str = "") -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-11-01T10:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **({"subresource": subresource} if subresource else {}),
    }


def _affinity(template: int, app: str) -> dict[str, Any]:
    """A tenth of the templates spread over zones, a tenth keep apart from their siblings."""
    selector = {"matchLabels": {"app.kubernetes.io/name": app}}
    if template % 10 == 0:
        zone = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
        return {"topologySpreadConstraints": [{**zone, "labelSelector": selector}]}
    if template % 10 == 1:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    return {}


def _pod_template(template: int) -> bytes:
    """A pod with placeholders, in the order in which ``pod`` fills them."""
    app = f"service-{template:03d}"
    digest = f"{template * 2654435761 % 0xFFFFFFFFFF:010x}"
    requests = {"cpu": f"{(1 + template % 8) * 125}m", "memory": f"{(1 + template % 12) * 128}Mi"}
    labels = {"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": "shop", "pod-template-hash": digest}
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10}
    pod = {
        "metadata": {
            "name": f"{app}-{digest}-@name@",
            "generateName": f"{app}-{digest}-",
            "namespace": f"team-{template % 40:02d}",
            "uid": "@uid@",
            "resourceVersion": "@version@",
            "generation": 1,
            "creationTimestamp": "@created@",
            "labels": labels,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"{app}-{digest}",
                    "uid": f"00000000-0000-4000-8000-{template:012d}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                _managed("kube-controller-manager", _CONTROLLER_FIELDS),
                _managed("kubelet", _KUBELET_FIELDS, subresource="status"),
            ],
        },
        "spec": {
            "volumes": [
                {
                    "name": "kube-api-access-@name@",
                    "projected": {
                        "sources": [
                            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                        ],
                        "defaultMode": 420,
                    },
                }
            ],
            "containers": [
                {
                    "name": "main",
                    "image": f"registry.example/shop/{app}:1.{template}.0",
                    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                    "env": [{"name": f"SETTING_{n}", "value": f"value-{template}-{n}"} for n in range(2)],
                    "resources": {"limits": {"memory": requests["memory"]}, "requests": requests},
                    "volumeMounts": [
                        {
                            "name": "kube-api-access-@name@",
                            "readOnly": True,
                            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                        }
                    ],
                    "livenessProbe": probe,
                    "terminationMessagePath": "/dev/termination-log",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": app,
            "nodeName": "@node@",
            "schedulerName": "default-scheduler",
            **_affinity(template, app),
            "tolerations": [
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
                for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
            ],
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "observedGeneration": 1,
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": "@changed@"}
                for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "hostIP": "10.0.0.1",
            "podIP": "@ip@",
            "podIPs": [{"ip": "@ip@"}],
            "startTime": "@created@",
            "containerStatuses": [
                {
                    "name": "main",
                    "state": {"running": {"startedAt": "@created@"}},
                    "lastState": {},
                    "ready": True,
                    "restartCount": 0,
                    "image": f"registry.example/shop/{app}:1.{template}.0",
                    "imageID": f"sha256:{digest * 6}",
                    "containerID": "containerd://@uid@@uid@",
                    "started": True,
                    "allocatedResources": requests,
                    "resources": {"limits": {"memory": requests["memory"]}, "requests": requests},
                }
            ],
            "qosClass": "Burstable",
        },
    }
    return _json(pod)


_CONTROLLER_FIELDS: Final[dict[str, Any]] = {
    "f:metadata": {
        "f:generateName": {},
        "f:labels": {".": {}, "f:app.kubernetes.io/name": {}, "f:pod-template-hash": {}},
    },
    "f:spec": {
        "f:containers": {
            'k:{"name":"main"}': {
                ".": {},
                "f:image": {},
                "f:resources": {".": {}, "f:requests": {".": {}, "f:cpu": {}, "f:memory": {}}},
            }
        }
    },
}
_KUBELET_FIELDS: Final[dict[str, Any]] = {
    "f:status": {
        "f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}},
        "f:containerStatuses": {},
        "f:hostIP": {},
        "f:phase": {},
        "f:podIP": {},
        "f:startTime": {},
    }
}

_MARKS: Final = ("name", "uid", "version", "created", "node", "changed", "ip")


class _Filler:
    """A template cut at its marks, so that filling it is one join."""

    def __init__(self, template: bytes) -> None:
        pieces: list[bytes] = []
        slots: list[tuple[int, str]] = []
        text = template
        while True:
            found = [(at, mark) for mark in _MARKS if (at := text.find(b"@%s@" % mark.encode())) >= 0]
            if not found:
                pieces.append(text)
                break
            at, mark = min(found)
            pieces += [text[:at], b""]
            slots.append((len(pieces) - 1, mark))
            text = text[at + len(mark) + 2 :]
        self._pieces = pieces
        self._slots = slots

    def fill(self, values: dict[str, bytes]) -> bytes:
        for index, mark in self._slots:
            self._pieces[index] = values[mark]
        return b"".join(self._pieces)


_FILLERS: Final = [_Filler(_pod_template(template)) for template in range(TEMPLATES)]


def pod(index: int, version: int, nodes: int) -> bytes:
    """The index-th pod, at this resource version, on one of so many nodes."""
    values = {
        "name": b"%05x" % (index * 7919 % 0xFFFFF),
        "uid": b"%08x-0000-4000-8000-%012x" % (index, index),
        "version": b"%d" % version,
        "created": (_TIME % (index // 60 % 60, index % 60)).encode(),
        "node": b"worker-%05d" % (index % nodes),
        "changed": (_TIME % (version // 60 % 60, version % 60)).encode(),
        "ip": b"10.%d.%d.%d" % (index >> 16 & 255, index >> 8 & 255, index & 255),
    }
    return _FILLERS[index % TEMPLATES].fill(values)


_NODE_INFO: Final = {
    "machineID": "0" * 32,
    "systemUUID": "0" * 36,
    "kernelVersion": "6.12.0",
    "osImage": "Debian GNU/Linux 13",
    "containerRuntimeVersion": "containerd://2.2.0",
    "kubeletVersion": "v1.36.3",
    "kubeProxyVersion": "",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


def node(index: int, version: int) -> bytes:
    """The index-th node: 32 CPU, 64 GiB, Ready, with the list of images that real nodes carry around."""
    name = f"worker-{index:05d}"
    zone = _ZONES[index % len(_ZONES)]
    resources = {"cpu": "32", "memory": "65536Mi", "ephemeral-storage": "306Gi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "ccx53",
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/region": zone,
        "growth.dev/pool": "default",
    }
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
            "lastHeartbeatTime": "2026-11-01T10:00:00Z",
            "lastTransitionTime": "2026-11-01T09:00:00Z",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {"names": [f"registry.example/shop/service-{n:03d}@sha256:{n:064x}"], "sizeBytes": 10**7 + n} for n in range(25)
    ]
    return _json(
        {
            "metadata": {
                "name": name,
                "uid": f"{index:08x}-1111-4000-8000-{index:012x}",
                "resourceVersion": str(version),
                "creationTimestamp": "2026-11-01T09:00:00Z",
                "labels": labels,
            },
            "spec": {"podCIDR": "10.0.0.0/24", "providerID": f"hcloud://{index}"},
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "conditions": conditions,
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": _NODE_INFO | {"bootID": f"{index:032x}"},
                "images": images,
            },
        }
    )
