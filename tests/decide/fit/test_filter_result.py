"""Verdicts in words."""

import pytest

from growth.api.reasons.formatting import amount, size
from growth.decide.fit import FitResult, fits_anywhere
from tests.decide.stages import a_node, a_pod, a_stage

GPU = [{"key": "gpu", "effect": "NoSchedule"}]


def test_the_sentence_counts_nodes_by_cause_and_names_the_commonest_first() -> None:
    nodes = [a_node("s1"), a_node("s2"), a_node("g1", taints=GPU), a_node("c1", unschedulable=True)]
    verdict = fits_anywhere(a_stage(nodes), a_pod(requests={"cpu": "5"}))
    assert [(cause.nodes, cause.example.filter) for cause in verdict.causes] == [
        (2, "NodeResourcesFit"),
        (1, "NodeUnschedulable"),
        (1, "TaintToleration"),
    ]
    assert verdict.sentence == (
        "fits none of 4 nodes (2: needs 5 CPU; node has 4 free of 4; 1: the node is cordoned (spec.unschedulable); "
        "1: does not tolerate the node's taint gpu:NoSchedule)"
    )


def test_among_equals_the_nearest_miss_is_told() -> None:
    nodes = [a_node("large", cpu="8"), a_node("small", cpu="2")]
    stage = a_stage(nodes, [a_pod(node="large", requests={"cpu": "4"})])
    assert "needs 5 CPU; node has 4 free of 8" in fits_anywhere(stage, a_pod(requests={"cpu": "5"})).sentence


def test_a_verdict_says_how_many_nodes_fit() -> None:
    verdict = fits_anywhere(a_stage([a_node("a"), a_node("b", taints=GPU)]), a_pod())
    assert (verdict.fits, verdict.sentence) == (True, "fits 1 of 2 nodes")


def test_a_cluster_without_nodes_fits_nobody() -> None:
    assert fits_anywhere(a_stage(), a_pod()) == FitResult(())
    assert fits_anywhere(a_stage(), a_pod()).sentence == "there is no node"


@pytest.mark.parametrize(
    ("resource", "counted", "text"),
    [
        ("cpu", 250, "0.25"),
        ("cpu", 48000, "48"),
        ("cpu", 1, "0.001"),
        ("memory", 3 << 29, "1.5Gi"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("nvidia.com/gpu", 3, "3"),
    ],
)
def test_amounts_are_written_as_people_write_them(resource: str, counted: int, text: str) -> None:
    assert amount(resource, counted) == text


def test_sizes_below_a_kilobyte_are_plain_numbers() -> None:
    assert [size(0), size(1023), size(-2048)] == ["0", "1023", "-2Ki"]
