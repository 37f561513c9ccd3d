"""The answer that would complete a proof is asked for when it can, and not a moment before."""

from datetime import timedelta

from growth.api.actions import ReadPower
from growth.api.machine import Power
from growth.decide.failover.carry import FailoverCarry
from growth.decide.failover.decider import CAPABILITY
from growth.decide.failover.evidence import NodeCase, PowerAnswers
from tests.decide.failover.test_out_of_service_by_hand import NOW, PROVIDER_ID, SECOND, SETTINGS, a_proof, a_world
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)


def asked_after(rest: timedelta, *, first_answer_ago: timedelta, count: int = 2) -> bool:
    """Whether it is asked about so long after the last question, when the first answer is so old by then."""
    asked_at = NOW - rest
    answers = PowerAnswers(
        Power.OFF,
        is_dead=True,
        is_changing=False,
        first_at=NOW - first_answer_ago,
        last_at=asked_at + SECOND / 100,
        count=count,
    )
    last_sign = NOW - 30 * SECOND
    case = NodeCase("n1", "n1", PROVIDER_ID, last_sign, NOW - 12 * SECOND, answers, asked_at, asked_at)
    world = a_world(a_proof(), power=Power.OFF, ready=False)
    decision = decide(world.snapshot(NOW), Given(carry=FailoverCarry(cases={"n1": case})), SETTINGS)
    is_asked = any(isinstance(said, ReadPower) for said in decision.said)
    assert is_asked or (decision.requeue_at is not None and decision.requeue_at <= NOW + 5 * SECOND)
    return is_asked


def test_a_first_answer_that_was_late_by_a_moment_costs_no_whole_turn() -> None:
    assert not asked_after(5 * SECOND, first_answer_ago=9.6 * SECOND)
    assert asked_after(5.4 * SECOND, first_answer_ago=10 * SECOND)


def test_one_that_cannot_complete_the_proof_comes_in_its_usual_turn() -> None:
    assert asked_after(5 * SECOND, first_answer_ago=5 * SECOND, count=1)
    assert asked_after(5 * SECOND, first_answer_ago=4.9 * SECOND, count=2)


def test_a_proof_that_could_be_complete_for_long_waits_for_no_more_than_the_usual() -> None:
    assert asked_after(5 * SECOND, first_answer_ago=25 * SECOND)
    assert not asked_after(4 * SECOND, first_answer_ago=25 * SECOND)
