"""Free room first: what nodes that exist are asked, and when they are given up."""

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from growth.api.taints import closed, key_to
from growth.decide.solver.equivalence_groups import grouped
from growth.decide.solver.existing_nodes import rising
from tests.decide.solver.shop import ZONE, apart, judge, pods, solve, spread, together
from tests.decide.stages import a_node, a_pod, a_stage


def test_room_that_is_kept_for_a_nominated_pod_is_not_given_to_others() -> None:
    waiting = pods(4)
    nominated = a_pod(requests={"cpu": "2"}, priority=10, status={"nominatedNodeName": "old"})
    stage = a_stage([a_node("old", cpu="4")], [*waiting, nominated])
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert [(one.node, len(one.pods)) for one in solution.existing] == [("old", 2)]


def test_keys_make_no_difference_to_who_is_alike() -> None:
    waiting = [*pods(2), *pods(3, tolerations=[msgspec.to_builtins(key_to("gone"))])]
    (group,) = grouped(waiting, a_stage(pods=waiting)).groups
    assert sorted(group.uids) == sorted(pod.metadata.uid for pod in waiting)
    assert [pod.keys for pod in group.pods].count(("gone",)) == 3


def test_a_key_lets_nobody_in_but_its_holder() -> None:
    """The holder may be the first of its group, and is asked for all of them."""
    keys = [msgspec.to_builtins(key_to("starting"))]
    holders, others = pods(1, tolerations=keys), pods(8)
    waiting = [*holders, *others]
    starting = a_node("starting", cpu="16", memory="64Gi", taints=[msgspec.to_builtins(closed("starting"))])
    for order in (waiting, waiting[::-1]):
        stage = a_stage([starting], order)
        solution = solve(order, stage=stage)
        judge(solution, order, stage)
        assert {pod.metadata.uid for one in solution.existing for pod in one.pods} <= {holders[0].metadata.uid}
        assert solution.placed == len(order)


def test_pods_that_keep_apart_use_every_node_there_is_before_one_is_bought() -> None:
    waiting = pods(60, "100m", "64Mi", **apart("web"))
    stage = a_stage([a_node(f"old-{n}") for n in range(60)], waiting)
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert (len(solution.launch), solution.placed) == (0, 60)


def test_a_node_of_the_right_kind_is_found_behind_hundreds_of_others() -> None:
    waiting = pods(2, "100m", "64Mi", nodeSelector={"disk": "fast"}, **apart("web"))
    others = [a_node(f"old-{n}", cpu="1") for n in range(300)]
    right = [a_node(f"fast-{n}", cpu="8", labels={"disk": "fast"}) for n in range(2)]
    stage = a_stage([*others, *right], waiting)
    solution = solve(waiting, stage=stage)
    assert sorted(one.node for one in solution.existing) == ["fast-0", "fast-1"]


def test_a_node_that_is_short_of_what_a_pod_does_not_ask_for_takes_it() -> None:
    existing = a_pod(node="old", requests={"cpu": "5"})
    waiting = [a_pod(requests={"memory": "1Gi"}, labels={"app": "web"}, **apart("web")), *pods(1, "500m", app="db")]
    stage = a_stage([a_node("old", cpu="4")], [existing, *waiting])
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert [one.pods for one in solution.existing] == [(waiting[0],)]


def test_a_spread_goes_back_to_nodes_that_refused_it_before() -> None:
    waiting = pods(9, "100m", "64Mi", **spread("web"))
    nodes = [a_node(f"old-{zone}", labels={ZONE: f"zone-{zone}"}) for zone in "abc"]
    stage = a_stage(nodes, waiting)
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert sorted(len(one.pods) for one in solution.existing) == [3, 3, 3]


def test_a_pod_that_follows_a_smaller_one_finds_room_that_is_free() -> None:
    waiting = [*pods(1, "2", app="web", **together("db")), *pods(1, "1", app="db")]
    stage = a_stage([a_node("old", labels={ZONE: "zone-a"})], waiting)
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert not solution.launch


def test_plain_pods_find_a_node_of_the_right_kind_behind_more_than_a_thousand_others() -> None:
    waiting = pods(2, "100m", "64Mi", nodeSelector={"disk": "fast"})
    others = [a_node(f"old-{n}", cpu="1") for n in range(1_200)]
    stage = a_stage([*others, a_node("fast", cpu="8", labels={"disk": "fast"})], waiting)
    solution = solve(waiting, stage=stage)
    assert [(one.node, len(one.pods)) for one in solution.existing] == [("fast", 2)]


@given(st.lists(st.integers(0, 20), min_size=1, max_size=300))
def test_nodes_are_tried_in_the_order_of_a_stable_sort(slack: list[int]) -> None:
    order = list(rising(np.array(slack, dtype=np.float64)))
    assert order == sorted(range(len(slack)), key=slack.__getitem__)
