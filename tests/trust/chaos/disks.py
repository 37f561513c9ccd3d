"""Data: a StatefulSet whose pods have a volume each, and kubelets that say which of them they use.

The nodes' kubelets are played by kwok, which mounts nothing; what a real one would say about volumes is said here.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

from growth.api.kinds import CSI_DRIVERS, NODES, PERSISTENT_VOLUMES, STORAGE_CLASSES, VOLUME_ATTACHMENTS
from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth.api.node import Node
from growth.api.pod import Pod
from growth_lab.scenarios.workloads import STATEFUL_SETS
from tests.trust.chaos.stage import Stage
from tests.trust.picture import Picture, is_work

SET: Final = "db"
_HELD: Final = "growth.dev/held-by-the-driver"
_MANAGED: Final = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
_LOOK_SECONDS: Final = 0.25
_SIZES: Final = ("200m", "500m", "1500m")


async def prepare(stage: Stage) -> None:
    """A class without provisioner, a driver that must attach, volumes, and the set."""
    name = _class(stage)
    await stage.create(STORAGE_CLASSES, name, {"provisioner": "kubernetes.io/no-provisioner"})
    await stage.create(CSI_DRIVERS, _driver(stage), {"spec": {"attachRequired": True}})
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": name,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    for number in range(stage.terms.disks):
        source = {"driver": _driver(stage), "volumeHandle": f"handle-{number}"}
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": stage.namespace, "name": f"data-{SET}-{number}"},
            "csi": source,
        }
        await stage.create(PERSISTENT_VOLUMES, f"{name}-{number}", {"spec": spec})
    requests = {"cpu": stage.apart.choice(_SIZES), "memory": "64Mi"}
    container = {
        "name": "main",
        "image": "main",
        "resources": {"requests": requests},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    labels = {"app": SET}
    body = {
        "replicas": stage.terms.disks,
        "serviceName": SET,
        "podManagementPolicy": stage.apart.choice(["Parallel", "OrderedReady"]),
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
        },
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    await stage.create(STATEFUL_SETS, SET, {"spec": body})


@asynccontextmanager
async def mounting(stage: Stage) -> AsyncGenerator[None]:
    """As long as this lasts, living kubelets tell what they use."""
    task = asyncio.create_task(_mount(stage))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _mount(stage: Stage) -> None:
    while True:
        for name, node in sorted(stage.picture.nodes.items()):
            if node.metadata.labels.get(KWOK_LABEL) != KWOK_VALUE or node.metadata.deletion_timestamp is not None:
                continue
            if not _MANAGED.items() <= node.metadata.annotations.items():
                await stage.quietly(NODES, name, {"metadata": {"annotations": _MANAGED}})
            used = sorted({f"kubernetes.io/csi/{_driver(stage)}^handle-{one}" for one in _used(stage.picture, name)})
            if used != stage.in_use.get(node.metadata.uid, []):
                patch: dict[str, Any] = {"status": {"volumesInUse": used or None}}
                if await stage.quietly(NODES, name, patch, subresource="status"):
                    stage.in_use[node.metadata.uid] = used
        await asyncio.sleep(_LOOK_SECONDS)


def _used(picture: Picture, node: str) -> Iterator[str]:
    """Ordinals of the pods there whose volumes are mounted: they run, or have yet to end."""
    attached = {
        one.spec.source.persistent_volume_name.rpartition("-")[2]
        for one in picture.attachments.values()
        if one.spec.node_name == node and one.status.attached
    }
    return (one for pod in picture.pods_on(node) if is_data(pod) and is_work(pod) for one in _ordinal(pod, attached))


def _ordinal(pod: Pod, attached: set[str]) -> set[str]:
    return {pod.metadata.name.rpartition("-")[2]} & attached


async def the_driver_holds_a_volume_or_lets_go(stage: Stage) -> None:
    """It does not answer when a volume should come off, for a while."""
    held = [name for name, one in sorted(stage.picture.attachments.items()) if _HELD in one.metadata.finalizers]
    if held and stage.chance.random() < 0.5:
        await let_go(stage)
    elif name := stage.one_of(sorted(stage.picture.attachments)):
        keepers = [*stage.picture.attachments[name].metadata.finalizers, _HELD]
        await stage.change(VOLUME_ATTACHMENTS, name, {"metadata": {"finalizers": keepers}})


async def let_go(stage: Stage) -> None:
    """It answers again."""
    for name, one in sorted(stage.picture.attachments.items()):
        others = [keeper for keeper in one.metadata.finalizers if keeper != _HELD]
        if len(others) < len(one.metadata.finalizers):
            await stage.change(VOLUME_ATTACHMENTS, name, {"metadata": {"finalizers": others or None}})


def is_data(pod: Pod) -> bool:
    """Whether it is one of those with a volume."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "StatefulSet"


def holders(stage: Stage) -> list[str]:
    """Ready nodes that such pods run on."""
    pods = [pod for pod in stage.picture.pods.values() if is_data(pod) and pod.node_name]
    nodes = {pod.node_name for pod in pods if pod.metadata.deletion_timestamp is None}
    return sorted(name for name in nodes if name in stage.picture.machines and _is_ready(stage.picture.nodes.get(name)))


def without_home(stage: Stage) -> Iterator[str]:
    """Pods with volumes that do not run on a living node, or whose volumes hang elsewhere."""
    picture = stage.picture
    for pod in picture.pods.values():
        if not is_data(pod) or not pod.node_name:
            continue
        name, node = pod.metadata.name, picture.nodes.get(pod.node_name)
        if pod.status.phase != "Running" or not _is_ready(node):
            yield f"the pod {name} is {pod.status.phase} on {pod.node_name}, which does not work"
        volume = f"{_class(stage)}-{name.rpartition('-')[2]}"
        hangs = [
            one.spec.node_name
            for one in picture.attachments.values()
            if one.spec.source.persistent_volume_name == volume and one.status.attached
        ]
        if hangs != [pod.node_name]:
            yield f"the pod {name} runs on {pod.node_name}, and its volume hangs on {', '.join(hangs) or 'none'}"


def _is_ready(node: Node | None) -> bool:
    return node is not None and node.is_ready


def _class(stage: Stage) -> str:
    return f"disk-{stage.namespace}"


def _driver(stage: Stage) -> str:
    return f"{stage.namespace}.growth.dev"
