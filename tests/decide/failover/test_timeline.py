"""What people can read later."""

from itertools import pairwise

import msgspec

from growth.api.actions import PatchObject
from growth.api.growth_status import Timeline, TimelineStep, key_of
from growth.api.machine import Power
from tests.decide.failover.stage import Stage, machine_id, terms

FIVE = ("n1", "n2", "n3", "n4", "n5")


def writes(stage: Stage) -> list[float]:
    return [at for at, action in stage.hands.begun if isinstance(action, PatchObject)]


def test_the_whole_story_stands_in_the_object() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.cut("n1")
    stage.wait(60)
    stage.revive("n1")
    stage.wait(60)
    told = ["Off", "Dead", "Tainted", "Releasing", "Released", "BackAgain", "Returning", "InService"]
    assert stage.story("n1") == told


def test_what_stays_so_is_noted_once_and_again_when_it_begins_again() -> None:
    stage = Stage(*FIVE)
    stage.silence("n1")
    stage.wait(300)
    stage.powers[machine_id("n1")] = Power.STARTING
    stage.wait(90)
    stage.powers[machine_id("n1")] = Power.ON
    stage.wait(120)
    assert stage.story("n1") == ["Running", "Unreachable", "Changing-starting", "Unreachable"]


def test_a_silence_that_ends_by_itself_is_the_end_of_the_story() -> None:
    stage = Stage(*FIVE)
    stage.silence("n1")
    stage.wait(40)
    stage.revive("n1")
    stage.wait(60)
    assert stage.story("n1") == ["Running", "HeardAgain"]


def test_it_is_written_at_most_once_in_a_second() -> None:
    stage = Stage(*(f"n{number}" for number in range(30)))
    for number in range(10):
        stage.database(f"db-{number}", f"n{number}")
        stage.cut(f"n{number}")
        stage.wait(0.3)
    stage.wait(120)
    assert len(writes(stage)) > 3
    assert min(later - sooner for sooner, later in pairwise(writes(stage))) > 0.99


def test_nothing_is_written_while_nothing_happens() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(60)
    count = len(writes(stage))
    stage.wait(3600)
    assert len(writes(stage)) == count


def test_a_story_is_bounded_and_so_are_all_of_them() -> None:
    stage = Stage(*(f"n{number:03}" for number in range(150)), settings=terms("observe"))
    stage.cut(*list(stage.nodes)[:140])
    stage.wait(60)
    assert len(stage.timelines()) == 100
    assert sum(map(len, stage.status.data.values())) < 450_000


def test_config_map_is_bounded_in_bytes_whatever_the_alphabet() -> None:
    """A ConfigMap holds a megabyte, and one character may be four bytes of it."""
    stage = Stage(*FIVE)
    entries = tuple(TimelineStep(stage.now, f"Step{number}", "ü" * 300) for number in range(40))
    stories = [Timeline(f"gone-{number}", f"uid-{number}", entries) for number in range(50)]
    data = {key_of(one.node): msgspec.json.encode(one).decode() for one in stories}
    stage.status = msgspec.structs.replace(stage.status, data=data)
    stage.restart()
    stage.wait(5)
    kept = sum(len(text.encode()) for text in stage.status.data.values())
    assert 350_000 < kept <= 400_000


def test_words_without_end_are_cut() -> None:
    stage = Stage(*FIVE)
    stage.change("n1", annotations={"growth.dev/do-not-disrupt": "true"})
    stage.cut("n1")
    stage.wait(60)
    assert max(len(entry.words) for entry in stage.timelines()["n1"].entries) <= 300


def test_stories_are_forgotten_a_day_after_they_ended() -> None:
    stage = Stage("n1", "n2")
    stage.cut("n1")
    stage.wait(60)
    stage.revive("n1")
    stage.wait(60)
    stage.jump(23 * 3600)  # as if so much time had passed
    stage.wait(60)
    assert stage.story("n1")
    stage.jump(2 * 3600)
    stage.wait(60)
    assert not stage.story("n1")


def test_the_next_process_goes_on_with_the_story() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(60)
    stage.restart()
    stage.revive("n1")
    stage.wait(60)
    assert stage.story("n1")[:3] == ["Off", "Dead", "Tainted"]
    assert stage.story("n1")[-1] == "InService"


def test_another_node_of_that_name_has_another_story() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(60)
    stage.remove_node("n1")
    stage.add("n1")
    stage.wait(11)
    stage.cut("n1")
    stage.wait(21)
    assert stage.story("n1") == ["Off"]


def test_what_somebody_else_wrote_there_stops_nothing() -> None:
    stage = Stage(*FIVE)
    empty = msgspec.json.encode(Timeline("n4", "uid")).decode()
    data = {key_of("n3"): "what?", key_of("n4"): empty, "cluster": "{}"}
    stage.put_status(msgspec.structs.replace(stage.status, data=data))
    stage.restart()
    stage.cut("n1")
    stage.wait(60)
    assert stage.tainted == ["n1"]
    assert stage.status.data["cluster"] == "{}"


def test_how_many_nodes_are_how_is_counted() -> None:
    stage = Stage(*FIVE, "n6", "n7", "n8")
    stage.cut("n1")
    stage.silence("n2")
    stage.wait(60)
    assert stage.remembered().findings == {"Dead": 1, "Running": 1, "OutOfService": 1}
