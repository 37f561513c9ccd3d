"""What shrink never does, whatever the cluster looks like."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from growth.api.actions import Action, CreateObject, DeleteMachine, DeleteObject, EditObject, EvictPod, Hold
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.offering import INSTANCE_TYPE
from growth.api.phases import REMOVAL_MOVES
from growth.api.pod import Pod
from growth.api.pod_classification import is_work
from growth.api.provider_state import ProviderState
from growth.decide.scale_down.decider import CAPABILITY
from tests.decide.passes import Given, deciding
from tests.decide.scale_down.stage import (
    EVERYTHING,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    SETTINGS,
    a_cloud,
    a_daemon,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_snapshot,
    an_attachment,
    an_offering,
)

decide = deciding(CAPABILITY)

NAMES = [f"default-{number}" for number in range(4)]
instants = st.sampled_from([NOW - HOUR, NOW - SECOND, NOW, NOW + MINUTE, NOW + 9 * HOUR])
OFFERINGS = [an_offering(), an_offering("large", price=3.0)]


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Node:
    return a_node(
        name,
        at=draw(st.one_of(st.none(), instants, st.just("tomorrow"))),
        tainted=draw(st.sampled_from([None, True, False])),
        ready=draw(st.booleans()),
        is_closed=draw(st.sampled_from([False, False, True])),
        unready_since=draw(instants),
        born=draw(instants),
        pool=draw(st.sampled_from(["default", "default", "default", ""])),
        provider_id=draw(st.sampled_from([None, None, None, "hcloud://7", ""])),
        annotations=draw(st.sampled_from([{}, {}, {"growth.dev/do-not-disrupt": "true"}])),
    )


@st.composite
def removals(draw: st.DrawFn, name: str) -> NodeRemovalRequest:
    phase = draw(st.sampled_from(list(REMOVAL_MOVES)))
    return a_removal(
        name,
        phase,
        attempt=0 if phase == "Pending" else draw(st.integers(1, 6)),
        asked_at=None if phase == "Pending" else draw(instants),
        provider_id=draw(st.sampled_from([None, None, "", "kwok://gone"])),
        pool=draw(st.sampled_from(["default", "default", "", "lost"])),
        retry=draw(st.booleans()),
    )


@st.composite
def worlds(draw: st.DrawFn) -> list[object]:
    """A pool, a provider that lists some of its machines, and whatever stands, works and goes there."""
    read_at = draw(st.one_of(st.none(), instants))
    listed: set[str] = draw(st.sets(st.sampled_from(NAMES))) if read_at is not None else set()
    machines = [
        a_machine(name, offering=draw(st.sampled_from(["kwok-small-fsn1", "kwok-large-fsn1"])))
        for name in sorted(listed)
    ]
    cloud = a_cloud(
        *machines,
        read_at=read_at,
        problem=draw(st.sampled_from(["", "", "no answer"])),
        offerings=OFFERINGS,
    )
    types = [{"name": name, "min": draw(st.integers(0, 3))} for name in ("small", "Large")]
    scale_down = {"enabled": draw(st.booleans()), "emptyAfter": draw(st.sampled_from(["1s", "10m"]))}
    policy = draw(st.sampled_from(["Drain", "Orphan"]))
    deleted_at = draw(st.sampled_from([None, None, NOW]))
    things: list[object] = [
        cloud,
        a_pool(types=types, scaleDown=scale_down, deleted_at=deleted_at, deletionPolicy=policy),
    ]
    things += [draw(nodes(name)) for name in NAMES if draw(st.booleans())]
    things += [draw(removals(name)) for name in NAMES if draw(st.sampled_from([False, False, True]))]
    for number in range(draw(st.integers(0, 3))):
        node = draw(st.sampled_from(NAMES))
        kind = draw(st.sampled_from(["work", "finished", "daemon"]))
        if kind == "daemon":
            things.append(a_daemon(f"pod-{number}", node=node))
        else:
            status = {"phase": "Succeeded" if kind == "finished" else "Running"}
            things.append(a_pod(f"pod-{number}", node=node, status=status, tolerations=[EVERYTHING]))
    if draw(st.booleans()):
        things.append(an_attachment(node=draw(st.sampled_from(NAMES))))
    return things


class Seen:
    """What was decided about a world, looked at twice, a while apart."""

    def __init__(self, things: list[object], steady_since: datetime | None) -> None:
        self.things = things
        self.said: list[list[Action | Hold]] = []
        memory: object = None
        for now in (NOW, NOW + MINUTE):
            state = Given(carry=memory, steady_since=steady_since)
            decision = decide(a_snapshot(*things, now=now), state, SETTINGS)
            assert decision == decide(a_snapshot(*things, now=now), state, SETTINGS), "the same input, another output"
            assert decision.requeue_at is None or decision.requeue_at > now
            memory = decision.carry
            self.said.append(list(decision.said))

    def of(self, *kinds: type[Any]) -> Iterator[Any]:
        """All actions of these kinds."""
        yield from (one for said in self.said for one in said if isinstance(one, kinds))

    def all(self, kind: type[Any]) -> list[Any]:
        """All things of this kind."""
        return [one for one in self.things if isinstance(one, kind)]

    @property
    def busy(self) -> set[str]:
        """Nodes on which somebody works."""
        return {pod.node_name for pod in self.all(Pod) if is_work(pod)}

    @property
    def pool(self) -> NodePool:
        """The one pool."""
        return self.all(NodePool)[0]

    @property
    def cloud(self) -> ProviderState:
        """The one provider."""
        return self.all(ProviderState)[0]


seen_worlds = st.builds(Seen, worlds(), st.sampled_from([None, None, NOW - SECOND]))


@given(seen_worlds)
def test_a_node_with_work_is_neither_marked_nor_asked_for_nor_given_back(seen: Seen) -> None:
    assert not {one.subject.name for one in seen.of(CreateObject)} & seen.busy
    dead = {one.metadata.name for one in seen.all(Node) if not one.is_ready and len(one.spec.taints) > 0}
    # One whose Node object is on another machine, or never became ready, has no work of its own.
    elsewhere = {one.metadata.name for one in seen.all(Node) if one.spec.provider_id != f"kwok://{one.metadata.name}"}
    nodes = {one.metadata.name for one in seen.all(Node)}
    for one in seen.of(DeleteMachine):
        name = one.machine_id.removesuffix("/1")
        assert name not in seen.busy & nodes - dead - elsewhere
    if seen.pool.metadata.deletion_timestamp is None:
        removed = {one.node_name for one in seen.all(NodeRemovalRequest)}
        for one in seen.of(EditObject):
            is_mark = any(change["op"] == "add" for change in one.operations)
            assert not (is_mark and one.subject.name in seen.busy - removed)


@given(seen_worlds)
def test_scale_down_never_goes_below_min(seen: Seen) -> None:
    if seen.pool.metadata.deletion_timestamp is not None:
        return
    leaving = {one.node_name for one in seen.all(NodeRemovalRequest)}
    offerings = {one.name: one.offering for one in seen.cloud.machines}
    closed = {
        one.metadata.name
        for one in seen.all(Node)
        if any(taint.key == "growth.dev/starting" for taint in one.spec.taints)
    }

    def type_of(node: Node) -> str:
        own = node.spec.provider_id in ("", f"kwok://{node.metadata.name}")
        name = offerings.get(node.metadata.name, "") if own else ""
        return name.split("-")[1] if name else node.metadata.labels[INSTANCE_TYPE]

    ready = {
        one.metadata.name: type_of(one)
        for one in seen.all(Node)
        if one.is_ready and "growth.dev/pool" in one.metadata.labels and one.metadata.name not in leaving | closed
    }
    for said in seen.said:
        gone = {one.subject.name for one in said if isinstance(one, CreateObject)}
        left = Counter(kind for name, kind in ready.items() if name not in gone)
        had = Counter(ready.values())
        for stated in seen.pool.spec.server_types:
            kind = stated.name.lower()
            assert left[kind] >= min(stated.min, had[kind])


@given(seen_worlds)
def test_while_the_provider_is_silent_nothing_is_concluded(seen: Seen) -> None:
    if not seen.cloud.problem and seen.cloud.read_at is not None:
        return
    assert not list(seen.of(CreateObject, DeleteMachine, EvictPod))
    assert {one.subject.kind for one in seen.of(DeleteObject)} <= {"NodeRemovalRequest"}
    for one in seen.of(EditObject):
        assert all(change["op"] in ("test", "remove") for change in one.operations)


@given(seen_worlds)
def test_a_stranger_is_never_touched(seen: Seen) -> None:
    named = {one.node_name for one in seen.all(NodeRemovalRequest) if one.status.removal_attempt > 0}
    for node in seen.all(Node):
        if "growth.dev/pool" in node.metadata.labels or node.metadata.name in named:
            continue
        ids = {machine.provider_id for machine in seen.cloud.machines}
        if node.spec.provider_id in ids or not node.spec.provider_id:
            continue
        kinds = (EditObject, DeleteObject, CreateObject)
        assert not [
            one for one in seen.of(*kinds) if (one.subject.kind, one.subject.name) == ("Node", node.metadata.name)
        ]


@given(seen_worlds)
def test_a_machine_is_given_back_only_for_a_removal_and_a_node_only_after_its_machine(seen: Seen) -> None:
    removals = {one.metadata.name for one in seen.all(NodeRemovalRequest)}
    assert {one.subject.name for one in seen.of(DeleteMachine)} <= removals
    ids = {machine.provider_id for machine in seen.cloud.machines}
    providers = {one.metadata.name: one.spec.provider_id for one in seen.all(Node)}
    for one in seen.of(DeleteObject):
        if one.subject.kind == "Node":
            assert one.subject.name in removals
            assert providers[one.subject.name] not in ids
