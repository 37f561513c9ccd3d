"""Plans: what is bought, where pods go, and in which words one is refused."""

import pytest

from growth.api.node_pool import Limits, ServerType
from growth.api.pod import Pod
from growth.api.tolerations import Taint
from tests.decide.solver.shop import (
    EVERYWHERE,
    HOST,
    LARGE,
    SMALL,
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


def test_without_pods_there_is_nothing_to_decide() -> None:
    assert solve([]).outcome == "NoDemands"


def test_the_cheaper_of_two_ways_is_taken() -> None:
    waiting = pods(8)
    solution = solve(waiting)
    judge(solution, waiting)
    assert solution.outcome == "AllPlaced"
    assert [node.offering.server_type for node in solution.launch] == ["s8"]
    assert solution.cost_per_hour == solution.bound_per_hour == 3.6


def test_equal_prices_are_decided_by_fewer_machines() -> None:
    offerings = [an_offering("s2", price=1.0), an_offering("s4", cpu="4", memory="8Gi", price=2.0)]
    solution = solve(pods(4), offerings, [a_pool(types=("s2", "s4"))])
    assert [node.offering.server_type for node in solution.launch] == ["s4"]


def test_zonal_self_anti_affinity_over_three_zones_is_three_nodes_at_once() -> None:
    waiting = pods(3, **apart("web", ZONE))
    solution = solve(waiting)
    judge(solution, waiting)
    assert solution.outcome == "AllPlaced"
    assert sorted(node.offering.zone or node.offering.location for node in solution.launch) == list(ZONES)


def test_the_fourth_of_a_kind_that_keeps_apart_by_zone_is_refused_in_words() -> None:
    waiting = pods(4, **apart("web", ZONE))
    solution = solve(waiting)
    judge(solution, waiting)
    assert (solution.outcome, len(solution.launch)) == ("IncompletePlacement", 3)
    assert solution.left_out[0].reason.startswith("must be the only one of its kind in a zone (anti-affinity)")


def test_pods_that_keep_apart_by_node_get_a_node_each() -> None:
    waiting = pods(5, "100m", "64Mi", **apart("web"))
    solution = solve(waiting)
    judge(solution, waiting)
    assert len(solution.launch) == 5


def test_a_zonal_spread_is_level() -> None:
    waiting = pods(7, **spread("web"))
    solution = solve(waiting)
    judge(solution, waiting)
    by_zone: dict[str, int] = dict.fromkeys(ZONES, 0)
    for node in solution.launch:
        by_zone[node.offering.location] += len(node.pods)
    assert sorted(by_zone.values()) == [2, 2, 3]


def test_pods_that_want_to_be_together_are_in_one_zone() -> None:
    waiting = pods(12, **together("web"))
    solution = solve(waiting)
    judge(solution, waiting)
    assert len({node.offering.location for node in solution.launch}) == 1
    assert solution.outcome == "AllPlaced"


def test_pods_spread_over_others_and_others_over_them_do_not_wait_for_each_other() -> None:
    waiting = [*pods(6, app="a", **spread("b")), *pods(6, app="b", **spread("a")), *pods(9, app="a"), *pods(9, app="b")]
    solution = solve(waiting)
    judge(solution, waiting)
    assert solution.outcome == "AllPlaced"


def test_free_room_is_used_before_anything_is_bought() -> None:
    waiting = pods(4)
    stage = a_stage([a_node("old", cpu="3")], waiting)
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert [(one.node, len(one.pods)) for one in solution.existing] == [("old", 3)]
    assert cost_of(solution) == 1.0


def test_a_pod_that_stands_keeps_others_out_of_its_zone() -> None:
    existing = a_pod("loner", node="old", requests={"cpu": "1"}, labels={"app": "x"}, **apart("web", ZONE))
    waiting = pods(2)
    stage = a_stage([a_node("old", labels={ZONE: "zone-a"})], [existing, *waiting])
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert solution.outcome == "AllPlaced"
    assert all(node.offering.location != "zone-a" for node in solution.launch)


def test_one_impossible_pod_never_costs_another_its_place() -> None:
    waiting = [*pods(1, cpu="96"), *pods(8)]
    solution = solve(waiting)
    judge(solution, waiting)
    assert solution.placed == 8
    assert [one.reason for one in solution.left_out] == ["needs 96 CPU; largest offering in pool default has 8"]


def test_the_higher_priority_is_served_when_a_limit_binds() -> None:
    low, high = pods(4, app="low", priority=1), pods(4, app="high", priority=1000)
    solution = solve([*low, *high], pools=[a_pool(limits=Limits(nodes=2), types=("s2",))])
    judge(solution, [*low, *high])
    assert {pod.metadata.labels["app"] for node in solution.launch for pod in node.pods} == {"high"}
    assert solution.left_out[0].reason == "pool default may have 2 nodes, and that is used up"


def test_a_pool_of_higher_priority_is_used_first_though_it_costs_more() -> None:
    pools = [a_pool("default", ("s2",)), a_pool("gold", ("s8",), priority=10)]
    waiting = pods(2, affinity=_in_pools("default", "gold"))
    solution = solve(waiting, pools=pools)
    judge(solution, waiting)
    assert [node.pool.metadata.name for node in solution.launch] == ["gold"]


def test_a_server_type_of_higher_priority_is_used_up_to_its_maximum() -> None:
    types = [ServerType("s8", max=1, priority=5), ServerType("s2")]
    waiting = pods(10)
    solution = solve(waiting, pools=[a_pool(types=types)])
    judge(solution, waiting)
    assert sorted(node.offering.server_type for node in solution.launch) == ["s2", "s8"]


def _in_pools(*names: str) -> dict[str, object]:
    expression = {"key": "growth.dev/pool", "operator": "In", "values": list(names)}
    term = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}


@pytest.mark.parametrize(
    ("waiting", "reason"),
    [
        pytest.param(
            pods(1, nodeSelector={"growth.dev/pool": "gpu"}),
            "asks for pool gpu, which does not exist",
            id="no such pool",
        ),
        pytest.param(
            pods(1, memory="64Gi"), "needs 64Gi memory; largest offering in pool default has 16Gi", id="too large"
        ),
        pytest.param(
            pods(1, nodeSelector={"disk": "fast"}),
            "no offering in pool default will do: needs a node with disk=fast; this one has no label disk",
            id="a label that nothing has",
        ),
        pytest.param(
            [a_pod(requests={"nvidia.com/gpu": "1"})],
            "needs 1 nvidia.com/gpu; largest offering in pool default has none",
            id="a resource that nothing has",
        ),
    ],
)
def test_a_pod_that_is_left_out_is_told_the_nearest_miss(waiting: list[Pod], reason: str) -> None:
    assert [one.reason for one in solve(waiting).left_out] == [reason]


def test_without_a_default_pool_pods_must_ask_for_one() -> None:
    solution = solve(pods(1), pools=[a_pool("gpu")])
    assert [one.reason for one in solution.left_out] == ["asks for no pool, and there is no pool named default"]


def test_a_taint_that_is_not_tolerated_is_named() -> None:
    solution = solve(pods(1), pools=[a_pool(taints=[Taint("dedicated", "db", "NoSchedule")])])
    assert "does not tolerate the node's taint dedicated=db:NoSchedule" in solution.left_out[0].reason


def test_stock_is_never_exceeded() -> None:
    offerings = [an_offering("s2", stock=2), LARGE]
    waiting = pods(6)
    solution = solve(waiting, offerings)
    judge(solution, waiting)
    assert sum(node.offering.server_type == "s2" for node in solution.launch) <= 2


def test_odd_pods_are_placed_one_by_one() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}]
    container = {"name": "main", "resources": {"requests": {"cpu": "100m"}}, "ports": ports}
    waiting = [a_pod(containers=[container]) for _ in range(3)]
    solution = solve(waiting)
    judge(solution, waiting)
    assert (solution.outcome, len(solution.launch)) == ("AllPlaced", 3)


def test_pods_that_follow_others_to_their_node_are_on_it() -> None:
    waiting = [*pods(2, "250m", app="db"), *pods(2, "250m", app="web", **together("db", HOST))]
    solution = solve(waiting)
    judge(solution, waiting)
    assert solution.outcome == "AllPlaced"


def test_pods_that_want_to_be_on_one_node_get_one_that_holds_them_all() -> None:
    waiting = pods(5, **together("web", HOST))
    solution = solve(waiting)
    judge(solution, waiting)
    assert (solution.outcome, [node.offering.server_type for node in solution.launch]) == ("AllPlaced", ["s8"])


def test_one_node_needs_no_kept_places_and_several_different_pods_on_several_nodes_do() -> None:
    alone = pods(2)
    assert not solve(alone).keep
    mixed = [*pods(3, "1500m"), *pods(9, "700m")]
    offerings = [one for one in EVERYWHERE if one.server_type == "s2"]
    solution = solve(mixed, offerings)
    assert solution.keep == {pod.metadata.uid for pod in mixed}


def test_equal_pods_that_need_every_node_need_no_kept_places() -> None:
    assert not solve(pods(6), [SMALL]).keep


def test_a_place_is_kept_if_a_pod_that_is_left_out_would_take_it() -> None:
    waiting = pods(3, "700m", **together("web", HOST))
    solution = solve(waiting, [SMALL])
    assert len(solution.left_out) == 1
    assert solution.keep == {pod.metadata.uid for node in solution.launch for pod in node.pods}


def test_a_pod_that_no_machine_can_take_makes_nobody_keep_a_place() -> None:
    solution = solve([*pods(2), *pods(1, "96")])
    assert len(solution.left_out) == 1
    assert not solution.keep


def test_the_stage_is_as_it_was_before() -> None:
    waiting = pods(9, **spread("web"))
    stage = a_stage([a_node("old", labels={ZONE: "zone-a"})], waiting)
    before = dict(stage.nodes)
    mark = stage.mark()
    solve(waiting, stage=stage)
    assert (stage.mark(), dict(stage.nodes)) == (mark, before)
    assert not stage.node_info("old").pods


def test_a_rule_about_somebody_who_gets_no_place_costs_nobody_anything() -> None:
    tiny, small = an_offering("s1", cpu="1", memory="2Gi", price=0.5), an_offering("s2")
    term = {
        "topologyKey": HOST,
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]},
    }
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    waiting = [*pods(3, cpu="100m", app="a", affinity=alone), *pods(1, cpu="500", app="none", priority=1000)]
    solution = solve(waiting, [tiny, small], [a_pool(types=("s1", "s2"))])
    assert [node.offering.server_type for node in solution.launch] == ["s1", "s1", "s1"]
    assert [one.pod for one in solution.left_out] == waiting[3:]
