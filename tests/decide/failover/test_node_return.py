"""A node that comes back: when our taint is taken off, and when it stays."""

import pytest

from growth.api.actions import EditObject
from growth.api.machine import Power
from growth.api.out_of_service import OUT_OF_SERVICE, PROOF, SHUTDOWN
from growth.api.settings.model import Settings
from growth.api.tolerations import Taint
from tests.decide.failover.stage import SECOND, Stage, machine_id, terms

FIVE = ("n1", "n2", "n3", "n4", "n5")


def an_outage(settings: Settings | None = None) -> Stage:
    """``n1`` is out of service, and nothing is left on it."""
    stage = Stage(*FIVE, settings=settings)
    stage.cut("n1")
    stage.wait(60)
    assert stage.tainted == ["n1"]
    return stage


def test_a_node_that_is_back_is_taken_into_service_after_a_while() -> None:
    stage = an_outage()
    stage.revive("n1")
    stage.wait(29)
    assert stage.holds() == {"n1": "Returning"}
    stage.wait(2)
    assert stage.tainted == []
    assert PROOF not in stage.nodes["n1"].metadata.annotations
    stage.wait(120)
    assert len(stage.hands.of(EditObject)) == 2


def test_the_while_is_a_setting() -> None:
    stage = an_outage(terms(return_after=120 * SECOND))
    stage.revive("n1")
    stage.wait(119)
    assert stage.tainted == ["n1"]
    stage.wait(2)
    assert stage.tainted == []


def test_the_while_begins_anew_when_the_node_falls_silent_again() -> None:
    stage = an_outage()
    stage.revive("n1")
    stage.wait(5)
    stage.silence("n1")
    stage.wait(30)
    stage.revive("n1")
    stage.wait(25)
    assert stage.tainted == ["n1"]
    stage.wait(6)
    assert stage.tainted == []


def test_a_clock_that_was_set_ahead_makes_the_while_no_shorter() -> None:
    stage = an_outage()
    stage.revive("n1")
    stage.wait(5)
    stage.jump(3600)
    stage.wait(25)
    assert stage.tainted == ["n1"]
    stage.wait(40)
    assert stage.tainted == []


def test_a_clock_that_was_set_back_keeps_nobody_out_for_ever() -> None:
    stage = an_outage()
    stage.jump(-3600)
    stage.wait(5)
    stage.revive("n1", boots=False)
    stage.wait(90)
    assert stage.tainted == []


def test_ready_alone_is_not_back() -> None:
    """It is tainted long before it is unready, and nobody has heard of it since."""
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(31)
    stage.powers[machine_id("n1")] = Power.ON
    stage.list_machines()
    stage.wait(8)
    assert stage.nodes["n1"].is_ready
    stage.restart()
    stage.wait(15)
    assert "BackAgain" not in stage.story("n1")
    assert stage.tainted == ["n1"]


def test_a_node_of_the_same_boot_is_back_when_its_provider_says_that_it_runs() -> None:
    stage = an_outage()
    stage.revive("n1", boots=False)
    stage.powers[machine_id("n1")] = Power.STARTING
    stage.wait(100)
    assert stage.tainted == ["n1"]
    stage.powers[machine_id("n1")] = Power.ON
    stage.wait(70)
    assert stage.tainted == []


def test_what_is_left_of_the_old_life_keeps_it_out_and_that_is_told() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.kept.add("csi-db-0-n1")
    stage.cut("n1")
    stage.wait(60)
    stage.revive("n1")
    stage.wait(300)
    assert stage.tainted == ["n1"]
    assert stage.why("n1", "OldLifeLeft") == "it is back, but stays out of service as long as volumes hang there"
    stage.kept.clear()
    stage.drop_attachment("csi-db-0-n1")
    stage.wait(31)
    assert stage.tainted == []


def test_a_pod_that_a_finalizer_keeps_is_of_the_old_life_too() -> None:
    stage = Stage(*FIVE)
    stage.pod("job", "n1", finalizers=["batch.kubernetes.io/job-tracking"])
    stage.cut("n1")
    stage.wait(60)
    stage.revive("n1")
    stage.wait(120)
    assert stage.tainted == ["n1"]
    assert "pods of its old life" in stage.why("n1", "OldLifeLeft")


@pytest.mark.parametrize(
    "taint", [SHUTDOWN, Taint(OUT_OF_SERVICE, "mine", "NoExecute"), Taint(OUT_OF_SERVICE, "", "NoSchedule")]
)
def test_a_taint_that_a_person_set_is_theirs_to_remove(taint: Taint) -> None:
    stage = Stage(*FIVE)
    stage.change("n1", taints=(taint,))
    stage.cut("n1")
    stage.wait(60)
    stage.revive("n1")
    stage.wait(300)
    assert stage.nodes["n1"].spec.taints == (taint,)
    assert stage.hands.of(EditObject) == []


def test_a_taint_that_a_person_added_to_ours_is_not_removed_with_it() -> None:
    stage = an_outage()
    added = Taint(OUT_OF_SERVICE, "mine", "NoSchedule")
    stage.change("n1", taints=(SHUTDOWN, added))
    stage.revive("n1")
    stage.wait(120)
    assert added in stage.nodes["n1"].spec.taints


def test_the_taints_of_others_stay() -> None:
    stage = an_outage()
    others = [Taint(f"example.org/{name}", "", "NoSchedule") for name in "ab"]
    stage.change("n1", taints=(others[0], SHUTDOWN, others[1]))
    stage.revive("n1")
    stage.wait(60)
    assert stage.nodes["n1"].spec.taints == tuple(others)


def test_a_node_that_returned_and_dies_again_is_proven_anew() -> None:
    stage = an_outage()
    stage.revive("n1")
    stage.wait(60)
    assert stage.tainted == []
    stage.cut("n1")
    stage.wait(25)
    assert stage.tainted == []
    stage.wait(12)
    assert stage.tainted == ["n1"]
