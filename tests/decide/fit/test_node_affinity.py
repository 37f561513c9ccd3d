"""NodeName, NodeAffinity and NodeDeclaredFeatures."""

from typing import Any

import msgspec
import pytest

from growth.api.node import Node
from growth.decide.fit import unplaceable
from tests.decide.fit.asking import where, why
from tests.decide.stages import a_node, a_pod, a_stage

Json = dict[str, Any]


def wanting(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def labels(operator: str, *values: str, key: str = "size") -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def names(operator: str, *values: str) -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(values)}]}


NOTHING: Json = {}
NODES = [
    a_node("small", labels={"size": "1"}),
    a_node("large", labels={"size": "5"}),
    a_node("odd", labels={"size": "huge"}),
    a_node("bare"),
]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([labels("In", "1", "5")], ["large", "small"], id="In"),
        pytest.param([labels("NotIn", "1", "5")], ["bare", "odd"], id="NotIn takes nodes without the label"),
        pytest.param([labels("Exists")], ["large", "odd", "small"], id="Exists"),
        pytest.param([labels("DoesNotExist")], ["bare"], id="DoesNotExist"),
        pytest.param([labels("Gt", "1")], ["large"], id="Gt is strict and wants numbers"),
        pytest.param([labels("Lt", "5")], ["small"], id="Lt is strict and wants numbers"),
        pytest.param([labels("Gt", "many")], [], id="Gt of a word matches nothing"),
        pytest.param([labels("In")], [], id="In without values matches nothing"),
        pytest.param([labels("In"), labels("In", "1")], ["small"], id="a senseless term leaves the others"),
        pytest.param([NOTHING], [], id="an empty term matches nothing"),
        pytest.param([], [], id="no terms match nothing"),
        pytest.param([labels("In", "1"), labels("In", "5")], ["large", "small"], id="terms are alternatives"),
        pytest.param([names("In", "odd")], ["odd"], id="a name"),
        pytest.param([names("NotIn", "odd")], ["bare", "large", "small"], id="any other name"),
        pytest.param([names("In", "odd", "bare")], [], id="two names in one requirement make no sense"),
        pytest.param([{**names("In", "odd"), **labels("In", "1")}], [], id="name and labels must both hold"),
        pytest.param([{**names("In", "odd"), **labels("Exists")}], ["odd"], id="and do"),
    ],
)
def test_required_affinity_selects_nodes(terms: list[Json], expected: list[str]) -> None:
    assert where(a_stage(NODES), a_pod(affinity=wanting(*terms))) == expected


def test_selector_and_affinity_must_both_hold() -> None:
    pod = a_pod(nodeSelector={"size": "5"}, affinity=wanting(labels("Exists")))
    assert where(a_stage(NODES), pod) == ["large"]
    assert where(a_stage(NODES), a_pod(nodeSelector={"size": "5"}, affinity=wanting(labels("Lt", "5")))) == []


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        pytest.param({"nodeSelector": {"size": "5"}}, "needs a node with size=5; this one has size=1", id="a value"),
        pytest.param({"nodeSelector": {"gpu": "y"}}, "needs a node with gpu=y; this one has no label gpu", id="a key"),
        pytest.param(
            {"affinity": wanting(labels("Gt", "3"))},
            "needs a node with size Gt [3]; this one has size=1",
            id="an affinity",
        ),
        pytest.param(
            {"affinity": wanting(names("In", "large"))},
            "needs a node with metadata.name In [large]; this one is small",
            id="a name",
        ),
        pytest.param(
            {"affinity": wanting(labels("In", "7"), labels("In", "8"))},
            "none of the 2 terms of its node affinity matches the node",
            id="alternatives",
        ),
        pytest.param(
            {"affinity": wanting({})}, "its node affinity has an empty term, which matches no node", id="nothing"
        ),
    ],
)
def test_the_reason_names_what_is_asked_and_what_is_there(spec: Json, reason: str) -> None:
    assert why(a_stage(NODES), a_pod(**spec), "small") == f"NodeAffinity!: {reason}"


def test_preferred_affinity_never_blocks() -> None:
    preference = {"weight": 100, "preference": labels("In", "none")}
    pod = a_pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}})
    assert len(where(a_stage(NODES), pod)) == 4


def test_a_pod_that_asks_for_two_names_at_once_is_refused_before_any_node() -> None:
    both = {"matchFields": [*names("In", "odd")["matchFields"], *names("In", "bare")["matchFields"]]}
    misfit = unplaceable(a_stage(NODES), a_pod(affinity=wanting(both)))
    assert misfit is not None
    assert misfit.reason == "its node affinity asks for two node names at once"
    assert unplaceable(a_stage(NODES), a_pod(affinity=wanting(both, names("In", "odd")))) is None


def test_a_pod_that_names_its_node_fits_no_other() -> None:
    pod = a_pod(node="odd")
    assert where(a_stage(NODES), pod) == ["odd"]
    assert why(a_stage(NODES), pod, "bare") == "NodeName!: asks for the node odd by name"


def declaring(node: Node, *features: str) -> Node:
    return msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, declared_features=features))


@pytest.mark.parametrize(
    ("spec", "feature"),
    [
        (
            {"initContainers": [{"name": "i", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
            "RestartAllContainersOnContainerExits",
        ),
        ({"hostNetwork": True, "hostUsers": False}, "UserNamespacesHostNetworkSupport"),
    ],
)
def test_a_feature_that_a_pod_needs_must_be_declared(spec: Json, feature: str) -> None:
    pod = a_pod(**spec)
    refused = f"NodeDeclaredFeatures!: needs a node that declares {feature}"
    assert why(a_stage([a_node()]), pod) == refused
    assert why(a_stage([declaring(a_node(), feature)]), pod) == ""


def test_host_network_alone_needs_no_feature() -> None:
    assert why(a_stage([a_node()]), a_pod(hostNetwork=True)) == ""
