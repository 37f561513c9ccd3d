"""Pods of all kinds, and whether one of them should find a place in the end."""

import random
from typing import Any, Final

from growth.api.node_pool import NodePool
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.api.quantity import nano_value
from growth.api.tolerations import untolerated
from tests.trust.chaos.worlds import CORES, FIRST, Json

APPS: Final = ("red", "green", "blue")
NOWHERE: Final = "nowhere"
TOO_LARGE: Final = "20"
_SIZES: Final = ("200m", "500m", "900m", "1500m", "1800m", "3", "6")
_RESERVED_CORES: Final = 0.1


def drawn_pod(chance: random.Random, pools: list[str]) -> Json:
    """Labels, annotations and spec of a pod, or of a template."""
    app = chance.choice(APPS)
    cpu = chance.choice(_SIZES) if chance.random() < 0.97 else TOO_LARGE
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    spec: dict[str, Any] = {"containers": [container], "terminationGracePeriodSeconds": chance.choice([0, 1, 5])}
    tolerations: list[Json] = []
    if chance.random() < 0.25 and pools:
        pool = chance.choice([*pools, *pools, *pools, NOWHERE])
        spec["nodeSelector"] = {POOL: pool}
        tolerations.append({"key": "dedicated", "value": pool, "operator": "Equal"})
    if chance.random() < 0.08:
        tolerations = [{"operator": "Exists"}]
    if chance.random() < 0.15:
        apart = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    annotations = {"growth.dev/do-not-disrupt": "true"} if chance.random() < 0.1 else {}
    if tolerations:
        spec["tolerations"] = tolerations
    return {"metadata": {"labels": {"app": app}, "annotations": annotations}, "spec": spec}


def is_placeable(pod: Pod, pools: dict[str, NodePool], daemon_cores: float) -> bool:
    """Whether its pool, which is not limited any more, sells a machine for it."""
    asked = sum(nano_value(one.resources.requests.get("cpu", "0")) for one in pod.spec.containers) / 10**9
    pool = pools.get(pod.spec.node_selector.get(POOL, FIRST))
    if pool is None or pool.metadata.deletion_timestamp is not None:
        return False
    if untolerated(pool.spec.taints, pod.spec.tolerations) is not None:
        return False
    largest = max(CORES[one.name] - _lacking(one.name, pools) for one in pool.spec.server_types)
    return asked <= largest - _RESERVED_CORES - daemon_cores


def _lacking(server_type: str, pools: dict[str, NodePool]) -> float:
    """How much less of it is believed since a node turned out to be smaller: that is never forgotten."""
    entries = [entry for pool in pools.values() for entry in pool.status.offerings]
    lacks = [entry.lacks.get("cpu", "0") for entry in entries if f"-{server_type}-" in entry.offering]
    return max((nano_value(one) / 10**9 for one in lacks), default=0.0)
