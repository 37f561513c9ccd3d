"""off, observe, act: and every switch in the middle."""

import pytest

from growth.api.actions import DeleteObject, EditObject, FenceMachine, ReadPower, ReleasePod
from growth.api.out_of_service import proof_on
from tests.decide.failover.stage import Stage, terms

FIVE = ("n1", "n2", "n3", "n4", "n5")
WRITES = (EditObject, ReleasePod, DeleteObject, FenceMachine)
# What happens to a node: silent at 20 s, proven and tainted at 30, released soon after.
MOMENTS = [10.0, 25.0, 29.02, 29.2, 40.0]


def writes(stage: Stage) -> list[str]:
    return [type(one).__name__ for _, one in stage.hands.begun if isinstance(one, WRITES)]


def a_death(settings: str = "act") -> Stage:
    stage = Stage(*FIVE, settings=terms(settings))
    stage.database("db-0", "n1")
    stage.cut("n1")
    return stage


def test_off_looks_at_nothing() -> None:
    stage = a_death("off")
    stage.wait(300)
    assert stage.hands.begun == []
    assert stage.said == ()


def test_observe_says_what_would_be_done_and_does_nothing() -> None:
    stage = a_death("observe")
    stage.wait(300)
    assert writes(stage) == []
    assert stage.hands.of(ReadPower)
    assert stage.holds() == {"n1": "Observing"}
    assert "with failover.mode act Growth would take it out of service now" in stage.why("n1", "Observing")


@pytest.mark.parametrize("mode", ["off", "observe"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_switching_down_at_any_moment_ends_what_was_not_begun(mode: str, moment: float) -> None:
    stage = a_death()
    stage.wait(moment)
    done = writes(stage)
    stage.settings = terms(mode)
    stage.restart()
    stage.wait(300)
    assert writes(stage) == []
    if "EditObject" in done:
        assert stage.tainted == ["n1"], "what was done stays done"
    if stage.tainted and mode == "off":
        assert stage.holds() == {"n1": "OurTaintStays"}


@pytest.mark.parametrize("mode", ["off", "observe"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_switching_up_at_any_moment_finishes_it(mode: str, moment: float) -> None:
    stage = a_death(mode)
    stage.wait(moment)
    stage.settings = terms()
    stage.restart()
    stage.wait(90)
    assert stage.tainted == ["n1"]
    assert writes(stage) == ["EditObject", "ReleasePod"]


def test_our_taints_are_adopted_after_a_while_without_anybody() -> None:
    stage = a_death()
    stage.kept.add("csi-db-0-n1")
    stage.wait(60)
    stage.settings = terms("off")
    stage.restart()
    stage.wait(60)
    stage.kept.clear()
    stage.drop_attachment("csi-db-0-n1")
    stage.revive("n1")
    stage.wait(120)
    assert stage.tainted == ["n1"]
    stage.settings = terms()
    stage.restart()
    stage.wait(120)
    assert stage.tainted == []


def test_observing_a_node_that_is_back_says_that_our_taint_stays() -> None:
    stage = a_death()
    stage.wait(60)
    stage.settings = terms("observe")
    stage.restart()
    stage.revive("n1")
    stage.wait(120)
    assert stage.holds() == {"n1": "OurTaintStays"}
    assert proof_on(stage.nodes["n1"]) is not None


def test_a_switch_without_a_restart_forgets_no_story() -> None:
    stage = a_death()
    stage.wait(60)
    before = stage.story("n1")
    stage.settings = terms("off")
    stage.wait(60)
    stage.settings = terms()
    stage.wait(120)
    assert stage.story("n1")[: len(before)] == before
