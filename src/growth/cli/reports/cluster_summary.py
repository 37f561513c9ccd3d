"""A Snapshot in numbers that fit on a screen: how many nodes, how full, who waits."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from growth.api.node import Node
from growth.api.pod import Pod
from growth.observe.pod_requests import amounts_from
from growth.observe.snapshot import Snapshot

_POOL: Final = "growth.dev/pool"
_INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"


class ResourceUse(msgspec.Struct, frozen=True):
    """How much of a resource is taken, of how much there is."""

    used: int
    total: int


class NodeGroup(msgspec.Struct, frozen=True):
    """Nodes of one pool and instance type, together."""

    pool: str
    instance_type: str
    nodes: int
    ready: int
    cpu_millis: ResourceUse
    memory_bytes: ResourceUse
    pods: ResourceUse


class PendingGroup(msgspec.Struct, frozen=True):
    """Pods of one owner and shape that have no node yet."""

    namespace: str
    owner: str
    pods: int
    cpu_millis: int
    memory_bytes: int
    since: datetime | None


class ClusterSummary(msgspec.Struct, frozen=True):
    """The cluster at a glance."""

    at: datetime
    nodes: int
    ready: int
    pods: int
    waiting: int
    shapes: int
    groups: tuple[NodeGroup, ...]
    waiting_groups: tuple[PendingGroup, ...]


def summary_of(snapshot: Snapshot) -> ClusterSummary:
    """The Snapshot in numbers, largest groups first."""
    return ClusterSummary(
        at=snapshot.now,
        nodes=len(snapshot.nodes),
        ready=sum(node.is_ready for node in snapshot.nodes.values()),
        pods=snapshot.pod_count,
        waiting=len(snapshot.waiting),
        shapes=len(snapshot.shapes),
        groups=tuple(_groups(snapshot)),
        waiting_groups=tuple(_waiting(snapshot)),
    )


def _groups(snapshot: Snapshot) -> Iterable[NodeGroup]:
    members: defaultdict[tuple[str, str], list[Node]] = defaultdict(list)
    for node in snapshot.nodes.values():
        labels = node.metadata.labels
        members[labels.get(_POOL, ""), labels.get(_INSTANCE_TYPE, "")].append(node)
    for (pool, instance_type), nodes in sorted(members.items(), key=lambda item: (-len(item[1]), item[0])):
        yield NodeGroup(
            pool=pool,
            instance_type=instance_type,
            nodes=len(nodes),
            ready=sum(node.is_ready for node in nodes),
            cpu_millis=filled(snapshot, nodes, "cpu"),
            memory_bytes=filled(snapshot, nodes, "memory"),
            pods=filled(snapshot, nodes, "pods"),
        )


def filled(snapshot: Snapshot, nodes: Iterable[Node], resource: str) -> ResourceUse:
    """How much of a resource pods ask for on these nodes together, of how much they have for pods."""
    column, rows = snapshot.room.column(resource), snapshot.room.rows
    total = free = 0
    for node in nodes:
        total += amounts_from(node.status.allocatable).get(resource, 0)
        free += column[rows[node.metadata.name]]
    return ResourceUse(used=total - free, total=total)


def _waiting(snapshot: Snapshot) -> Iterable[PendingGroup]:
    members: defaultdict[tuple[str, str, int], list[Pod]] = defaultdict(list)
    for pod in snapshot.waiting.values():
        owner = pod.metadata.controller
        name = f"{owner.kind} {owner.name}" if owner else f"Pod {pod.metadata.name}"
        members[pod.metadata.namespace, name, id(pod.spec)].append(pod)
    for (namespace, owner, _), pods in sorted(members.items(), key=lambda item: (-len(item[1]), item[0][:2])):
        requests = snapshot.shapes.of(pods[0].spec).requests
        created = [pod.metadata.creation_timestamp for pod in pods if pod.metadata.creation_timestamp]
        yield PendingGroup(
            namespace=namespace,
            owner=owner,
            pods=len(pods),
            cpu_millis=requests.get("cpu", 0),
            memory_bytes=requests.get("memory", 0),
            since=min(created, default=None),
        )
