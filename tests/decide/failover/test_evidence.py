"""Evidence: what is proof, and what begins it anew."""

from datetime import timedelta

import pytest

from growth.api.machine import Power, PowerReading
from growth.api.settings.model import FailoverSettings
from growth.decide.failover.evidence import Finding, NodeCase
from tests.decide.failover.stage import SECOND, START

TERMS = FailoverSettings()
Told = tuple[float, Power]


def a_case() -> NodeCase:
    """Of a node that was last heard of at the start, and is silent for 20 s."""
    return NodeCase("n1", "uid", "kwok://growth/n1/1", START, START + 20 * SECOND)


def a_reading(seconds: float, power: Power, *, changing: bool = False) -> PowerReading:
    return PowerReading("n1/1", power, START + timedelta(seconds=seconds), changing)


def after(*told: Told) -> NodeCase:
    case = a_case()
    for seconds, power in told:
        case = case.told(a_reading(seconds, power))
    return case


OFF, ON, GONE, FAILED = Power.OFF, Power.ON, Power.GONE, Power.FAILED
FINDINGS = [
    pytest.param([], Finding.SILENT, id="nobody said anything"),
    pytest.param([(20, OFF), (25, OFF)], Finding.OFF, id="two are not enough"),
    pytest.param([(20, OFF), (25, OFF), (29.9, OFF)], Finding.OFF, id="three within less than ten seconds are not"),
    pytest.param([(20, OFF), (30, OFF)], Finding.OFF, id="ten seconds with two are not"),
    pytest.param([(20, OFF), (25, OFF), (30, OFF)], Finding.DEAD, id="three over ten seconds are proof"),
    pytest.param([(20, OFF), (25, FAILED), (30, GONE)], Finding.DEAD, id="off and broken and gone are all dead"),
    pytest.param([(-9, OFF), (0, OFF), (30, OFF)], Finding.OFF, id="what was read before the last sign says nothing"),
    pytest.param([(20, OFF), (25, ON), (30, OFF), (35, OFF)], Finding.OFF, id="one other answer begins it anew"),
    pytest.param([(20, OFF), (25, Power.UNKNOWN), (30, OFF), (35, OFF)], Finding.OFF, id="also one that knows nothing"),
    pytest.param([(20, OFF), (25, OFF), (30, OFF), (35, ON)], Finding.RUNNING, id="proven and then on is on"),
    pytest.param([(20, ON)], Finding.RUNNING, id="one that runs"),
    pytest.param([(20, Power.STOPPING)], Finding.CHANGING, id="one that is being stopped"),
    pytest.param([(20, OFF), (25, OFF), (25, OFF), (30, OFF)], Finding.DEAD, id="the same one twice is one"),
    pytest.param([(20, OFF), (20, OFF), (30, OFF), (30, OFF)], Finding.OFF, id="and so does not make three of two"),
    pytest.param([(20, OFF), (30, OFF), (25, ON), (31, OFF)], Finding.OFF, id="one that comes late contradicts, too"),
    pytest.param([(20, OFF), (30, OFF), (19, ON), (31, OFF)], Finding.DEAD, id="not if it was read before the first"),
    pytest.param([(20, OFF), (30, OFF), (30, ON), (31, OFF)], Finding.OFF, id="nor are two of one instant proof"),
]


@pytest.mark.parametrize(("told", "finding"), FINDINGS)
def test_what_answers_amount_to(told: list[Told], finding: Finding) -> None:
    assert after(*told).finding(TERMS) is finding


def test_a_machine_to_which_something_is_being_done_is_not_dead() -> None:
    case = after((20, OFF), (25, OFF)).told(a_reading(30, OFF, changing=True))
    assert case.finding(TERMS) is Finding.CHANGING
    for seconds in (31, 36):
        case = case.told(a_reading(seconds, OFF))
    assert case.finding(TERMS) is Finding.OFF
    assert case.told(a_reading(41, OFF)).finding(TERMS) is Finding.DEAD


def test_a_sign_of_life_begins_it_anew() -> None:
    proven = after((20, OFF), (25, OFF), (30, OFF))
    assert proven.observed(START).is_proven(TERMS), "that is no new sign"
    observed = proven.observed(START + 26 * SECOND)
    assert observed.finding(TERMS) is Finding.SILENT
    assert observed.told(a_reading(25, OFF)).finding(TERMS) is Finding.SILENT


def test_an_answer_is_fresh_for_less_than_five_seconds_and_only_if_it_says_dead() -> None:
    case = after((20, OFF))
    assert case.is_fresh(START + timedelta(seconds=24.9))
    assert not case.is_fresh(START + 25 * SECOND)
    assert not case.is_fresh(START + 19 * SECOND), "an answer from the future was read before the clock was set back"
    assert not after((20, ON)).is_fresh(START + 20 * SECOND)
    assert not a_case().is_fresh(START)


def test_it_takes_longer_where_that_is_set() -> None:
    case = after((20, OFF), (25, OFF), (30, OFF))
    assert not case.is_proven(FailoverSettings(proven_after=11 * SECOND))


def test_a_machine_is_gone_for_good_only_if_that_was_said_often_enough() -> None:
    once = after((20, OFF), (25, OFF), (30, GONE))
    assert once.is_proven(TERMS)
    assert not once.is_gone
    assert once.told(a_reading(35, GONE)).told(a_reading(40, GONE)).is_gone
    assert not once.told(a_reading(35, GONE)).told(a_reading(40, OFF)).told(a_reading(45, GONE)).is_gone


def test_a_machine_that_was_seen_to_be_stopped_ended_in_good_order_until_it_lives_again() -> None:
    case = after((20, Power.STOPPING), (25, OFF))
    assert case.was_stopping
    assert not case.observed(START + 26 * SECOND).was_stopping
