"""A node goes out of service in one edit, which carries the whole proof."""

from datetime import timedelta

import pytest

from growth.api.actions import EditObject, RecordEvent
from growth.api.machine import Power
from growth.api.out_of_service import HARDWARE, PROOF, SHUTDOWN, proof_on
from growth.api.tolerations import Taint
from tests.decide.failover.stage import SECOND, START, Stage, machine_id

FIVE = ("n1", "n2", "n3", "n4", "n5")


def edits(stage: Stage) -> list[EditObject]:
    return stage.hands.of(EditObject)


def test_a_node_is_tainted_within_ten_seconds_of_its_second_missed_renewal() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")  # it was last heard of at 10 s
    stage.wait(29.5)
    assert stage.elapsed > 40
    assert stage.tainted == ["n1"]


def test_taint_and_proof_are_one_edit_of_the_node_as_it_was_seen() -> None:
    stage = Stage(*FIVE)
    seen = stage.nodes["n1"].metadata.resource_version
    stage.cut("n1")
    stage.wait(31)
    (edit,) = edits(stage)
    test, taint, note = edit.operations
    assert test == {"op": "test", "path": "/metadata/resourceVersion", "value": str(seen)}
    added = {"key": SHUTDOWN.key, "value": "nodeshutdown", "effect": "NoExecute"}
    assert taint == {"op": "add", "path": "/spec/taints", "value": [added]}
    assert (note["op"], note["path"]) == ("add", "/metadata/annotations/growth.dev~1out-of-service")


def test_the_proof_is_whole() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(31)
    proof = proof_on(stage.nodes["n1"])
    assert proof is not None
    assert proof.last_sign == START + 10 * SECOND
    assert (proof.power, proof.provider_id) == (Power.OFF, "kwok://growth/n1/1")
    assert proof.readings >= 3
    assert proof.last_reading - proof.first_reading >= 10 * SECOND
    assert proof.tainted_at - proof.last_reading < 5 * SECOND
    assert (proof.boot_id, proof.was_graceful, proof.by) == ("boot-n1", False, "")


@pytest.mark.parametrize(("power", "taint"), [(Power.FAILED, HARDWARE), (Power.OFF, SHUTDOWN), (Power.GONE, SHUTDOWN)])
def test_broken_hardware_has_a_word_of_its_own(power: Power, taint: Taint) -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.kept.add("csi-db-0-n1")
    stage.cut("n1", power=power)
    stage.wait(60)
    assert stage.nodes["n1"].spec.taints == (taint,)


def test_other_taints_and_annotations_stay() -> None:
    stage = Stage(*FIVE)
    mine = Taint("example.org/mine", "", "NoSchedule")
    stage.change("n1", annotations={"example.org/mine": "yes"}, taints=(mine,))
    stage.cut("n1")
    stage.wait(31)
    assert stage.nodes["n1"].spec.taints == (mine, SHUTDOWN)
    assert set(stage.nodes["n1"].metadata.annotations) >= {"example.org/mine", PROOF}


def test_a_node_that_changed_meanwhile_is_decided_about_anew() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(28.9)
    stage.hands.takes = 0.5
    stage.at(0.8, lambda: stage.change("n1", unschedulable=True))  # while the edit is on its way
    stage.wait(3)
    assert stage.tainted == ["n1"]
    assert [outcome.result.value for _, outcome in stage.hands.ended if isinstance(outcome.action, EditObject)] == [
        "stale",
        "done",
    ]


def test_what_was_sent_is_not_sent_again_although_the_watch_lags() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(20)
    stage.lag = 4.0
    stage.wait(15)
    assert len(edits(stage)) == 1


def test_an_answer_that_is_too_old_is_asked_for_again() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(28.9)
    stage.hands.takes = 6.0  # an answer that takes so long is too old when it comes
    stage.wait(20)
    assert stage.tainted == []
    assert stage.holds() == {"n1": "AnswerTooOld"}
    stage.hands.takes = 0.05
    stage.wait(10)
    assert stage.tainted == ["n1"]


def test_people_hear_of_it_once() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(600)
    told = [one for one in stage.hands.of(RecordEvent) if one.reason == "OutOfService"]
    assert [(one.subject.kind, one.subject.name, one.type) for one in told] == [("Node", "n1", "Warning")]


def test_a_machine_that_is_stopped_in_good_order_is_left_alone_until_it_is_off_and_that_is_told() -> None:
    stage = Stage(*FIVE)
    stage.silence("n1")
    stage.powers[machine_id("n1")] = Power.STOPPING
    stage.wait(120)
    assert stage.tainted == []
    stage.powers[machine_id("n1")] = Power.OFF
    stage.wait(20)
    assert stage.tainted == ["n1"]
    proof = proof_on(stage.nodes["n1"])
    assert proof is not None
    assert proof.was_graceful


def test_a_machine_that_is_being_changed_is_left_alone() -> None:
    stage = Stage(*FIVE)
    stage.changing.add(machine_id("n1"))
    stage.cut("n1")
    stage.wait(240)
    assert stage.tainted == []
    assert "Changing-off" in stage.story("n1")


def test_a_reboot_is_never_tainted() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(24)
    stage.powers[machine_id("n1")] = Power.STARTING
    stage.wait(25)
    stage.revive("n1")
    stage.wait(120)
    assert edits(stage) == []


def test_a_partition_is_never_proof() -> None:
    stage = Stage(*FIVE)
    stage.silence("n1")
    stage.wait(3600)
    assert edits(stage) == []
    assert stage.holds() == {"n1": "Unreachable"}


def test_a_machine_that_comes_back_in_the_last_second_is_not_tainted() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(28.9)
    stage.powers[machine_id("n1")] = Power.ON
    stage.wait(timedelta(minutes=1).total_seconds())
    assert edits(stage) == []
