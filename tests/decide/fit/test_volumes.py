"""VolumeBinding and VolumeZone: where volumes are, and where they can be made."""

from typing import Any

import pytest

from tests.decide.fit.asking import where, why
from tests.decide.fit.volumes import a_claim, a_class, a_volume, using
from tests.decide.stages import a_node, a_stage, an_object

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
NODES = [a_node("a", labels={"zone": "a"}), a_node("b", labels={"zone": "b"}), a_node("bare")]
ANYWHERE = ["a", "b", "bare"]
IN_A: dict[str, Any] = {"allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]}
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def test_a_bound_volume_must_be_reachable() -> None:
    stage = a_stage(NODES, [], [a_claim(volume="pv-1"), a_volume(zone="a")])
    assert where(stage, using("data")) == ["a"]
    assert why(stage, using("data"), "b") == "VolumeBinding!: its volume pv-1 cannot be reached from the node"


def test_names_in_a_volumes_affinity_are_not_read() -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    volume = a_volume(nodeAffinity={"required": {"nodeSelectorTerms": [term]}})
    assert where(a_stage(NODES, [], [a_claim(volume="pv-1"), volume]), using("data")) == ANYWHERE


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([a_class()], ANYWHERE, id="made anywhere"),
        pytest.param([a_class(**IN_A)], ["a"], id="made in an allowed place"),
        pytest.param([a_class(provisioner=NO_PROVISIONER)], [], id="never made"),
        pytest.param([a_class(provisioner=NO_PROVISIONER), a_volume(zone="b")], ["b"], id="a free volume"),
        pytest.param([a_class(**IN_A), a_volume(zone="b")], ["a", "b"], id="a free volume, or made elsewhere"),
        pytest.param([a_class(**IN_A), a_volume(size="500Mi")], ["a"], id="a free volume that is too small"),
        pytest.param([a_class(**IN_A), a_volume(phase="Released")], ["a"], id="a volume that is not free"),
        pytest.param([a_class(**IN_A), a_volume(storage_class="slow")], ["a"], id="a volume of another class"),
        pytest.param([a_class(**IN_A), a_volume(modes=("ReadOnlyMany",))], ["a"], id="a volume of another mode"),
        pytest.param([a_class(**IN_A), a_volume(volumeMode="Block")], ["a"], id="a block device"),
        pytest.param([a_class(**IN_A), a_volume(volumeAttributesClassName="gold")], ["a"], id="other attributes"),
        pytest.param(
            [a_class(**IN_A), a_volume(claimRef={"namespace": "default", "name": "other"})], ["a"], id="reserved"
        ),
        pytest.param(
            [a_class(**IN_A), a_volume(zone="b", claimRef={"namespace": "default", "name": "data"})],
            ["a", "b"],
            id="reserved for this very claim",
        ),
    ],
)
def test_a_claim_that_waits_gets_a_volume_where_one_is_or_can_be_made(objects: list[Any], expected: list[str]) -> None:
    assert where(a_stage(NODES, [], [a_claim(), *objects]), using("data")) == expected


def test_a_node_that_was_selected_before_is_the_only_one() -> None:
    claim = a_claim(annotations={"volume.kubernetes.io/selected-node": "b"})
    stage = a_stage(NODES, [], [claim, a_class()])
    assert where(stage, using("data")) == ["b"]
    reason = "VolumeBinding!: the volume of its claim data is being made for the node b"
    assert why(stage, using("data"), "a") == reason


def test_each_free_volume_serves_one_claim_and_small_claims_take_small_volumes() -> None:
    claims = [a_claim("large", size="5Gi"), a_claim("small", size="1Gi")]
    storage = a_class(provisioner=NO_PROVISIONER)
    two = [a_volume("pv-1", size="10Gi"), a_volume("pv-2", size="2Gi")]
    assert where(a_stage(NODES, [], [*claims, storage, *two]), using("large", "small")) == ANYWHERE
    assert where(a_stage(NODES, [], [*claims, storage, two[0]]), using("large", "small")) == []


def test_the_reasons_name_claim_and_class() -> None:
    nothing = a_stage(NODES, [], [a_claim(), a_class(provisioner=NO_PROVISIONER)])
    elsewhere = a_stage(NODES, [], [a_claim(), a_class(**IN_A)])
    says = [why(nothing, using("data"), "a"), why(elsewhere, using("data"), "b")]
    assert says == [
        "VolumeBinding!: no free volume suits its claim data here, and class fast makes none",
        "VolumeBinding!: class fast of its claim data makes no volumes in the node's topology",
    ]


def _room(**fields: Any) -> Any:  # noqa: ANN401
    topology = {"matchLabels": {"zone": "a"}}
    return an_object(
        "CSIStorageCapacity", "room", "kube-system", storageClassName="fast", nodeTopology=topology, **fields
    )


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([], [], id="nothing is known of any room"),
        pytest.param([_room(capacity="1Gi")], ["a"], id="just enough"),
        pytest.param([_room(capacity="1000Mi")], [], id="too little"),
        pytest.param([_room(capacity="10Gi", maximumVolumeSize="500Mi")], [], id="too little for one volume"),
        pytest.param([_room()], [], id="room unsaid"),
    ],
)
def test_a_driver_that_publishes_its_room_must_have_enough(objects: list[Any], expected: list[str]) -> None:
    driver = an_object("CSIDriver", "driver.example.com", spec={"storageCapacity": True})
    stage = a_stage(NODES, [], [a_claim(), a_class(), driver, *objects])
    assert where(stage, using("data")) == expected
    if not expected:
        reason = "VolumeBinding!: driver.example.com has no room of 1Gi for its claim data here"
        assert why(stage, using("data"), "a") == reason


def test_a_node_that_is_coming_is_trusted_to_have_room() -> None:
    driver = an_object("CSIDriver", "driver.example.com", spec={"storageCapacity": True})
    stage = a_stage(NODES, [], [a_claim(), a_class(), driver])
    stage.add_node(a_node("coming"))
    assert where(stage, using("data")) == ["coming"]


@pytest.mark.parametrize(
    ("volume_labels", "node_labels", "fits"),
    [
        pytest.param({ZONE: "z1"}, {ZONE: "z1"}, True, id="the same zone"),
        pytest.param({ZONE: "z1"}, {ZONE: "z2"}, False, id="another zone"),
        pytest.param({ZONE: "z1__z2"}, {ZONE: "z2"}, True, id="one of two zones"),
        pytest.param({ZONE: "z1"}, {}, True, id="a node without any such label is not asked"),
        pytest.param(
            {ZONE: "z1"}, {"topology.kubernetes.io/region": "r"}, False, id="a node with a region must have a zone, too"
        ),
        pytest.param({OLD_ZONE: "z1"}, {ZONE: "z1"}, True, id="the old label is met by the new one"),
        pytest.param({ZONE: "z1"}, {OLD_ZONE: "z1"}, False, id="but not the other way round"),
        pytest.param({ZONE: "z1____z2"}, {ZONE: "z3"}, True, id="a list with a hole is no constraint"),
    ],
)
def test_volumes_stay_in_their_zone(volume_labels: dict[str, str], node_labels: dict[str, str], fits: bool) -> None:  # noqa: FBT001
    objects = [a_claim(volume="pv-1"), a_volume(labels=volume_labels)]
    stage = a_stage([a_node(labels=node_labels)], [], objects)
    assert (why(stage, using("data")) == "") is fits


def test_the_zone_is_told() -> None:
    objects = [a_claim(volume="pv-1"), a_volume(labels={ZONE: "z1__z2"})]
    says = why(a_stage([a_node(labels={ZONE: "z3"})], [], objects), using("data"))
    assert says == f"VolumeZone!: its volume pv-1 is at {ZONE}=z1 or z2; the node has {ZONE}=z3"


def test_placing_a_pod_takes_the_volume_that_it_would_take() -> None:
    objects = [a_claim("one"), a_claim("two"), a_class(provisioner=NO_PROVISIONER), a_volume()]
    stage = a_stage(NODES, [], objects)
    first, second = using("one"), using("two")
    assert where(stage, second) == ANYWHERE
    mark = stage.mark()
    stage.place(first, "a")
    assert where(stage, second) == []
    stage.back_to(mark)
    assert where(stage, second) == ANYWHERE


@pytest.mark.parametrize(
    ("mode", "expected"), [("ReadWriteOnce", ["b"]), ("ReadWriteMany", ANYWHERE)], ids=["one node", "many nodes"]
)
def test_pods_that_share_a_new_volume_follow_the_first_if_they_must(mode: str, expected: list[str]) -> None:
    stage = a_stage(NODES, [], [a_claim(modes=(mode,)), a_class()])
    stage.place(using("data"), "b")
    assert where(stage, using("data")) == expected


def test_pods_that_share_a_free_volume_go_where_it_can_be_reached() -> None:
    objects = [a_claim(), a_class(provisioner=NO_PROVISIONER), a_volume(zone="a")]
    nodes = [*NODES, a_node("a2", labels={"zone": "a"})]
    stage = a_stage(nodes, [], objects)
    stage.place(using("data"), "a")
    assert where(stage, using("data")) == ["a", "a2"]
