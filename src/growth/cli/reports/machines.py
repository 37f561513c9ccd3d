"""The machines of all pools, one by one: a wish, a node, or one that is to go, as far as objects of the cluster tell.

Nobody asks a provider here. A machine that only its provider knows of is not seen, and neither is a node's own price.

A Snapshot's machines for people: pools with what they cost and what is wrong, and every machine in them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.node import Node
from growth.api.node_pool import FailedLaunches, NodePool, OfferingStatus
from growth.api.node_removal_request import RETRY, NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.offering import INSTANCE_TYPE, OFFERING, POOL, ZONE
from growth.api.quantity import QuantityError, nano_value
from growth.api.taints import scale_down_at
from growth.cli.reports.cluster_summary import ResourceUse, filled
from growth.observe.pod_requests import amounts_from
from growth.observe.snapshot import Snapshot


class MachinePhase(StrEnum):
    """How a machine stands; what somebody should look at comes first."""

    FAILED = "failed"
    """It could not be removed (RemovalFailed): it costs, and a person must look."""
    UNREADY = "unready"
    UNMET = "unmet"
    """It was wanted and could not be had: there is no machine."""
    LEAVING = "leaving"
    COMING = "coming"
    """Asked for; its node has not registered."""
    STARTING = "starting"
    """Its node is there, and closed or not ready yet."""
    EMPTY = "empty"
    """Marked: nobody works on it, and it goes if that stays so."""
    READY = "ready"


class MachineRow(msgspec.Struct, frozen=True):
    """One machine of a pool."""

    name: str
    pool: str
    standing: MachinePhase
    since: datetime | None = None
    """Since when it stands so; None where nothing tells."""
    phase: str = ""
    """Of the request that speaks for it; empty if none does."""
    offering: str = ""
    server_type: str = ""
    location: str = ""
    goes_at: datetime | None = None
    """When it goes, if nobody needs it until then."""
    request: str = ""
    """The NodeRemovalRequest that is to remove it."""
    attempts: int = 0
    """How often its provider was asked to delete it."""
    attempted_at: datetime | None = None
    is_to_be_retried: bool = False
    why: str = ""
    """One word of what went wrong, or of why it goes."""
    message: str = ""
    """The same in words."""
    is_cordoned: bool = False
    work: int = 0
    """Pods that the node is there for (``api.pod_classification``): neither DaemonSets' nor static ones."""
    cpu_millis: ResourceUse | None = None
    memory_bytes: ResourceUse | None = None

    @property
    def costs(self) -> bool:
        """Whether it counts toward cost and limits."""
        return self.standing is not MachinePhase.UNMET


def members_of(snapshot: Snapshot, pool: str = "") -> list[MachineRow]:
    """All of them, or one pool's: the most interesting first."""
    order = {phase: place for place, phase in enumerate(MachinePhase)}
    found = [member for member in _members(snapshot) if not pool or member.pool == pool]
    return sorted(found, key=lambda one: (order[one.standing], one.goes_at or snapshot.now, one.pool, one.name))


def _members(snapshot: Snapshot) -> Iterable[MachineRow]:
    requests = {request.metadata.name: request for request in snapshot.table(NODE_REQUESTS).values()}
    removals = {removal.node_name: removal for removal in snapshot.table(NODE_REMOVAL_REQUESTS).values()}
    for name, node in snapshot.nodes.items():
        removal, request = removals.get(name), requests.get(name)
        if POOL in node.metadata.labels or removal is not None:
            yield _with_node(snapshot, node, _standing_member(snapshot, node, request, removal))
    for name, removal in removals.items():
        if name not in snapshot.nodes:
            yield _terminating(removal)
    for name, request in requests.items():
        if name not in snapshot.nodes and name not in removals and request.status.phase != "Ready":
            yield _asked_for(request)


def _standing_member(
    snapshot: Snapshot, node: Node, request: NodeRequest | None, removal: NodeRemovalRequest | None
) -> MachineRow:
    name, pool = node.metadata.name, node.metadata.labels.get(POOL, "")
    if removal is not None:
        return _terminating(removal)
    if request is not None and request.status.phase == "Deprovisioning":
        return _asked_for(request)
    is_expected = request is not None and request.status.phase in ("Pending", "Provisioning")
    if name in snapshot.closed or (is_expected and not node.is_ready):
        return MachineRow(name, pool, MachinePhase.STARTING, node.metadata.creation_timestamp)
    goes_at = scale_down_at(node)
    if goes_at is not None and _is_deleted(snapshot, pool):
        # Marked although pods may work on it: they are asked to leave.
        return MachineRow(name, pool, MachinePhase.LEAVING, since=goes_at)
    if not node.is_ready:
        return MachineRow(name, pool, MachinePhase.UNREADY, _since_when(node), goes_at=goes_at)
    if goes_at is not None:
        return MachineRow(name, pool, MachinePhase.EMPTY, goes_at=goes_at)
    return MachineRow(name, pool, MachinePhase.READY, _since_when(node))


def _is_deleted(snapshot: Snapshot, pool: str) -> bool:
    known = snapshot.table(NODE_POOLS).get(("", pool))
    return known is not None and known.metadata.deletion_timestamp is not None


def _since_when(node: Node) -> datetime | None:
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    return ready.last_transition_time if ready is not None else node.metadata.creation_timestamp


def _with_node(snapshot: Snapshot, node: Node, member: MachineRow) -> MachineRow:
    labels = node.metadata.labels
    return msgspec.structs.replace(
        member,
        pool=labels.get(POOL, member.pool),
        offering=labels.get(OFFERING, ""),
        server_type=labels.get(INSTANCE_TYPE, ""),
        location=labels.get(ZONE, ""),
        is_cordoned=node.spec.unschedulable,
        work=snapshot.work.get(node.metadata.name, 0),
        cpu_millis=filled(snapshot, (node,), "cpu"),
        memory_bytes=filled(snapshot, (node,), "memory"),
    )


def _terminating(removal: NodeRemovalRequest) -> MachineRow:
    status, created_at = removal.status, removal.metadata.creation_timestamp
    has_failed = status.phase == "RemovalFailed"
    return MachineRow(
        name=removal.node_name,
        pool=removal.spec.pool,
        standing=MachinePhase.FAILED if has_failed else MachinePhase.LEAVING,
        since=status.events[-1].at if has_failed and status.events else created_at,
        phase=status.phase,
        attempts=status.removal_attempt,
        attempted_at=status.remove_attempted_at,
        request=removal.metadata.name,
        is_to_be_retried=RETRY in removal.metadata.annotations,
        message=_last_refusal(removal) if has_failed else removal.spec.reason,
    )


def _last_refusal(removal: NodeRemovalRequest) -> str:
    """What its provider said last. The last event of all is our own, that it was asked often enough."""
    *earlier, last = removal.status.events or (None,)
    said = [event.reason for event in (last, *earlier) if event is not None and event.reason]
    return said[-1] if said else ""


def _asked_for(request: NodeRequest) -> MachineRow:
    status, spec = request.status, request.spec
    phase = {"Unmet": MachinePhase.UNMET, "Deprovisioning": MachinePhase.LEAVING}.get(status.phase, MachinePhase.COMING)
    why, message = _trouble(request)
    return MachineRow(
        name=request.metadata.name,
        pool=request.pool,
        standing=phase,
        since=status.phase_since or request.metadata.creation_timestamp,
        phase=status.phase,
        offering=spec.target_offering,
        location=spec.location,
        why=why,
        message=message,
    )


def _trouble(request: NodeRequest) -> tuple[str, str]:
    """What went wrong with it, as a word and as a sentence.

    What ended it stands in a condition. What may pass is only told as the last event, "RateLimited: come back later".
    """
    status = request.status
    if wrong := next((one for one in status.conditions if one.status == "False"), None):
        return wrong.reason, wrong.message
    word, colon, message = (status.events[-1].reason if status.events else "").partition(": ")
    return (word, message) if colon and " " not in word else ("", word + colon + message)


_NANOS: Final = 10**9


class LimitUsage(msgspec.Struct, frozen=True):
    """How much of a limit is used up."""

    name: str
    used: float
    most: float
    is_at_least: bool = False
    """Whether more than ``used`` may be used up: what a machine brings is known when its node is there."""

    @property
    def is_reached(self) -> bool:
        """Whether nothing more can be bought."""
        return self.used >= self.most


class UnavailableOffering(msgspec.Struct, frozen=True):
    """An offering that could not be had, or is not what was promised."""

    offering: str
    reason: str
    message: str
    until: datetime | None
    """When one is tried again; None if nothing says so."""


class PoolSummary(msgspec.Struct, frozen=True):
    """One pool."""

    name: str
    machines: dict[MachinePhase, int]
    cpu_millis: ResourceUse
    memory_bytes: ResourceUse
    cost_per_hour: float | None
    """As Growth wrote it down; None if it has not."""
    currency: str = ""
    """Of the cost; empty if its provider names none."""
    limits: tuple[LimitUsage, ...] = ()
    problems: tuple[str, ...] = ()
    left_alone: tuple[UnavailableOffering, ...] = ()
    failing: tuple[FailedLaunches, ...] = ()
    """Offerings whose machines never work."""
    wasted_machines: int = 0
    wasted_cost: float = 0.0
    """Machines that were paid for and never worked, and what they cost."""
    retries_after: str = ""
    """After how long a removal that failed is tried again by itself; empty: never."""


class Fleet(msgspec.Struct, frozen=True):
    """All pools, and all machines in them: the most interesting first."""

    at: datetime
    pools: tuple[PoolSummary, ...]
    machines: tuple[MachineRow, ...]
    other_nodes: int
    """Nodes that belong to no pool."""
    waiting: int
    """Pods that have no node."""
    cost_per_hour: float | None
    """Of all pools; None if one is not known, or if they are or may be of several currencies."""
    currency: str = ""


def fleet_of(snapshot: Snapshot, pool: str = "") -> Fleet:
    """Everything, or what belongs to one pool."""
    machines = members_of(snapshot, pool)
    known = {one.metadata.name: one for one in snapshot.table(NODE_POOLS).values()}
    named = {name for name in {*known, *(machine.pool for machine in machines)} if name and (not pool or name == pool)}
    of_pool: dict[str, list[MachineRow]] = {name: [] for name in sorted(named)}
    for machine in machines:
        of_pool.get(machine.pool, []).append(machine)
    pools = [_pool_summary(snapshot, name, known.get(name), of_pool[name]) for name in of_pool]
    cost = _total(pools, {known[name].spec.provider for name in of_pool if name in known})
    return Fleet(
        at=snapshot.now,
        pools=tuple(pools),
        machines=tuple(machines),
        other_nodes=sum(POOL not in node.metadata.labels for node in snapshot.nodes.values()),
        waiting=len(snapshot.waiting),
        cost_per_hour=cost,
        currency=pools[0].currency if cost is not None else "",
    )


def _total(pools: Sequence[PoolSummary], providers: set[str]) -> float | None:
    """The sum, if it means anything: of pools of one currency, or of one provider that names none."""
    costs = [pool.cost_per_hour for pool in pools if pool.cost_per_hour is not None]
    currencies = {pool.currency for pool in pools}
    is_one_currency = len(currencies) == 1 and ("" not in currencies or len(providers) == 1)
    return sum(costs) if costs and len(costs) == len(pools) and is_one_currency else None


def _pool_summary(snapshot: Snapshot, name: str, pool: NodePool | None, machines: Sequence[MachineRow]) -> PoolSummary:
    counts = Counter(machine.standing for machine in machines)
    status = pool.status if pool is not None else None
    cost = _amount(status.cost_per_hour) if status is not None else None
    return PoolSummary(
        name=name,
        machines={phase: counts[phase] for phase in MachinePhase if counts[phase]},
        cpu_millis=_together(machine.cpu_millis for machine in machines),
        memory_bytes=_together(machine.memory_bytes for machine in machines),
        cost_per_hour=cost,
        currency=status.currency if status is not None else "",
        limits=tuple(_limits(snapshot, pool, machines, cost)) if pool is not None else (),
        problems=tuple(_problems(pool)),
        left_alone=tuple(_left_alone(status.offerings, snapshot.now)) if status is not None else (),
        failing=tuple(one for one in status.failed_launches if one.failures) if status is not None else (),
        wasted_machines=status.wasted.machines if status is not None else 0,
        wasted_cost=float(status.wasted.cost) if status is not None else 0.0,
        retries_after=(pool.spec.scale_down.retry_failed_after or "") if pool is not None else "",
    )


def _together(filled: Iterable[ResourceUse | None]) -> ResourceUse:
    known = [one for one in filled if one is not None]
    return ResourceUse(sum(one.used for one in known), sum(one.total for one in known))


def _amount(text: int | str | None) -> float | None:
    """A quantity as a number; None if there is none, or none that can be read."""
    try:
        return None if text in (None, "") else nano_value(str(text)) / _NANOS
    except QuantityError:
        return None


def _limits(
    snapshot: Snapshot, pool: NodePool, machines: Sequence[MachineRow], cost: float | None
) -> Iterable[LimitUsage]:
    """What is used up of each limit that the pool has, as its limits count: by what machines have, not by what is left
    for pods."""
    limits, paid = pool.spec.limits, [machine for machine in machines if machine.costs]
    nodes = [snapshot.nodes[machine.name] for machine in paid if machine.name in snapshot.nodes]
    if limits.nodes is not None:
        yield LimitUsage("nodes", len(paid), limits.nodes)
    capacities = [amounts_from(node.status.capacity) for node in nodes]
    for name, stated, unit in (("cpu", limits.cpu, 1000), ("memory", limits.memory, 1)):
        if (most := _amount(stated)) is not None:
            used = sum(capacity.get(name, 0) for capacity in capacities) / unit
            yield LimitUsage(name, used, most, is_at_least=len(nodes) < len(paid))
    if cost is not None and (most := _amount(limits.cost_per_hour)) is not None:
        yield LimitUsage("cost", cost, most)


def _problems(pool: NodePool | None) -> Iterable[str]:
    if pool is None:
        yield "there is no NodePool of this name, so nobody looks after its nodes"
        return
    if pool.metadata.deletion_timestamp is None and not pool.status.conditions:
        yield "Growth has said nothing about it yet: is it running?"
    for condition in pool.status.conditions:
        if condition.status == "False":
            yield condition.message or condition.reason


def _left_alone(entries: Iterable[OfferingStatus], now: datetime) -> Iterable[UnavailableOffering]:
    for entry in entries:
        is_closed = entry.until is not None and entry.until > now and entry.available_since is None
        if is_closed or entry.surprises:
            yield UnavailableOffering(entry.offering, entry.reason, entry.message, entry.until if is_closed else None)
