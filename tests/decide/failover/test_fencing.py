"""A machine that runs and whose node is silent: told of, and powered off only where that is allowed."""

from growth.api.actions import EditObject, FenceMachine, RecordEvent
from growth.api.machine import Power
from growth.decide.writes.unreachable_event import unreachable_event
from tests.decide.failover.stage import Stage, machine_id, terms

FIVE = ("n1", "n2", "n3", "n4", "n5")
FENCING = terms(fence=True)


def numbered(count: int) -> list[str]:
    return [f"n{number:02}" for number in range(1, count + 1)]


def fenced(stage: Stage) -> list[str]:
    return list(dict.fromkeys(one.subject.name for one in stage.hands.of(FenceMachine)))


def test_people_hear_of_a_partition_and_how_to_end_it() -> None:
    stage = Stage(*FIVE)
    stage.silence("n1")
    stage.wait(120)
    assert stage.told(events=True) == ["hold n1: Unreachable", "event Node n1: Unreachable"]
    (event,) = [one for one in stage.said if isinstance(one, RecordEvent)]
    assert event == unreachable_event(stage.nodes["n1"], None)
    assert fenced(stage) == []


def test_a_machine_is_powered_off_where_that_is_allowed_and_then_proven_off() -> None:
    stage = Stage(*FIVE, settings=FENCING)
    stage.database("db-0", "n1")
    stage.silence("n1")
    stage.wait(48)
    assert fenced(stage) == []
    assert stage.nodes["n1"].is_ready, "most come back before Kubernetes gives them up"
    stage.wait(50)
    assert fenced(stage) == ["n1"]
    assert stage.tainted == ["n1"]
    begun = [type(one).__name__ for _, one in stage.hands.begun if isinstance(one, FenceMachine | EditObject)]
    assert begun == ["FenceMachine", "EditObject"]


def test_a_running_machine_is_not_tainted_before_it_is_off() -> None:
    stage = Stage(*FIVE, settings=FENCING)
    stage.hands.fails = lambda action: isinstance(action, FenceMachine)
    stage.silence("n1")
    stage.wait(300)
    assert fenced(stage) == ["n1"]
    assert stage.tainted == []


def test_one_answer_that_it_runs_is_not_enough() -> None:
    stage = Stage(*FIVE, settings=FENCING)
    stage.silence("n1")
    stage.powers[machine_id("n1")] = Power.STARTING
    stage.wait(60)
    stage.powers[machine_id("n1")] = Power.ON
    stage.wait(7)
    assert fenced(stage) == []
    assert stage.holds() == {"n1": "Unreachable"}


def test_guards_hold_here_as_well() -> None:
    stage = Stage(*FIVE, settings=FENCING)
    stage.change("n1", annotations={"growth.dev/do-not-disrupt": "true"})
    stage.silence("n1")
    stage.wait(120)
    assert fenced(stage) == []
    assert stage.holds() == {"n1": "DoNotDisrupt"}


def test_no_more_are_powered_off_at_once_than_are_failed_over() -> None:
    """While the first two are being proven off, the others keep their power."""
    stage = Stage(*numbered(12), settings=FENCING)
    for name in numbered(4):
        stage.database(f"db-{name}", name)
        stage.kept.add(f"csi-db-{name}-{name}")
    stage.silence(*numbered(4))
    stage.wait(120)
    assert fenced(stage) == numbered(2)
    assert stage.tainted == numbered(2)


def test_one_whose_power_is_just_being_cut_keeps_its_place() -> None:
    stage = Stage(*numbered(12), settings=FENCING)
    stage.silence(*numbered(4))
    stage.wait(65)
    stage.hands.takes = 60.0  # the provider takes its time, and says meanwhile that something is being done
    stage.changing.update(machine_id(name) for name in numbered(2))
    stage.wait(30)
    assert fenced(stage) == numbered(2)


def test_only_acting_powers_off() -> None:
    stage = Stage(*FIVE, settings=terms("observe", fence=True))
    stage.silence("n1")
    stage.wait(120)
    assert fenced(stage) == []
    assert stage.holds() == {"n1": "Observing"}


def test_a_node_that_is_heard_of_again_keeps_its_power() -> None:
    stage = Stage(*FIVE, settings=FENCING)
    stage.silence("n1")
    stage.wait(45)
    stage.revive("n1", boots=False)
    stage.wait(120)
    assert fenced(stage) == []
