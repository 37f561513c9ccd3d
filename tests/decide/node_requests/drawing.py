"""Clusters as hypothesis draws them, however unlikely, and what becomes of one when everything said is done."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from growth.api.actions import Action, CreateObject, DeleteObject, EditObject, Hold, Outcome, PatchObject, Result
from growth.api.node import Node
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest, NodeRequestStatus
from growth.api.offering import ZONE
from growth.api.phases import REQUEST_MOVES, RequestPhase
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.status import StatusEvent
from growth.api.taints import closed
from growth.api.tolerations import NO_EXECUTE, Taint
from tests.decide.node_requests.stage import (
    GPU,
    NO_SCHEDULE_BY_NETWORK,
    NOW,
    SMALL,
    a_cloud,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    an_outcome,
    left_alone,
)

NAMES = ("default-1", "default-2", "default-3")
PODS = ("one", "two", "three")
# Around every deadline there is, on both sides, and from clocks that are wrong.
_AGES = st.sampled_from([-3600, -1, 0, 1, 10, 59, 60, 300, 599, 600, 899, 900, 1799, 1800, 7200])
instants = _AGES.map(lambda seconds: NOW - timedelta(seconds=seconds))
# Most of what can be done is about nodes that are ready.
_PHASES: list[RequestPhase] = [*REQUEST_MOVES, "Ready", "Ready"]
_OFFERINGS = st.sampled_from([SMALL.id, GPU.id, "shop-small", "shop-tiny-fsn1", "nowhere-cx-1"])
_TAINTS = st.lists(
    st.sampled_from([NO_SCHEDULE_BY_NETWORK, Taint("team", "shop", NO_EXECUTE), closed("elsewhere")]), max_size=2
)
_FAILURES = st.sampled_from(["OutOfStock", "QuotaExceeded", "NoNode", "PoolGone", "Surprise"])


@st.composite
def a_drawn_request(draw: DrawFn, name: str) -> NodeRequest:
    phase = draw(st.sampled_from(_PHASES))
    since = draw(st.none() | instants)
    pods = [a_pod(one) for one in draw(st.just(PODS) | st.lists(st.sampled_from(PODS), unique=True))]
    events = draw(st.lists(st.sampled_from(["nodeRequested", "nodeRequestFailed"]), max_size=40))
    return a_request(
        phase,
        name=name,
        since=since,
        offering=draw(_OFFERINGS),
        events=[StatusEvent(NOW, one, "Unavailable: oh") for one in events],
        failed=draw(_FAILURES) if phase in ("Unmet", "Deprovisioning") else "",
        planned_for=pods,
        hands_keys=draw(st.booleans()),
        wakes=pods if draw(st.booleans()) else (),
        is_going=draw(st.integers(0, 9)) == 0,
    )


@st.composite
def a_drawn_node(draw: DrawFn, name: str) -> Node:
    return a_node(
        name,
        offering=draw(st.sampled_from([SMALL, GPU])),
        ready=draw(st.booleans()),
        is_closed=draw(st.booleans()),
        lacks=draw(st.sampled_from([(), (ZONE,), ("growth.dev/pool",)])),
        taints=draw(_TAINTS),
        provider_id=draw(st.sampled_from([None, "", "shop://stranger"])),
        allocatable=draw(st.sampled_from([{}, {"nvidia.com/gpu": "0"}, {"cpu": "100m"}])),
    )


@st.composite
def clusters(draw: DrawFn) -> tuple[object, ...]:
    """Anything that could be seen at one instant."""
    things: list[object] = []
    if draw(st.integers(0, 9)):
        learnt = [left_alone(one, since=draw(instants), until=draw(instants))
                  for one in draw(st.sets(st.sampled_from([SMALL.id, GPU.id, "shop"])))]  # fmt: skip
        taints = [NO_SCHEDULE_BY_NETWORK] if draw(st.booleans()) else []
        things.append(a_pool(learnt=learnt, is_going=draw(st.integers(0, 5)) == 0, startup_taints=taints))
    machines = [a_machine(name, offering=draw(_OFFERINGS), pool=draw(st.sampled_from(["default", "other"])))
                for name in NAMES if draw(st.booleans())]  # fmt: skip
    if draw(st.integers(0, 9)):
        problem = draw(st.sampled_from(["", "", "silent"]))
        things.append(a_cloud(*machines, read_at=draw(st.none() | instants), problem=problem))
    for name in NAMES:
        if draw(st.integers(0, 4)):
            things.append(draw(a_drawn_request(name)))
        if draw(st.integers(0, 4)):
            things.append(draw(a_drawn_node(name)))
        if draw(st.integers(0, 5)) == 0:
            things.append(a_removal(name))
    for name in PODS:
        keys = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
        node = draw(st.sampled_from(["", "", "", *NAMES]))
        called = draw(st.sampled_from(["", *NAMES, "20260301-090000"]))
        if draw(st.integers(0, 4)):
            things.append(a_pod(name, keys=keys, node=node, called=called, refused=draw(st.booleans())))
    return tuple(things)


def outcomes() -> SearchStrategy[Outcome | None]:
    """How asking for the first machine ended."""
    errors = st.sampled_from(["OutOfStock", "RateLimited", "Unavailable", "TimeoutError", "Invalid"])
    request = a_request(name=NAMES[0], since=None)
    ends = st.sampled_from([Result.REFUSED, Result.FAILED, Result.FENCED])
    failures = st.tuples(errors, ends).map(lambda drawn: an_outcome(request, drawn[1], error=drawn[0]))
    return st.none() | failures | st.just(an_outcome(request, Result.DONE, machine=a_machine(NAMES[0])))


def done(things: tuple[object, ...], said: tuple[Action | Hold, ...]) -> tuple[object, ...]:
    """The cluster after everything that was said has been done; what a provider does is not ours to play."""
    others = [one for one in things if isinstance(one, ProviderState)]
    by_name: dict[tuple[str, str], Any] = {}
    for thing in things:
        if not isinstance(thing, ProviderState):
            known: Any = thing
            by_name[type(thing).__name__, known.metadata.name] = thing
    for action in said:
        key = (action.subject.kind, action.subject.name)
        there: Any = by_name.get(key)
        match action:
            case PatchObject() if isinstance(there, NodeRequest):
                status = msgspec.convert(action.body["status"], NodeRequestStatus)
                by_name[key] = msgspec.structs.replace(there, status=status)
            case PatchObject():
                by_name[key] = _labelled(there, action.body["metadata"]["labels"])
            case EditObject() if isinstance(there, Node):
                by_name[key] = _without_taint(there, opened_at(action))
            case EditObject():
                value: Any = action.operations[-1]["value"]
                name = (value[0] if action.operations[-1]["path"] == "/spec/tolerations" else value)["value"]
                by_name[key] = msgspec.structs.replace(there, keys=(*there.keys, name))
            case DeleteObject():
                del by_name[key]
            case CreateObject():
                name = action.subject.name
                is_removal = action.subject.kind == NodeRemovalRequest.__name__
                by_name[key] = a_removal(name) if is_removal else a_request(name=name, since=None)
            case _:
                pass
    return (*others, *by_name.values())


def opened_at(action: EditObject) -> int:
    """Which of a node's taints is taken off."""
    (removed,) = [one["path"] for one in action.operations if one["op"] == "remove"]
    return int(removed.removeprefix("/spec/taints/"))


def _labelled(there: Node | Pod, labels: Mapping[str, str]) -> Node | Pod:
    meta = msgspec.structs.replace(there.metadata, labels={**there.metadata.labels, **labels})
    return msgspec.structs.replace(there, metadata=meta)


def _without_taint(node: Node, index: int) -> Node:
    taints = (*node.spec.taints[:index], *node.spec.taints[index + 1 :])
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=taints))
