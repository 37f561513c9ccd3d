"""The stage: changes can be made and taken back, the World never notices, and nominations are respected."""

import pytest

from growth.decide.fit import SimulatedCluster, fit
from tests.decide.fit.asking import where, why
from tests.decide.fit.volumes import a_claim, a_class, using
from tests.decide.stages import a_node, a_pod, a_snapshot, a_stage

NODES = [a_node("node-1"), a_node("node-2")]


def test_placing_takes_room_and_removing_gives_it_back() -> None:
    stage = a_stage(NODES)
    large = a_pod(requests={"cpu": "3"})
    stage.place(large, "node-1")
    assert where(stage, a_pod(requests={"cpu": "2"})) == ["node-2"]
    stage.remove(large.metadata.uid)
    assert where(stage, a_pod(requests={"cpu": "2"})) == ["node-1", "node-2"]


def test_a_pod_of_the_snapshot_can_be_moved() -> None:
    runs = a_pod(node="node-1", requests={"cpu": "3"})
    stage = a_stage(NODES, [runs])
    assert stage.node_of(runs.metadata.uid) == "node-1"
    stage.remove(runs.metadata.uid)
    assert stage.node_of(runs.metadata.uid) is None
    stage.place(runs, "node-2")
    assert stage.node_of(runs.metadata.uid) == "node-2"
    assert where(stage, a_pod(requests={"cpu": "2"})) == ["node-1"]


def test_the_world_does_not_notice() -> None:
    runs = a_pod(node="node-1", requests={"cpu": "3"})
    snapshot = a_snapshot(NODES, [runs])
    before = (dict(snapshot.nodes), dict(snapshot.pods_by_node["node-1"]), snapshot.room.free("node-1"))
    stage = SimulatedCluster.of(snapshot)
    stage.remove(runs.metadata.uid)
    stage.place(a_pod(requests={"cpu": "1"}), "node-1")
    stage.remove_node("node-2")
    stage.add_node(a_node("node-3"), [a_pod()])
    assert before == (dict(snapshot.nodes), dict(snapshot.pods_by_node["node-1"]), snapshot.room.free("node-1"))


def test_everything_since_a_mark_can_be_taken_back() -> None:
    runs = a_pod(node="node-1", requests={"cpu": "3"})
    stage = a_stage(NODES, [runs], [a_claim(), a_class()])
    probe = a_pod(requests={"cpu": "2"})
    before = where(stage, probe)
    mark = stage.mark()
    stage.add_node(a_node("node-3"), [a_pod(requests={"cpu": "1"})])
    stage.remove(runs.metadata.uid)
    stage.place(using("data"), "node-3")
    stage.place(a_pod(requests={"cpu": "4"}), "node-2")
    stage.remove_node("node-1")
    assert where(stage, probe) == ["node-3"]
    stage.back_to(mark)
    assert where(stage, probe) == before == ["node-2"]
    assert sorted(stage.nodes) == ["node-1", "node-2"]
    assert stage.node_of(runs.metadata.uid) == "node-1"


def test_a_resized_pod_gives_back_what_it_holds_not_what_it_asks_for() -> None:
    held = {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]}
    runs = a_pod(node="node-1", requests={"cpu": "1"}, status=held)
    stage = a_stage(NODES[:1], [runs])
    assert why(stage, a_pod(requests={"cpu": "2"})) == "NodeResourcesFit: needs 2 CPU; node has 1 free of 4"
    mark = stage.mark()
    stage.remove(runs.metadata.uid)
    assert why(stage, a_pod(requests={"cpu": "4"})) == ""
    stage.back_to(mark)
    assert why(stage, a_pod(requests={"cpu": "2"})) == "NodeResourcesFit: needs 2 CPU; node has 1 free of 4"


def test_a_node_that_comes_brings_its_daemons() -> None:
    stage = a_stage()
    stage.add_node(a_node("coming"), [a_pod(requests={"cpu": "1"})])
    assert why(stage, a_pod(requests={"cpu": "4"}), "coming") == "NodeResourcesFit: needs 4 CPU; node has 3 free of 4"


def test_a_node_may_be_seen_as_it_will_be() -> None:
    starting = a_node("node-1", taints=[{"key": "growth.dev/starting", "effect": "NoSchedule"}])
    runs = a_pod(node="node-1", requests={"cpu": "3"})
    stage = a_stage([starting], [runs])
    assert where(stage, a_pod()) == []
    mark = stage.mark()
    stage.change_node(a_node("node-1"))
    assert where(stage, a_pod(requests={"cpu": "1"})) == ["node-1"]
    assert where(stage, a_pod(requests={"cpu": "2"})) == []
    assert stage.node_of(runs.metadata.uid) == "node-1"
    stage.back_to(mark)
    assert where(stage, a_pod()) == []


@pytest.mark.parametrize(
    ("priority", "expected"),
    [pytest.param(0, [], id="for its equals"), pytest.param(-1, [], id="for lesser pods"), (1, ["node-1"])],
)
def test_room_is_kept_for_nominated_pods_but_not_from_more_important_ones(priority: int, expected: list[str]) -> None:
    nominated = a_pod(requests={"cpu": "3"}, status={"nominatedNodeName": "node-1"})
    stage = a_stage(NODES[:1], [nominated])
    assert where(stage, a_pod(requests={"cpu": "2"}, priority=priority)) == expected
    assert where(stage, nominated) == ["node-1"]


def test_a_nominated_pod_that_is_placed_counts_once() -> None:
    nominated = a_pod(requests={"cpu": "2"}, status={"nominatedNodeName": "node-1"})
    stage = a_stage(NODES[:1], [nominated])
    stage.place(nominated, "node-1")
    assert where(stage, a_pod(requests={"cpu": "2"})) == ["node-1"]


def test_a_pod_must_fit_without_the_nominated_ones_too() -> None:
    labels = {"app": "db"}
    nominated = a_pod(labels=labels, status={"nominatedNodeName": "node-1"})
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert where(a_stage(NODES[:1], [nominated]), a_pod(affinity=near)) == []


APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "db"}}}
        ]
    }
}


def test_a_copy_outlives_its_snapshot() -> None:
    runs = a_pod(node="node-1", requests={"cpu": "3"}, labels={"app": "db"})
    snapshot = a_snapshot(NODES, [runs], [a_claim(), a_class()])
    stage = SimulatedCluster.copy_of(snapshot)
    snapshot.room.take("node-2", {"cpu": 4000})
    snapshot.families.remove(runs)
    snapshot.pods_by_node["node-1"].clear()  # type: ignore[attr-defined]
    assert where(stage, a_pod(requests={"cpu": "2"})) == ["node-2"]
    assert where(stage, using("data")) == ["node-1", "node-2"]
    assert where(stage, a_pod(affinity=APART)) == ["node-2"]


def test_what_is_tried_on_one_stage_is_not_seen_on_the_next() -> None:
    runs = a_pod(node="node-1", labels={"app": "db"})
    snapshot = a_snapshot(NODES, [runs])
    stage = SimulatedCluster.of(snapshot)
    lonely = a_pod(affinity=APART)
    assert where(stage, lonely) == ["node-2"]
    stage.place(a_pod(labels={"app": "db"}), "node-2")
    assert where(stage, lonely) == []
    assert where(SimulatedCluster.of(snapshot), lonely) == ["node-2"]


def test_what_cannot_be_is_refused() -> None:
    stage = a_stage(NODES)
    pod = a_pod()
    with pytest.raises(KeyError):
        fit(stage, pod, "nowhere")
    with pytest.raises(KeyError):
        stage.remove("nobody")
    with pytest.raises(ValueError, match="node node-1 is on the stage already"):
        stage.add_node(a_node("node-1"))
    stage.place(pod, "node-1")
    with pytest.raises(ValueError, match="is on node node-1 already"):
        stage.place(pod, "node-1")


def test_siblings_are_asked_the_same_questions_once() -> None:
    stage = a_stage(NODES)
    one, two = a_pod(requests={"cpu": "1"}), a_pod(requests={"cpu": "1"})
    assert one.spec is two.spec
    fit(stage, one, "node-1")
    fit(stage, two, "node-2")
    assert len(stage.prepared) == 1
