"""What counts, in this order: free room, important pods when limits bind, tiers, cost, few machines; and the bound."""

from typing import Any

import pytest

from growth.api.node_pool import Limits, ServerType
from growth.api.pod import Pod
from growth.decide.solver.placement_solution import PlacementSolution
from tests.decide.solver.shop import (
    HOST,
    SMALL,
    ZONE,
    a_pool,
    an_offering,
    apart,
    judge,
    pods,
    solve,
    spread,
    together,
)
from tests.decide.stages import a_node, a_pod, a_stage


def with_port(**fields: Any) -> Pod:  # noqa: ANN401
    ports = [{"containerPort": 80, "hostPort": 8080}]
    container = {"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}, "ports": ports}
    return a_pod(containers=[container], **fields)


def served(solution: PlacementSolution) -> set[str]:
    placed = [
        *(pod for node in solution.launch for pod in node.pods),
        *(p for one in solution.existing for p in one.pods),
    ]
    return {pod.metadata.uid for pod in placed}


@pytest.mark.parametrize(
    "important",
    [
        pytest.param([with_port(priority=1000)], id="a host port"),
        pytest.param(pods(1, app="x", priority=1000, **apart("x", ZONE)), id="apart by zone"),
        pytest.param(pods(2, app="x", priority=1000, **together("x", HOST)), id="together on a node"),
        pytest.param(pods(2, app="x", priority=1000, **spread("x")), id="spread over zones"),
        pytest.param(pods(2, app="x", priority=1000), id="nothing"),
    ],
)
def test_whatever_an_important_pod_asks_for_it_is_served_first_when_limits_bind(important: list[Pod]) -> None:
    waiting = [*pods(4, "500m", app="low", priority=1), *important]
    solution = solve(waiting, [SMALL], [a_pool(limits=Limits(nodes=1), types=("s2",))])
    judge(solution, waiting)
    assert {pod.metadata.uid for pod in important} <= served(solution)


def test_lesser_pods_use_the_room_that_important_ones_leave() -> None:
    important, lesser = pods(3, "1500m", app="high", priority=9), pods(9, "500m", app="low")
    solution = solve([*important, *lesser], [SMALL], [a_pool(limits=Limits(nodes=3), types=("s2",))])
    judge(solution, [*important, *lesser])
    assert len(solution.launch) == 3
    assert {pod.metadata.uid for pod in important} <= served(solution)
    assert len(served(solution)) == 3 + 3
    assert {one.reason for one in solution.left_out} == {"pool default may have 3 nodes, and that is used up"}


def test_an_important_pod_that_needs_a_lesser_one_near_is_served_beside_it() -> None:
    follower = pods(1, "1500m", app="follower", priority=9, **together("db"))
    waiting = [*follower, *pods(1, "500m", app="db", priority=1), *pods(8, "1", app="rest", priority=1)]
    solution = solve(waiting, [SMALL], [a_pool(limits=Limits(nodes=2), types=("s2",))])
    judge(solution, waiting)
    assert len(solution.launch) == 2


def test_priorities_change_nothing_where_there_is_enough_for_everybody() -> None:
    alike = solve([*pods(3, "1500m"), *pods(3, "500m")], [SMALL])
    ranked = solve([*pods(3, "1500m", priority=5), *pods(3, "500m", priority=1)], [SMALL])
    assert [len(node.pods) for node in alike.launch] == [len(node.pods) for node in ranked.launch] == [2, 2, 2]


def test_free_room_comes_before_everything_else_and_goes_to_the_important() -> None:
    low, high = pods(1, app="low"), pods(1, app="high", priority=5)
    stage = a_stage([a_node("old", cpu="1")], [*low, *high])
    solution = solve([*low, *high], [SMALL], [a_pool(limits=Limits(nodes=0))], stage=stage)
    assert [(one.node, one.pods) for one in solution.existing] == [("old", tuple(high))]


def test_tiers_come_before_cost_and_cost_before_few_machines() -> None:
    dear = an_offering("s4", cpu="4", memory="8Gi", price=9.0)
    by_tier = solve(pods(4), [SMALL, dear], [a_pool(types=[ServerType("s4", priority=1), ServerType("s2")])])
    assert [node.offering.server_type for node in by_tier.launch] == ["s4"]
    by_cost = solve(pods(4), [SMALL, dear], [a_pool(types=("s2", "s4"))])
    assert [node.offering.server_type for node in by_cost.launch] == ["s2", "s2"]


def test_a_cap_that_comes_from_a_spread_over_nodes_proves_no_bound() -> None:
    # On one node alone a spread over nodes says nothing, so one machine would do.
    solution = solve(pods(4, "100m", "64Mi", **spread("web", HOST)))
    assert solution.bound_per_hour <= 1.0


def test_room_that_a_spread_could_use_later_is_not_left_out_of_the_bound() -> None:
    existing = a_pod(node="a", labels={"app": "web"})
    nodes = [a_node("a", labels={ZONE: "zone-a"}), a_node("b", cpu="0", labels={ZONE: "zone-b"})]
    waiting = pods(3, **spread("web"))
    solution = solve(waiting, stage=a_stage(nodes, [existing, *waiting]))
    assert solution.bound_per_hour <= 2.0


def test_room_in_which_no_pod_fits_does_not_weaken_the_bound() -> None:
    waiting = pods(3, **spread("web"))
    stage = a_stage([a_node(f"old-{n}", cpu="500m") for n in range(9)], waiting)
    assert solve(waiting, stage=stage).bound_per_hour > 1.3


def test_a_dearer_machine_is_bought_if_the_limit_on_machines_leaves_no_other_way() -> None:
    offerings = [SMALL, an_offering("s8", cpu="8", memory="16Gi", price=100.0)]
    waiting = pods(7)
    solution = solve(waiting, offerings, [a_pool(limits=Limits(nodes=1))])
    judge(solution, waiting)
    assert [node.offering.server_type for node in solution.launch] == ["s8"]


def test_a_limit_on_cpu_is_not_wasted_on_machines_that_are_cheap_for_their_cpu() -> None:
    lean = an_offering("s2", cpu="2", memory="8Gi", price=9.0)
    offerings = [lean, an_offering("s8", cpu="8", memory="8Gi", price=1.0)]
    waiting = pods(4, "500m", "4Gi")
    solution = solve(waiting, offerings, [a_pool(limits=Limits(cpu="4"))])
    assert [node.offering.server_type for node in solution.launch] == ["s2", "s2"]


def test_sooner_a_type_of_the_last_tier_than_a_pod_without_a_place() -> None:
    types = [ServerType("s2", priority=9), ServerType("s8")]
    waiting = pods(7)
    solution = solve(waiting, pools=[a_pool(types=types, limits=Limits(nodes=1))])
    judge(solution, waiting)
    assert (solution.outcome, [node.offering.server_type for node in solution.launch]) == ("AllPlaced", ["s8"])
