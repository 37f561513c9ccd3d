"""The mark of a node that nobody needs: whole, half, or not readable."""

from datetime import UTC, datetime

import pytest

from growth.api.meta import ObjectMeta
from growth.api.node import Node, NodeSpec
from growth.api.taints import LEAVES, SCALE_DOWN, SCALE_DOWN_AT, has_traces, is_tainted, scale_down_at
from growth.api.tolerations import Taint

NOON = "2026-03-01T12:00:00Z"


def a_node(*taints: Taint, **annotations: str) -> Node:
    return Node(ObjectMeta(name="n", annotations=annotations), NodeSpec(taints=taints))


def test_taint_and_annotation_together_are_a_mark() -> None:
    node = a_node(LEAVES, **{SCALE_DOWN_AT: NOON})
    assert scale_down_at(node) == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert is_tainted(node)
    assert has_traces(node)


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(a_node(LEAVES), id="only the taint"),
        pytest.param(a_node(**{SCALE_DOWN_AT: NOON}), id="only the annotation"),
        pytest.param(a_node(LEAVES, **{SCALE_DOWN_AT: ""}), id="an empty text"),
        pytest.param(a_node(LEAVES, **{SCALE_DOWN_AT: "in ten minutes"}), id="what is no time"),
        pytest.param(a_node(LEAVES, **{SCALE_DOWN_AT: "2026-13-01T12:00:00Z"}), id="a time that there is not"),
    ],
)
def test_half_a_mark_says_nothing_and_leaves_traces(node: Node) -> None:
    assert scale_down_at(node) is None
    assert has_traces(node)


def test_a_node_without_either_has_no_traces() -> None:
    assert not has_traces(a_node(Taint("growth.dev/starting", "n", "NoSchedule"), other="x"))


def test_the_taint_keeps_new_pods_away_and_no_others() -> None:
    assert (LEAVES.key, LEAVES.effect) == (SCALE_DOWN, "NoSchedule")


def test_whoever_wrote_the_taint_and_how_it_counts() -> None:
    assert is_tainted(a_node(Taint(SCALE_DOWN, "by-hand", "NoExecute")))
