"""Which zone pods are given: rules about zones, tiers and prices that differ by zone."""

from growth.api.nodepool import ServerType
from tests.decide.pack.shop import (
    LARGE,
    SMALL,
    a_pool,
    an_offering,
    judge,
    pods,
    solve,
    spread,
)
from tests.decide.pack.shop import ZONE as ZONE_LABEL
from tests.decide.stages import a_node, a_stage


def test_a_type_that_is_tried_first_may_be_sold_in_some_zones_only() -> None:
    types = [ServerType("s2", priority=5), ServerType("s8")]
    offerings = [SMALL, an_offering("s8", "zone-b", cpu="8", memory="16Gi", price=3.6)]
    waiting = pods(4, **spread("web"))
    solution = solve(waiting, offerings, [a_pool(types=types)])
    judge(solution, waiting)
    assert sorted((node.offering.server_type, len(node.pods)) for node in solution.buy) == [("s2", 2), ("s8", 2)]


def test_pods_spread_over_others_are_not_limited_to_as_many_as_there_may_be_of_those() -> None:
    waiting = pods(10, app="a", **spread("b"))
    stage = a_stage([a_node("full", cpu="0", labels={ZONE_LABEL: "zone-x"})], waiting)
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert solution.outcome == "AllPlaced"


def test_machines_that_cost_nothing_are_bought_sparingly_too() -> None:
    offerings = [an_offering("s2", price=0.0), an_offering("s8", cpu="8", memory="16Gi", price=0.0)]
    waiting = [pod for size in range(12) for pod in pods(4, f"{100 + 50 * size}m")]
    solution = solve(waiting, offerings)
    judge(solution, waiting)
    assert (solution.cost_per_hour, solution.bound_per_hour) == (0.0, 0.0)
    assert [node.offering.server_type for node in solution.buy] == ["s8"] * 3


def test_what_costs_nothing_is_taken_before_what_costs_little() -> None:
    waiting = pods(10, "500m")
    solution = solve(waiting, [an_offering("s2", price=0.0), LARGE])
    assert (solution.cost_per_hour, solution.bound_per_hour) == (0.0, 0.0)
