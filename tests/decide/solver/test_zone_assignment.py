"""Which zone pods are given: rules about zones, tiers and prices that differ by zone."""

from growth.api.node_pool import ServerType
from tests.decide.solver.shop import (
    LARGE,
    SMALL,
    a_pool,
    an_offering,
    apart,
    judge,
    pods,
    solve,
    spread,
    together,
)
from tests.decide.solver.shop import ZONE as ZONE_LABEL
from tests.decide.stages import a_node, a_pod, a_stage


def test_a_type_that_is_tried_first_may_be_sold_in_some_zones_only() -> None:
    types = [ServerType("s2", priority=5), ServerType("x2")]
    offerings = [SMALL, an_offering("x2", "zone-b", price=0.9)]
    waiting = pods(4, **spread("web"))
    solution = solve(waiting, offerings, [a_pool(types=types)])
    judge(solution, waiting)
    assert sorted((node.offering.server_type, len(node.pods)) for node in solution.launch) == [("s2", 2), ("x2", 2)]


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
    assert [node.offering.server_type for node in solution.launch] == ["s8"] * 3


def test_what_costs_nothing_is_taken_before_what_costs_little() -> None:
    waiting = pods(10, "500m")
    solution = solve(waiting, [an_offering("s2", price=0.0), LARGE])
    assert (solution.cost_per_hour, solution.bound_per_hour) == (0.0, 0.0)


def test_groups_that_stay_together_go_to_the_cheapest_zone_and_not_to_the_emptiest() -> None:
    offerings = [an_offering("s2", "zone-a", price=3.0), an_offering("s2", "zone-b", price=1.0)]
    waiting = [pod for app in "abc" for pod in pods(2, app=app, **together(app))]
    solution = solve(waiting, offerings)
    judge(solution, waiting)
    assert {node.offering.location for node in solution.launch} == {"zone-b"}


def test_a_zone_of_a_better_tier_is_taken_before_a_cheaper_one() -> None:
    offerings = [an_offering("s2", "zone-a", price=1.0), an_offering("s4", "zone-b", cpu="4", price=9.0)]
    types = [ServerType("s2"), ServerType("s4", priority=1)]
    waiting = pods(2, **together("web"))
    solution = solve(waiting, offerings, [a_pool(types=types)])
    assert [node.offering.server_type for node in solution.launch] == ["s4"]


def test_a_zone_that_is_sold_out_is_no_home_for_pods_that_stay_together() -> None:
    offerings = [an_offering("s2", "zone-a", price=1.0, stock=0), an_offering("s2", "zone-b", price=1.0)]
    waiting = pods(4, **together("web"))
    solution = solve(waiting, offerings)
    assert (solution.outcome, {node.offering.location for node in solution.launch}) == ("AllPlaced", {"zone-b"})


def test_labels_that_only_a_pod_that_stands_reads_keep_their_pods_out_of_its_zone() -> None:
    existing = a_pod("loner", node="old", requests={"cpu": "4"}, **apart("b", ZONE_LABEL))
    for _ in range(4):  # which of the two comes first in a group hangs on their uids
        waiting = [*pods(250, app="a"), *pods(250, app="b")]
        stage = a_stage([a_node("old", labels={ZONE_LABEL: "zone-a"})], [existing, *waiting])
        judge(solve(waiting, stage=stage), waiting, stage)


def test_pods_on_their_way_out_do_not_count_for_a_spread() -> None:
    leaving = [a_pod(f"leaving-{n}", node="old", labels={"app": "web"}, terminating=True) for n in range(3)]
    waiting = pods(450, "100m", "64Mi", **spread("web"))
    stage = a_stage([a_node("old", cpu="0", labels={ZONE_LABEL: "zone-a"})], [*leaving, *waiting])
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert solution.outcome == "AllPlaced"


def test_pods_on_nodes_that_a_spread_does_not_look_at_do_not_count_for_it() -> None:
    elsewhere = [a_pod(f"elsewhere-{n}", node="old", labels={"app": "web"}) for n in range(5)]
    waiting = pods(450, "100m", "64Mi", nodeSelector={"growth.dev/pool": "default"}, **spread("web"))
    stage = a_stage([a_node("old", cpu="0", labels={ZONE_LABEL: "zone-a"})], [*elsewhere, *waiting])
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert solution.outcome == "AllPlaced"
