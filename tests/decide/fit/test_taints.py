"""NodeUnschedulable and TaintToleration."""

from typing import Any

import pytest

from tests.decide.fit.asking import why
from tests.decide.stages import a_node, a_pod, a_stage

GPU = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}
REFUSED = "TaintToleration!: does not tolerate the node's taint gpu=a100:NoSchedule"


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        pytest.param(None, REFUSED, id="no toleration"),
        pytest.param({"key": "gpu", "operator": "Exists"}, "", id="Exists takes any value"),
        pytest.param({"key": "gpu", "operator": "Equal", "value": "a100"}, "", id="Equal takes the same value"),
        pytest.param({"key": "gpu", "value": "a100"}, "", id="no operator means Equal"),
        pytest.param({"key": "gpu", "value": "h100"}, REFUSED, id="another value"),
        pytest.param({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, "", id="the same effect"),
        pytest.param({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, REFUSED, id="another effect"),
        pytest.param({"operator": "Exists"}, "", id="no key tolerates everything"),
        pytest.param({"key": "gpu", "operator": "Gt", "value": "1"}, REFUSED, id="Gt is off in 1.36 and never matches"),
    ],
)
def test_a_taint_keeps_out_who_does_not_tolerate_it(toleration: dict[str, str] | None, expected: str) -> None:
    pod = a_pod(tolerations=[toleration] if toleration else [])
    assert why(a_stage([a_node(taints=[GPU])]), pod) == expected


@pytest.mark.parametrize(
    ("effect", "is_blocking"), [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False)]
)
def test_only_a_wish_to_keep_out_lets_pods_in(effect: str, is_blocking: bool) -> None:  # noqa: FBT001
    stage = a_stage([a_node(taints=[{"key": "gpu", "effect": effect}])])
    assert bool(why(stage, a_pod())) is is_blocking


def test_how_long_a_taint_is_tolerated_plays_no_part() -> None:
    stage = a_stage([a_node(taints=[{"key": "gpu", "effect": "NoExecute"}])])
    brief = {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
    assert why(stage, a_pod(tolerations=[brief])) == ""


def test_all_taints_must_be_tolerated() -> None:
    stage = a_stage([a_node(taints=[GPU, {"key": "spot", "effect": "NoSchedule"}])])
    assert why(stage, a_pod(tolerations=[{"key": "gpu", "operator": "Exists"}])).endswith("taint spot:NoSchedule")


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], "NodeUnschedulable!: the node is cordoned (spec.unschedulable)", id="most pods stay out"),
        pytest.param([{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}], "", id="who tolerates it"),
        pytest.param([{"operator": "Exists"}], "", id="who tolerates everything"),
        pytest.param(
            [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoExecute"}],
            "NodeUnschedulable!: the node is cordoned (spec.unschedulable)",
            id="tolerating another effect is not enough",
        ),
    ],
)
def test_a_cordoned_node_takes_only_who_tolerates_it(tolerations: list[dict[str, Any]], expected: str) -> None:
    assert why(a_stage([a_node(unschedulable=True)]), a_pod(tolerations=tolerations)) == expected


def test_node_conditions_are_never_read() -> None:
    assert why(a_stage([a_node()]), a_pod()) == ""  # this node has no Ready condition at all
