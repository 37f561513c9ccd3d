"""The three days ask for what they promise."""

import pytest

from bench.days_load import HOUR, Burst, Day, Scaled, drawn


def cores_at(day: Day, seconds: float) -> float:
    """What the services ask for then."""
    now = {one.app.name: one for one in (*day.begins, *day.happens) if isinstance(one, Scaled) and one.at <= seconds}
    return sum(one.replicas * one.app.shape.cpu_millis for one in now.values()) / 1000


def test_the_same_seed_draws_the_same_day_and_another_one_another() -> None:
    assert drawn("web", 20, 24, 1) == drawn("web", 20, 24, 1) != drawn("web", 20, 24, 2)


def test_web_load_is_a_third_at_night_and_fills_the_fleet_at_noon() -> None:
    day = drawn("web", 50, 24, 1)
    night, noon = cores_at(day, 0), cores_at(day, 12 * HOUR)
    assert night / noon == pytest.approx(1 / 3, rel=0.15)
    assert noon == pytest.approx(50 * 16 * 0.95, rel=0.1)


def test_a_shrinking_fleet_loses_half_of_its_load() -> None:
    day = drawn("shrinking", 50, 24, 1)
    assert cores_at(day, 24 * HOUR) / cores_at(day, 0) == pytest.approx(0.5, abs=0.1)
    assert all(isinstance(one, Scaled) and one.at < day.seconds for one in day.happens)


def test_jobs_come_in_bursts_of_an_hour_or_less_while_services_stay() -> None:
    day = drawn("batch", 50, 24, 1)
    bursts = [one for one in day.happens if isinstance(one, Burst)]
    assert len(bursts) == len(day.happens) == len({one.name for one in bursts}) > 20
    assert all(300 <= one.lasts <= HOUR for one in bursts)
    assert [one.at for one in bursts] == sorted(one.at for one in bursts)
    assert cores_at(day, 0) == pytest.approx(0.4 * 50 * 16 * 0.95, rel=0.1)
