"""What the comparison with the real scheduler found, and quirks of it that we copy, each by name."""

from typing import Any

import pytest

from tests.decide.fit.asking import where, why
from tests.decide.fit.volumes import a_claim, a_class, a_volume, limits, using
from tests.decide.stages import a_namespace, a_node, a_pod, a_stage, an_object

Json = dict[str, Any]


def near(**term: Any) -> Json:  # noqa: ANN401
    wanted = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}, **term}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [wanted]}}


def test_the_reason_is_that_of_the_first_filter_with_nominated_pods_in_place() -> None:
    """Seed 3, case 97: the scheduler asks with nominated pods first, so lack of their room hides later filters."""
    nominated = a_pod(requests={"cpu": "3"}, status={"nominatedNodeName": "node-1"})
    stage = a_stage([a_node()], [nominated])
    needs_feature: Json = {
        "initContainers": [{"name": "i", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]
    }
    says = why(stage, a_pod(requests={"cpu": "2"}, **needs_feature))
    assert says == "NodeResourcesFit: needs 2 CPU; node has 1 free of 4"


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param({"key": "team", "operator": "NotIn", "values": ["y"]}, id="NotIn"),
        pytest.param({"key": "team", "operator": "DoesNotExist"}, id="DoesNotExist"),
    ],
)
def test_a_coming_pods_namespace_selector_that_no_labels_satisfy_means_all_namespaces(expression: Json) -> None:
    """A bug of kube-scheduler 1.36: it evaluates the selector once more, on no labels at all."""
    spaces = [a_namespace("default", team="x"), a_namespace("other", team="y")]
    there = a_pod(node="node-1", labels={"app": "db"}, namespace="other")
    stage = a_stage([a_node()], [there], spaces)
    assert where(stage, a_pod(affinity=near(namespaceSelector={"matchExpressions": [expression]}))) == ["node-1"]


def test_an_attachment_of_the_pods_own_volume_counts_beside_it() -> None:
    """The scheduler counts an attachment that no pod of the node explains, even of the volume that is coming."""
    attachment = an_object(
        "VolumeAttachment",
        "old",
        spec={"attacher": "driver.example.com", "nodeName": "node-1", "source": {"persistentVolumeName": "pv-1"}},
    )
    objects = [a_claim(volume="pv-1"), a_volume(), attachment, limits("node-1", 1)]
    assert where(a_stage([a_node()], [], objects), using("data")) == []


def test_two_claims_are_not_added_up_against_a_drivers_room() -> None:
    """Each claim is compared with the room by itself, so two that only fit apart both pass."""
    driver = an_object("CSIDriver", "driver.example.com", spec={"storageCapacity": True})
    room = an_object("CSIStorageCapacity", "room", "default", storageClassName="fast", nodeTopology={}, capacity="1Gi")
    objects = [a_claim("one"), a_claim("two"), a_class(), driver, room]
    assert where(a_stage([a_node()], [], objects), using("one", "two")) == ["node-1"]


def test_a_spread_constraint_with_an_empty_selector_never_blocks() -> None:
    """It selects every pod, yet the scheduler counts none of those that are there."""
    constraint: Json = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
    }
    stage = a_stage([a_node(), a_node("node-2")], [a_pod(node="node-1"), a_pod(node="node-1")])
    assert where(stage, a_pod(topologySpreadConstraints=[constraint])) == ["node-1", "node-2"]
