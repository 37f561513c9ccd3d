"""A small cluster for provision tests: requests in any phase, machines, closed nodes, pods that wait.

Everything has the name ``default-1`` and belongs to the pool ``default`` unless a test says otherwise; the clock stands
at ``NOW``, and everything in a phase has been in it for a minute.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from growth.api.actions import (
    Action,
    CreateMachine,
    CreateObject,
    EditObject,
    Hold,
    Outcome,
    PatchObject,
    RecordEvent,
    Result,
    key_of,
)
from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, PODS, Kind
from growth.api.machine import Machine, Power
from growth.api.meta import Condition, ObjectMeta, OwnerReference
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.node_pool import NodePool, NodePoolSpec, NodePoolStatus, OfferingStatus, ServerType, Wasted
from growth.api.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec
from growth.api.node_request import HANDS_KEYS, PLANNED_FOR, WAKES, NodeRequest, NodeRequestSpec, NodeRequestStatus
from growth.api.offering import HOSTNAME, OFFERING, POOL, Offering, offering_id
from growth.api.phases import RequestPhase
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.references import reference_to
from growth.api.settings.model import ProvisionSettings, Settings
from growth.api.status import StatusCondition, StatusEvent
from growth.api.taints import closed
from growth.api.tolerations import NO_SCHEDULE, Taint
from growth.decide.capacity.pool_validation import FINALIZER
from growth.decide.contract import Decision
from growth.decide.node_requests.decider import CAPABILITY
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from tests.decide.passes import Given, deciding
from tests.decide.stages import a_pod as read_pod

decide = deciding(CAPABILITY)

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NAME, ANOTHER = "default-1", "default-2"
SETTINGS = Settings()
PROVISION: ProvisionSettings = SETTINGS.provision


def an_offering(name: str = "small", **resources: str) -> Offering:
    return Offering(
        id=offering_id("shop", name, "fsn1"),
        provider="shop",
        server_type=name,
        location="fsn1",
        price_per_hour=1.0,
        resources={"cpu": "2", "memory": "4Gi", "pods": "110", **resources},
    )


SMALL, LARGE = an_offering(), an_offering("large", cpu="8")
GPU = an_offering("gpu", **{"nvidia.com/gpu": "1"})


def a_pool(
    name: str = "default",
    *,
    learnt: Sequence[OfferingStatus] = (),
    counted: Sequence[str] = (),
    is_going: bool = False,
    startup_taints: Sequence[Taint] = (),
    labels: Mapping[str, str] | None = None,
    types: Sequence[Offering] = (SMALL, LARGE, GPU),
) -> NodePool:
    server_types = tuple(ServerType(one.server_type) for one in types)
    spec = NodePoolSpec(server_types=server_types, startup_taints=tuple(startup_taints), labels=dict(labels or {}))
    meta = ObjectMeta(
        name=name, uid=f"pool-{name}", finalizers=(FINALIZER,), deletion_timestamp=NOW if is_going else None
    )
    status = NodePoolStatus(offerings=tuple(learnt), wasted=Wasted(counted=tuple(counted)))
    return NodePool(meta, spec, status)


def a_request(
    phase: RequestPhase = "Pending",
    *,
    name: str = NAME,
    since: datetime | None = NOW - MINUTE,
    offering: str = SMALL.id,
    events: Sequence[StatusEvent] | None = None,
    failed: str = "",
    planned_for: Sequence[Pod] = (),
    hands_keys: bool = False,
    wakes: Sequence[Pod] = (),
    is_going: bool = False,
    pool: str = "default",
    owners: Sequence[str] = (),
) -> NodeRequest:
    """A request; ``failed`` is the reason why it could not be met. One that nobody has looked at has no ``since``."""
    uids = {PLANNED_FOR: planned_for, WAKES: wakes}
    annotations = {key: ",".join(pod.metadata.uid for pod in pods) for key, pods in uids.items() if pods}
    if hands_keys:
        annotations[HANDS_KEYS] = "true"
    meta = ObjectMeta(
        name=name,
        uid=f"request-{name}",
        resource_version=7,
        creation_timestamp=NOW - 2 * MINUTE,
        annotations=annotations,
        deletion_timestamp=NOW if is_going else None,
        owner_references=tuple(OwnerReference("NodePool", one, f"pool-{one}", "growth.dev/v1alpha1") for one in owners),
    )
    conditions = (StatusCondition("Met", "False", failed, f"it was {failed}", since),) if failed else ()
    if events is None:
        names = ("nodeProvisioned", "nodeLabelled") if phase == "Provisioning" else ()
        events = [an_event(name) for name in names]
    has_machine = phase in ("Provisioning", "Ready", "Deprovisioning")
    status = NodeRequestStatus(
        phase=phase,
        phase_since=since,
        provider_id=f"shop://{name}" if has_machine else "",
        conditions=conditions,
        events=tuple(events),
    )
    return NodeRequest(meta, NodeRequestSpec(pool=pool, target_offering=offering), status)


def a_machine(name: str = NAME, *, offering: str = SMALL.id, pool: str = "default") -> Machine:
    return Machine(
        id=f"{name}/1",
        provider_id=f"shop://{name}",
        name=name,
        offering=offering,
        pool=pool,
        created_at=NOW - MINUTE,
        power=Power.ON,
        read_at=NOW,
    )


def a_cloud(
    *machines: Machine,
    offerings: Sequence[Offering] = (SMALL, LARGE, GPU),
    read_at: datetime | None = NOW,
    problem: str = "",
) -> ProviderState:
    return ProviderState("shop", tuple(offerings), tuple(machines), read_at, problem)


def a_node(
    name: str = NAME,
    *,
    offering: Offering = SMALL,
    ready: bool = True,
    is_closed: bool = True,
    lacks: Iterable[str] = (),
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    provider_id: str | None = None,
    allocatable: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    born: datetime | None = None,
) -> Node:
    """The node that was planned; ``lacks`` are labels that it has not, ``labels`` and ``taints`` are added."""
    right = {**offering.node_labels, HOSTNAME: name, POOL: "default", OFFERING: offering.id, **(labels or {})}
    own = (closed(name),) if is_closed else ()
    return Node(
        ObjectMeta(
            name=name,
            uid=f"node-{name}",
            labels={key: value for key, value in right.items() if key not in set(lacks)},
            annotations=dict(annotations or {}),
            creation_timestamp=born,
        ),
        NodeSpec(provider_id=f"shop://{name}" if provider_id is None else provider_id, taints=(*taints, *own)),
        NodeStatus(
            capacity=dict(offering.resources),
            allocatable={**offering.resources, **(allocatable or {})},
            conditions=(Condition("Ready", "True" if ready else "False"),),
        ),
    )


def a_pod(
    name: str = "app",
    *,
    keys: Sequence[str] = (),
    node: str = "",
    called: str = "",
    refused: bool = True,
    **spec: Any,  # noqa: ANN401
) -> Pod:
    """A pod that waits; ``called`` is the request for whose place it was woken."""
    labels = {"growth.dev/nudge": called} if called else {}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    status = {"conditions": [condition]} if refused and not node else {}
    pod = read_pod(name, node=node, labels=labels, status=status, **spec)
    return msgspec.structs.replace(pod, keys=tuple(keys))


def a_removal(name: str = NAME, *, node: str = "", provider_id: str = "") -> NodeRemovalRequest:
    return NodeRemovalRequest(ObjectMeta(name=name), NodeRemovalRequestSpec("default", node, provider_id))


def an_event(name: str, reason: str = "") -> StatusEvent:
    return StatusEvent(NOW - MINUTE, name, reason)


def left_alone(offering: str = SMALL.id, *, since: datetime = NOW - MINUTE, until: datetime) -> OfferingStatus:
    return OfferingStatus(offering, level=1, since=since, until=until, reason="OutOfStock")


def an_outcome(
    request: NodeRequest, result: Result, *, error: str = "", message: str = "oh", machine: Machine | None = None
) -> Outcome:
    """How asking for the request's machine ended."""
    subject = reference_to(NODE_REQUESTS, request.metadata)
    said = decided(a_pool(), request, a_cloud()).said
    action = next((one for one in said if isinstance(one, CreateMachine)), None)
    assert action is not None, f"nobody asked for the machine of {subject.name}"
    return Outcome(action=action, result=result, at=NOW, error=error, message=message, machine=machine)


_KINDS: Mapping[type, Kind[Any]] = {
    NodePool: NODE_POOLS,
    NodeRequest: NODE_REQUESTS,
    NodeRemovalRequest: NODE_REMOVAL_REQUESTS,
}


def a_snapshot(*things: object, now: datetime = NOW) -> Snapshot:
    """The World after it heard of all of this."""
    world = ClusterCache()
    listeners = world.listeners()
    for thing in things:
        if isinstance(thing, ProviderState):
            world.hear_of_cloud(thing)
            continue
        kind = NODES if isinstance(thing, Node) else PODS if isinstance(thing, Pod) else _KINDS[type(thing)]
        listeners[kind]([Change(ChangeType.ADDED, thing, None)])
    return world.snapshot(now)


def decided(
    *things: object,
    now: datetime = NOW,
    steady_since: datetime | None = None,
    outcome: Outcome | None = None,
    memory: object = None,
    settings: Settings = SETTINGS,
    companions: Iterable[str] = (),
) -> Decision[Any]:
    """What provision decides when it sees this; ``companions`` are the capabilities that run beside it."""
    outcomes = {key_of(outcome.action): outcome} if outcome is not None else {}
    state = Given(outcomes, steady_since=steady_since, carry=memory, enabled=frozenset(companions))
    return decide(a_snapshot(*things, now=now), state, settings)


def status_written(*things: object, **circumstances: Any) -> dict[str, Any]:  # noqa: ANN401
    """The one status of a request that is written, as the API server reads it."""
    said = decided(*things, **circumstances).said
    (patch,) = [one for one in said if isinstance(one, PatchObject) and one.subject.kind == NODE_REQUESTS.name]
    assert (patch.subresource, patch.resource_version) == ("status", 7)
    return msgspec.json.decode(msgspec.json.encode(patch.body["status"]))


def told(said: Iterable[Action | Hold]) -> list[str]:
    """What was said, in short: kind of action, whom it is about, and what matters of it."""
    return [_told(one) for one in said]


def _told(one: Action | Hold) -> str:
    name, kind = one.subject.name, one.subject.kind
    match one:
        case Hold():
            return f"hold {name}: {one.reason}"
        case PatchObject() if kind == "NodeRequest":
            return f"{name} -> {one.body['status']['phase']}"
        case PatchObject():
            return f"label {name}: {','.join(sorted(one.body['metadata']['labels']))}"
        case EditObject() if kind == "Node":
            return f"open {name}"
        case EditObject():
            return f"key {name}: {_key(one)}"
        case CreateObject():
            return f"remove {name}" if kind == "NodeRemovalRequest" else f"adopt {name}"
        case CreateMachine():
            return f"buy {name}"
        case RecordEvent():
            return f"event {name}: {one.reason}"
        case _:
            return f"delete {name}"


def _key(one: EditObject) -> str:
    value: Any = one.operations[-1]["value"]
    return value[0]["value"] if one.operations[-1]["path"] == "/spec/tolerations" else value["value"]


NO_SCHEDULE_BY_NETWORK = Taint("example.org/network", "", NO_SCHEDULE)
