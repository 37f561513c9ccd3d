"""The Deployment: two replicas, apart from each other where that is possible, on nodes that Growth did not buy.

Nothing about where they run is required that a small cluster could not give. A replica that finds no place would be
worse than two on one host: the cluster would have no second one, and Growth might buy a machine for itself.
"""

from typing import Any, Final

from growth.api.kwok import KWOK_LABEL
from growth.api.offering import HOSTNAME, OS, POOL, ZONE

Document = dict[str, Any]

NAME: Final = "growth"
LABELS: Final = {"app.kubernetes.io/name": NAME}
PRIORITY_CLASS: Final = "system-cluster-critical"
"""Without Growth nothing that waits gets a node, so it must not wait behind it. Legal in any namespace since 1.17."""
REPLICAS: Final = 2
GRACE_SECONDS: Final = 30
"""More than ``run.signals.STOP_SECONDS``, after which the process ends itself and says why."""
CHECKSUM: Final = "growth.dev/settings-checksum"
"""On the pods, so that other settings make other pods: a process reads its settings once."""

# 75 MB for the process and 173 for 150,000 pods on 5,000 nodes (docs/performance.md). No limits: Growth uses most when
# the cluster needs it most, and a leader that is throttled misses its renewals.
_REQUESTS: Final = {"cpu": "100m", "memory": "256Mi"}


def deployment(
    *,
    metadata: Document,
    image: str,
    port: int,
    settings_name: str,
    settings_folder: str,
    settings_file: str,
    settings_checksum: str,
) -> Document:
    """``settings_name`` is the ConfigMap whose keys become the files in ``settings_folder``."""
    container = {
        "name": NAME,
        "image": image,
        "command": ["growth", "run", "--settings", settings_file],
        "ports": [{"name": "health", "containerPort": port}],
        # /healthz has patience itself (docs/running.md). Six misses are for a process that is too busy to answer.
        "livenessProbe": _probe("/healthz", period_seconds=10, failures=6),
        "readinessProbe": _probe("/readyz", period_seconds=5, failures=3),
        "resources": {"requests": _REQUESTS},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "settings", "mountPath": settings_folder, "readOnly": True}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": LABELS},
            "template": {
                "metadata": {"labels": LABELS, "annotations": {CHECKSUM: settings_checksum}},
                "spec": {
                    "serviceAccountName": NAME,
                    # Kubernetes would set GROWTH_SERVICE_HOST and its kin for a Service called growth, and variables
                    # that begin with GROWTH_ are settings.
                    "enableServiceLinks": False,
                    "priorityClassName": PRIORITY_CLASS,
                    "terminationGracePeriodSeconds": GRACE_SECONDS,
                    # The number is the image's: some clusters (OpenShift) give one of their own.
                    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
                    "nodeSelector": {OS: "linux"},
                    "affinity": {"nodeAffinity": _node_affinity(), "podAntiAffinity": _apart()},
                    "tolerations": _tolerations(),
                    "containers": [container],
                    "volumes": [{"name": "settings", "configMap": {"name": settings_name}}],
                },
            },
        },
    }


def _probe(path: str, *, period_seconds: int, failures: int) -> Document:
    return {
        "httpGet": {"path": path, "port": "health"},
        "periodSeconds": period_seconds,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _node_affinity() -> Document:
    """Never where nothing really runs, and rather not on a node that Growth bought.

    A node that kwok plays for the provider kwok only says that its pods run. A bought node that is real may serve, so
    that Growth outlives the nodes that it was installed on; but one that it gives back tomorrow is no home for it.
    """
    not_bought = {"matchExpressions": [{"key": POOL, "operator": "DoesNotExist"}]}
    not_played = {"matchExpressions": [{"key": KWOK_LABEL, "operator": "DoesNotExist"}]}
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [not_bought, not_played]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": not_bought}],
    }


def _apart() -> Document:
    """The replicas on different hosts, and if possible in different zones.

    Not by topologySpreadConstraints: with one for zones, the scheduler leaves nodes without a zone label out of the
    score for hosts, too, and both replicas land on the larger host (1.36, ten times of ten; this way, never). And not
    required: on a cluster of one node the second must start as well. Only pods of the same revision count, or a
    rollout would keep away from those that it replaces.
    """
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": weight,
                "podAffinityTerm": {
                    "topologyKey": key,
                    "labelSelector": {"matchLabels": LABELS},
                    "matchLabelKeys": ["pod-template-hash"],
                },
            }
            for key, weight in ((HOSTNAME, 100), (ZONE, 50))
        ]
    }


def _tolerations() -> list[Document]:
    """Control-plane nodes are welcome: they are there before any was bought. k3s uses the second taint for them."""
    return [
        {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "CriticalAddonsOnly", "operator": "Exists"},
    ]
