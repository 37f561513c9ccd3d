"""What the World keeps at hand for those who grow: pods that were refused or marked, nodes that are closed, clouds."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.annotations import BACK_OFF, BackOff
from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.taints import SCALE_DOWN, STARTING
from growth.observe.cache import ClusterCache
from tests.builders import Json, a_node, a_pod, uid_of
from tests.observe.telling import Teller

NOW = datetime(2026, 11, 15, tzinfo=UTC)
MARK = {BACK_OFF: BackOff(1, NOW).encode()}
CLOSED = [{"key": STARTING, "value": "n", "effect": "NoSchedule"}]
TO_GO = [{"key": SCALE_DOWN, "effect": "NoSchedule"}]
GPU = [{"key": "example.com/gpu", "effect": "NoSchedule"}]


def scheduled(status: str, reason: str = "") -> Json:
    """A pod's status with this answer of the scheduler; without a reason there is none yet."""
    conditions = [{"type": "PodScheduled", "status": status, "reason": reason}] if reason else []
    return {"conditions": conditions}


REFUSED = scheduled("False", "Unschedulable")
GATED = scheduled("False", "SchedulingGated")
FAILED_TO_ASK = scheduled("False", "SchedulerError")
NEW = scheduled("False")


def a_waiting_pod(status: Json, **more: Any) -> Json:  # noqa: ANN401 - passed on
    return a_pod("p", node="", status=status, **more)


def test_a_pod_enters_when_the_scheduler_has_tried_it_and_not_before() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.pod(a_waiting_pod(NEW))
    assert not world.refused
    pod = teller.pod(a_waiting_pod(REFUSED, version=2))
    assert world.snapshot(NOW).refused == {pod.metadata.uid: pod}


LEAVING = [
    pytest.param(a_pod("p", node="n", version=2), id="it was bound"),
    pytest.param(a_waiting_pod(REFUSED, version=2, phase="Failed"), id="it ended"),
    pytest.param(a_waiting_pod(GATED, version=2), id="it is gated again"),
    pytest.param(a_waiting_pod(FAILED_TO_ASK, version=2), id="the scheduler itself failed"),
]


@pytest.mark.parametrize("body", LEAVING)
def test_a_refused_pod_leaves_when_it_is_not_refused_any_more(body: Json) -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.pod(a_waiting_pod(REFUSED))
    assert len(world.refused) == 1
    teller.pod(body)
    assert not world.refused


def test_a_refused_pod_leaves_when_it_is_deleted() -> None:
    world = ClusterCache()
    teller = Teller(world)
    pod = teller.pod(a_waiting_pod(REFUSED, annotations=MARK))
    teller.pod_gone(pod.metadata.uid)
    assert not world.refused
    assert not world.marked


def test_what_is_kept_is_the_newest_that_is_known_of_a_pod() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.pod(a_waiting_pod(REFUSED))
    newest = teller.pod(a_waiting_pod(REFUSED, version=2, annotations=MARK))
    assert list(world.refused.values()) == list(world.marked.values()) == [newest]
    assert next(iter(world.refused.values())) is newest


def test_a_mark_is_seen_wherever_its_pod_is_until_somebody_wipes_it_off() -> None:
    world = ClusterCache()
    teller = Teller(world)
    uid = teller.pod(a_waiting_pod(NEW, annotations=MARK)).metadata.uid
    for version, phase in enumerate(("Running", "Succeeded"), start=2):
        teller.pod(a_pod("p", node="n", phase=phase, version=version, annotations=MARK))
        assert list(world.snapshot(NOW).marked) == [uid]
    teller.pod(a_pod("p", node="n", version=4))
    assert not world.marked


def test_a_node_is_closed_while_it_carries_the_start_up_taint() -> None:
    world = ClusterCache()
    teller = Teller(world)
    node = teller.node(a_node("n", taints=[*GPU, *CLOSED]))
    assert world.snapshot(NOW).closed == {"n": node}
    teller.node(a_node("n", version=2, taints=GPU))
    assert not world.closed
    node = teller.node(a_node("n", version=3, taints=CLOSED))
    teller.node_gone(node.metadata.uid)
    assert not world.closed


def test_a_closed_node_that_was_made_anew_stays_when_the_old_one_ends() -> None:
    world = ClusterCache()
    teller = Teller(world)
    old = teller.node(a_node("n", uid="old"))
    teller.node(a_node("n", uid="new", version=2, taints=CLOSED))
    teller.node_gone(old.metadata.uid)
    assert world.closed["n"].metadata.uid == "new"


def test_nodes_are_counted_when_they_come_and_not_when_they_change_or_go() -> None:
    world = ClusterCache()
    teller = Teller(world)
    node = teller.node(a_node("n"))
    teller.node(a_node("n", version=2, taints=GPU))
    teller.node_gone(node.metadata.uid)
    assert world.snapshot(NOW).nodes_heard == 1
    teller.node(a_node("n", uid="another"))
    assert world.snapshot(NOW).nodes_heard == 2


def test_a_node_that_takes_the_name_of_one_that_has_not_gone_yet_is_counted() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.node(a_node("n", uid="old"))
    teller.node(a_node("n", uid="new", version=2))
    assert world.nodes_heard == 2


def test_a_cloud_is_what_its_provider_said_last_until_nobody_asks_any_more() -> None:
    world = ClusterCache()
    world.hear_of_cloud(ProviderState("kwok", read_at=NOW))
    world.hear_of_cloud(ProviderState("attic", problem="no answer"))
    silent = ProviderState("kwok", read_at=NOW, problem="no answer")
    world.hear_of_cloud(silent)
    assert world.snapshot(NOW).clouds == {"kwok": silent, "attic": ProviderState("attic", problem="no answer")}
    world.forget_clouds()
    assert not world.snapshot(NOW).clouds


pods = st.tuples(
    st.integers(0, 4),
    st.sampled_from(["", "", "n-0"]),
    st.sampled_from([REFUSED, GATED, NEW]),
    st.sampled_from(["", "Failed"]),
    st.booleans(),
)
nodes = st.tuples(st.integers(0, 2), st.sampled_from([(), GPU, CLOSED, [*GPU, *CLOSED], TO_GO]))
happenings = st.lists(
    st.tuples(st.just("pod"), pods)
    | st.tuples(st.just("node"), nodes)
    | st.tuples(st.just("pod gone"), st.integers(0, 4))
    | st.tuples(st.just("node gone"), st.integers(0, 2)),
    max_size=40,
)


@given(happenings)
def test_what_is_kept_change_by_change_equals_what_is_found_by_looking_at_everything(
    history: list[tuple[str, Any]],
) -> None:
    world = ClusterCache()
    teller = Teller(world)
    pods_there: dict[str, Json] = {}
    nodes_there: dict[str, Json] = {}
    for version, (what, drawn) in enumerate(history, start=1):
        match what, drawn:
            case "pod", (number, node, status, phase, is_marked):
                marks = MARK if is_marked else {}
                body = a_pod(f"p-{number}", node=node, status=status, phase=phase, version=version, annotations=marks)
                pods_there[body["metadata"]["uid"]] = body
                teller.pod(body)
            case "node", (number, taints):
                body = a_node(f"n-{number}", version=version, taints=taints)
                nodes_there[body["metadata"]["uid"]] = body
                teller.node(body)
            case "pod gone", number:
                if pods_there.pop(uid := uid_of("pod", "default", f"p-{number}"), None):
                    teller.pod_gone(uid)
            case _, number:
                if nodes_there.pop(uid := uid_of("node", f"n-{number}"), None):
                    teller.node_gone(uid)
    assert kept(world.refused) == found(pods_there, is_refused)
    assert kept(world.marked) == found(pods_there, lambda body: BACK_OFF in body["metadata"]["annotations"])
    assert kept(world.closed) == found(nodes_there, lambda body: STARTING in str(body["spec"].get("taints")))
    assert kept(world.to_go) == found(nodes_there, lambda body: SCALE_DOWN in str(body["spec"].get("taints")))
    assert world.refused.keys() <= world.waiting.keys()


def is_refused(body: Json) -> bool:
    reasons = [condition["reason"] for condition in body["status"]["conditions"]]
    is_over = body["status"]["phase"] in ("Succeeded", "Failed")
    return "Unschedulable" in reasons and "nodeName" not in body["spec"] and not is_over


def found(bodies: Mapping[str, Json], is_wanted: Callable[[Json], bool]) -> dict[str, str]:
    """Versions by name, of those that are wanted."""
    metadata = [body["metadata"] for body in bodies.values() if is_wanted(body)]
    return {one["name"]: one["resourceVersion"] for one in metadata}


def kept(index: Mapping[str, Pod] | Mapping[str, Node]) -> dict[str, str]:
    """The same, of what stands in an index."""
    return {one.metadata.name: str(one.metadata.resource_version) for one in index.values()}
