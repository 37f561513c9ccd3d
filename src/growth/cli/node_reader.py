"""One node with all that is left on it, read for a person: a few lists, and no watch of the whole cluster."""

from collections.abc import Callable, Collection
from datetime import datetime
from difflib import get_close_matches
from typing import Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.core import ConfigMap, Lease
from growth.api.growth_status import GROWTH_STATUS, Timeline, timelines_in
from growth.api.kinds import CONFIG_MAPS, LEASES, NODES, PODS, VOLUME_ATTACHMENTS
from growth.api.node import Node
from growth.api.out_of_service import proof_on
from growth.cli.errors import UsageError
from growth.decide.failover.remaining_objects import RemainingObjects, left_on
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.observe.cache import ClusterCache

_NODE_LEASES: Final = "kube-node-lease"
Now = Callable[[], datetime]


class NodeView(msgspec.Struct, frozen=True):
    """A node, and what is on it."""

    node: Node
    left: RemainingObjects


async def see(client: Client, name: str, now: Now) -> NodeView | None:
    """The node as it is now; None if there is none of this name."""
    try:
        node = await client.get(NODES, name)
    except NotFound:
        return None
    pods = await client.list(PODS, field_selector=f"spec.nodeName={name}")
    # Read last: they go when the pods have gone.
    attachments = await client.list(VOLUME_ATTACHMENTS)
    world = ClusterCache(now)
    for kind, objects in ((NODES, [node]), (PODS, pods.items), (VOLUME_ATTACHMENTS, attachments.items)):
        world.listeners()[kind]([Change(ChangeType.ADDED, one, None) for one in objects])
    return NodeView(node, left_on(world.snapshot(now()), node))


async def lease_of(client: Client, name: str) -> Lease | None:
    """The node's Lease, by which it says that it lives."""
    try:
        return await client.get(LEASES, name, _NODE_LEASES)
    except NotFound:
        return None


async def see_known(client: Client, name: str, now: Now) -> NodeView:
    """The same; a name that nobody bears is refused with those that are close."""
    seen = await see(client, name, now)
    if seen is None:
        raise unknown(name, [one.metadata.name for one in (await client.list(NODES)).items])
    return seen


def unknown(name: str, names: Collection[str]) -> UsageError:
    """What to say about a node that is not there."""
    close = get_close_matches(name, names, 3)
    hint = f"close to it are {', '.join(close)}" if close else f"there are {len(names)}: kubectl get nodes"
    return UsageError(f"there is no node {name!r}; {hint}")


async def timeline_of(client: Client, namespace: str, name: str) -> Timeline | None:
    """What Growth wrote down about this node, if anything."""
    return next((one for one in await timelines(client, namespace) if one.node == name), None)


async def timelines(client: Client, namespace: str) -> list[Timeline]:
    """All stories that Growth wrote down."""
    try:
        found: ConfigMap = await client.get(CONFIG_MAPS, GROWTH_STATUS, namespace)
    except NotFound:
        return []
    return list(timelines_in(found))


def taken_out_by(node: Node, story: Timeline | None) -> tuple[str, datetime | None]:
    """Who took it out of service, and when that was or was first seen; None if nobody wrote it down."""
    proof = proof_on(node)
    if proof is not None:
        return proof.by or "Growth", proof.tainted_at
    entries = story.entries if story is not None and story.uid == node.metadata.uid else ()
    seen_at = [entry.at for entry in entries if entry.what in ("TaintedByHand", "OutOfServiceRunning")]
    return "somebody without Growth, such as with kubectl taint", seen_at[-1] if seen_at else None
