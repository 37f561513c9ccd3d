"""The promises once more, in whole worlds: nodes with taints, pods that stand, pools, limits, stock, every rule."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from growth.api.quantity import milli_value, value
from growth.decide.solver.placement_solution import PlacementSolution
from growth.decide.solver.problem import StepBudget
from tests.decide.solver.shop import cost_of, judge, pods, solve
from tests.decide.solver.worlds import World, machine_that_could_be_spared, worlds

pytestmark = pytest.mark.long

LITTLE = StepBudget(passes=1, rounds=0, steps=20)


def solved(world: World, budget: StepBudget | None = None) -> PlacementSolution:
    return solve(world.waiting, world.offerings, world.pools, stage=world.stage(), budget=budget)


def levels(world: World, solution: PlacementSolution) -> list[int]:
    """How many are left out of each priority, the most important first."""
    priorities = sorted({pod.spec.priority for pod in world.waiting}, reverse=True)
    out = [one.pod.spec.priority for one in solution.left_out]
    return [out.count(priority) for priority in priorities]


@settings(max_examples=250, deadline=None)
@given(worlds(most=14))
def test_everybody_is_placed_once_and_fits_beside_all_the_others_or_is_told_why_not(world: World) -> None:
    solution = solved(world)
    judge(solution, world.waiting, world.stage())
    assert all(one.reason for one in solution.left_out)
    assert solution.cost_per_hour >= solution.bound_per_hour >= 0


@settings(max_examples=150, deadline=None)
@given(worlds(most=14))
def test_no_limit_of_any_pool_and_no_stock_is_exceeded(world: World) -> None:
    solution = solved(world)
    for pool in world.pools:
        launched = [node.offering for node in solution.launch if node.pool.metadata.name == pool.metadata.name]
        limits = pool.spec.limits
        cpu = sum(milli_value(one.resources["cpu"]) for one in launched)
        memory = sum(value(one.resources["memory"]) for one in launched)
        assert limits.nodes is None or len(launched) <= limits.nodes
        assert limits.cpu is None or cpu <= milli_value(str(limits.cpu))
        assert limits.memory is None or memory <= value(str(limits.memory))
        assert limits.cost_per_hour is None or sum(o.price_per_hour for o in launched) <= float(limits.cost_per_hour)
        for one in pool.spec.server_types:
            assert one.max is None or sum(offering.server_type == one.name for offering in launched) <= one.max
    for offering in world.offerings:
        assert offering.stock is None or sum(n.offering.id == offering.id for n in solution.launch) <= offering.stock


# Giving machines up is a search that may miss one: always the same worlds, so that it gets no worse.
@settings(max_examples=100, deadline=None, derandomize=True)
@given(worlds(most=7))
def test_no_machine_is_bought_that_could_be_spared(world: World) -> None:
    assert not machine_that_could_be_spared(solved(world), world.stage())


@settings(max_examples=100, deadline=None)
@given(worlds(most=14))
def test_one_impossible_pod_costs_nobody_a_place(world: World) -> None:
    without = solved(world)
    beside = solved(replace(world, waiting=[*world.waiting, *pods(1, cpu="500", app="none", priority=1000)]))
    assert (cost_of(beside), beside.placed) == (cost_of(without), without.placed)


@settings(max_examples=60, deadline=None)
@given(worlds(most=14))
def test_whatever_stands_there_the_same_world_gives_the_same_plan(world: World) -> None:
    first, second = solved(world), solved(world)
    assert first == second


@settings(max_examples=60, deadline=None)
@given(worlds(most=40, limits=False))
def test_more_budget_serves_nobody_worse_and_costs_no_more(world: World) -> None:
    budgets = (LITTLE, StepBudget(passes=2, rounds=0, steps=20), StepBudget(passes=2, rounds=60, steps=20))
    ranks = [(levels(world, s), cost_of(s)) for budget in budgets for s in [solved(world, budget)]]
    assert ranks == sorted(ranks, reverse=True)
