"""The day of ``bench.memory_availability``, in small: its share is 1 without faults, and falls with absurd ones."""

from typing import Any

import msgspec
import pytest

from bench.availability_day import ALL, HOUR, RATES, Fault, Trouble, drawn_leaves, drawn_troubles
from bench.availability_returns import Return, figures
from bench.memory_availability import Plan, measure
from growth_lab.simulator import faults as sim


def day(replicas: int = 2, failing: float = 0.0, hours: float = 1.0, **every_minutes: float) -> dict[str, Any]:
    """Two nodes return each minute, with these faults and no others, by the names of their options."""
    rates = {
        fault: msgspec.structs.replace(rate, every_minutes=every_minutes.get(rate.option.replace("-", "_"), 0.0))
        for fault, rate in RATES.items()
    }
    plan = Plan(hours=hours, seed=1, nodes=20, returns_per_day=3000, failing_percent=failing, rates=rates)
    return measure(plan, replicas)


def test_every_return_is_whole_at_once_without_faults() -> None:
    found = day()
    assert found["returns"] > 80
    assert (found["share"], found["missed"], found["faults"], found["failed_requests"]) == (1.0, [], {}, {})
    assert found["worst_seconds"] < 5


def test_share_falls_with_absurd_kills_and_more_so_with_one_replica() -> None:
    two, one = (day(replicas, host_loss=3) for replicas in (2, 1))
    assert one["share"] < two["share"] < 1
    assert one["share"] < 0.8
    assert all(missed["causes"] == ["host of a replica lost"] for missed in one["missed"])


@pytest.mark.parametrize("option", ["cut", "pause", "server_restart", "watch_silence"])
def test_share_falls_when_one_kind_of_fault_is_absurd(option: str) -> None:
    found = day(replicas=1, **{option: 0.5})
    assert found["share"] < 1
    assert len(found["missed"]) == found["returns"] - found["whole_within_60s"] > 0
    (fault,) = (fault for fault, rate in RATES.items() if rate.option.replace("-", "_") == option)
    assert all(missed["causes"] == [fault.value] for missed in found["missed"])


def test_share_falls_when_most_requests_fail() -> None:
    found = day(failing=95.0, hours=0.25)
    assert found["share"] < 1
    assert found["failed_requests"]["conflict"] > 100


def test_same_seed_draws_the_same_day_and_replica_0_has_it_alone_too() -> None:
    alone, both = drawn_troubles(1, 24, 1), drawn_troubles(1, 24, 2)
    assert both == drawn_troubles(1, 24, 2) != drawn_troubles(2, 24, 2)
    assert [one for one in both if one.replica in (0, ALL)] == alone


def test_faults_are_as_frequent_and_as_long_as_their_rates_say() -> None:
    troubles, days = drawn_troubles(1, 24 * 100, 2), 100
    for fault, rate in RATES.items():
        found = [one for one in troubles if one.fault is fault]
        expected = days * 24 * 60 / rate.every_minutes * (2 if rate.is_of_each_replica else 1)
        assert len(found) == pytest.approx(expected, rel=0.2)
        assert all(rate.seconds[0] <= one.seconds <= rate.seconds[1] for one in found)


def test_returns_are_as_frequent_as_asked_for() -> None:
    leaves = drawn_leaves(1, 24 * 10, 5000)
    assert sum(len(one.away_seconds) for one in leaves) == pytest.approx(50_000, rel=0.05)
    assert max(one.at for one in leaves) < 240 * HOUR


def test_figures_count_late_and_never_whole_and_leave_out_what_has_time() -> None:
    returns = [
        Return("a", 100, marked_at=101, whole_at=101),
        Return("b", 100, marked_at=170, whole_at=170),
        Return("c", 500, gone_at=80, left_at=700, marked_at=501),
        Return("d", 990),
    ]
    killed = Trouble(95, 10, Fault.REPLICA_KILLED, 0)
    conflict = sim.Happened(sim.Ask("growth", "patch", "nodes", "b", 120.0), sim.Fault.CONFLICT, 0.0)
    found = figures(returns, [killed], [conflict], 1000)
    assert (found["returns"], found["whole_within_60s"], found["share"]) == (3, 1, 0.33333)
    assert (found["restored_within_60s"], found["restored_share"]) == (2, 0.66667)
    assert (found["never_whole"], found["worst_seconds"]) == (1, 200)
    assert [(one["node"], one["state"], one["causes"]) for one in found["missed"]] == [
        ("b", "late", ["replica killed", f"request for the node: {sim.Fault.CONFLICT.value}"]),
        ("c", "marked, but without its last change", ["replica killed"]),
    ]
