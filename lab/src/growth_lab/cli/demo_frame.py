"""What the demo shows of one moment, in plain values: machines from the wish to the node, who waits, what it costs."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.node_request import NodeRequest
from growth.api.offering import OFFERING
from growth.api.quantity import parse
from growth.api.taints import is_tainted
from growth.cli.reports.cluster_summary import ResourceUse
from growth.observe.pod_requests import amounts_from
from growth.observe.snapshot import Snapshot

_RESOURCES: Final = ("cpu", "memory")


class Stand(StrEnum):
    """How far a machine is: a phase of its NodeRequest, and between two of them its node."""

    PENDING = "Pending"
    PROVISIONING = "Provisioning"
    STARTING = "starting"
    """Its node is there, and closed or not ready."""
    READY = "Ready"
    EMPTY = "empty"
    """Nobody needs its node: it is kept for a while, in case that changes."""
    LEAVING = "leaving"
    UNMET = "Unmet"
    DEPROVISIONING = "Deprovisioning"


COMING: Final = (Stand.PENDING, Stand.PROVISIONING, Stand.STARTING)


class Row(msgspec.Struct, frozen=True):
    """All machines of one offering, in the order of their lives."""

    offering: str
    stands: tuple[Stand, ...]
    since: datetime | None
    """When the first of those was asked for that are not ready yet."""
    cpu_millis: ResourceUse
    memory_bytes: ResourceUse


class Scene(msgspec.Struct, frozen=True):
    """One moment."""

    at: datetime
    rows: tuple[Row, ...]
    given_up: tuple[str, ...]
    """Why machines that never became nodes are removed, a sentence each."""
    running: int
    waiting: int
    cost_per_hour: float

    @property
    def ready(self) -> int:
        """Machines that work."""
        return sum(row.stands.count(Stand.READY) for row in self.rows)


def scene_of(snapshot: Snapshot) -> Scene:
    """What there is to be seen now."""
    requests = {request.metadata.name: request for request in snapshot.table(NODE_REQUESTS).values()}
    offerings: dict[str, list[str]] = {}
    for name, node in snapshot.nodes.items():
        if offering := node.metadata.labels.get(OFFERING):
            offerings.setdefault(offering, []).append(name)
    for name, request in requests.items():
        if name not in snapshot.nodes:
            offerings.setdefault(request.spec.target_offering, []).append(name)
    costs = [pool.status.cost_per_hour for pool in snapshot.table(NODE_POOLS).values()]
    return Scene(
        at=snapshot.now,
        rows=tuple(_row(snapshot, offering, names, requests) for offering, names in sorted(offerings.items())),
        given_up=tuple(
            removal.spec.reason
            for removal in snapshot.table(NODE_REMOVAL_REQUESTS).values()
            if removal.node_name not in snapshot.nodes
        ),
        running=snapshot.pod_count - len(snapshot.waiting),
        waiting=len(snapshot.waiting),
        cost_per_hour=sum(parse(cost).nanos / 1e9 for cost in costs if cost),
    )


def _row(snapshot: Snapshot, offering: str, names: list[str], requests: dict[str, NodeRequest]) -> Row:
    order = list(Stand)
    stands = {name: _stand(snapshot, name, requests.get(name)) for name in names}
    asked = [requests[name].metadata.creation_timestamp for name in requests if stands.get(name) in COMING]
    cpu, memory = (_filled(snapshot, names, resource) for resource in _RESOURCES)
    return Row(
        offering=offering,
        stands=tuple(sorted(stands.values(), key=order.index)),
        since=min((at for at in asked if at is not None), default=None),
        cpu_millis=cpu,
        memory_bytes=memory,
    )


def _stand(snapshot: Snapshot, name: str, request: NodeRequest | None) -> Stand:
    node = snapshot.nodes.get(name)
    if ("", name) in snapshot.table(NODE_REMOVAL_REQUESTS):
        return Stand.LEAVING
    if node is not None and is_tainted(node):
        return Stand.EMPTY
    if node is not None:
        return Stand.READY if node.is_ready and name not in snapshot.closed else Stand.STARTING
    return Stand(request.status.phase) if request is not None else Stand.PENDING


def _filled(snapshot: Snapshot, names: Iterable[str], resource: str) -> ResourceUse:
    column, rows = snapshot.room.column(resource), snapshot.room.rows
    nodes = [snapshot.nodes[name] for name in names if name in snapshot.nodes]
    total = sum(amounts_from(node.status.allocatable).get(resource, 0) for node in nodes)
    free = sum(column[rows[node.metadata.name]] for node in nodes)
    return ResourceUse(used=total - free, total=total)
