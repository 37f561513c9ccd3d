"""Larger machines while more and more is wanted: ``small`` has 2 cores for 1.0 an hour, ``large`` 8 for 3.0."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.node_pool import NodePool
from growth.api.pod import Pod
from growth.decide.capacity.demand_history import ExpectedPods
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.scale_up.demand_forecast import DemandForecast, foreseeing
from growth.decide.solver.node_options import node_options_of
from growth.decide.solver.placement_solution import PlacementSolution
from growth.decide.solver.planner import plan
from tests.decide.marketplace import a_pool
from tests.decide.scale_up.town import LARGE, NOW, SMALL, Town, a_crowd, a_pod
from tests.drawing import examples

POOL = a_pool(types=("small", "large"))


def planned(*pods: Pod, expected: int, per_hour: float, pool: NodePool = POOL, **foresight: Any) -> PlacementSolution:  # noqa: ANN401
    """What is bought for these, when so many pods of one core are expected."""
    town = Town()
    town.add(*pods)
    stage = SimulatedCluster.copy_of(town.world.snapshot(NOW))
    node_options = node_options_of(stage, (pool,), (SMALL, LARGE))
    ghosts = tuple(a_crowd(expected, prefix="next"))
    given = {"pools": frozenset({"default"}), **foresight}
    found = plan(stage, pods, node_options)
    return foreseeing(stage, pods, node_options, found, DemandForecast(ExpectedPods(ghosts, per_hour), **given))


def launched(solution: PlacementSolution) -> list[str]:
    return sorted(one.offering.server_type for one in solution.launch)


def test_who_comes_next_fills_the_larger_machine_soon() -> None:
    solution = planned(a_pod("web"), expected=7, per_hour=14)
    assert launched(solution) == ["large"]
    assert [pod.metadata.name for pod in solution.launch[0].pods] == ["web"], "it is bought for the one that waits"
    assert (solution.cost_per_hour, solution.outcome) == (3.0, "AllPlaced")


@pytest.mark.parametrize(
    ("expected", "per_hour"),
    [(7, 1.0), (2, 14.0), (0, 0.0)],
    ids=["it would take seven hours", "it would never be full", "nobody is expected"],
)
def test_it_is_not_larger_than_that_pays(expected: int, per_hour: float) -> None:
    assert launched(planned(a_pod("web"), expected=expected, per_hour=per_hour)) == ["small"]


def test_pools_that_do_not_optimise_buy_what_is_wanted() -> None:
    assert launched(planned(a_pod("web"), expected=7, per_hour=14, pools=frozenset())) == ["small"]


def test_nothing_is_bought_for_those_alone_who_are_expected() -> None:
    solution = planned(*a_crowd(8), expected=16, per_hour=64)
    assert launched(solution) == ["large"]


def test_the_pools_limits_hold() -> None:
    limited = a_pool(types=("small", "large"), limits={"cpu": "4"})
    assert launched(planned(a_pod("web"), expected=7, per_hour=14, pool=limited)) == ["small"]


def test_who_finds_no_place_is_still_told() -> None:
    solution = planned(a_pod("web"), a_pod("huge", cpu="64"), expected=7, per_hour=14)
    assert launched(solution) == ["large"]
    assert [one.pod.metadata.name for one in solution.left_out] == ["huge"]
    assert solution.outcome == "IncompletePlacement"


@settings(max_examples=examples(80))
@given(
    waiting=st.lists(st.sampled_from(["250m", "500m", "1", "2"]), min_size=1, max_size=6),
    expected=st.integers(0, 20),
    per_hour=st.floats(0.5, 100),
)
def test_everybody_who_waits_has_a_place_and_nobody_else_is_named(
    waiting: list[str], expected: int, per_hour: float
) -> None:
    pods = [a_pod(f"web-{number}", cpu=cpu) for number, cpu in enumerate(waiting)]
    solution = planned(*pods, expected=expected, per_hour=per_hour)
    assert sorted(pod.metadata.name for one in solution.launch for pod in one.pods) == [
        pod.metadata.name for pod in pods
    ]
    assert all(one.pods for one in solution.launch)
    assert solution.keep <= {pod.metadata.uid for pod in pods}
    assert solution.cost_per_hour == pytest.approx(sum(one.offering.price_per_hour for one in solution.launch))
    again = planned(*pods, expected=expected, per_hour=per_hour)
    assert msgspec.structs.replace(again, launch=()) == msgspec.structs.replace(solution, launch=())
