"""A few drawn worlds in which launches fail; many more: ``python -m tests.trust.launch_worlds``."""

import pytest

from tests.trust.launch_worlds import HEALED_AT, REGISTER, SLACK, Life, World, drawn, lived

WORLDS = 24


@pytest.mark.long
@pytest.mark.parametrize("seed", range(WORLDS))
def test_pods_wait_two_failure_times_at_most_and_machines_in_vain_are_bounded(seed: int) -> None:
    life = lived(drawn(seed))
    assert life.findings() == [], f"python -m tests.trust.launch_worlds --first {seed} --runs 1"


def a_life(*, requests: int = 1, ran_at: float | None = 1.0, probes: int = 0) -> Life:
    prices = {"kwok-t0-fsn1": 0.01, "kwok-t1-fsn1": 0.02}
    world = World(0, prices, [(0.0, "kwok-t0-fsn1", "neverRegisters")], [(0.0, "app")])
    life = Life(world, {str(number): ("kwok-t0-fsn1", 1.0) for number in range(requests)})
    life.probes = {str(number) for number in range(probes)}
    if ran_at is not None:
        life.ran_at["app"] = ran_at
    return life


def test_judge_accepts_a_life_that_keeps_its_promises() -> None:
    assert a_life(ran_at=2 * REGISTER).findings() == []


def test_judge_finds_a_pod_that_waits_too_long() -> None:
    late = 2 * REGISTER + SLACK + 1
    assert [one.split(" waited ")[0] for one in a_life(ran_at=late).findings()] == ["app"]


def test_judge_finds_a_pod_that_never_runs() -> None:
    found = a_life(ran_at=None).findings()
    assert "app does not run although everything works" in found
    assert HEALED_AT > REGISTER


def test_judge_finds_too_many_machines_in_vain() -> None:
    found = a_life(requests=40, probes=40, ran_at=2 * REGISTER).findings()
    assert found == ["40 machines in vain, allowed are 4.0"]
