"""Demand: who of the waiting asks for room, and what the others wait for."""

from typing import Any

import msgspec
import pytest

from growth.api.taints import key_to
from growth.decide.fit.demand import demand_of
from tests.decide.fit.volumes import a_claim, a_class, using
from tests.decide.stages import a_node, a_pod, a_stage

UNSCHEDULABLE = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
GATED = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}


def owner(kind: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": "boss", "uid": "1", "controller": True}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, None, id="a pod that nobody looked at yet"),
        pytest.param({"status": UNSCHEDULABLE}, None, id="a pod that found no place"),
        pytest.param({"owner": owner("ReplicaSet")}, None, id="a pod of a ReplicaSet"),
        pytest.param({"terminating": True}, ("Terminating", "it is being deleted"), id="a pod that is being deleted"),
        pytest.param(
            {"schedulingGates": [{"name": "example.com/quota"}, {"name": "example.com/data"}]},
            ("SchedulingGated", "it is held by scheduling gates: example.com/quota, example.com/data"),
            id="a gated pod",
        ),
        pytest.param({"status": GATED}, None, id="a pod whose gates are gone, though its condition is not"),
        pytest.param(
            {"schedulerName": "volcano"},
            ("OtherScheduler", "it waits for scheduler volcano, which has not called it unschedulable"),
            id="a pod of another scheduler",
        ),
        pytest.param({"schedulerName": "volcano", "status": UNSCHEDULABLE}, None, id="unless that one gave up"),
        pytest.param(
            {"owner": owner("DaemonSet")},
            ("DaemonSet", "it belongs to DaemonSet boss and waits for room on a node that exists"),
            id="a DaemonSet's pod",
        ),
        pytest.param(
            {"annotations": {"kubernetes.io/config.mirror": "x"}},
            ("Static", "it is a static pod, which its kubelet runs without asking anybody"),
            id="a mirror pod",
        ),
        pytest.param(
            {"owner": owner("Node")},
            ("Static", "it is a static pod, which its kubelet runs without asking anybody"),
            id="a pod that a node owns",
        ),
        pytest.param(
            {"resourceClaims": [{"name": "gpu"}]},
            ("ResourceClaims", "it uses resource claims (dynamic allocation), which Growth does not plan for"),
            id="a pod with resource claims",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]},
            ("Unplaceable", "its claim data does not exist"),
            id="a pod whose claim is missing",
        ),
    ],
)
def test_who_waits_for_room_and_who_for_something_else(
    fields: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    pod = a_pod(**fields)
    demand = demand_of(a_stage([], [pod]))
    if expected is None:
        assert (demand.pods, demand.set_aside) == ((pod,), ())
    else:
        assert (demand.pods, [(aside.why, aside.reason) for aside in demand.set_aside]) == ((), [expected])


def nominated(cpu: str, node: str = "node-1", **spec: Any) -> Any:  # noqa: ANN401
    return a_pod(requests={"cpu": cpu}, status={"nominatedNodeName": node}, **spec)


def test_a_nominated_pod_has_its_place_and_takes_its_room() -> None:
    pod = nominated("3")
    stage = a_stage([a_node()], [pod])
    (aside,) = demand_of(stage).set_aside
    assert (aside.why, aside.node) == ("Nominated", "node-1")
    assert aside.reason == "it is nominated to node node-1, where it still fits"
    assert stage.node_of(pod.metadata.uid) == "node-1"


def test_a_nominated_pod_whose_node_is_coming_has_its_place() -> None:
    stage = a_stage([], [nominated("3", "coming")])
    stage.add_node(a_node("coming"))
    assert demand_of(stage).pods == ()


@pytest.mark.parametrize(
    ("nodes", "there"),
    [
        pytest.param([], [], id="its node does not exist and is not coming"),
        pytest.param([a_node()], [a_pod(node="node-1", requests={"cpu": "3"})], id="it does not fit any more"),
    ],
)
def test_a_nominated_pod_is_demand_again_when_its_place_is_gone(nodes: list[Any], there: list[Any]) -> None:
    pod = nominated("3")
    assert demand_of(a_stage(nodes, [pod, *there])).pods == (pod,)


def test_of_two_nominated_pods_that_do_not_both_fit_the_more_important_keeps_its_place() -> None:
    lesser, greater = nominated("3"), nominated("2", priority=5)
    demand = demand_of(a_stage([a_node()], [lesser, greater]))
    assert demand.pods == (lesser,)
    assert [aside.pod for aside in demand.set_aside] == [greater]


def test_the_most_important_come_first_and_then_the_oldest() -> None:
    pods = [a_pod("b"), a_pod("a"), a_pod("urgent", priority=10)]
    ordered = demand_of(a_stage([], pods)).pods
    assert ordered[0].metadata.name == "urgent"
    assert list(ordered[1:]) == sorted(pods[:2], key=lambda pod: pod.metadata.uid)


def test_pods_that_have_a_node_do_not_wait() -> None:
    assert demand_of(a_stage([a_node()], [a_pod(node="node-1")])).pods == ()


def test_a_claim_that_gets_its_volume_where_the_pod_goes_is_no_hindrance() -> None:
    pod = using("data")
    assert demand_of(a_stage([], [pod], [a_claim(), a_class()])).pods == (pod,)


def test_a_pod_whose_place_is_kept_on_a_node_that_is_coming_is_no_demand() -> None:
    pod = a_pod(requests={"cpu": "1"}, tolerations=[msgspec.to_builtins(key_to("coming"))])
    stage = a_stage([], [pod])
    stage.add_node(a_node("coming"))
    (aside,) = demand_of(stage).set_aside
    assert (aside.why, aside.node) == ("Kept", "coming")
    assert aside.reason == "a place is kept for it on node coming, where it still fits"
    assert stage.node_of(pod.metadata.uid) == "coming"


def test_a_pod_whose_place_is_kept_is_demand_again_when_that_node_does_not_come() -> None:
    pod = a_pod(tolerations=[msgspec.to_builtins(key_to("coming"))])
    assert demand_of(a_stage([], [pod])).pods == (pod,)
