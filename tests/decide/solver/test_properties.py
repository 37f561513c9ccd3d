"""Promises that hold for every plan, whatever is drawn."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.node_pool import Limits, NodePool, ServerType
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.decide.solver.placement_solution import PlacementSolution
from growth.decide.solver.problem import StepBudget
from tests.decide.solver.shop import (
    HOST,
    ZONE,
    ZONES,
    a_pool,
    an_offering,
    apart,
    cost_of,
    judge,
    pods,
    solve,
    spread,
    together,
)
from tests.decide.stages import a_node, a_pod, a_stage

pytestmark = pytest.mark.long

LITTLE = StepBudget(passes=1, rounds=0, steps=20)

_APPS = ("a", "b", "c")
_cpus = st.sampled_from(["100m", "250m", "1", "1500m", "3"])
_memories = st.sampled_from(["128Mi", "512Mi", "1Gi", "3Gi"])


@st.composite
def _rules(draw: st.DrawFn, app: str) -> dict[str, Any]:
    other = draw(st.sampled_from(_APPS))
    options: list[dict[str, Any]] = [
        {},
        {},
        apart(app),
        apart(app, ZONE),
        apart(other),
        spread(app),
        spread(other),
        spread(app, HOST),
        spread(other, HOST, 2),
        together(app),
        together(other),
        together(app, HOST),
        {"nodeSelector": {ZONE: draw(st.sampled_from(ZONES))}},
    ]
    return draw(st.sampled_from(options))


@st.composite
def demands(draw: st.DrawFn, *, most: int = 12, with_rules: bool = True) -> list[Pod]:
    waiting: list[Pod] = []
    for _ in range(draw(st.integers(1, 4))):
        app = draw(st.sampled_from(_APPS))
        rules = draw(_rules(app)) if with_rules else {}
        priority = draw(st.sampled_from([0, 0, 100]))
        count = draw(st.integers(1, most // 3))
        waiting += pods(count, draw(_cpus), draw(_memories), app, priority=priority, **rules)
    return waiting


@st.composite
def shops(draw: st.DrawFn) -> list[Offering]:
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3, unique=True))
    offerings: list[Offering] = []
    for size in sizes:
        price = round(size * draw(st.sampled_from([0.5, 0.45, 0.6])), 4)
        zones = draw(st.lists(st.sampled_from(ZONES), min_size=1, max_size=3, unique=True))
        stock = draw(st.sampled_from([None, None, 1, 3]))
        offerings += [
            an_offering(f"s{size}", zone, cpu=str(size), memory=f"{2 * size}Gi", price=price, stock=stock)
            for zone in zones
        ]
    return offerings


@st.composite
def pools(draw: st.DrawFn, offerings: Sequence[Offering]) -> NodePool:
    names = sorted({one.server_type for one in offerings})
    types = [ServerType(name, max=draw(st.sampled_from([None, None, 2]))) for name in names]
    limits = Limits(nodes=draw(st.sampled_from([None, None, 3])), cpu=draw(st.sampled_from([None, None, 8])))
    return a_pool(types=types, limits=limits)


def _shape(solution: PlacementSolution) -> object:
    return (
        [(n.name, n.offering.id, [p.metadata.uid for p in n.pods]) for n in solution.launch],
        [(n.node, [p.metadata.uid for p in n.pods]) for n in solution.existing],
        [(one.pod.metadata.uid, one.reason) for one in solution.left_out],
        solution.keep,
        solution.bound_per_hour,
    )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_every_pod_is_placed_once_and_fits_or_is_left_out_with_a_reason(data: st.DataObject) -> None:
    waiting = data.draw(demands())
    offerings = data.draw(shops())
    solution = solve(waiting, offerings, [data.draw(pools(offerings))])
    judge(solution, waiting)
    assert all(one.reason for one in solution.left_out)
    assert (solution.outcome == "AllPlaced") == (not solution.left_out)
    assert solution.cost_per_hour >= solution.bound_per_hour >= 0
    assert round(solution.cost_per_hour, 9) == cost_of(solution)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_limit_is_exceeded(data: st.DataObject) -> None:
    waiting = data.draw(demands())
    offerings = data.draw(shops())
    pool = data.draw(pools(offerings))
    solution = solve(waiting, offerings, [pool])
    launched = [node.offering for node in solution.launch]
    limits = pool.spec.limits
    assert limits.nodes is None or len(launched) <= limits.nodes
    assert limits.cpu is None or sum(int(one.resources["cpu"]) for one in launched) <= int(limits.cpu)
    for server_type in pool.spec.server_types:
        same = [one for one in launched if one.server_type == server_type.name]
        assert server_type.max is None or len(same) <= server_type.max
    for offering in offerings:
        assert offering.stock is None or sum(one.id == offering.id for one in launched) <= offering.stock


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_room_that_exists_is_used_rightly_beside_pods_that_stand_there(data: st.DataObject) -> None:
    waiting = data.draw(demands())
    nodes = [
        a_node(f"old-{n}", cpu=data.draw(st.sampled_from(["1", "4"])), labels={ZONE: data.draw(st.sampled_from(ZONES))})
        for n in range(data.draw(st.integers(1, 3)))
    ]
    existing: list[Pod] = []
    for n in range(data.draw(st.integers(0, 4))):
        app = data.draw(st.sampled_from(_APPS))
        node = data.draw(st.sampled_from(nodes)).metadata.name
        rules = data.draw(_rules(app))
        existing.append(a_pod(f"standing-{n}", node=node, requests={"cpu": "100m"}, labels={"app": app}, **rules))
    stage = a_stage(nodes, [*existing, *waiting])
    offerings = data.draw(shops())
    solution = solve(waiting, offerings, [a_pool(types=sorted({one.server_type for one in offerings}))], stage=stage)
    judge(solution, waiting, stage)
    assert solution.cost_per_hour >= solution.bound_per_hour


@settings(max_examples=60, deadline=None)
@given(demands(), shops())
def test_the_same_input_gives_the_same_plan(waiting: list[Pod], offerings: list[Offering]) -> None:
    pool = [a_pool(types=sorted({one.server_type for one in offerings}))]
    assert _shape(solve(waiting, offerings, pool)) == _shape(solve(waiting, offerings, pool))


@settings(max_examples=60, deadline=None)
@given(demands(), shops())
def test_the_order_in_which_pods_are_named_changes_no_cost(waiting: list[Pod], offerings: list[Offering]) -> None:
    pool = [a_pool(types=sorted({one.server_type for one in offerings}))]
    assert cost_of(solve(waiting, offerings, pool)) == cost_of(solve(waiting[::-1], offerings, pool))


@settings(max_examples=80, deadline=None)
@given(demands(most=60), shops())
def test_more_budget_never_raises_the_cost(waiting: list[Pod], offerings: list[Offering]) -> None:
    pool = [a_pool(types=sorted({one.server_type for one in offerings}))]
    budgets = (LITTLE, StepBudget(passes=2, rounds=0, steps=20), StepBudget(passes=2, rounds=60, steps=20))
    costs = [(len(s.left_out), cost_of(s)) for b in budgets for s in [solve(waiting, offerings, pool, budget=b)]]
    assert costs == sorted(costs, reverse=True)


@settings(max_examples=80, deadline=None)
@given(demands(with_rules=False), shops(), shops())
def test_adding_an_offering_never_raises_the_bound(
    waiting: list[Pod], offerings: list[Offering], more: list[Offering]
) -> None:
    def bound(shop: list[Offering]) -> PlacementSolution:
        free = [an_offering(o.server_type, o.location, cpu=o.resources["cpu"], memory=o.resources["memory"],
                            price=o.price_per_hour) for o in shop]  # fmt: skip
        return solve(waiting, free, [a_pool(types=sorted({one.server_type for one in free}))])

    few = bound(offerings)
    known = {one.id for one in offerings}
    many = bound([*offerings, *(one for one in more if one.id not in known)])
    if not few.left_out:
        assert many.bound_per_hour <= few.bound_per_hour + 1e-9


@settings(max_examples=80, deadline=None)
@given(demands(), shops())
def test_one_impossible_pod_changes_nothing_for_the_others(waiting: list[Pod], offerings: list[Offering]) -> None:
    pool = [a_pool(types=sorted({one.server_type for one in offerings}))]
    without = solve(waiting, offerings, pool)
    beside = solve([*waiting, *pods(1, cpu="500", app="none")], offerings, pool)
    assert cost_of(beside) == cost_of(without)
    assert beside.placed == without.placed
