"""A proof that another process wrote, whose clock was wrong, neither keeps a node out nor frees its pods for ever."""

from growth.api.actions import ReleasePod
from tests.decide.failover.stage import Stage

FIVE = ("n1", "n2", "n3", "n4", "n5")
HOURS = 7200.0


def tainted_by_one_who_is_ahead() -> Stage:
    """``n1`` was taken out of service by a process whose clock is hours ahead; another one with a right one leads."""
    stage = Stage(*FIVE)
    stage.jump(HOURS)
    stage.wait(60)
    stage.cut("n1")
    stage.wait(60)
    assert stage.tainted == ["n1"]
    stage.jump(-HOURS)
    stage.restart()
    return stage


def test_a_node_comes_back_although_its_proof_lies_ahead() -> None:
    stage = tainted_by_one_who_is_ahead()
    stage.revive("n1", boots=False)
    stage.wait(120)
    assert stage.tainted == []


def test_a_dead_one_stays_out_although_its_proof_lies_ahead() -> None:
    stage = tainted_by_one_who_is_ahead()
    stage.wait(300)
    assert stage.tainted == ["n1"]


def test_a_proof_that_lies_ahead_ends_nothing_on_a_node_that_lived_since() -> None:
    stage = tainted_by_one_who_is_ahead()
    stage.kept.add("csi-db-0-n1")  # so that it stays out of service
    stage.database("db-0", "n1")
    stage.revive("n1", boots=False)
    stage.wait(25)
    stage.cut("n1")
    stage.wait(21)
    assert stage.hands.of(ReleasePod) == []
    stage.wait(60)
    assert stage.hands.of(ReleasePod) != []
