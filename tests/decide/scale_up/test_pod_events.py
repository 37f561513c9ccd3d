"""What people hear, word for word: the whole list of what is said of each that waits."""

from datetime import timedelta

from growth.api.actions import Action, Hold, PatchObject, RecordEvent
from growth.api.annotations import BACK_OFF, BackOff
from growth.api.core import ObjectReference
from growth.api.kinds import PODS
from growth.api.pod import Pod
from growth.api.references import reference_to
from tests.decide.marketplace import a_node, a_pool
from tests.decide.scale_up.town import NOW, SECOND, Town, a_pod, for_pool

TOO_LARGE = (
    "no offering of pool default has enough: kwok-large-fsn1 comes closest and lacks cpu (64 asked for, 8 there)"
)


def about(pod: Pod) -> ObjectReference:
    return reference_to(PODS, pod.metadata)


def warning(pod: Pod, reason: str, why: str) -> list[Action | Hold]:
    """A hold and an event say the same."""
    hold = Hold(subject=about(pod), why=why, reason=reason)
    return [hold, RecordEvent(subject=about(pod), why=why, type="Warning", reason=reason, action="Planning")]


def said_after(town: Town, lasting: timedelta) -> list[Action | Hold]:
    """All that is said then, if nobody carries it out."""
    town.run(lasting)
    town.is_blind = True
    return list(town.look().said)


def test_who_asks_for_a_pool_that_is_not_there() -> None:
    """2.4: create error event."""
    trainer = a_pod("trainer", **for_pool("gpu"))
    expected = "it asks for pool 'gpu', and there is no such pool; there is default"
    assert said_after(Town(trainer), SECOND) == warning(trainer, "NoSuchPool", expected)


def test_who_asks_for_no_pool_where_there_is_no_default() -> None:
    """2.3: create error event."""
    web = a_pod("web")
    expected = "it asks for no pool, and there is none named 'default'; there is gpu"
    assert said_after(Town(a_pool("gpu"), web), SECOND) == warning(web, "NoPool", expected)


def test_who_waits_for_a_pool_that_cannot_buy_is_only_held() -> None:
    web = a_pod("web")
    why = "nothing can be bought for pool default now: its conditions Valid and Healthy say why"
    assert said_after(Town(a_pool(finalizers=()), web), SECOND) == [
        Hold(subject=about(web), why=why, reason="PoolUnusable")
    ]


def test_who_finds_no_place_is_told_why_and_how_often_is_written_on_it() -> None:
    """6.3: emit events indicating what could not be scheduled and why."""
    huge = a_pod("huge", "64")
    town = Town(huge)
    town.is_blind = True
    patch, *words = said_after(town, SECOND)
    assert isinstance(patch, PatchObject)
    at = NOW + SECOND / 10
    record = BackOff(1, at, at + 10 * SECOND, town.plans[0].circumstances)
    assert patch == PatchObject(
        subject=about(huge),
        why="it found no place once",
        body={"metadata": {"annotations": {BACK_OFF: record.encode()}}},
    )
    assert words == warning(huge, "NoPlacement", town.plans[0].left_out[huge.metadata.uid])


def test_what_is_written_already_is_not_written_again() -> None:
    town = Town(a_pod("huge", "64"))
    assert [type(one) for one in said_after(town, SECOND)] == [Hold, RecordEvent]


def test_who_is_given_up_is_told_so() -> None:
    """6.4: emit a BackOff event on the pod."""
    huge = a_pod("huge", "64")
    town = Town(huge)
    said = said_after(town, timedelta(hours=3))
    why = "it found no place 9 times and is not tried again until something changes"
    assert said[-2:] == warning(town.pod(huge), "BackOff", why)


def test_who_was_given_up_before_a_restart_is_told_so_again() -> None:
    """What its last plan said is lost with the process; that it is given up is written on it."""
    huge = a_pod("huge", "64")
    town = Town(huge)
    town.run(timedelta(hours=3))
    town.restart()
    why = "it found no place 9 times and is not tried again until something changes"
    assert said_after(town, SECOND) == warning(town.pod(huge), "BackOff", why)


def test_who_got_a_node_is_cleared() -> None:
    huge = a_pod("huge", "64")
    town = Town(huge, a_node("own", pool="", has={"cpu": "96"}, labels={"reserved": "true"}))
    town.run(SECOND)
    marked = a_pod("marked", annotations={BACK_OFF: "rubbish"}, node="own")
    town.add(marked)
    body = {"metadata": {"annotations": {BACK_OFF: None}}}
    assert PatchObject(subject=about(marked), why="it has a node", body=body) in town.look().said


def test_a_pool_that_cannot_be_kept_warm_is_told_why_as_long_as_it_lasts() -> None:
    pool = a_pool(types=[{"name": "small", "min": 2}], limits={"nodes": 1})
    town = Town(pool)
    town.run(SECOND)
    assert town.told == [("default", "NotWarm")]
    why = "it has not as many machines as min asks for: pool default may have 1 nodes"
    assert {event.why for event in town.events} == {why}
    town.add(a_pool(types=[{"name": "small", "min": 1}], limits={"nodes": 1}))
    town.run(SECOND)
    assert town.look().said == ()
