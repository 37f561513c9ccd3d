"""Lanes: what shares one, and how long it rests after what happened in it."""

import msgspec
import pytest

from growth.act.concurrency import RetryBackoffs, door_of, lane_of
from growth.api.actions import Action, DeleteObject, Outcome, Result
from growth.api.kinds import NODES, PODS
from growth.api.meta import ObjectMeta
from growth.api.references import kind_of, reference_by_name, reference_to, shown
from tests.act.workshop import MACHINE, NOON, OFFERING, a_create, a_patch, a_purchase, an_event

NODE = reference_to(NODES, ObjectMeta("n", uid="u"))

LEARNT = msgspec.structs.replace(MACHINE, offering=msgspec.structs.replace(OFFERING, resources={"cpu": "1"}))


def ended(action: Action, result: Result, retry_after: float | None = None) -> Outcome:
    return Outcome(action=action, result=result, at=NOON, retry_after_seconds=retry_after)


def test_what_touches_one_object_shares_a_lane_and_its_machine_has_another() -> None:
    assert lane_of(a_patch(NODE)) == lane_of(DeleteObject(subject=NODE, why=""))
    assert lane_of(a_create()) != lane_of(a_create("default-2"))
    assert lane_of(a_create()) != lane_of(a_purchase())
    assert lane_of(an_event()) != lane_of(an_event("another"))
    assert [door_of(action) for action in (a_create(), a_purchase())] == ["", "kwok"]


RESTS = [
    pytest.param(ended(a_create(), Result.DONE), a_create(), 5, id="done: the same again waits for the watch"),
    pytest.param(ended(a_create(), Result.DONE), a_create(offering="kwok-big-a"), 0, id="done: another thing does not"),
    pytest.param(ended(a_patch(NODE, version=1), Result.STALE), a_patch(NODE, version=1, value="y"), 5, id="as before"),
    pytest.param(ended(a_patch(NODE, version=1), Result.STALE), a_patch(NODE, version=2), 0, id="a new sight"),
    pytest.param(
        ended(a_patch(NODE, version=1), Result.DONE),
        msgspec.structs.replace(a_patch(NODE, version=1), subresource="status"),
        5,
        id="its status, too, has another version since",
    ),
    pytest.param(
        ended(a_purchase(), Result.DONE),
        msgspec.structs.replace(a_purchase(), request=LEARNT),
        5,
        id="bought, and only what is believed of it is new",
    ),
    pytest.param(ended(a_create(), Result.FAILED), a_create(offering="kwok-big-a"), 1, id="failed: nothing is tried"),
    pytest.param(ended(a_purchase(), Result.REFUSED, 30), a_purchase(), 30, id="as long as was asked for"),
    pytest.param(ended(a_create(), Result.FAILED), a_create("default-2"), 0, id="elsewhere nothing rests"),
]


@pytest.mark.parametrize(("happened", "next_one", "seconds"), RESTS)
def test_a_lane_rests_after_what_happened_in_it(happened: Outcome, next_one: Action, seconds: float) -> None:
    rests = RetryBackoffs()
    rests.note(happened, 100)
    assert rests.seconds(next_one, 100) == seconds
    assert rests.seconds(next_one, 100 + seconds) == 0


def test_success_forgets_the_failures_before_it() -> None:
    rests = RetryBackoffs()
    for _ in range(4):
        rests.note(ended(a_create(), Result.FAILED), 0)
    assert rests.seconds(a_create(), 0) == 8
    rests.note(ended(a_create(), Result.DONE), 0)
    rests.note(ended(a_create(), Result.FAILED), 0)
    assert rests.seconds(a_create(), 0) == 1


def test_what_was_done_is_forgotten_when_its_rest_is_over_and_what_failed_is_not() -> None:
    rests = RetryBackoffs()
    rests.note(ended(a_create("broken"), Result.FAILED), 0)
    for second in range(100):
        rests.note(ended(a_create(f"default-{second}"), Result.DONE), second)
    assert len(rests) == 1 + 5
    rests.note(ended(a_create("broken"), Result.FAILED), 100)
    assert rests.seconds(a_create("broken"), 100) == 2


def test_a_reference_finds_its_kind_and_an_unknown_one_is_named() -> None:
    pod = reference_by_name(PODS, "web", "shop")
    assert kind_of(pod) is PODS
    assert shown(pod) == "Pod shop/web"
    with pytest.raises(LookupError, match="no kind 'Gadget' of 'v1' is known: expected one of "):
        kind_of(type(pod)("Gadget", "x", api_version="v1"))
