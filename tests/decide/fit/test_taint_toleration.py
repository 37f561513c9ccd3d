"""NodeUnschedulable and TaintToleration."""

from typing import Any

import msgspec
import pytest

from growth.api.taints import closed, key_to
from tests.decide.fit.asking import where, why
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


def keyed(*nodes: str) -> list[dict[str, str]]:
    return [msgspec.to_builtins(key_to(node)) for node in nodes]


@pytest.mark.parametrize(
    ("keys", "is_let_in"),
    [
        pytest.param(keyed(), False, id="no key"),
        pytest.param(keyed("node-1"), True, id="its key"),
        pytest.param(keyed("node-2"), False, id="the key to another node"),
        pytest.param(keyed("node-1", "node-2"), True, id="an older key opens, too"),
        pytest.param([{"key": "growth.dev/starting", "operator": "Exists"}], True, id="who goes everywhere"),
    ],
)
def test_a_closed_node_lets_in_who_holds_its_key(keys: list[dict[str, str]], is_let_in: bool) -> None:  # noqa: FBT001
    stage = a_stage([a_node(taints=[msgspec.to_builtins(closed("node-1"))])])
    refusal = "TaintToleration!: does not tolerate the node's taint growth.dev/starting=node-1:NoSchedule"
    assert why(stage, a_pod(tolerations=keys)) == ("" if is_let_in else refusal)


def test_siblings_with_different_keys_are_told_apart_on_one_stage() -> None:
    closed_nodes = [a_node(name, taints=[msgspec.to_builtins(closed(name))]) for name in ("node-1", "node-2")]
    stage = a_stage(closed_nodes)
    pods = [a_pod(tolerations=keyed(*names)) for names in ((), ("node-1",), ("node-2",), ("node-1", "node-2"))]
    assert len({id(pod.spec) for pod in pods}) == 1
    assert [where(stage, pod) for pod in pods] == [[], ["node-1"], ["node-2"], ["node-1", "node-2"]]


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
