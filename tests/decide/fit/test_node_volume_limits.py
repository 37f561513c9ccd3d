"""NodeVolumeLimits and the disks of VolumeRestrictions."""

from typing import Any

import pytest

from growth.api.pod import Pod
from tests.decide.fit.asking import why
from tests.decide.fit.volumes import a_claim, a_class, a_volume, limits, using
from tests.decide.stages import a_node, a_pod, a_stage, an_object

Json = dict[str, Any]
DRIVER = "driver.example.com"


def bound(*names: str) -> list[Any]:
    return [part for name in names for part in (a_claim(name, volume=f"pv-{name}"), a_volume(f"pv-{name}"))]


def attached(volume: str) -> Any:  # noqa: ANN401
    return an_object(
        "VolumeAttachment",
        f"attach-{volume}",
        spec={"attacher": DRIVER, "nodeName": "node-1", "source": {"persistentVolumeName": volume}},
    )


def full(needs: str, used: int, limit: int) -> str:
    return f"NodeVolumeLimits: needs {needs} of {DRIVER}; node holds {used} of at most {limit}"


@pytest.mark.parametrize(
    ("there", "wanted", "objects", "expected"),
    [
        pytest.param([], ["x"], [limits("node-1", 1)], "", id="the first volume"),
        pytest.param(["a"], ["x"], [limits("node-1", 1)], full("a volume", 1, 1), id="one too many"),
        pytest.param(["a"], ["x", "b"], [limits("node-1", 2)], full("2 volumes", 1, 2), id="two at once"),
        pytest.param(["a"], ["x"], [limits("node-1", None)], "", id="a driver that names no limit"),
        pytest.param(["a"], ["x"], [limits("node-1", 1, "other.example.com")], "", id="another driver's limit"),
        pytest.param(["a"], ["x"], [], "", id="no CSINode"),
        pytest.param([], ["x"], [limits("node-1", 0)], full("a volume", 0, 0), id="a driver that takes none"),
        pytest.param(["a", "a"], ["a"], [limits("node-1", 1)], "", id="a shared volume counts once"),
        pytest.param(["a", "a"], ["x"], [limits("node-1", 2)], "", id="for those that are there, too"),
        pytest.param([], ["x"], [limits("node-1", 1), attached("pv-a")], full("a volume", 1, 1), id="an attachment"),
        pytest.param(["a"], ["x"], [limits("node-1", 2), attached("pv-a")], "", id="an attachment for a pod there"),
        pytest.param(
            [], ["x"], [limits("node-1", 1), attached("pv-x")], full("a volume", 1, 1), id="its own, without a pod"
        ),
        pytest.param([], ["x"], [limits("node-1", 1), attached("pv-gone")], "", id="an attachment of nothing"),
    ],
)
def test_a_node_holds_so_many_volumes_of_a_driver(
    there: list[str], wanted: list[str], objects: list[Any], expected: str
) -> None:
    pods = [using(claim, node="node-1") for claim in there]
    stage = a_stage([a_node()], pods, [*bound("a", "b", "x"), *objects])
    assert why(stage, using(*wanted)) == expected


def test_a_volume_yet_to_be_made_counts_for_its_class() -> None:
    objects = [a_claim("new"), a_claim("other"), a_class(), limits("node-1", 1), *bound("a")]
    stage = a_stage([a_node()], [using("a", node="node-1")], objects)
    assert why(stage, using("new")) == full("a volume", 1, 1)
    waiting = a_stage([a_node()], [using("other", node="node-1")], objects)
    assert why(waiting, using("new")) == full("a volume", 1, 1)
    assert why(waiting, using("other")) == ""


def test_volumes_come_and_go_with_pods() -> None:
    stage = a_stage([a_node()], [], [*bound("a", "x"), limits("node-1", 1)])
    assert why(stage, using("x")) == ""
    stage.place(using("a"), "node-1")
    assert why(stage, using("x")) == full("a volume", 1, 1)


def test_a_node_that_is_coming_has_the_limits_that_it_is_given() -> None:
    stage = a_stage([], [], bound("a", "x"))
    stage.add_node(a_node("coming"), csi_node=limits("coming", 1))
    stage.place(using("a"), "coming")
    assert why(stage, using("x"), "coming") == full("a volume", 1, 1)


def with_disk(disk: Json, *, node: str = "") -> Pod:
    return a_pod(node=node, volumes=[{"name": "disk", **disk}])


def gce(name: str = "d", *, read: bool = False) -> Json:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read}}


def aws(name: str = "d") -> Json:
    return {"awsElasticBlockStore": {"volumeID": name}}


def iscsi(iqn: str = "iqn", *, read: bool = False) -> Json:
    return {"iscsi": {"targetPortal": "p", "iqn": iqn, "lun": 0, "readOnly": read}}


def rbd(*monitors: str, pool: str = "rbd", image: str = "i", read: bool = False) -> Json:
    return {"rbd": {"monitors": list(monitors), "pool": pool, "image": image, "readOnly": read}}


@pytest.mark.parametrize(
    ("there", "wanted", "conflicts"),
    [
        pytest.param(gce(), gce(), True, id="a disk in Google's cloud"),
        pytest.param(gce(read=True), gce(read=True), False, id="which all only read"),
        pytest.param(gce(read=True), gce(), True, id="which one writes"),
        pytest.param(gce(), gce("e"), False, id="another disk"),
        pytest.param(aws(), aws(), True, id="a disk in Amazon's cloud"),
        pytest.param(aws(), aws("e"), False, id="another one there"),
        pytest.param(gce(), aws(), False, id="of different clouds"),
        pytest.param(iscsi(), iscsi(), True, id="an iSCSI disk"),
        pytest.param(iscsi(read=True), iscsi(read=True), False, id="which all only read there"),
        pytest.param(iscsi(), iscsi("other"), False, id="another iSCSI disk"),
        pytest.param(rbd("m1", "m2"), rbd("m2", "m3"), True, id="a Ceph image by a common monitor"),
        pytest.param(rbd("m1"), rbd("m2"), False, id="by different monitors"),
        pytest.param(rbd("m1"), rbd("m1", pool="other"), False, id="in another pool"),
        pytest.param(rbd("m1"), rbd("m1", image="other"), False, id="another image"),
        pytest.param(rbd("m1", read=True), rbd("m1", read=True), False, id="an image which all only read"),
    ],
)
def test_disks_are_shared_only_for_reading(there: Json, wanted: Json, conflicts: bool) -> None:  # noqa: FBT001
    stage = a_stage([a_node(), a_node("node-2")], [with_disk(there, node="node-1")])
    expected = "VolumeRestrictions: its disk disk is in use by another pod of the node" if conflicts else ""
    assert why(stage, with_disk(wanted)) == expected
    assert why(stage, with_disk(wanted), "node-2") == ""
