"""What is given back, in both modes, and what a new node knows better."""

import pytest

from growth.api.node_memory import FINALIZER, MARKER, REMEMBERING, NodeContents
from growth.api.settings.model import MemorySettings
from growth.api.tolerations import Taint
from growth.decide.node_memory.restore_policy import RestorePolicy
from growth_lab.simulator.clock import BEGINNING as NOW
from tests.decide.node_memory.pages import a_node

HOST = "kubernetes.io/hostname"
MEMENTO = NodeContents(
    uid="old", version=20, labels={"team": "blue", HOST: "old", "pooled": "no"}, removed=("gone", HOST)
)
BRINGS = {"team": "red", "new": "x", "gone": "y", HOST: "new", "pooled": "yes"}


@pytest.mark.parametrize(
    ("mode", "owned", "expected"),
    [
        ("merge", None, {"team": "blue", "gone": None}),
        ("replace", None, {"team": "blue", "gone": None, "new": None}),
        ("merge", (), {"team": "blue", "gone": None, HOST: "old", "pooled": "no"}),
        ("replace", (), {"team": "blue", "gone": None, "new": None, HOST: "old", "pooled": "no"}),
        ("merge", ("te*",), {"gone": None, HOST: "old"}),
    ],
    ids=["merge", "replace", "merge all", "replace all, as the seed has it", "other owned keys"],
)
def test_labels(mode: str, owned: tuple[str, ...] | None, expected: dict[str, str | None]) -> None:
    settings = MemorySettings(mode=mode) if owned is None else MemorySettings(mode=mode, owned_keys=owned)
    patch = RestorePolicy(settings).restored(a_node(labels=BRINGS), MEMENTO, {"pooled"})
    assert patch["metadata"]["labels"] == {MARKER: "20", **expected}


MODES = pytest.mark.parametrize("mode", ["merge", "replace"])
DISCOVERED = {
    "feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true",
    "nvidia.com/gpu.product": "A100",
    "nvidia.com/cuda.driver.major": "550",
    "nvidia.com/gfd.timestamp": "1700000000",
    "nvidia.com/mig-1g.5gb.count": "7",
    "instance.hetzner.cloud/provided-by": "robot",
    "csi.hetzner.cloud/location": "fsn1",
    "topology.ebs.csi.aws.com/zone": "a",
    "topology.kubernetes.io/zone": "fsn1",
}
BY_HAND = {
    "nvidia.com/mig.config": "all-1g.5gb",
    "nvidia.com/gpu.deploy.operands": "false",
    "node-role.kubernetes.io/gpu": "",
    "topology.example.com/rack": "r7",
}


def given_back(
    mode: str, stored: dict[str, str], brings: dict[str, str], removed: tuple[str, ...] = ()
) -> dict[str, str | None]:
    """The labels that are changed on a node that brings these."""
    memento = NodeContents(uid="old", version=20, labels=stored, removed=removed)
    labels = RestorePolicy(MemorySettings(mode=mode)).restored(a_node(labels=brings), memento, ())["metadata"]["labels"]
    return {key: value for key, value in labels.items() if key != MARKER}


@MODES
def test_measured_labels_come_from_the_new_machine(mode: str) -> None:
    assert given_back(mode, DISCOVERED, {}) == {}
    assert given_back(mode, DISCOVERED, dict.fromkeys(DISCOVERED, "other")) == {}
    assert given_back(mode, {}, DISCOVERED) == {}
    assert given_back(mode, {}, DISCOVERED, removed=tuple(DISCOVERED)) == {}


@MODES
def test_labels_set_by_hand_come_back(mode: str) -> None:
    assert given_back(mode, BY_HAND, {}) == BY_HAND
    assert given_back(mode, BY_HAND, dict.fromkeys(BY_HAND, "other")) == BY_HAND


@MODES
def test_labels_removed_on_purpose_stay_removed(mode: str) -> None:
    assert given_back(mode, {}, {"team": "blue"}, removed=("team",)) == {"team": None}
    assert given_back(mode, {"team": "red"}, {"team": "blue"}, removed=("team",)) == {"team": "red"}


@pytest.mark.parametrize(("mode", "changes"), [("merge", {}), ("replace", {"rack": None})])
def test_label_that_only_the_new_machine_has_is_where_the_modes_differ(
    mode: str, changes: dict[str, str | None]
) -> None:
    assert given_back(mode, {"team": "blue"}, {"team": "blue", "rack": "r7"}) == changes


@MODES
def test_where_nothing_is_remembered_only_the_marker_comes(mode: str) -> None:
    patch = RestorePolicy(MemorySettings(mode=mode)).restored(a_node(labels=BRINGS), None, ())
    assert patch["metadata"]["labels"] == {MARKER: "0"}
    assert set(patch) == {"metadata"}


def test_the_marker_itself_is_never_remembered_nor_removed() -> None:
    memento = NodeContents(uid="old", version=20, labels={MARKER: "3"}, removed=(MARKER,))
    patch = RestorePolicy(MemorySettings(mode="replace", owned_keys=())).restored(a_node(), memento, ())
    assert patch["metadata"]["labels"] == {MARKER: "20"}


@MODES
def test_what_no_server_would_take_is_not_given_back(mode: str) -> None:
    """A memory that somebody edited must not keep its node waiting for ever."""
    bad = (
        Taint("no good", "", "NoSchedule"),
        Taint("example.com/a", "", "Sometimes"),
        Taint("example.com/b", "?", "NoExecute"),
    )
    memento = NodeContents(
        uid="old",
        version=20,
        labels={"no good": "x", "ok": "1"},
        annotations={"example.com/no good": "x", "example.com/Ok": "any text!"},
        taints=(*bad, Taint("example.com/c", "1", "NoSchedule"), Taint("example.com/c", "2", "NoSchedule")),
    )
    policy = RestorePolicy(MemorySettings(mode=mode, annotations=("example.com/",), taints=("example.com/", "no")))
    patch = policy.restored(a_node(), memento, ())
    assert patch["metadata"]["labels"] == {MARKER: "20", "ok": "1"}
    assert patch["metadata"]["annotations"].get("example.com/Ok") == "any text!"
    assert not any("no good" in key for key in patch["metadata"]["annotations"])
    assert patch["spec"]["taints"] == [{"key": "example.com/c", "value": "2", "effect": "NoSchedule"}]


@MODES
def test_annotations_and_taints_that_nobody_wants_remembered_any_more_stay_away(mode: str) -> None:
    memento = NodeContents(
        uid="old", version=20, annotations={"example.com/a": "1"}, taints=(Taint("example.com/c", "1", "NoSchedule"),)
    )
    patch = RestorePolicy(MemorySettings(mode=mode)).restored(a_node(), memento, ())
    assert ("example.com/a" in patch["metadata"]["annotations"], "spec" in patch) == (False, False)


@MODES
def test_the_taint_that_waited_for_memory_goes_and_all_others_stay(mode: str) -> None:
    others = (Taint("example.com/x", "1", "NoExecute"), Taint("example.com/c", "old", "NoSchedule"))
    node = a_node(taints=(Taint(REMEMBERING, "", "NoSchedule"), *others))
    memento = NodeContents(uid="old", version=20, taints=(Taint("example.com/c", "new", "NoSchedule"),))
    patch = RestorePolicy(MemorySettings(mode=mode, taints=("example.com/c",))).restored(node, memento, ())
    assert [(taint["key"], taint["value"]) for taint in patch["spec"]["taints"]] == [
        ("example.com/x", "1"),
        ("example.com/c", "new"),
    ]


@MODES
def test_the_finalizer_comes_with_the_marker_but_not_to_a_node_that_is_going(mode: str) -> None:
    policy = RestorePolicy(MemorySettings(mode=mode, finalizer=True))
    assert policy.restored(a_node(finalizers=("other",)), None, ())["metadata"]["finalizers"] == ["other", FINALIZER]
    going = a_node(finalizers=("other",), deletion_timestamp=NOW)
    assert "finalizers" not in policy.restored(going, None, ())["metadata"]
