"""The array core by itself: bounds, contents, optimum, rounding, windows and levels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.decide.solver.exact_packer import cheapest, states_of
from growth.decide.solver.greedy_packer import GreedyOptions, dominant_price
from growth.decide.solver.improvement import merged
from growth.decide.solver.knapsack import Knapsacks, best_content
from growth.decide.solver.lower_bound import FreeSpace, fluid_bound
from growth.decide.solver.problem import ANY_ZONE, NO_CLIQUE, Bin, Packing, PackingProblem, StepBudget, packing_of
from growth.decide.solver.search import fill_by_windows, packings
from growth.decide.solver.zone_assignment import levelled


def a_problem(
    needs: list[tuple[int, int]],
    counts: list[int],
    rooms: list[tuple[int, int]],
    prices: list[float],
    *,
    cliques: list[int] | None = None,
    stock: list[float] | None = None,
) -> PackingProblem:
    need, room = np.array(needs, dtype=np.int64), np.array(rooms, dtype=np.int64)
    clique = np.array(cliques or [NO_CLIQUE] * len(needs), dtype=np.int64)
    limits = np.array(stock or [], dtype=np.float64)
    return PackingProblem(
        need=need,
        count=np.array(counts, dtype=np.int64),
        zone=np.full(len(need), ANY_ZONE),
        clique=clique,
        clique_cap=np.ones(int(clique.max(initial=-1)) + 1, dtype=np.int64),
        allowed=np.asarray((need[:, None, :] <= room[None]).all(axis=2)),
        room=room,
        price=np.array(prices),
        kind_zone=np.zeros(len(room), dtype=np.int64),
        limit_use=np.eye(len(room))[: len(limits)],
        limit_left=limits,
    )


@st.composite
def problems(draw: st.DrawFn, *, rows: int = 5, most: int = 4) -> PackingProblem:
    size = st.tuples(st.integers(1, 12), st.integers(1, 12))
    needs = draw(st.lists(size, min_size=1, max_size=rows, unique=True))
    counts = [draw(st.integers(1, most)) for _ in needs]
    options = draw(st.lists(st.tuples(st.integers(6, 40), st.integers(6, 40)), min_size=1, max_size=3, unique=True))
    prices = [round(draw(st.floats(0.5, 4.0)), 3) for _ in options]
    cliques = [draw(st.sampled_from([NO_CLIQUE, NO_CLIQUE, 0])) for _ in needs]
    return a_problem(needs, counts, options, prices, cliques=cliques)


def is_sound(problem: PackingProblem, packing: Packing) -> bool:
    """Whether every machine holds what lies in it and every pod is counted once."""
    left = problem.count.copy()
    visible = problem.visible()
    for one in packing.bins:
        used = np.zeros(problem.need.shape[1], dtype=np.int64)
        in_clique = 0
        for row, pods in one.content:
            if not visible[row, one.option]:
                return False
            used += pods * problem.need[row]
            left[row] -= pods * one.times
            in_clique += pods * int(problem.clique[row] != NO_CLIQUE)
        if (used > problem.room[one.option]).any() or in_clique > 1:
            return False
    return bool((left >= 0).all()) and bool((left == packing.left).all())


def best_of(problem: PackingProblem, budget: StepBudget | None = None) -> Packing:
    return list(packings(problem, fluid_bound(problem), budget or StepBudget()))[-1]


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(problems())
def test_bound_optimum_and_search_stand_in_this_order(problem: PackingProblem) -> None:
    bound, found, exact = fluid_bound(problem).cost, best_of(problem), cheapest(problem)
    assert is_sound(problem, found)
    if exact is None:
        return
    assert is_sound(problem, exact)
    if not problem.allowed.any(axis=1).all():
        return
    assert bound <= exact.cost + 1e-9
    assert exact.cost <= found.cost + 1e-9


@pytest.mark.long
@settings(max_examples=100, deadline=None)
@given(problems(rows=8, most=40))
def test_every_plan_of_the_search_is_sound_and_better_than_the_one_before(problem: PackingProblem) -> None:
    found = list(packings(problem, fluid_bound(problem), StepBudget(passes=3)))
    assert all(is_sound(problem, one) for one in found)
    ranks = [one.rank for one in found]
    assert ranks == sorted(ranks, reverse=True)
    assert len(set(ranks)) == len(ranks)


@given(problems(), st.integers(0, 4))
def test_the_best_content_fits_and_holds_its_seed(problem: PackingProblem, seed: int) -> None:
    knapsacks = Knapsacks(problem, np.arange(problem.options))
    value = dominant_price(problem)
    row = seed % problem.rows
    for option in range(problem.options):
        shelf = knapsacks.shelf(option, value, problem.count)
        worth, content = best_content(shelf, knapsacks.fields, problem.count.tolist(), 50, row)
        if not problem.allowed[row, option]:
            assert (worth, content) == (-1.0, [])
            continue
        assert dict(content)[row] >= 1
        assert worth <= shelf.bound + 1e-9
        assert is_sound(problem, packing_of(problem, [Bin(option, tuple(content), 1)]))


def test_stock_that_is_too_small_for_everything_leaves_somebody_out() -> None:
    problem = a_problem([(4, 4)], [10], [(8, 8)], [1.0], stock=[3.0])
    packing = best_of(problem)
    assert (packing.nodes, int(packing.left.sum())) == (3, 4)


def test_a_scarce_kind_is_taken_into_account_by_the_bound() -> None:
    needs, rooms, prices = [(4, 4)], [(8, 8), (8, 8)], [1.0, 3.0]
    plenty = fluid_bound(a_problem(needs, [20], rooms, prices)).cost
    scarce = fluid_bound(a_problem(needs, [20], rooms, prices, stock=[4.0])).cost
    assert plenty == pytest.approx(10.0)
    assert scarce == pytest.approx(4 * 1.0 + 6 * 3.0)


def test_room_that_is_free_lowers_the_bound() -> None:
    problem = a_problem([(4, 4)], [4], [(8, 8)], [1.0])
    spare = FreeSpace(np.array([8, 8]), np.ones(1, dtype=np.bool_))
    assert fluid_bound(problem, spare).cost == pytest.approx(fluid_bound(problem).cost / 2)


def test_two_machines_become_one_where_that_costs_no_more() -> None:
    problem = a_problem([(2, 2)], [4], [(4, 4), (8, 8)], [1.0, 2.0])
    two = packing_of(problem, [Bin(0, ((0, 2),), 2)])
    assert merged(problem, two).bins == (Bin(1, ((0, 4),), 1),)


def test_demand_beyond_ten_thousand_states_is_not_solved_exactly() -> None:
    problem = a_problem([(1, 1), (2, 1), (1, 2)], [30, 30, 30], [(8, 8)], [1.0])
    assert states_of(problem) == 31**3
    assert cheapest(problem) is None


def test_thousands_of_shapes_are_packed_by_windows() -> None:
    rng = np.random.default_rng(5)
    needs = [(int(a), int(b)) for a, b in rng.integers(1, 400, (1500, 2))]
    problem = a_problem(needs, [1] * len(needs), [(1600, 1600), (800, 800)], [1.0, 0.55])
    bound, size = fluid_bound(problem), dominant_price(problem)
    packing = packing_of(problem, fill_by_windows(problem, np.arange(2), GreedyOptions(size, size, 100)))
    assert is_sound(problem, packing)
    assert not packing.left.any()
    assert packing.cost < bound.cost * 1.1


@given(st.integers(0, 60), st.dictionaries(st.sampled_from("abc"), st.integers(0, 20)), st.integers(0, 30))
def test_water_ends_level_and_never_above_the_ceiling(pods: int, have: dict[str, int], ceiling: int) -> None:
    for top in (None, ceiling):
        added = levelled(pods, "abc", have, top)
        after = {zone: have.get(zone, 0) + added.get(zone, 0) for zone in "abc"}
        room = sum(max(0, top - have.get(zone, 0)) for zone in "abc") if top is not None else pods
        assert sum(added.values()) == min(pods, room)
        assert all(after[zone] <= top for zone in added) if top is not None else True
        risen = [after[zone] for zone in added]
        assert not risen or max(risen) - min(after.values()) <= 1


def test_the_same_problem_gives_the_same_packing() -> None:
    problem = a_problem([(3, 5), (5, 2), (2, 2)], [40, 30, 50], [(16, 16), (8, 12)], [2.0, 1.3])
    assert best_of(problem).bins == best_of(replace(problem)).bins


def test_a_clique_of_many_rows_does_not_hide_what_a_machine_can_hold() -> None:
    # Room that other rows leave free is worth nothing, so the clique's best pod counts in full.
    needs = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5)]
    problem = a_problem(needs, [1] * 5, [(6, 6)], [1.0], cliques=[NO_CLIQUE, 0, 0, 0, 0])
    shelf = Knapsacks(problem, np.arange(1)).shelf(0, dominant_price(problem), problem.count)
    assert shelf.bound >= 1.0
