"""How often a provider is asked: enough for a proof, and never the hour's whole budget."""

from collections import Counter
from itertools import pairwise

import pytest

from growth.api.actions import ReadPower, ReadPowers
from growth.api.machine import Power
from growth.api.settings.model import Settings
from tests.decide.failover.stage import Stage, machine_id, terms

FIVE = ("n1", "n2", "n3", "n4", "n5")


def many(count: int, settings: Settings | None = None) -> Stage:
    return Stage(*(f"n{number:03}" for number in range(count)), settings=settings)


def single(stage: Stage, since: float = 0.0) -> list[float]:
    """When machines were asked about alone."""
    return [at for at, action in stage.hands.begun if isinstance(action, ReadPower) and at >= since]


def lists(stage: Stage) -> list[float]:
    return [at for at, action in stage.hands.begun if isinstance(action, ReadPowers)]


def gaps(instants: list[float]) -> list[float]:
    return [round(later - sooner, 2) for sooner, later in pairwise(instants)]


def test_a_suspect_is_asked_about_every_five_seconds_then_every_minute() -> None:
    stage = Stage(*FIVE, settings=terms("observe"))
    stage.cut("n1")
    stage.wait(20 + 300 + 300)
    asked = gaps(single(stage))
    assert set(asked[:59]) == {5.0}
    assert set(asked[61:]) == {60.0}


def test_one_that_runs_is_asked_about_every_half_minute_then_every_minute() -> None:
    stage = Stage(*FIVE)
    stage.silence("n1")
    stage.wait(20 + 300 + 300)
    asked = gaps(single(stage))
    assert set(asked[:9]) == {30.0}
    assert set(asked[11:]) == {60.0}


def test_nobody_asks_about_nodes_that_live() -> None:
    stage = Stage(*FIVE)
    stage.wait(600)
    assert stage.hands.begun == []


def test_a_dead_machine_that_stays_out_of_service_costs_a_call_a_minute() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.cut("n1")
    stage.wait(600)
    assert stage.tainted == ["n1"]
    since = stage.elapsed
    stage.wait(3600)
    assert len(single(stage, since)) <= 61


def test_when_something_is_to_be_done_after_all_it_is_asked_about_at_once() -> None:
    stage = Stage(*FIVE)
    stage.change("n1", annotations={"growth.dev/do-not-disrupt": "true"})
    stage.cut("n1")
    stage.wait(631)
    assert stage.holds()["n1"] == "DoNotDisrupt"
    stage.change("n1", annotations={"growth.dev/do-not-disrupt": "false"})
    stage.wait(0.5)
    assert stage.tainted == ["n1"]
    assert stage.elapsed - single(stage)[-1] < 1, "that was asked just now, and not a minute ago"


def test_what_was_asked_is_said_again_until_it_is_answered() -> None:
    stage = Stage(*FIVE)
    stage.hands.takes = 3.0
    stage.cut("n1")
    stage.wait(20)
    assert stage.told() == ["ReadPower n1", "PatchObject growth-status"]
    assert len(single(stage)) == 1
    first = stage.look().said
    assert [one for one in first if isinstance(one, ReadPower)] == stage.hands.of(ReadPower)


def test_sixty_are_asked_about_one_by_one() -> None:
    stage = many(200)
    stage.cut(*list(stage.nodes)[:60])
    stage.wait(40)
    assert lists(stage) == []
    assert set(Counter(one.subject.name for one in stage.hands.of(ReadPower)).values()) <= {4, 5}


def test_of_a_crowd_one_list_tells_and_sixty_at_a_time_are_asked_about_in_turn() -> None:
    stage = many(200, settings=terms("observe"))
    dead = list(stage.nodes)[:130]
    stage.cut(*dead)
    stage.wait(100)
    pages = 200 // 50
    assert set(gaps(lists(stage))) == {5.0 * pages}
    asked_at = single(stage)
    assert max(sum(at <= one < at + 4.9 for one in asked_at) for at in set(asked_at)) <= 60
    asked = Counter(one.subject.name for one in stage.hands.of(ReadPower))
    assert set(asked) == set(dead), "everybody has a turn"
    assert min(asked.values()) >= 5, "in a third of all spells at least"


def test_who_runs_in_a_crowd_keeps_nobody_waiting() -> None:
    stage = many(160)
    names = list(stage.nodes)
    stage.silence(*names[:61])
    stage.cut(*names[61:70])
    stage.wait(45)
    assert stage.tainted == names[61:70]


@pytest.mark.parametrize(
    ("nodes", "cut_off"),
    [
        pytest.param(70, 61, id="sixty-one"),
        pytest.param(600, 500, id="five hundred", marks=pytest.mark.long),
    ],
)
def test_a_partition_leaves_most_of_the_hours_calls(nodes: int, cut_off: int) -> None:
    stage = many(nodes)
    stage.silence(*list(stage.nodes)[:cut_off])
    stage.wait(3620)
    assert stage.tainted == []
    assert len(single(stage)) + len(lists(stage)) * (nodes // 50) < 1000, "an hour has 3600"


def test_a_crowd_of_machines_that_are_gone_is_asked_about_more_rarely_after_five_minutes() -> None:
    """No list tells of them, so this is the dearest crowd: sixty calls in five seconds, and later in a minute."""
    stage = many(75, settings=terms("observe"))
    stage.cut(*list(stage.nodes)[:65], power=Power.GONE)
    stage.wait(330)
    assert len(single(stage)) <= 3600 + 60
    since = stage.elapsed
    stage.wait(180)
    assert len(single(stage, since)) <= 4 * 60


def test_each_provider_has_a_crowd_of_its_own() -> None:
    stage = many(100, settings=terms("observe"))
    stage.cut(*list(stage.nodes)[:61])
    stage.wait(25)
    assert {one.provider for one in stage.hands.of(ReadPowers)} == {"kwok"}
    assert len(lists(stage)) == 1


def test_an_answer_that_fails_is_asked_for_again_and_the_others_go_on() -> None:
    stage = Stage(*FIVE, "n6", "n7")
    stage.hands.fails = lambda action: isinstance(action, ReadPower) and action.machine_id == machine_id("n1")
    stage.cut("n1", "n2")
    stage.wait(60)
    assert stage.tainted == ["n2"]
    stage.hands.fails = lambda _: False
    stage.wait(60)
    assert stage.tainted == ["n1", "n2"]
