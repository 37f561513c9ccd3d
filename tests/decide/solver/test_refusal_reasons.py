"""Who is left out is told the nearest miss, and it is true."""

import pytest

from growth.api.node_pool import ServerType
from growth.api.pod import Pod
from tests.decide.solver.shop import HOST, SMALL, ZONE, a_pool, an_offering, apart, judge, pods, solve, together


@pytest.mark.parametrize(
    ("waiting", "reason"),
    [
        pytest.param(
            pods(1, **together("nobody")),
            "a new s2 would not do: needs certain pods near; none of them is at topology.kubernetes.io/zone=zone-a",
            id="follows somebody who is nowhere",
        ),
        pytest.param(
            pods(9, "900m", **together("web", HOST)),
            "fits none of 1 node (1: needs 0.9 CPU; node has 0.8 free of 8); "
            "a new s2 would not do: needs certain pods near; none of them is on it",
            id="one too many for the node they share",
        ),
        pytest.param(
            pods(4, **apart("web", ZONE)),
            "must be the only one of its kind in a zone (anti-affinity); "
            "each of the 3 zones that can be bought in has one, or will",
            id="a fourth for three zones",
        ),
    ],
)
def test_the_reason_says_what_stands_in_the_way(waiting: list[Pod], reason: str) -> None:
    assert [one.reason for one in solve(waiting).left_out] == [reason]


def test_pods_that_share_a_node_get_a_smaller_one_where_the_larger_cannot_be_had() -> None:
    waiting = pods(3, "900m", **together("web", HOST))
    large = an_offering("s8", cpu="8", memory="16Gi", stock=0)
    solution = solve(waiting, [SMALL, large], [a_pool(types=[ServerType("s2"), ServerType("s8")])])
    judge(solution, waiting)
    assert [len(node.pods) for node in solution.launch] == [2]
