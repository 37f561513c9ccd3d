"""A small cluster at night: nodes that nobody needs, removals in any phase, pods that slip in.

Everything is called ``default-1`` and belongs to the pool ``default`` unless a test says otherwise. The clock stands at
``NOW``, the provider answered a second ago, and nodes are an hour old.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from growth.api.actions import (
    Action,
    CreateObject,
    DeleteMachine,
    DeleteObject,
    EditObject,
    EvictPod,
    Hold,
    Outcome,
    PatchObject,
    RecordEvent,
    Result,
    key_of,
)
from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, PODS, VOLUME_ATTACHMENTS, Kind
from growth.api.machine import Machine
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.node_pool import NodePool
from growth.api.node_removal_request import (
    IF_UNREADY,
    RETRY,
    NodeRemovalRequest,
    NodeRemovalRequestSpec,
    NodeRemovalRequestStatus,
)
from growth.api.node_request import NodeRequest
from growth.api.offering import INSTANCE_TYPE, OFFERING, POOL, Offering
from growth.api.phases import RemovalPhase
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.references import reference_to
from growth.api.settings.model import RemovalSettings, Settings
from growth.api.status import StatusEvent
from growth.api.storage import AttachmentSource, VolumeAttachment, VolumeAttachmentSpec
from growth.api.taints import LEAVES, SCALE_DOWN_AT, closed
from growth.api.timestamp import format_time
from growth.api.tolerations import Taint
from growth.decide.contract import Decision
from growth.decide.facts.kept_nodes import NominatedNodes
from growth.decide.scale_down.decider import CAPABILITY
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from tests.decide import marketplace as market
from tests.decide.passes import Given, deciding
from tests.decide.stages import a_pod as read_pod

decide = deciding(CAPABILITY)

NOW, SECOND, MINUTE, HOUR = market.NOW, market.SECOND, market.MINUTE, market.HOUR
NAME, ANOTHER = "default-1", "default-2"
SETTINGS = Settings()
REMOVAL: RemovalSettings = SETTINGS.removal
PATIENT = 10 * MINUTE
a_pool, a_machine, a_request, an_offering = market.a_pool, market.a_machine, market.a_request, market.an_offering
EVERYTHING = {"operator": "Exists"}


def a_cloud(
    *machines: Machine,
    read_at: datetime | None = NOW - SECOND,
    problem: str = "",
    offerings: Sequence[Offering] = (),
    provider: str = "kwok",
) -> ProviderState:
    """The provider's word of a second ago."""
    return market.a_cloud(*offerings, machines=machines, read_at=read_at, problem=problem, provider=provider)


def a_node(
    name: str = NAME,
    *,
    at: datetime | str | None = None,
    tainted: bool | None = None,
    ready: bool = True,
    unready_since: datetime | None = None,
    is_closed: bool = False,
    pool: str = "default",
    server_type: str = "small",
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    born: datetime = NOW - HOUR,
    provider_id: str | None = None,
) -> Node:
    """A node; ``at`` is when it goes, which marks it (``tainted`` makes that half a mark)."""
    marks = {POOL: pool, OFFERING: market.SMALL, INSTANCE_TYPE: server_type} if pool else {}
    written = {SCALE_DOWN_AT: at if isinstance(at, str) else format_time(at)} if at is not None else {}
    is_tainted = at is not None if tainted is None else tainted
    own = (*((LEAVES,) if is_tainted else ()), *((closed(name),) if is_closed else ()))
    ready_condition = Condition("Ready", "True" if ready else "False", last_transition_time=unready_since)
    return Node(
        ObjectMeta(
            name=name,
            uid=f"node-{name}",
            resource_version=3,
            labels=marks,
            annotations={**written, **(annotations or {})},
            creation_timestamp=born,
        ),
        NodeSpec(provider_id=f"kwok://{name}" if provider_id is None else provider_id, taints=(*taints, *own)),
        NodeStatus(capacity=market.PROMISED, allocatable=market.PROMISED, conditions=(ready_condition,)),
    )


def a_removal(
    name: str = NAME,
    phase: RemovalPhase = "Pending",
    *,
    attempt: int = 0,
    asked_at: datetime | None = None,
    node: str | None = None,
    pool: str = "default",
    provider_id: str | None = None,
    retry: bool = False,
    events: Sequence[tuple[str, str]] = (),
    is_going: bool = False,
    if_unready: bool = False,
) -> NodeRemovalRequest:
    meta = ObjectMeta(
        name=name,
        uid=f"removal-{name}",
        resource_version=7,
        annotations={**({RETRY: "please"} if retry else {}), **({IF_UNREADY: "true"} if if_unready else {})},
        deletion_timestamp=NOW if is_going else None,
    )
    spec = NodeRemovalRequestSpec(
        pool=pool,
        node_name=name if node is None else node,
        provider_id=f"kwok://{name}" if provider_id is None else provider_id,
        reason="nobody needed it",
    )
    history = tuple(StatusEvent(NOW - MINUTE, name, reason) for name, reason in events)
    return NodeRemovalRequest(meta, spec, NodeRemovalRequestStatus(phase, attempt, asked_at, history))


def a_pod(name: str = "app", *, node: str = NAME, **fields: Any) -> Pod:  # noqa: ANN401
    return read_pod(name, node=node, **fields)


def a_daemon(name: str = "daemon", *, node: str = NAME, **fields: Any) -> Pod:  # noqa: ANN401
    owner = {"kind": "DaemonSet", "name": "agent", "uid": "agent", "controller": True}
    return read_pod(name, node=node, owner=owner, **fields)


def an_attachment(name: str = "csi-1", *, node: str = NAME) -> VolumeAttachment:
    spec = VolumeAttachmentSpec("csi.example.org", node, AttachmentSource(persistent_volume_name="disk"))
    return VolumeAttachment(ObjectMeta(name=name, uid=f"attachment-{name}"), spec)


_KINDS: Mapping[type, Kind[Any]] = {
    Node: NODES,
    Pod: PODS,
    NodePool: NODE_POOLS,
    NodeRequest: NODE_REQUESTS,
    NodeRemovalRequest: NODE_REMOVAL_REQUESTS,
    VolumeAttachment: VOLUME_ATTACHMENTS,
}


def a_snapshot(*things: object, now: datetime = NOW) -> Snapshot:
    """The World after it heard of all of this."""
    world = ClusterCache()
    listeners = world.listeners()
    for thing in things:
        if isinstance(thing, ProviderState):
            world.hear_of_cloud(thing)
        else:
            listeners[_KINDS[type(thing)]]([Change(ChangeType.ADDED, thing, None)])
    return world.snapshot(now)


def decided(
    *things: object,
    now: datetime = NOW,
    steady_since: datetime | None = None,
    outcome: Outcome | None = None,
    memory: object = None,
    settings: Settings = SETTINGS,
    expected: Iterable[str] = (),
) -> Decision[Any]:
    """What shrink decides when it sees this."""
    outcomes = {key_of(outcome.action): outcome} if outcome is not None else {}
    state = Given(outcomes, steady_since=steady_since, carry=memory)
    state = msgspec.structs.replace(state, facts=(NominatedNodes(frozenset(expected)),))
    return decide(a_snapshot(*things, now=now), state, settings)


def a_moment_later(*things: object, **circumstances: Any) -> Decision[Any]:  # noqa: ANN401
    """What it decides when it has seen this for long enough to believe it: a removal, an empty node."""
    before: Any = {**circumstances, "now": circumstances.get("now", NOW) - 15 * SECOND}
    memory = decided(*things, **{name: value for name, value in before.items() if name != "outcome"}).carry
    return decided(*things, **circumstances, memory=memory)


def an_answer(
    removal: NodeRemovalRequest, result: Result, *, at: datetime = NOW, error: str = "", message: str = ""
) -> Outcome:
    """How asking for the end of this removal's machine ended."""
    action = DeleteMachine(
        subject=reference_to(NODE_REMOVAL_REQUESTS, removal.metadata),
        why="nobody needs it",
        provider="kwok",
        machine_id=f"{removal.node_name}/1",
    )
    return Outcome(action=action, result=result, at=at, error=error, message=message)


def status_written(said: Iterable[Action | Hold]) -> dict[str, Any]:
    """The one status of a removal that is written, as the API server reads it."""
    (patch,) = [one for one in said if isinstance(one, PatchObject) and one.subresource]
    assert (patch.subresource, patch.resource_version) == ("status", 7)
    return msgspec.json.decode(msgspec.json.encode(patch.body["status"]))


def told(said: Iterable[Action | Hold] | Decision[Any], *, events: bool = False) -> list[str]:
    """What was said, in short: what is done, and to whom. Events only if they are the point."""
    spoken = said.said if isinstance(said, Decision) else said
    return [_told(one) for one in spoken if events or not isinstance(one, RecordEvent)]


def _told(one: Action | Hold) -> str:
    name = one.subject.name
    match one:
        case Hold():
            return f"hold {name}: {one.reason}"
        case RecordEvent():
            return f"event {one.subject.kind} {name}: {one.reason}"
        case EditObject():
            return _edited(one)
        case CreateObject():
            return f"remove {name}"
        case DeleteMachine():
            emptiness = "runs nothing" if one.ignores_unstarted else "is empty"
            return f"give back {one.machine_id}" + (f" if {one.empty_node} {emptiness}" if one.empty_node else "")
        case PatchObject() if one.subresource:
            return f"{name} -> {one.body['status']['phase']}"
        case PatchObject():
            return f"forget the wish of {name}"
        case DeleteObject():
            return f"delete {one.subject.kind} {name}"
        case EvictPod():
            return f"evict {name}"
        case _:
            return f"{type(one).__name__} {name}"


def _edited(one: EditObject) -> str:
    name = one.subject.name
    assert one.operations[0] == {"op": "test", "path": "/metadata/resourceVersion", "value": "3"}
    changes: Sequence[Any] = one.operations[1:]
    if all(change["op"] == "remove" for change in changes):
        return f"unmark {name}"
    if any("out-of-service" in str(change) for change in changes):
        return f"release {name}"
    last = changes[-1]["value"]
    return f"mark {name} for {last if isinstance(last, str) else last[SCALE_DOWN_AT]}"
