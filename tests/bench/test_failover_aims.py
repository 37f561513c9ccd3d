"""A run that misses an aim, or in which something is wrong, does not pass for one that is well."""

from typing import Any

import pytest

from bench.failover_aims import missed


def found(median: float, worst: float, **wrong: int) -> dict[str, Any]:
    running = {"median": median, "max": worst}
    return {"running_s": running, "stuck": 0, "ended_again": 0, "wrong_taints": 0, "attached_twice": 0, **wrong}


@pytest.mark.parametrize(
    ("run", "speed", "expected"),
    [
        pytest.param(found(35.0, 45.0), "fast", [], id="just in time"),
        pytest.param(found(35.1, 40), "fast", ["running_s median is 35.1, expected at most 35"], id="median"),
        pytest.param(found(30, 45.1), "fast", ["running_s max is 45.1, expected at most 45"], id="worst"),
        pytest.param(found(63.0, 65.2), "standard", [], id="standard has time"),
        pytest.param(found(63.0, 80.5), "standard", ["running_s max is 80.5, expected at most 80"], id="standard"),
        pytest.param(found(20, 30, stuck=1), "fast", ["stuck is 1, expected 0"], id="stuck"),
        pytest.param(found(20, 30, wrong_taints=2), "fast", ["wrong_taints is 2, expected 0"], id="wrong taint"),
        pytest.param({**found(0, 0), "running_s": None}, "fast", ["no database runs again"], id="none"),
    ],
)
def test_what_a_run_misses_is_named(run: dict[str, Any], speed: str, expected: list[str]) -> None:
    assert missed(run, speed) == expected
