"""What the stories of failover have in common: machines that stay, a database on one of them, and what was noted."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.growth_status import GROWTH_STATUS, timelines_in
from growth.api.kinds import CONFIG_MAPS, NODES, PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS
from growth.api.kwok import KWOK_LABEL
from growth.api.offering import POOL
from growth.api.out_of_service import OUT_OF_SERVICE
from growth.api.settings.model import FailoverSettings, Settings
from growth.api.storage import VolumeAttachment
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool
from growth_lab.scenarios.workloads import STATEFUL_SETS
from tests.stories.cluster_life import claim, driver
from tests.stories.shrinking import launched

MANAGED: Final = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
# Left to chance: whether Kubernetes calls a node unready before Growth has its proof, and what that does to its pool;
# whether Growth or taint eviction is the first to delete a pod; how often a pod is tried.
CHANCE: Final = "unreachable,unknown,not ready,Healthy,Unhealthy,leaving,refused"
HELD: Final = "growth.dev/held-by-the-story"
"""A finalizer that keeps things until the story lets them go."""
OUT: Final = f"tainted {OUT_OF_SERVICE}"
LONG: Final = timedelta(seconds=20)
"""Longer than what a story waits for."""


def acting(settings: Settings = QUICK, **terms: Any) -> Settings:  # noqa: ANN401
    """The settings of a story in which Growth acts, or what else ``mode`` says."""
    stated: FailoverSettings = msgspec.structs.replace(settings.failover, **{"mode": "act", **terms})
    # Whether a request is tidied away before a story is over is nobody's concern here.
    kept = msgspec.structs.replace(settings.provision, keep_ready=timedelta(minutes=5))
    return msgspec.structs.replace(settings, failover=stated, provision=kept)


async def some_nodes(play: Play, count: int, server_type: str = "small") -> list[str]:
    """A pool with so many machines that stay, whose nodes attach volumes; their names."""
    await a_pool(play, serverTypes=[{"name": server_type, "min": count}])
    return await attaching(play, count)


async def attaching(play: Play, count: int) -> list[str]:
    """Wait for so many nodes of pools, and let them attach volumes; their names."""
    await play.until(lambda: len(launched(play)) == count == len(_open_nodes(play)), f"{count} nodes are open")
    names = launched(play)
    for name in names:
        await play.change(NODES, name, {"metadata": {"annotations": MANAGED}})
    return names


async def a_database(play: Play) -> str:
    """A StatefulSet of one pod with a volume that its node says is in use; the node's name."""
    await play.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "data-db-0"}, "spec": claim(play)})
    template = {"metadata": {"labels": {"app": "db"}}, "spec": with_disk(play, "data-db-0")}
    selector = {"matchLabels": {"app": "db"}}
    body = {"replicas": 1, "serviceName": "db", "selector": selector, "template": template}
    await play.create(STATEFUL_SETS, {"metadata": {"name": "db"}, "spec": body})
    await play.until(play.pod_is("db-0"), "the database runs")
    node = play.trace.pods["db-0"].node_name
    await in_use(play, node)
    return node


def with_disk(play: Play, claim_name: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    """The spec of a pod on a node of the pool, with a volume."""
    disk = {"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}
    return play.pod_spec("500m", nodeSelector={POOL: "default"}, volumes=[disk], **spec)


async def in_use(play: Play, node: str) -> None:
    """Wait until the volume is attached to this node; then its kubelet would say that it uses it."""
    await play.until(lambda: attached_to(play) == [node], "its volume is attached")
    stated = [f"kubernetes.io/csi/{driver(play)}^handle-0"]
    await play.change(NODES, node, {"status": {"volumesInUse": stated}}, subresource="status")


async def until_it_moved(play: Play, node: str) -> None:
    """Wait until the database and its volume are on this node."""
    await play.until(play.pod_is("db-0", node=node), "the database runs on the other node")
    await play.until(lambda: attached_to(play) == [node], "so does its volume")


async def until_it_left(play: Play, node: str) -> None:
    """Wait until the database and its volume are on some other node."""

    def has_left() -> bool:
        pod = play.trace.pods.get("db-0")
        return pod is not None and play.node_of(pod) not in ("", node) and attached_to(play) == [play.node_of(pod)]

    await play.until(has_left, "the database and its volume are on another node")


def attached_to(play: Play) -> list[str]:
    """Nodes to which the volume is attached, or from which it has not come off."""
    return [one.spec.node_name for one in attachments(play) if one.status.attached]


def on_one_node(play: Play) -> None:
    """From now on the volume is never on two nodes."""
    play.always(lambda: len(attachments(play)) <= 1, "that the volume is attached to one node")


def attachments(play: Play) -> list[VolumeAttachment]:
    """Those of the story's volume."""
    found: Iterable[VolumeAttachment] = play.trace.objects[VOLUME_ATTACHMENTS].values()
    return [one for one in found if one.spec.attacher == driver(play)]


def is_out(play: Play, name: str) -> bool:
    """Whether the node bears the taint."""
    node = play.trace.nodes.get(name)
    return node is not None and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def out(play: Play) -> list[str]:
    """All nodes that bear the taint."""
    return [name for name in launched(play) if is_out(play, name)]


async def until_out(play: Play, name: str) -> None:
    """Wait until the node is out of service."""
    await play.until(lambda: is_out(play, name), "its node is out of service")


async def until_cut(play: Play, name: str) -> None:
    """Wait until nobody speaks for the node any more."""

    async def is_mute() -> bool:
        return KWOK_LABEL not in (await play.client.get(NODES, name)).metadata.labels

    await play.until_found(is_mute, f"the kubelet of {name} is cut off")


async def until_silent(play: Play, *names: str) -> None:
    """Wait until Kubernetes calls these nodes unready."""
    await play.until(lambda: not any(play.trace.nodes[name].is_ready for name in names), "they are not ready")


async def noted(play: Play, name: str) -> list[str]:
    """What the node's timeline tells, as ``growth explain node`` prints it."""
    found = await play.client.get(CONFIG_MAPS, GROWTH_STATUS, QUICK.namespace)
    return [entry.what for one in timelines_in(found) if one.node == name for entry in one.entries]


async def until_noted(play: Play, name: str, *what: str) -> None:
    """Wait until the node's timeline tells this, or one of these."""

    async def is_noted() -> bool:
        return not set(what).isdisjoint(await noted(play, name))

    await play.until_found(is_noted, f"the story of {name} tells {' or '.join(what)}")


async def hold_volume(play: Play) -> str:
    """From now on the volume's driver does not let go of it; gives the attachment, for ``let_go``."""
    (attachment,) = attachments(play)
    keepers = [*attachment.metadata.finalizers, HELD]
    await play.change(VOLUME_ATTACHMENTS, attachment.metadata.name, {"metadata": {"finalizers": keepers}})
    return attachment.metadata.name


async def let_go(play: Play, attachment: str) -> None:
    """The driver answers again."""
    await play.change(VOLUME_ATTACHMENTS, attachment, {"metadata": {"finalizers": None}})


def _open_nodes(play: Play) -> list[str]:
    nodes = {name: play.trace.nodes[name] for name in launched(play)}
    return [name for name, node in nodes.items() if node.is_ready and not node.spec.taints]
