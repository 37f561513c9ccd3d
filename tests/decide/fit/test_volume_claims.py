"""Claims that stop a pod before any node is looked at: we say so, and buy nothing."""

from typing import Any

import pytest

from growth.decide.fit import FitResult, fits_anywhere, unplaceable
from tests.builders import BORN
from tests.decide.fit.asking import where, why
from tests.decide.fit.volumes import a_claim, a_class, a_volume, using
from tests.decide.stages import a_node, a_pod, a_stage


@pytest.mark.parametrize(
    ("objects", "filter_name", "reason"),
    [
        pytest.param([], "VolumeRestrictions", "its claim data does not exist", id="a missing claim"),
        pytest.param(
            [a_claim(volume="pv-1", phase="Lost"), a_volume()],
            "VolumeBinding",
            "the volume of its claim data is lost",
            id="a lost one",
        ),
        pytest.param(
            [a_claim(volume="pv-1", deletionTimestamp=BORN), a_volume()],
            "VolumeBinding",
            "its claim data is being deleted",
            id="one that goes",
        ),
        pytest.param(
            [a_claim(), a_class(mode="Immediate")],
            "VolumeBinding",
            "its claim data is not bound (class fast binds at once, wherever the pod would go)",
            id="one that should have been bound at once",
        ),
        pytest.param(
            [a_claim()], "VolumeBinding", "the storage class fast of its claim data does not exist", id="no such class"
        ),
        pytest.param(
            [a_claim(storage_class=None)],
            "VolumeBinding",
            "its claim data has no storage class and is not bound",
            id="no class",
        ),
        pytest.param(
            [a_claim(volume="pv-1", bound=False), a_volume(), a_class()],
            "VolumeBinding",
            "its claim data asks for the volume pv-1 and is not bound to it yet",
            id="a wish for a volume is not a volume",
        ),
        pytest.param(
            [a_claim(volume="pv-1")],
            "VolumeZone",
            "the volume pv-1 of its claim does not exist",
            id="a volume that is gone",
        ),
    ],
)
def test_a_claim_that_no_node_can_help_is_named(objects: list[Any], filter_name: str, reason: str) -> None:
    stage = a_stage([a_node()], [], objects)
    misfit = unplaceable(stage, using("data"))
    assert misfit is not None
    assert (misfit.filter, misfit.reason, misfit.is_permanent) == (filter_name, reason, True)
    assert fits_anywhere(stage, using("data")) == FitResult((), (), misfit)
    assert why(stage, using("data")) == f"{filter_name}!: {reason}"


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([a_claim(volume="pv-1"), a_volume()], id="a bound one"),
        pytest.param([a_claim(), a_class()], id="one that waits for its first consumer"),
        pytest.param(
            [a_claim(storage_class=None, annotations={"volume.beta.kubernetes.io/storage-class": "fast"}), a_class()],
            id="one with the old annotation",
        ),
    ],
)
def test_a_claim_in_order_stops_nobody(objects: list[Any]) -> None:
    stage = a_stage([a_node()], [], objects)
    assert unplaceable(stage, using("data")) is None
    assert where(stage, using("data")) == ["node-1"]


def _owner(uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "v1", "kind": "Pod", "name": "it", "uid": uid, "controller": True}]


def test_an_ephemeral_claim_must_be_there_and_be_the_pods_own() -> None:
    pod = a_pod("it", volumes=[{"name": "scratch", "ephemeral": {}}])
    own = a_claim("it-scratch", ownerReferences=_owner(pod.metadata.uid))
    foreign = a_claim("it-scratch", ownerReferences=_owner("stranger"))
    reasons = [
        misfit.reason if (misfit := unplaceable(a_stage([a_node()], [], [*found, a_class()]), pod)) else ""
        for found in ([], [foreign], [own])
    ]
    assert reasons == [
        "its ephemeral claim it-scratch was not made yet",
        "the claim it-scratch belongs to somebody else, so its ephemeral volume cannot be made",
        "",
    ]


def test_a_claim_for_one_pod_is_in_use_on_every_node() -> None:
    objects = [a_claim(volume="pv-1", modes=("ReadWriteOncePod",)), a_volume()]
    nodes = [a_node("node-1"), a_node("node-2")]
    stage = a_stage(nodes, [using("data", node="node-1")], objects)
    reason = "its claim data is for one pod only (ReadWriteOncePod) and another pod uses it"
    misfit = unplaceable(stage, using("data"))
    assert misfit is not None
    assert (misfit.filter, misfit.reason, misfit.is_permanent) == ("VolumeRestrictions", reason, False)
    assert why(stage, using("data"), "node-2") == f"VolumeRestrictions: {reason}"


def test_a_claim_for_one_pod_is_free_again_when_its_pod_goes() -> None:
    objects = [a_claim(volume="pv-1", modes=("ReadWriteOncePod",)), a_volume()]
    user = using("data", node="node-1")
    stage = a_stage([a_node()], [user], objects)
    other = using("data")
    assert where(stage, other) == []
    stage.remove(user.metadata.uid)
    assert where(stage, other) == ["node-1"]
    stage.place(other, "node-1")
    assert where(stage, using("data")) == []


def test_pods_on_nodes_that_are_gone_use_nothing() -> None:
    objects = [a_claim(volume="pv-1", modes=("ReadWriteOncePod",)), a_volume()]
    assert where(a_stage([a_node()], [using("data", node="gone")], objects), using("data")) == ["node-1"]
