"""The wall clock: a jump shows, drift does not."""

from datetime import UTC, datetime, timedelta

import pytest

from growth.run.runtime import WallClock

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clocks:
    """What the wall shows, and how many seconds the process has run."""

    def __init__(self) -> None:
        self.shown = NOON
        self.seconds = 0.0
        self.wall = WallClock(lambda: self.shown, lambda: self.seconds)

    def pass_by(self, seconds: float, *, on_the_wall: float) -> datetime:
        self.shown += timedelta(seconds=on_the_wall)
        self.seconds += seconds
        return self.wall.read()


def test_a_clock_that_runs_evenly_was_never_seen_to_jump() -> None:
    clocks = Clocks()
    assert clocks.pass_by(3_600, on_the_wall=3_600) == NOON + timedelta(hours=1)
    assert clocks.wall.steady_since is None


def test_a_small_slip_is_noted_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    clocks.pass_by(10, on_the_wall=10.4)
    assert clocks.wall.even_since is None
    slipped_at = clocks.pass_by(10, on_the_wall=13)
    assert (clocks.wall.even_since, clocks.wall.steady_since, caplog.records) == (slipped_at, None, [])


JUMPS = [
    pytest.param(10, 3_610, "+3600 s", id="set forward"),
    pytest.param(10, -3_590, "-3600 s", id="set back"),
    pytest.param(0, 3_600, "+3600 s", id="the machine slept, and only the wall went on"),
]


@pytest.mark.parametrize(("seconds", "on_the_wall", "told"), JUMPS)
def test_a_jump_is_seen_and_told(
    seconds: float, on_the_wall: float, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    clocks = Clocks()
    seen_at = clocks.pass_by(seconds, on_the_wall=on_the_wall)
    assert clocks.wall.steady_since == seen_at == NOON + timedelta(seconds=on_the_wall)
    assert f"the wall clock jumped by {told}" in caplog.text


def test_after_a_jump_the_clock_is_steady_until_the_next_one() -> None:
    clocks = Clocks()
    first = clocks.pass_by(10, on_the_wall=3_610)
    clocks.pass_by(600, on_the_wall=600)
    assert clocks.wall.steady_since == first
    second = clocks.pass_by(10, on_the_wall=-3_590)
    assert clocks.wall.steady_since == second


def test_slow_drift_is_no_jump_however_far_it_leads() -> None:
    clocks = Clocks()
    for _ in range(10_000):
        clocks.pass_by(10, on_the_wall=10.01)
    assert clocks.shown - NOON == timedelta(seconds=100_100)
    assert clocks.wall.steady_since is None
