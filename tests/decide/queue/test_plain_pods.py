"""Plain pods: gated until it is their turn, ended when they are evicted."""

from datetime import timedelta

import msgspec
import pytest

from growth.api.actions import DeleteObject, PatchObject, RecordEvent
from growth.api.kinds import NAMESPACES
from growth.api.queue.job import STOPPING
from growth.api.queue.kinds import CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.pod import GATE, GROUP_NAME, MANAGED, QUEUED_PODS, TERMINATION_TARGET
from growth.api.queue.workload import EVICTED, FINISHED, PODS_READY, QUEUE_NAME, Workload
from growth.decide.queue.workload_creation import workload_name
from tests.builders import Json
from tests.decide.queue.stage import Stage, a_stage

READY = [{"type": "Ready", "status": "True", "message": "kept as it is"}]


def workload_of(stage: Stage, pod: str = "one") -> Workload:
    (found,) = [one for one in stage.workloads() if one.metadata.name.startswith(f"pod-{pod}-")]
    return found


def manifest(stage: Stage, pod: str = "one") -> Json:
    return stage.objects[QUEUED_PODS, "default", pod]


def says(stage: Stage, kind: str) -> str:
    condition = workload_of(stage).condition(kind)
    return f"{condition.status} {condition.reason}" if condition is not None else ""


def reported(stage: Stage) -> list[tuple[str, str]]:
    return [(one.subject.name, one.reason) for one in stage.look().said if isinstance(one, RecordEvent)]


def running(stage: Stage) -> Stage:
    """Its pod was let go, and is ready."""
    stage.a_pod("one")
    stage.settle()
    stage.change(QUEUED_PODS, "one", {"status": {"phase": "Running", "conditions": READY}})
    stage.settle()
    assert says(stage, PODS_READY) == "True Started"
    return stage


def drain(stage: Stage) -> None:
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})


def test_a_gated_pod_gets_a_workload_of_one_pod_that_it_owns() -> None:
    stage = a_stage(cpu="0")
    stage.a_pod("one")
    stage.settle()
    workload, pod = workload_of(stage), stage.pod("one")
    assert workload.metadata.name == workload_name(QUEUED_PODS, pod.metadata)
    owner = workload.metadata.controller
    assert owner is not None
    assert (owner.api_version, owner.kind, owner.uid) == ("v1", "Pod", pod.metadata.uid)
    (pod_set,) = workload.spec.pod_sets
    assert (pod_set.name, pod_set.count, workload.spec.queue_name) == ("main", 1, "door")
    assert "schedulingGates" not in msgspec.json.decode(pod_set.template)["spec"]
    assert pod.is_gated


def test_with_quota_it_is_bound_to_the_flavors_nodes_and_loses_the_gate_in_one_write() -> None:
    stage = a_stage()
    toleration = {"key": "gpu", "operator": "Exists"}
    stage.change(RESOURCE_FLAVORS, "any", {"spec": {"nodeLabels": {"kind": "big"}, "tolerations": [toleration]}})
    stage.a_pod("one", nodeSelector={"own": "yes"}, tolerations=[{"key": "mine", "operator": "Exists"}])
    stage.settle()
    pod = manifest(stage)
    assert "schedulingGates" not in pod["spec"]
    assert pod["spec"]["nodeSelector"] == {"own": "yes", "kind": "big"}
    assert pod["spec"]["tolerations"] == [{"key": "mine", "operator": "Exists"}, toleration]
    labels = pod["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/podset"] == "main"
    assert labels["kueue.x-k8s.io/local-queue-name"] == "door"
    assert labels["kueue.x-k8s.io/cluster-queue-name"] == "all"
    assert pod["metadata"]["annotations"] == {"kueue.x-k8s.io/workload": workload_of(stage).metadata.name}


def test_a_gate_of_another_stays() -> None:
    stage = a_stage()
    stage.a_pod("one", schedulingGates=[{"name": "other.dev/gate"}, {"name": GATE}])
    stage.settle()
    assert manifest(stage)["spec"]["schedulingGates"] == [{"name": "other.dev/gate"}]


def test_one_that_somebody_gated_by_hand_is_followed_like_any_other() -> None:
    stage = a_stage()
    stage.a_pod("one")
    stage.change(QUEUED_PODS, "one", {"metadata": {"labels": {MANAGED: None}}})
    stage.settle()
    assert not stage.pod("one").is_gated
    assert reported(stage) == []
    drain(stage)
    stage.settle()
    assert (QUEUED_PODS, "default", "one") not in stage.objects


def test_it_waits_for_quota_behind_who_came_before() -> None:
    stage = a_stage(cpu="1")
    stage.a_job("first")
    stage.settle()
    stage.a_pod("one")
    stage.settle()
    assert stage.pod("one").is_gated
    stage.end("first")
    stage.settle()
    assert not stage.pod("one").is_gated


@pytest.mark.parametrize(("phase", "word"), [("Succeeded", "True Succeeded"), ("Failed", "True Failed")])
def test_its_workload_is_finished_when_it_has_ended_and_its_quota_is_free(phase: str, word: str) -> None:
    stage = running(a_stage(cpu="1"))
    stage.a_job("next")
    stage.settle()
    assert stage.running() == []
    stage.change(QUEUED_PODS, "one", {"status": {"phase": phase}})
    stage.settle()
    assert says(stage, FINISHED) == word
    assert stage.running() == ["next"]


def test_an_evicted_pod_is_said_to_be_a_target_then_deleted_and_its_workload_goes_with_it() -> None:
    stage = running(a_stage())
    drain(stage)
    for said in stage.look().said:
        stage.take(said)
    assert says(stage, EVICTED) == "True ClusterQueueStopped"
    for said in stage.look().said:
        stage.take(said)
    conditions = manifest(stage)["status"]["conditions"]
    assert conditions[0] == READY[0]
    assert (conditions[1]["type"], conditions[1]["status"]) == (TERMINATION_TARGET, "True")
    assert workload_of(stage).is_reserving, "its quota is held while it is there"
    stage.settle()
    assert (QUEUED_PODS, "default", "one") not in stage.objects
    assert stage.workloads() == []


def test_who_does_not_get_ready_in_time_is_ended_and_does_not_come_back() -> None:
    stage = a_stage()
    stage.a_pod("one")
    stage.settle()
    stage.wait(timedelta(minutes=5, seconds=1).total_seconds())
    assert (QUEUED_PODS, "default", "one") not in stage.objects
    assert stage.workloads() == []


def test_a_pod_that_is_leaving_is_not_touched() -> None:
    stage = running(a_stage())
    drain(stage)
    stage.change(QUEUED_PODS, "one", {"metadata": {"deletionTimestamp": stage.now.isoformat()}})
    stage.settle()
    assert says(stage, EVICTED) == "True ClusterQueueStopped"
    assert not any(one.subject.kind == "Pod" for one in stage.look().said)


def test_one_that_is_evicted_before_its_gate_is_removed_waits_again() -> None:
    stage = a_stage()
    stage.a_flavor("lost")
    stage.a_queue("other", flavors={"lost": "1"})
    stage.a_door("there", "other")
    stage.a_pod("one", labels={QUEUE_NAME: "there"})
    for _ in range(2):  # its workload is made, and admitted
        for said in stage.look().said:
            stage.take(said)
    stage.drop(RESOURCE_FLAVORS, "lost")
    stage.settle()
    assert workload_of(stage).is_reserving
    assert stage.pod("one").is_gated, "nobody knows its nodes"
    stage.wait(timedelta(minutes=5, seconds=1).total_seconds())
    assert says(stage, EVICTED) == "True PodsReadyTimeout"
    assert not workload_of(stage).is_reserving
    assert stage.pod("one").is_gated
    assert STOPPING not in stage.pod("one").metadata.annotations
    stage.a_flavor("lost")
    stage.wait(61)
    assert not stage.pod("one").is_gated


def test_quota_of_one_that_is_gated_is_free_only_once_the_mark_is_seen() -> None:
    """A letting-go may be under way: it and the mark are decided on the same version, so one of them fails."""
    stage = a_stage()
    stage.a_pod("one")
    for _ in range(2):
        for said in stage.look().said:
            stage.take(said)
    (going,) = [one for one in stage.look().said if one.subject.kind == "Pod"]
    drain(stage)
    for said in stage.look().said:
        if said.subject.kind == "Workload":
            stage.take(said)
    assert workload_of(stage).is_reserving
    (mark,) = [one for one in stage.look().said if one.subject.kind == "Pod"]
    assert isinstance(mark, PatchObject)
    assert stage.take(mark)
    assert not stage.take(going), "it was decided on the version before the mark"
    stage.settle()
    assert not workload_of(stage).is_reserving


def test_what_was_decided_on_another_state_of_the_workload_does_not_let_a_pod_go() -> None:
    stage = a_stage()
    stage.a_pod("one")
    for _ in range(2):
        for said in stage.look().said:
            stage.take(said)
    (going,) = [one for one in stage.look().said if one.subject.kind == "Pod"]
    stage.change(WORKLOADS, workload_of(stage).metadata.name, {"spec": {"active": False}})
    assert not stage.take(going)


def test_a_pod_that_has_changed_since_is_not_let_go() -> None:
    stage = a_stage()
    stage.a_pod("one")
    for _ in range(2):
        for said in stage.look().said:
            stage.take(said)
    (going,) = [one for one in stage.look().said if one.subject.kind == "Pod"]
    stage.change(QUEUED_PODS, "one", {"spec": {"nodeSelector": {"kind": "big"}}})
    assert not stage.take(going), "its flavor was chosen for what it wanted before"


def test_a_running_pod_is_not_ended_for_what_its_workload_said_before() -> None:
    stage = running(a_stage())
    drain(stage)
    for said in stage.look().said:
        stage.take(said)
    (ending,) = [one for one in stage.look().said if one.subject.kind == "Pod"]
    stage.change(WORKLOADS, workload_of(stage).metadata.name, {"metadata": {"labels": {"new": "state"}}})
    assert not stage.take(ending)


def test_a_pod_whose_workload_somebody_deleted_runs_on_and_is_counted_again() -> None:
    stage = running(a_stage())
    stage.drop(WORKLOADS, workload_of(stage).metadata.name)
    said = stage.look().said
    assert not any(isinstance(one, DeleteObject) for one in said)
    stage.settle()
    assert workload_of(stage).is_reserving
    assert manifest(stage)["status"]["phase"] == "Running"


def test_a_pod_that_was_edited_while_it_waits_wants_what_it_says_now() -> None:
    stage = a_stage(cpu="0")
    stage.a_door("other")
    stage.a_pod("one")
    stage.settle()
    stage.change(
        QUEUED_PODS, "one", {"metadata": {"labels": {QUEUE_NAME: "other"}}, "spec": {"nodeSelector": {"kind": "big"}}}
    )
    stage.settle()
    spec = workload_of(stage).spec
    assert spec.queue_name == "other"
    assert msgspec.json.decode(spec.pod_sets[0].template)["spec"]["nodeSelector"] == {"kind": "big"}


def test_a_pod_that_nothing_held_back_gets_an_event_and_is_left_alone() -> None:
    stage = a_stage()
    stage.a_pod("one", schedulingGates=[])
    stage.change(QUEUED_PODS, "one", {"metadata": {"labels": {MANAGED: None}}})
    stage.settle()
    assert reported(stage) == [("one", "NotHeldBack")]
    assert stage.workloads() == []
    (event,) = [one for one in stage.look().said if isinstance(one, RecordEvent)]
    assert "install the policy of the chart (queue-policy.yaml), then create it anew" in event.why
    stage.change(QUEUED_PODS, "one", {"status": {"phase": "Succeeded"}})
    assert reported(stage) == []


def test_a_member_of_a_pod_group_gets_an_event_and_is_left_alone() -> None:
    stage = a_stage()
    stage.a_pod("one", labels={GROUP_NAME: "three"})
    stage.settle()
    assert reported(stage) == [("one", "PodGroupNotSupported")]
    assert stage.pod("one").is_gated
    assert stage.workloads() == []


@pytest.mark.parametrize("namespace", ["kube-system", "growth-system"])
def test_pods_that_the_cluster_or_growth_runs_by_are_not_looked_at(namespace: str) -> None:
    stage = a_stage()
    stage.put(
        QUEUED_PODS,
        {"metadata": {"name": "one", "namespace": namespace, "labels": {QUEUE_NAME: "door"}}, "spec": {}, "status": {}},
    )
    assert not any(one.subject.kind == "Pod" for one in stage.look().said)


def test_pods_that_a_controller_made_are_not_looked_at() -> None:
    stage = a_stage()
    stage.a_pod("one", schedulingGates=[])
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "its", "uid": "1", "controller": True}
    stage.change(QUEUED_PODS, "one", {"metadata": {"ownerReferences": [owner], "labels": {MANAGED: None}}})
    assert reported(stage) == []
    assert stage.workloads() == []


def test_pods_of_a_namespace_that_is_being_deleted_are_not_looked_at() -> None:
    stage = a_stage()
    stage.change(NAMESPACES, "default", {"metadata": {"deletionTimestamp": stage.now.isoformat()}})
    stage.a_pod("one")
    stage.settle()
    assert stage.workloads() == []
