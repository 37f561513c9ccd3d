"""No machine is bought that no pod needs."""

import pytest

from growth.api.node_pool import Limits
from growth.api.pod import Pod
from tests.decide.solver.shop import EVERYWHERE, HOST, SMALL, ZONE, a_pool, apart, cost_of, judge, pods, solve, spread
from tests.decide.stages import a_node, a_pod, a_stage


@pytest.mark.parametrize(
    ("waiting", "machines"),
    [
        pytest.param(pods(4, "100m", "64Mi", **spread("web", HOST)), 1, id="small pods need one"),
        pytest.param(pods(4, "1", "64Mi", **spread("web", HOST)), 2, id="large pods need two"),
        pytest.param(pods(3, "1", "64Mi", **spread("web", HOST)), 2, id="an odd one needs another"),
        pytest.param(pods(4, "100m", "64Mi", **apart("web")), 4, id="those that keep apart need one each"),
    ],
)
def test_a_spread_over_nodes_buys_no_more_of_them_than_the_scheduler_needs(waiting: list[Pod], machines: int) -> None:
    solution = solve(waiting, [SMALL])
    judge(solution, waiting)
    assert len(solution.launch) == machines


def test_where_every_node_has_one_already_the_next_ones_share_one_machine() -> None:
    existing = [a_pod(f"standing-{n}", node=f"old-{n}", requests={"cpu": "4"}, labels={"app": "web"}) for n in range(2)]
    waiting = pods(2, "100m", "64Mi", **spread("web", HOST))
    stage = a_stage([a_node(f"old-{n}") for n in range(2)], [*existing, *waiting])
    solution = solve(waiting, [SMALL], stage=stage)
    judge(solution, waiting, stage)
    assert len(solution.launch) == 1


def test_room_in_a_zone_that_a_spread_could_not_use_at_first_is_used_in_the_end() -> None:
    existing = a_pod(node="a", labels={"app": "web"})
    nodes = [a_node("a", labels={ZONE: "zone-a"}), a_node("b", cpu="0", labels={ZONE: "zone-b"})]
    waiting = pods(3, **spread("web"))
    stage = a_stage(nodes, [existing, *waiting])
    solution = solve(waiting, stage=stage)
    judge(solution, waiting, stage)
    assert cost_of(solution) == 1.0
    assert [one.node for one in solution.existing] == ["a"]


def test_what_a_spared_machine_leaves_of_a_limit_serves_somebody_else() -> None:
    important = [
        *pods(2, "100m", "64Mi", app="b", priority=9, **apart("c")),
        *pods(1, "900m", "64Mi", app="c", priority=9, **apart("b")),
    ]
    waiting = [*important, *pods(2, "1900m", "64Mi", app="c", **spread("c"))]
    solution = solve(waiting, EVERYWHERE, [a_pool(types=("s2",), limits=Limits(nodes=2))])
    judge(solution, waiting)
    assert sorted(len(node.pods) for node in solution.launch) == [1, 2]
    assert solution.placed == len(important)
