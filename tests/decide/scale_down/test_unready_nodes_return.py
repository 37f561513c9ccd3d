"""A removal of a node that is unready: what becomes of it when the node comes back, or its machine is not listed."""

import msgspec
import pytest

from growth.api.actions import DeleteMachine, Result
from growth.api.annotations import STARTED_AT
from growth.api.machine import Power
from growth.api.node import Node
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.out_of_service import SHUTDOWN
from growth.api.provider_state import ProviderState
from growth.api.timestamp import format_time
from tests.decide.scale_down.stage import (
    ANOTHER,
    HOUR,
    MINUTE,
    NAME,
    NOW,
    SECOND,
    a_cloud,
    a_machine,
    a_moment_later,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    an_answer,
    decided,
    told,
)

STARTED = {STARTED_AT: format_time(NOW - HOUR)}
SILENT = a_node(ready=False, unready_since=NOW - HOUR, annotations=STARTED)
MARKED = a_node(at=NOW, ready=False, unready_since=NOW - HOUR, annotations=STARTED)
BACK = a_node(annotations=STARTED)
WORKING = (a_node(ANOTHER, annotations=STARTED), a_pod("other", node=ANOTHER))
ON = a_cloud(a_machine(), a_machine(ANOTHER))
OFF = a_cloud(msgspec.structs.replace(a_machine(), power=Power.OFF), a_machine(ANOTHER))
GONE, EMPTY = a_cloud(a_machine(ANOTHER)), a_cloud()
MUTE = a_cloud(a_machine(), a_machine(ANOTHER), problem="no answer")
BOLD = a_pool(scaleDown={"removeUnreachable": True})
PENDING = a_removal(if_unready=True)
STAYS = [f"delete NodeRemovalRequest {NAME}"]
UNSAID = [f"hold {NAME}: ProviderSilent"]


def asked(*, minutes_ago: int = 1, attempt: int = 1) -> NodeRemovalRequest:
    at = NOW - minutes_ago * MINUTE
    return a_removal(phase="Deprovisioning", attempt=attempt, asked_at=at, if_unready=True)


# On its way out


def test_it_is_marked_first_so_that_nobody_moves_in_if_it_comes_back_while_its_machine_goes() -> None:
    for pool, cloud, pods in ((a_pool(), ON, ()), (a_pool(), OFF, (a_pod(),)), (BOLD, ON, (a_pod(),))):
        said = told(decided(pool, cloud, *WORKING, SILENT, *pods, PENDING))
        assert said == [f"mark {NAME} for 2026-03-01T09:00:00Z"]


def test_one_that_never_started_is_closed_anyway() -> None:
    never = a_node(ready=False, unready_since=NOW - HOUR, is_closed=True)
    assert told(decided(a_pool(), ON, *WORKING, never, PENDING)) == [f"give back {NAME}/1 if {NAME} runs nothing"]


def test_the_provider_is_asked_and_the_node_looked_at_in_the_last_instant() -> None:
    (action,) = decided(a_pool(), ON, *WORKING, MARKED, PENDING).said
    assert isinstance(action, DeleteMachine)
    assert (action.machine_id, action.empty_node, action.unready_node) == (f"{NAME}/1", NAME, NAME)
    assert not action.ignores_unstarted


def test_pods_on_a_machine_that_is_off_do_not_keep_it() -> None:
    (action,) = decided(a_pool(), OFF, *WORKING, MARKED, a_pod(), PENDING).said
    assert isinstance(action, DeleteMachine)
    assert (action.empty_node, action.unready_node) == ("", NAME)


def test_pods_that_nobody_can_reach_go_with_it_if_the_pool_says_so() -> None:
    (action,) = decided(BOLD, ON, *WORKING, MARKED, a_pod(), PENDING).said
    assert isinstance(action, DeleteMachine)
    assert (action.empty_node, action.unready_node) == ("", NAME)


def test_pods_on_a_machine_that_is_switched_on_again_keep_it() -> None:
    assert told(decided(a_pool(), ON, *WORKING, SILENT, a_pod(), PENDING)) == STAYS


def test_a_node_whose_object_is_gone_is_looked_for_once_more_in_the_last_instant() -> None:
    """A kubelet that comes back makes its Node anew."""
    (action,) = decided(a_pool(), ON, *WORKING, PENDING).said
    assert isinstance(action, DeleteMachine)
    assert (action.empty_node, action.unready_node) == (NAME, NAME)


def test_a_removal_for_another_reason_does_not_ask_whether_the_node_is_ready() -> None:
    marked = a_node(at=NOW - SECOND, annotations=STARTED)
    (action,) = decided(a_pool(), ON, *WORKING, marked, a_removal()).said
    assert isinstance(action, DeleteMachine)
    assert action.unready_node == ""


def test_what_must_not_be_disturbed_stays_although_the_pool_removes_what_nobody_reaches() -> None:
    protected = a_node(
        ready=False, unready_since=NOW - HOUR, annotations={**STARTED, "growth.dev/do-not-disrupt": "true"}
    )
    assert told(decided(BOLD, ON, *WORKING, protected, a_pod(), PENDING)) == STAYS


# It comes back


@pytest.mark.parametrize("cloud", [ON, OFF, GONE, EMPTY, MUTE], ids=["on", "off", "gone", "empty list", "silent"])
@pytest.mark.parametrize("pods", [(), (a_pod(),)], ids=["empty", "with pods"])
def test_before_its_provider_was_asked_it_simply_stays(cloud: ProviderState, pods: tuple[object, ...]) -> None:
    for pool in (a_pool(), BOLD):
        said = a_moment_later(pool, cloud, *WORKING, BACK, *pods, PENDING)
        assert told(said, events=True)[:2] == [*STAYS, f"event Node {NAME}: ScaleDownCancelled"]


def test_the_mark_of_one_that_comes_back_goes_with_its_removal() -> None:
    marked = a_node(at=NOW, annotations=STARTED)
    assert told(decided(a_pool(), ON, *WORKING, marked, PENDING)) == [*STAYS, f"unmark {NAME}"]


def test_demand_does_not_keep_a_node_that_is_no_place_for_it() -> None:
    pod = a_pod("waits", node="")
    said = told(decided(a_pool(), ON, *WORKING, MARKED, pod, PENDING, expected=[NAME]))
    assert said == [f"give back {NAME}/1 if {NAME} is empty"]


def test_after_its_provider_was_asked_nothing_is_said_until_that_had_its_time() -> None:
    assert told(decided(a_pool(), ON, *WORKING, BACK, asked())) == []
    assert told(decided(a_pool(), ON, *WORKING, BACK, asked(minutes_ago=2))) == STAYS


def test_an_answer_is_written_down_before_anything_else_is_said() -> None:
    outcome = an_answer(PENDING, Result.DONE)
    assert told(decided(a_pool(), ON, *WORKING, SILENT, PENDING, outcome=outcome)) == [f"{NAME} -> Deprovisioning"]


def test_that_it_came_back_in_the_last_instant_was_no_attempt() -> None:
    outcome = an_answer(PENDING, Result.STALE)
    assert told(decided(a_pool(), ON, *WORKING, BACK, PENDING, outcome=outcome)) == STAYS


def test_one_that_could_not_be_removed_and_works_again_stays() -> None:
    failed = a_removal(phase="RemovalFailed", attempt=5, asked_at=NOW - HOUR, if_unready=True)
    assert told(decided(a_pool(), ON, *WORKING, BACK, failed)) == STAYS
    assert told(decided(a_pool(), ON, *WORKING, SILENT, failed)) == [f"hold {NAME}: RemovalFailed"]


def test_a_machine_that_went_in_the_end_is_gone_although_its_node_seems_to_work() -> None:
    failed = a_removal(phase="RemovalFailed", attempt=5, asked_at=NOW - HOUR, if_unready=True)
    assert told(a_moment_later(a_pool(), GONE, *WORKING, BACK, failed)) == [f"delete Node {NAME}"]
    assert told(a_moment_later(a_pool(), GONE, *WORKING, BACK, asked())) == [f"delete Node {NAME}"]


# Its machine is not listed


def released(node: Node) -> Node:
    taints = (*node.spec.taints, SHUTDOWN)
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=taints))


def test_a_machine_that_somebody_deleted_is_believed_when_its_provider_was_asked_again() -> None:
    assert told(decided(a_pool(), GONE, *WORKING, SILENT, a_pod(), PENDING)) == UNSAID
    assert told(a_moment_later(a_pool(), GONE, *WORKING, SILENT, a_pod(), PENDING)) == [f"release {NAME}"]
    said = told(a_moment_later(a_pool(), GONE, *WORKING, released(SILENT), a_pod(), PENDING))
    assert said == ["delete Pod app"]


def test_a_machine_that_is_listed_again_loses_nothing() -> None:
    assert told(a_moment_later(a_pool(), ON, *WORKING, SILENT, a_pod(), PENDING)) == STAYS


def test_a_provider_that_lists_nothing_at_all_is_not_believed_while_nodes_of_it_work() -> None:
    assert told(a_moment_later(a_pool(), EMPTY, *WORKING, SILENT, a_pod(), PENDING)) == UNSAID
    assert told(a_moment_later(BOLD, EMPTY, *WORKING, SILENT, a_pod(), PENDING)) == UNSAID


def test_what_was_asked_for_is_believed_to_be_gone() -> None:
    assert told(a_moment_later(BOLD, EMPTY, *WORKING, SILENT, a_pod(), asked())) == [f"release {NAME}"]


def test_silence_after_it_was_noticed_releases_nobody() -> None:
    silent = a_cloud(a_machine(ANOTHER), problem="no answer")
    assert told(a_moment_later(BOLD, silent, *WORKING, SILENT, a_pod(), PENDING)) == UNSAID
    assert told(a_moment_later(BOLD, silent, *WORKING, SILENT, a_pod(), asked(minutes_ago=3))) == UNSAID
