"""Who is silent, and whose answers count."""

import msgspec
import pytest

from growth.api.actions import ReadPower
from growth.api.machine import Power
from growth.decide.failover.evidence import Finding
from tests.decide.failover.stage import Stage, machine_id, terms

FIVE = ("n1", "n2", "n3", "n4", "n5")


def suspects(stage: Stage) -> list[str]:
    return sorted(case.name for case in stage.remembered().cases.values())


def finding(stage: Stage, name: str = "n1") -> Finding:
    (case,) = [case for case in stage.remembered().cases.values() if case.name == name]
    return case.finding(stage.settings.failover)


def test_a_node_that_missed_two_renewals_is_suspected_long_before_it_is_unready() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")  # its last renewal is a second ago
    stage.wait(18)
    assert suspects(stage) == []
    stage.wait(2)
    assert suspects(stage) == ["n1"]
    assert stage.nodes["n1"].is_ready


def test_an_unready_node_that_renews_its_lease_lives() -> None:
    stage = Stage(*FIVE)
    stage.powers[machine_id("n1")] = Power.OFF  # its provider is wrong
    stage.set_ready("n1", "False")
    stage.wait(300)
    assert suspects(stage) == []
    assert stage.tainted == []


def test_a_kubelet_that_says_it_is_not_ready_is_not_silent_to_a_process_that_was_just_started() -> None:
    stage = Stage(*FIVE)
    stage.set_ready("n1", "False")
    stage.restart()
    stage.powers[machine_id("n1")] = Power.OFF
    stage.wait(300)
    assert stage.hands.of(ReadPower) == []


def test_who_was_given_up_before_this_process_began_is_suspected_at_once() -> None:
    stage = Stage(*FIVE, settings=terms("observe"))
    stage.cut("n1")
    stage.wait(60)
    stage.restart()
    stage.wait(0)
    assert suspects(stage) == ["n1"]
    assert finding(stage) is Finding.SILENT, "what was answered before is nothing that this process has seen"


def test_a_node_without_a_lease_is_silent_when_kubernetes_has_given_it_up() -> None:
    stage = Stage("n1", "n2")
    stage.silence("n1")
    del stage.renewed["n1"]
    stage.restart()
    stage.set_ready("n1", "False")
    stage.wait(1)
    assert suspects(stage) == []
    stage.set_ready("n1", "Unknown")
    stage.wait(1)
    assert suspects(stage) == ["n1"]


def test_one_renewal_ends_the_case_and_the_next_silence_begins_a_new_one() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(25)
    assert finding(stage) is Finding.OFF
    stage.revive("n1")
    stage.wait(1)
    assert suspects(stage) == []
    stage.cut("n1")
    stage.wait(18.5)
    assert suspects(stage) == []
    stage.wait(0.6)
    (case,) = stage.remembered().cases.values()
    assert case.answers is None or case.answers.first_at > case.last_sign
    stage.wait(9)
    assert stage.tainted == []


def test_a_clock_set_ahead_makes_nobody_silent_and_proves_nothing() -> None:
    stage = Stage(*FIVE)
    stage.jump(3600)
    stage.wait(5)
    assert suspects(stage) == []


def test_a_clock_set_ahead_in_the_middle_begins_the_evidence_anew() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(26)
    assert finding(stage) is Finding.OFF
    stage.jump(3600)
    stage.wait(19.9)
    assert stage.tainted == []
    stage.wait(11)
    assert stage.tainted == ["n1"], "20 s without a sign after the jump, and then 10 s of answers"


@pytest.mark.parametrize("seconds", [3, -3])
def test_a_clock_that_slips_by_seconds_makes_no_proof_shorter(seconds: float) -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(26)
    assert finding(stage) is Finding.OFF
    stage.jump(seconds)
    stage.wait(29)
    assert stage.tainted == []
    stage.wait(5)
    assert stage.tainted == ["n1"]


def test_a_clock_set_ahead_begins_it_anew_also_for_who_has_no_lease() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    del stage.renewed["n1"]
    stage.restart()
    stage.set_ready("n1", "Unknown")
    stage.wait(6)
    assert finding(stage) is Finding.OFF
    stage.jump(3600)
    stage.wait(10)
    assert stage.tainted == []
    stage.wait(6)
    assert stage.tainted == ["n1"]


def test_a_clock_set_back_does_not_make_anybody_blind() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(5)
    stage.jump(-3600)
    stage.wait(40)
    assert stage.tainted == ["n1"]


def test_another_machine_under_the_same_node_is_another_case() -> None:
    stage = Stage(*FIVE, settings=terms("observe"))
    stage.cut("n1")
    stage.wait(40)
    assert finding(stage) is Finding.DEAD
    stage.powers["n1/2"] = Power.ON
    stage.list_machines()
    stage.change("n1", provider_id="kwok://growth/n1/2")
    stage.wait(1)
    assert finding(stage) is Finding.RUNNING


def test_a_node_that_registered_anew_lives_whatever_was_answered_before() -> None:
    stage = Stage(*FIVE, settings=terms("observe"))
    stage.cut("n1")
    stage.wait(40)
    assert finding(stage) is Finding.DEAD
    old = stage.nodes["n1"]
    stage.remove_node("n1")
    born = stage.now
    meta = msgspec.structs.replace(old.metadata, uid="another", creation_timestamp=born)
    stage.put_node(msgspec.structs.replace(old, metadata=meta))
    stage.wait(0.2)
    (case,) = stage.remembered().cases.values()
    assert case.last_sign >= born
    assert case.answers is None or case.answers.count == 1


def test_nodes_whose_removal_is_under_way_are_left_to_shrink() -> None:
    stage = Stage(*FIVE)
    stage.remove("n1")
    stage.cut("n1")
    stage.wait(120)
    assert (suspects(stage), stage.tainted) == ([], [])


def test_foreign_nodes_are_asked_about_only_where_that_is_wanted() -> None:
    for is_wanted in (False, True):
        stage = Stage(*FIVE, settings=terms(foreign_nodes=is_wanted))
        stage.add("other", pool="")
        stage.wait(11)
        stage.cut("other")
        stage.wait(25)
        assert suspects(stage) == (["other"] if is_wanted else [])


def test_a_list_that_does_not_hold_the_machine_proves_nothing() -> None:
    stage = Stage(*FIVE)
    stage.silence("n1")
    stage.shows_nothing = True
    stage.wait(200)
    assert stage.tainted == []
    assert stage.holds() == {"n1": "Unknowable"}


def test_a_provider_that_fails_proves_nothing() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.provider_fails = True
    stage.wait(200)
    assert finding(stage) is Finding.SILENT
    assert stage.tainted == []
    stage.provider_fails = False
    stage.wait(90)
    assert stage.tainted == ["n1"]
