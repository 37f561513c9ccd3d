"""A provider, its offerings, pools and what became of requests: builders with everything defaulted but the point.

Unless a test says otherwise there is one provider (``kwok``), one pool (``default``), and everything is ``small`` in
``fsn1``. The clock stands at ``NOW``.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import Kind
from growth.api.machine import Machine, Power
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.node_pool import NodePool, NodePoolSpec, NodePoolStatus, OfferingStatus
from growth.api.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec
from growth.api.node_request import NodeRequest, NodeRequestSpec, NodeRequestStatus
from growth.api.offering import INSTANCE_TYPE, OFFERING, POOL, Offering, offering_id
from growth.api.phases import RequestPhase
from growth.api.provider_state import ProviderState
from growth.api.settings.model import ProvisionSettings
from growth.api.status import StatusCondition
from growth.api.tolerations import Taint
from growth.decide.capacity.pool_validation import FINALIZER
from growth.decide.capacity.provider_failures import MET
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot

NOW: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
PROVISION: Final = ProvisionSettings()
SMALL: Final = "kwok-small-fsn1"
PROMISED: Final = {"cpu": "2", "memory": "4Gi", "pods": "110"}


def an_offering(
    server_type: str = "small",
    location: str = "fsn1",
    *,
    price: float = 1.0,
    stock: int | None = None,
    provider: str = "kwok",
    is_cloud: bool = True,
    priority: int = 0,
    resources: Mapping[str, str] | None = None,
) -> Offering:
    return Offering(
        offering_id(provider, server_type, location),
        provider,
        server_type,
        location,
        price,
        resources=dict(resources or PROMISED),
        stock=stock,
        is_cloud=is_cloud,
        priority=priority,
    )


def a_cloud(
    *offerings: Offering,
    machines: Sequence[Machine] = (),
    read_at: datetime | None = NOW,
    problem: str = "",
    provider: str = "kwok",
) -> ProviderState:
    offered = offerings or (an_offering(provider=provider),)
    return ProviderState(provider, () if read_at is None else offered, tuple(machines), read_at, problem)


def a_pool(
    name: str = "default",
    *,
    types: Sequence[str | Mapping[str, Any]] = ("small",),
    learnt: Sequence[OfferingStatus] = (),
    status: NodePoolStatus | None = None,
    finalizers: Sequence[str] = (FINALIZER,),
    deleted_at: datetime | None = None,
    **spec: Any,  # noqa: ANN401
) -> NodePool:
    """A pool; ``spec`` is in camelCase, a server type is a name or its fields."""
    stated = [{"name": one} if isinstance(one, str) else dict(one) for one in types]
    meta = ObjectMeta(
        name=name,
        uid=f"pool-{name}",
        resource_version=5,
        finalizers=tuple(finalizers),
        deletion_timestamp=deleted_at,
    )
    whole = msgspec.convert({"serverTypes": stated, **spec}, NodePoolSpec)
    return NodePool(meta, whole, status or NodePoolStatus(offerings=tuple(learnt)))


def a_request(
    name: str = "default-1",
    phase: RequestPhase = "Pending",
    *,
    offering: str = SMALL,
    pool: str = "default",
    since: datetime | None = NOW,
    asked_at: datetime | None = None,
    reason: str = "",
) -> NodeRequest:
    """A request; ``reason`` says why it could not be met. It was asked for a second before its phase unless told."""
    begun = since or NOW
    meta = ObjectMeta(name=name, uid=f"request-{name}", creation_timestamp=asked_at or begun - SECOND)
    met: tuple[StatusCondition, ...] = ()
    if reason:
        met = (StatusCondition(MET, "False", reason, f"it was {reason}", since),)
    elif phase in ("Provisioning", "Ready"):
        met = (StatusCondition(MET, "True", "Accepted", "machine 1", since),)
    status = NodeRequestStatus(phase=phase, phase_since=since, conditions=met)
    return NodeRequest(meta, NodeRequestSpec(pool, offering), status)


def a_failed_request(name: str = "default-1", *, reason: str = "OutOfStock", **fields: Any) -> NodeRequest:  # noqa: ANN401
    return a_request(name, "Unmet", reason=reason, **fields)


def an_entry(
    offering: str = SMALL,
    *,
    level: int = 1,
    since: datetime | None = NOW - MINUTE,
    until: datetime | None = NOW + 4 * MINUTE,
    reason: str = "OutOfStock",
    **fields: Any,  # noqa: ANN401
) -> OfferingStatus:
    """What a pool noted a minute ago: sold out, to be tried again in four minutes."""
    words = f"it was {reason}"
    return OfferingStatus(offering, level=level, since=since, until=until, reason=reason, message=words, **fields)


def a_machine(name: str = "default-1", *, pool: str = "default", offering: str = SMALL) -> Machine:
    return Machine(f"{name}/1", f"kwok://{name}", name, offering, pool, NOW - HOUR, Power.ON, NOW)


def a_node(
    name: str = "default-1",
    *,
    pool: str = "default",
    offering: str = SMALL,
    ready: bool = True,
    has: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    born: datetime = NOW - HOUR,
) -> Node:
    """A node of a pool; ``has`` is laid over what its offering promises."""
    marks = {POOL: pool, OFFERING: offering, INSTANCE_TYPE: "small"} if pool else {}
    room = {**PROMISED, **(has or {})}
    return Node(
        ObjectMeta(name=name, uid=f"node-{name}", labels={**marks, **(labels or {})}, creation_timestamp=born),
        NodeSpec(provider_id=f"kwok://{name}", taints=tuple(taints)),
        NodeStatus(capacity=room, allocatable=room, conditions=(Condition("Ready", "True" if ready else "False"),)),
    )


def a_removal(name: str = "default-1", *, pool: str = "default") -> NodeRemovalRequest:
    meta = ObjectMeta(name=name, uid=f"removal-{name}")
    return NodeRemovalRequest(meta, NodeRemovalRequestSpec(pool=pool, node_name=name))


Thing = ProviderState | Node | NodePool | NodeRequest | NodeRemovalRequest
_KINDS: Final[Mapping[type[Any], Kind[Any]]] = {
    NodePool: NODE_POOLS,
    NodeRequest: NODE_REQUESTS,
    NodeRemovalRequest: NODE_REMOVAL_REQUESTS,
}


def a_snapshot(*things: Thing, now: datetime = NOW) -> Snapshot:
    """The World after it heard of all of this."""
    world = ClusterCache()
    for thing in things:
        match thing:
            case ProviderState():
                world.hear_of_cloud(thing)
            case Node():
                world.hear_of_nodes([Change(ChangeType.ADDED, thing, None)])
            case _:
                world.tables[_KINDS[type(thing)]].hear([Change(ChangeType.ADDED, thing, None)])
    return world.snapshot(now)
