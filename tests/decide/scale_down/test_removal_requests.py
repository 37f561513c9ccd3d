"""Each NodeRemovalRequest: asked, asked again, failed, tried again, finished; and what cancels it on the way."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
import pytest

from growth.api.actions import DeleteMachine, DeleteObject, Outcome, Result
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.out_of_service import SHUTDOWN
from growth.api.provider_state import ProviderState
from growth.api.references import reference_to
from growth.api.settings.model import RemovalSettings
from tests.decide.scale_down.stage import (
    ANOTHER,
    EVERYTHING,
    HOUR,
    MINUTE,
    NAME,
    NOW,
    REMOVAL,
    SECOND,
    SETTINGS,
    a_cloud,
    a_daemon,
    a_machine,
    a_moment_later,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    an_answer,
    an_attachment,
    decided,
    status_written,
    told,
)

OURS, NONE = a_cloud(a_machine()), a_cloud()
SILENT = a_cloud(a_machine(), problem="no answer")
DUE = NOW - SECOND
MARKED = a_node(at=DUE)
ASKED = NOW - MINUTE


def asked(
    attempt: int = 1, *, asked_at: datetime = ASKED, events: Sequence[tuple[str, str]] = ()
) -> NodeRemovalRequest:
    return a_removal(phase="Deprovisioning", attempt=attempt, asked_at=asked_at, events=events)


# Pending


def test_a_pending_removal_asks_the_provider_and_has_the_node_looked_at_in_the_last_instant() -> None:
    (action,) = decided(a_pool(), OURS, MARKED, a_removal()).said
    assert isinstance(action, DeleteMachine)
    assert (action.provider, action.machine_id, action.empty_node) == ("kwok", f"{NAME}/1", NAME)


def test_that_the_provider_was_asked_is_written_with_the_attempt_and_its_time() -> None:
    removal = a_removal()
    said = decided(a_pool(), OURS, MARKED, removal, outcome=an_answer(removal, Result.DONE)).said
    assert status_written(said) == {
        "phase": "Deprovisioning",
        "removalAttempt": 1,
        "removeAttemptedAt": "2026-03-01T09:00:00Z",
        "events": [{"at": "2026-03-01T09:00:00Z", "name": "Deletion requested"}],
    }


def test_what_the_provider_said_no_with_is_written_down() -> None:
    removal = a_removal()
    answer = an_answer(removal, Result.REFUSED, error="Invalid", message="it is protected")
    events = status_written(decided(a_pool(), OURS, MARKED, removal, outcome=answer).said)["events"]
    assert [(one["name"], one.get("reason", "")) for one in events] == [
        ("Deletion requested", ""),
        ("Deletion failed", "Invalid: it is protected"),
    ]


@pytest.mark.parametrize("result", [Result.STALE, Result.FENCED])
def test_if_the_provider_was_not_asked_it_was_no_attempt(result: Result) -> None:
    removal = a_removal()
    said = decided(a_pool(), OURS, MARKED, removal, outcome=an_answer(removal, result))
    assert told(said) == [f"give back {NAME}/1 if {NAME} is empty"]


def test_a_ready_node_that_is_not_marked_is_marked_first() -> None:
    said = decided(a_pool(), OURS, a_node(), a_removal())
    assert told(said) == [f"mark {NAME} for 2026-03-01T09:00:00Z"]


def test_a_machine_that_never_became_a_node_just_goes() -> None:
    assert told(decided(a_pool(), OURS, a_removal())) == [f"give back {NAME}/1 if {NAME} runs nothing"]


def test_a_node_that_never_became_ready_goes_whatever_was_bound_to_it() -> None:
    dead = a_node(ready=False, is_closed=True)
    assert told(decided(a_pool(), OURS, dead, a_removal(), a_pod())) == [f"give back {NAME}/1 if {NAME} runs nothing"]


def test_a_removal_that_is_being_deleted_is_left_alone() -> None:
    assert told(decided(a_pool(), OURS, MARKED, a_removal(is_going=True))) == []


def test_a_removal_that_we_deleted_is_left_alone_although_a_watch_still_shows_it() -> None:
    removal = a_removal()
    deletion = DeleteObject(subject=reference_to(NODE_REMOVAL_REQUESTS, removal.metadata), why="the node stays")
    done, failed = (Outcome(action=deletion, result=one, at=NOW) for one in (Result.DONE, Result.FAILED))
    assert told(a_moment_later(a_pool(), OURS, MARKED, removal, outcome=done)) == []
    assert told(a_moment_later(a_pool(), OURS, MARKED, removal, outcome=failed)) != []


# What cancels it


@pytest.mark.parametrize(
    "removal",
    [a_removal(), a_removal(phase="Deprovisioning", attempt=1, asked_at=NOW - HOUR)],
    ids=["Pending", "to be asked again"],
)
def test_before_each_step_it_is_looked_whether_the_node_is_needed(removal: object) -> None:
    cancelled = [f"delete NodeRemovalRequest {NAME}", f"unmark {NAME}"]
    for pod in (a_pod(tolerations=[EVERYTHING]), a_daemon(annotations={"growth.dev/do-not-disrupt": "true"})):
        assert told(decided(a_pool(), OURS, MARKED, removal, pod)) == cancelled
    forbids = a_node(at=DUE, annotations={"karpenter.sh/do-not-disrupt": "true"})
    said = decided(a_pool(), OURS, forbids, removal)
    assert told(said) == cancelled
    assert f"event Node {NAME}: ScaleDownCancelled" in told(said, events=True)
    assert told(decided(a_pool(), OURS, MARKED, removal, expected=[NAME])) == cancelled


def test_pods_that_are_no_work_cancel_nothing() -> None:
    done, mirror = a_pod(status={"phase": "Succeeded"}), a_pod("m", annotations={"kubernetes.io/config.mirror": "x"})
    said = told(decided(a_pool(), OURS, MARKED, a_removal(), a_daemon(), done, mirror))
    assert said == [f"give back {NAME}/1 if {NAME} is empty"]


def test_what_somebody_wrote_by_hand_is_done_in_a_pool_that_never_shrinks_by_itself() -> None:
    pool = a_pool(scaleDown={"enabled": False}, types=[{"name": "small", "min": 1}])
    assert told(decided(pool, OURS, MARKED, a_removal())) == [f"give back {NAME}/1 if {NAME} is empty"]


def test_a_given_up_node_that_became_ready_late_is_not_cancelled_by_its_own_request() -> None:
    node = a_node(at=DUE, is_closed=True)
    said = told(decided(a_pool(), OURS, node, a_removal(), a_request(phase="Deprovisioning")))
    assert said == [f"give back {NAME}/1 if {NAME} is empty"]


def test_a_removal_of_a_pool_that_is_deleted_or_gone_is_cancelled_by_work() -> None:
    going = a_pool(deleted_at=NOW)
    assert told(decided(going, OURS, MARKED, a_removal(), a_pod())) == [f"delete NodeRemovalRequest {NAME}"]
    # Who was expected there is planned elsewhere: nothing is bought for this pool any more, and nothing kept.
    gone = decided(going, OURS, MARKED, a_removal(), expected=[NAME])
    assert told(gone) == [f"give back {NAME}/1 if {NAME} is empty"]
    assert told(decided(OURS, MARKED, a_removal(), a_pod()))[0] == f"delete NodeRemovalRequest {NAME}"
    assert told(decided(OURS, MARKED, a_removal())) == [f"give back {NAME}/1 if {NAME} is empty"]


# Asked again


def test_it_is_asked_again_when_its_time_is_over_and_not_before() -> None:
    said = decided(a_pool(), OURS, MARKED, asked())
    assert (told(said), said.requeue_at) == ([], ASKED + REMOVAL.retry_after)
    later = ASKED + REMOVAL.retry_after
    assert told(decided(a_pool(), OURS, MARKED, asked(), now=later)) == [f"give back {NAME}/1 if {NAME} is empty"]


def test_it_is_not_asked_again_before_it_says_that_the_machine_is_still_there() -> None:
    before = a_cloud(a_machine(), read_at=ASKED - SECOND)
    said = decided(a_pool(), before, MARKED, asked(), now=ASKED + REMOVAL.retry_after)
    assert told(said) == [f"hold {NAME}: ProviderSilent"]


def test_a_new_process_does_not_wait_longer() -> None:
    removal = asked(asked_at=NOW - HOUR)
    assert told(decided(a_pool(), OURS, MARKED, removal)) == [f"give back {NAME}/1 if {NAME} is empty"]


def test_each_attempt_is_counted_once() -> None:
    removal = a_removal(phase="Deprovisioning", attempt=1, asked_at=ASKED)
    old = decided(a_pool(), OURS, MARKED, removal, outcome=an_answer(removal, Result.DONE, at=ASKED))
    assert told(old) == []
    older = decided(a_pool(), OURS, MARKED, removal, outcome=an_answer(removal, Result.DONE, at=ASKED - SECOND))
    assert told(older) == []
    new = decided(a_pool(), OURS, MARKED, removal, outcome=an_answer(removal, Result.DONE, at=NOW))
    assert status_written(new.said)["removalAttempt"] == 2


def test_each_attempt_is_counted_although_the_clock_was_set_back() -> None:
    removal = a_removal(phase="Deprovisioning", attempt=1, asked_at=NOW + HOUR)
    answer = an_answer(removal, Result.DONE, at=NOW)
    said = decided(a_pool(), OURS, MARKED, removal, steady_since=NOW - MINUTE, outcome=answer)
    assert status_written(said.said)["removalAttempt"] == 2


def test_an_attempt_that_lies_ahead_was_made_when_we_first_saw_it() -> None:
    removal = a_removal(phase="Deprovisioning", attempt=1, asked_at=NOW + HOUR)
    first = decided(a_pool(), OURS, MARKED, removal)
    assert first.requeue_at == NOW + REMOVAL.retry_after
    later = NOW + REMOVAL.retry_after
    still_there = a_cloud(a_machine(), read_at=later - SECOND)
    again = decided(a_pool(), still_there, MARKED, removal, memory=first.carry, now=later)
    assert told(again) == [f"give back {NAME}/1 if {NAME} is empty"]


# RemovalFailed


def test_after_so_many_attempts_it_has_failed_in_the_providers_own_words() -> None:
    events = [("Deletion requested", ""), ("Deletion failed", "Invalid: it is protected")]
    removal = asked(REMOVAL.attempts, asked_at=NOW - REMOVAL.retry_after, events=events)
    written = status_written(decided(a_pool(), OURS, MARKED, removal).said)
    assert written["phase"] == "RemovalFailed"
    assert written["events"][-1]["reason"] == (
        "its machine is still there after 5 attempts, the last of which ended with Invalid: it is protected"
    )


def test_nothing_has_failed_by_what_the_provider_said_before_it_was_last_asked() -> None:
    removal = a_removal(phase="Deprovisioning", attempt=REMOVAL.attempts, asked_at=NOW - HOUR)
    old = a_cloud(a_machine(), read_at=NOW - HOUR - SECOND)
    assert told(decided(a_pool(), old, MARKED, removal)) == [f"hold {NAME}: ProviderSilent"]


def test_a_single_attempt_may_be_all() -> None:
    settings = msgspec.structs.replace(SETTINGS, removal=RemovalSettings(attempts=1))
    removal = asked(asked_at=NOW - HOUR)
    said = decided(a_pool(), OURS, MARKED, removal, settings=settings).said
    assert status_written(said)["events"][-1]["reason"] == "its machine is still there after an attempt"


def test_a_removal_that_failed_is_told_on_it_and_on_its_node_and_keeps_the_mark() -> None:
    removal = a_removal(phase="RemovalFailed", attempt=5, asked_at=ASKED, events=[("Deletion failed", "Invalid: no")])
    said = decided(a_pool(), OURS, MARKED, removal)
    assert told(said, events=True) == [
        f"hold {NAME}: RemovalFailed",
        f"event NodeRemovalRequest {NAME}: RemovalFailed",
        f"event Node {NAME}: RemovalFailed",
    ]
    assert "Invalid: no; look at it, then: growth request retry default-1" in said.said[0].why
    assert told(decided(a_pool(), OURS, removal), events=True)[1:] == [
        f"event NodeRemovalRequest {NAME}: RemovalFailed"
    ]


def test_an_answer_that_comes_after_it_has_failed_moves_nothing() -> None:
    removal = a_removal(phase="RemovalFailed", attempt=5, asked_at=ASKED)
    said = decided(a_pool(), OURS, MARKED, removal, outcome=an_answer(removal, Result.DONE))
    assert told(said) == [f"hold {NAME}: RemovalFailed"]


def test_a_person_resumes_it_and_attempts_count_from_one() -> None:
    removal = a_removal(phase="RemovalFailed", attempt=5, asked_at=ASKED, retry=True)
    said = decided(a_pool(), OURS, MARKED, removal)
    assert told(said) == [f"{NAME} -> Pending"]
    assert status_written(said.said)["removalAttempt"] == 0
    resumed = a_removal(asked_at=ASKED, retry=True)
    assert told(decided(a_pool(), OURS, MARKED, resumed)) == [
        f"give back {NAME}/1 if {NAME} is empty",
        f"forget the wish of {NAME}",
    ]


def test_the_pool_may_resume_it_and_by_default_does_not() -> None:
    removal = a_removal(phase="RemovalFailed", attempt=5, asked_at=NOW - HOUR)
    assert told(decided(a_pool(), OURS, MARKED, removal)) == [f"hold {NAME}: RemovalFailed"]
    patient = a_pool(scaleDown={"retryFailedAfter": "2h"})
    assert decided(patient, OURS, MARKED, removal).requeue_at == NOW + HOUR
    assert told(decided(a_pool(scaleDown={"retryFailedAfter": "1h"}), OURS, MARKED, removal)) == [f"{NAME} -> Pending"]


def test_one_that_failed_and_whose_machine_went_after_all_is_finished() -> None:
    removal = a_removal(phase="RemovalFailed", attempt=5, asked_at=ASKED)
    assert told(a_moment_later(a_pool(), NONE, MARKED, removal)) == [f"delete Node {NAME}"]


# The machine is gone


def test_the_machine_goes_first_then_what_is_left_then_the_node_then_the_request() -> None:
    removal = asked()
    pod, volume = a_pod(tolerations=[EVERYTHING]), an_attachment()
    out = a_node(at=DUE, taints=[SHUTDOWN])
    assert told(a_moment_later(a_pool(), NONE, MARKED, removal, pod, volume)) == [f"release {NAME}"]
    assert told(a_moment_later(a_pool(), NONE, out, removal, pod, volume)) == [
        "delete Pod app",
        f"hold {NAME}: Detaching",
    ]
    assert told(a_moment_later(a_pool(), NONE, out, removal, volume)) == [f"hold {NAME}: Detaching"]
    assert told(a_moment_later(a_pool(), NONE, out, removal)) == [f"delete Node {NAME}"]
    assert told(a_moment_later(a_pool(), NONE, removal)) == [f"delete NodeRemovalRequest {NAME}"]


def test_pods_that_are_put_there_again_and_again_keep_no_node_whose_machine_is_gone() -> None:
    out, pod = a_node(at=DUE, taints=[SHUTDOWN]), a_pod(tolerations=[EVERYTHING])
    born = pod.metadata.creation_timestamp
    assert born is not None
    memory = decided(a_pool(), OURS, out, asked(asked_at=born - MINUTE), now=born).carry
    said = told(decided(a_pool(), NONE, out, asked(asked_at=born - MINUTE), pod, memory=memory))
    assert said == ["delete Pod app", f"delete Node {NAME}"]


def test_what_a_provider_said_before_it_was_asked_proves_nothing() -> None:
    before = a_cloud(read_at=ASKED - SECOND)
    assert told(a_moment_later(a_pool(), before, MARKED, asked())) == []
    since_then = a_cloud(read_at=ASKED + SECOND)
    memory = decided(a_pool(), before, MARKED, asked(), now=ASKED).carry
    assert told(decided(a_pool(), since_then, MARKED, asked(), memory=memory)) == [f"delete Node {NAME}"]


def test_a_new_process_asks_before_it_believes() -> None:
    assert told(decided(a_pool(), NONE, MARKED, a_removal())) == [f"hold {NAME}: ProviderSilent"]
    assert told(decided(a_pool(), NONE, MARKED, asked())) == []


@pytest.mark.parametrize("cloud", [SILENT, a_cloud(problem="no answer"), a_cloud(read_at=None, problem="not asked")])
def test_a_provider_that_is_silent_proves_nothing(cloud: ProviderState) -> None:
    for removal in (a_removal(), asked(asked_at=NOW - HOUR)):
        assert told(a_moment_later(a_pool(), cloud, MARKED, removal)) == [f"hold {NAME}: ProviderSilent"]
    assert told(a_moment_later(a_pool(), MARKED, a_removal())) == [f"hold {NAME}: ProviderSilent"]


def test_an_answer_from_the_future_was_read_by_a_clock_that_was_wrong() -> None:
    assert told(a_moment_later(a_pool(), a_cloud(read_at=NOW + HOUR), MARKED, a_removal())) == [
        f"hold {NAME}: ProviderSilent"
    ]


def test_a_removal_of_no_known_pool_needs_the_word_of_every_provider() -> None:
    another = a_cloud(provider="attic", problem="no answer")
    assert told(a_moment_later(NONE, another, MARKED, a_removal(pool="lost"))) == [f"hold {NAME}: ProviderSilent"]
    assert told(a_moment_later(NONE, MARKED, a_removal(pool="lost"))) == [f"delete Node {NAME}"]


# Whose is it


def test_a_node_of_that_name_on_another_machine_is_not_touched() -> None:
    other = a_node(provider_id="kwok://other", at=DUE)
    assert told(a_moment_later(a_pool(), NONE, other, asked())) == [f"delete NodeRemovalRequest {NAME}"]
    assert told(decided(a_pool(), OURS, other, a_removal(), a_pod())) == [f"give back {NAME}/1"]


def test_a_removal_that_names_nothing_means_the_node_of_its_name_and_the_machine_behind_it() -> None:
    by_hand = a_removal(node="", provider_id="", pool="")
    assert told(decided(a_pool(), OURS, MARKED, by_hand)) == [f"give back {NAME}/1 if {NAME} is empty"]
    assert told(decided(a_pool(), OURS, MARKED, by_hand, a_pod()))[0] == f"delete NodeRemovalRequest {NAME}"
    on_another = a_node(provider_id=f"kwok://{ANOTHER}", at=DUE)
    cloud = a_cloud(a_machine(), a_machine(ANOTHER))
    assert told(decided(a_pool(), cloud, on_another, by_hand)) == [f"give back {ANOTHER}/1 if {NAME} is empty"]


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(a_node(pool="", provider_id="hcloud://7"), id="a stranger"),
        pytest.param(a_node(pool="", provider_id="hcloud://7", ready=False), id="a stranger that is not ready"),
        pytest.param(a_node(pool="", provider_id="hcloud://7", at=DUE), id="a stranger that somebody marked"),
        pytest.param(a_node(provider_id="hcloud://7"), id="a stranger with a pool's label"),
        pytest.param(a_node(provider_id="hcloud://7", ready=False), id="such a one that is not ready"),
        pytest.param(a_node(provider_id=""), id="a node without a machine"),
    ],
)
def test_a_removal_of_a_node_that_was_never_ours_touches_nothing(node: object) -> None:
    by_hand = a_removal(provider_id="", pool="")
    assert told(a_moment_later(a_pool(), NONE, node, by_hand, a_pod())) == [f"hold {NAME}: NotOurs"]
    said = a_moment_later(a_pool(), NONE, node, by_hand)
    assert told(said, events=True) == [f"hold {NAME}: NotOurs", f"event NodeRemovalRequest {NAME}: NotOurs"]


def test_a_crash_right_after_the_machine_was_given_back_loses_no_node() -> None:
    assert told(a_moment_later(a_pool(), NONE, MARKED, a_removal())) == [f"delete Node {NAME}"]
    never_ready = a_node(ready=False, is_closed=True)
    assert told(a_moment_later(a_pool(), NONE, never_ready, a_removal())) == [f"delete Node {NAME}"]


def test_a_node_that_vanishes_in_the_middle_stops_nothing() -> None:
    assert told(decided(a_pool(), OURS, asked(asked_at=NOW - HOUR))) == [f"give back {NAME}/1 if {NAME} runs nothing"]
    assert told(a_moment_later(a_pool(), NONE, asked())) == [f"delete NodeRemovalRequest {NAME}"]


def test_pods_whose_node_went_before_they_were_released_are_released_all_the_same() -> None:
    assert told(a_moment_later(a_pool(), NONE, asked(), a_pod(), a_daemon())) == ["delete Pod app"]
    never_asked = a_removal()
    assert told(a_moment_later(a_pool(), NONE, never_asked, a_pod())) == [f"delete NodeRemovalRequest {NAME}"]
    on_another = a_node(provider_id="kwok://other")
    said = told(a_moment_later(a_pool(), NONE, on_another, asked(), a_pod()))
    assert said == [f"delete NodeRemovalRequest {NAME}"]
