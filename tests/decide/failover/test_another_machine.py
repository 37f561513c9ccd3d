"""A machine that bears the node's name may be another one: what is said about that proves nothing."""

from growth.api.machine import Power
from tests.decide.failover.stage import Stage, machine_id

FIVE = ("n1", "n2", "n3", "n4", "n5")


def test_another_machine_of_the_name_that_is_off_is_no_proof() -> None:
    stage = Stage(*FIVE)
    stage.powers["n1/2"] = Power.OFF
    stage.unlisted.add(machine_id("n1"))  # its provider leaves it out of lists, and it runs
    stage.silence("n1")
    stage.wait(300)
    assert stage.tainted == []


def test_another_machine_of_the_name_that_runs_is_no_doubt() -> None:
    stage = Stage(*FIVE)
    stage.powers["n1/2"] = Power.ON
    stage.cut("n1")
    stage.wait(60)
    assert stage.tainted == ["n1"]
