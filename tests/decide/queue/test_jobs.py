"""Jobs and their workloads."""

from typing import Any

import msgspec
import pytest

from growth.api.actions import CreateObject, Hold, PatchObject
from growth.api.kinds import PRIORITY_CLASSES
from growth.api.queue.job import QUEUED_JOBS, STOPPING, TEMPLATE_WAS
from growth.api.queue.kinds import CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from growth.api.queue.workload import EVICTED, PRIORITY_CLASS, QUEUE_NAME, QUOTA_RESERVED
from growth.decide.queue.workload_creation import workload_name
from tests.builders import Json
from tests.decide.queue.stage import Stage, a_stage, read

FLAVOR: Json = {
    "nodeLabels": {"pool": "spot"},
    "nodeTaints": [{"key": "spot", "effect": "NoSchedule"}],
    "tolerations": [{"key": "spot", "operator": "Exists"}],
}


def template(stage: Stage, job: str = "one") -> Json:
    return stage.objects[QUEUED_JOBS, "default", job]["spec"]["template"]


def on_spot(**job: Any) -> Stage:  # noqa: ANN401
    """A job that was started on nodes of the flavor ``spot``."""
    stage = Stage()
    stage.a_flavor("spot", **FLAVOR)
    stage.a_queue(flavors={"spot": "4"})
    stage.a_door()
    stage.a_job("one", **job)
    stage.settle()
    return stage


def test_a_workload_has_the_name_that_kueue_would_give_it() -> None:
    """Worked out by hand: sha1 of Job, batch, name and uid in lines."""
    job = read(QUEUED_JOBS, {"metadata": {"name": "name", "uid": "uid"}, "spec": {"template": {}}})
    assert workload_name(QUEUED_JOBS, job.metadata) == "job-name-ef3a1"
    long = read(QUEUED_JOBS, {"metadata": {"name": "n" * 253, "uid": "uid"}, "spec": {"template": {}}})
    assert len(workload_name(QUEUED_JOBS, long.metadata)) == 253


def test_a_job_that_names_a_queue_gets_a_workload() -> None:
    stage = a_stage()
    stage.a_job("one", parallelism=4, completions=3)
    (made,) = [said for said in stage.look().said if isinstance(said, CreateObject)]
    assert made.body["spec"]["queueName"] == "door"
    assert [(one["name"], one["count"]) for one in made.body["spec"]["podSets"]] == [("main", 3)]
    (owner,) = made.body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("Job", "one", True)


def test_a_job_that_runs_is_suspended_first() -> None:
    stage = a_stage(cpu="0")
    stage.a_job("one", suspend=False)
    stage.settle()
    assert stage.running() == []
    assert stage.says("one", QUOTA_RESERVED) == ("False", "ExceedsMaxQuota")


def test_a_job_of_kube_system_or_one_that_has_ended_or_goes_is_left_alone() -> None:
    stage = a_stage()
    stage.a_job("one")
    stage.a_job("two")
    job = stage.objects.pop((QUEUED_JOBS, "default", "one"))
    stage.put(QUEUED_JOBS, {**job, "metadata": {**job["metadata"], "namespace": "kube-system"}})
    stage.end("two")
    stage.a_job("three")
    stage.change(QUEUED_JOBS, "three", {"metadata": {"deletionTimestamp": "2026-03-02T09:00:00Z"}})
    stage.settle()
    assert stage.workloads() == []


def test_an_admitted_job_is_bound_to_the_nodes_of_its_flavor() -> None:
    own = {"key": "own", "operator": "Exists"}
    stage = on_spot(pods={"nodeSelector": {"disk": "ssd"}, "tolerations": [own]})
    assert stage.running() == ["one"]
    spec, meta = template(stage)["spec"], template(stage)["metadata"]
    assert spec["nodeSelector"] == {"disk": "ssd", "pool": "spot"}
    assert spec["tolerations"] == [own, {"key": "spot", "operator": "Exists"}]
    assert meta["labels"] == {
        "kueue.x-k8s.io/podset": "main",
        "kueue.x-k8s.io/local-queue-name": "door",
        "kueue.x-k8s.io/cluster-queue-name": "all",
    }
    assert meta["annotations"] == {"kueue.x-k8s.io/workload": stage.workload("one").metadata.name}


@pytest.mark.parametrize(
    "before",
    [
        {"metadata": {}, "spec": {}},
        {"metadata": {"labels": {"app": "one"}, "annotations": {"note": "x"}}, "spec": {}},
        {"metadata": {"labels": {"controller-uid": "7", "app": "one"}}, "spec": {"nodeSelector": {"disk": "ssd"}}},
        {"metadata": None, "spec": {"tolerations": [{"key": "own", "operator": "Exists"}]}},
    ],
    ids=["nothing", "labels", "the job's own labels", "no metadata"],
)
@pytest.mark.parametrize("loses_workload", [False, True], ids=["evicted", "workload deleted"])
def test_a_stopped_job_gets_its_template_back(before: Json, loses_workload: bool) -> None:  # noqa: FBT001
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    before = {"metadata": before["metadata"], "spec": {"containers": [container], **before["spec"]}}
    stage = on_spot(template=before)
    assert stage.running() == ["one"]
    assert template(stage) != before
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})
    if loses_workload:
        stage.drop(WORKLOADS, stage.workload("one").metadata.name)
    stage.settle()
    assert stage.running() == []
    assert template(stage)["spec"] == before["spec"]
    assert template(stage)["metadata"] == (before["metadata"] or {})
    annotations = stage.job("one").metadata.annotations
    assert STOPPING not in annotations
    assert TEMPLATE_WAS not in annotations
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "None"}})
    stage.settle()
    assert stage.running() == ["one"]
    assert template(stage)["spec"]["nodeSelector"]["pool"] == "spot"


def test_a_job_that_kueue_started_gets_back_what_its_workload_knows() -> None:
    stage = on_spot()
    stage.change(QUEUED_JOBS, "one", {"metadata": {"annotations": {TEMPLATE_WAS: None}}})
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})
    stage.settle()
    assert "nodeSelector" not in template(stage)["spec"]


def test_a_template_is_changed_only_without_a_start_time() -> None:
    stage = Stage()
    stage.a_flavor("spot", **FLAVOR)
    stage.a_queue(flavors={"spot": "4"})
    stage.a_door()
    stage.a_job("one")
    stage.change(QUEUED_JOBS, "one", {"status": {"startTime": "2026-03-02T08:00:00Z"}})
    stage.settle(jobs=False)
    assert stage.running() == ["one"]
    assert stage.job("one").status.start_time is None, "it went first"


def test_a_job_whose_flavor_is_gone_is_not_started_somewhere() -> None:
    stage = Stage()
    stage.a_flavor("spot", **FLAVOR)
    stage.a_queue(flavors={"spot": "4"})
    stage.a_door()
    stage.a_job("one")
    while not stage.admitted():
        for said in stage.look().said:
            stage.take(said)
    stage.drop(RESOURCE_FLAVORS, "spot")
    stage.settle()
    assert stage.running() == []
    assert "no ResourceFlavor spot" in next(said.why for said in stage.look().said if isinstance(said, Hold))
    stage.a_flavor("spot", **FLAVOR)
    stage.settle()
    assert stage.running() == ["one"]


def test_a_job_that_somebody_starts_is_stopped_until_it_is_its_turn() -> None:
    stage = a_stage(cpu="0")
    stage.a_job("one")
    stage.settle()
    stage.change(QUEUED_JOBS, "one", {"spec": {"suspend": False}})
    stage.settle()
    assert stage.running() == []


def test_a_job_that_somebody_suspends_runs_on_while_it_is_admitted() -> None:
    stage = on_spot()
    stage.change(QUEUED_JOBS, "one", {"spec": {"suspend": True}})
    stage.settle()
    assert stage.running() == ["one"]


def test_a_job_that_is_edited_while_it_waits_is_judged_by_what_it_wants_now() -> None:
    stage = a_stage(cpu="2")
    stage.a_queue("other", cpu="2")
    stage.a_door("other-door", "other")
    stage.a_job("one", cpu="3")
    stage.settle()
    assert stage.admitted() == []
    container = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    stage.change(QUEUED_JOBS, "one", {"spec": {"template": {"spec": {"containers": [container]}}}})
    stage.change(QUEUED_JOBS, "one", {"metadata": {"labels": {QUEUE_NAME: "other-door"}}})
    stage.settle()
    admission = stage.workload("one").status.admission
    assert admission is not None
    assert (admission.cluster_queue, admission.pod_set_assignments[0].resource_usage) == ("other", {"cpu": "2"})


def test_another_queue_counts_only_when_the_job_has_stopped() -> None:
    """While it runs its quota is where it was admitted."""
    stage = on_spot()
    stage.change(QUEUED_JOBS, "one", {"metadata": {"labels": {QUEUE_NAME: "elsewhere"}}})
    stage.settle()
    assert (stage.running(), stage.workload("one").spec.queue_name) == (["one"], "door")
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})
    stage.settle()
    assert stage.workload("one").spec.queue_name == "elsewhere"
    assert stage.running() == []


def test_a_job_that_wants_more_pods_than_it_was_admitted_with_waits_for_them() -> None:
    stage = a_stage(cpu="3")
    stage.a_job("one", parallelism=2)
    stage.a_job("two", parallelism=1)
    stage.settle()
    stage.change(QUEUED_JOBS, "one", {"spec": {"parallelism": 3}})
    stage.settle()
    assert stage.says("one", EVICTED) == ("True", "OutOfSync")
    assert stage.admitted() == ["two"]
    assert stage.workload("one").spec.pod_sets[0].count == 3
    stage.end("two")
    stage.settle()
    assert stage.admitted() == ["one"]


def test_a_job_that_is_edited_before_it_starts_waits_with_what_it_wants_now() -> None:
    """It has quota, and is still suspended: then its template may be changed."""
    stage = a_stage(cpu="2")
    stage.a_job("one", cpu="1")
    while not stage.admitted():
        for said in stage.look().said:
            stage.take(said)
    assert stage.running() == []
    container = {"name": "main", "resources": {"requests": {"cpu": "3"}}}
    stage.change(QUEUED_JOBS, "one", {"spec": {"template": {"spec": {"containers": [container]}}}})
    stage.settle()
    assert stage.says("one", EVICTED) == ("True", "OutOfSync")
    assert stage.says("one", QUOTA_RESERVED) == ("False", "ExceedsMaxQuota")
    assert stage.running() == []


def test_a_job_that_wants_fewer_pods_frees_their_quota_at_once() -> None:
    stage = a_stage(cpu="3")
    stage.a_job("one", parallelism=3)
    stage.a_job("two")
    stage.settle()
    stage.change(QUEUED_JOBS, "one", {"spec": {"parallelism": 2}})
    stage.settle()
    assert stage.admitted() == ["one", "two"]
    assert stage.running() == ["one", "two"], "nobody was stopped for it"


def test_pods_that_have_succeeded_and_are_not_replaced_free_their_quota() -> None:
    stage = a_stage(cpu="3")
    stage.a_job("one", parallelism=3, completions=4)
    stage.a_job("two", parallelism=2)
    stage.settle()
    stage.change(QUEUED_JOBS, "one", {"status": {"succeeded": 1}})
    stage.settle()
    assert stage.admitted() == ["one"], "three more are to come"
    stage.change(QUEUED_JOBS, "one", {"status": {"succeeded": 3}})
    stage.settle()
    assert stage.admitted() == ["one", "two"]


def test_what_was_reclaimed_is_not_counted_twice_after_an_eviction() -> None:
    stage = a_stage(cpu="3")
    stage.a_job("one", parallelism=3, completions=3)
    stage.settle()
    stage.change(QUEUED_JOBS, "one", {"status": {"succeeded": 1}})
    stage.settle()
    for policy in ("HoldAndDrain", "None"):
        stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": policy}})
        stage.settle()
    assert stage.admitted() == ["one"]
    assert stage.queue().status.flavors_usage[0].resources[0].total == "2"


@pytest.mark.parametrize(
    ("label", "pods", "priority"),
    [
        ("urgent", {}, 100),
        ("", {"priorityClassName": "high"}, 50),
        ("urgent", {"priorityClassName": "high"}, 100),
        ("", {}, 7),
    ],
    ids=["label", "pods", "label first", "default"],
)
def test_priority_comes_from_the_label_then_the_pods_then_the_default(label: str, pods: Json, priority: int) -> None:
    stage = a_stage()
    stage.put(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": "urgent"}, "value": 100})
    stage.put(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 50})
    stage.put(PRIORITY_CLASSES, {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True})
    stage.a_job("one", labels={PRIORITY_CLASS: label} if label else {}, pods=pods)
    stage.settle()
    assert stage.workload("one").priority == priority


def test_without_any_class_the_priority_is_nothing() -> None:
    stage = a_stage()
    stage.a_job("one")
    stage.settle()
    assert (stage.workload("one").spec.priority, stage.workload("one").spec.priority_class_ref) == (0, None)


def test_a_new_value_of_a_workload_priority_class_reaches_who_waits() -> None:
    stage = a_stage(cpu="0")
    stage.put(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": "urgent"}, "value": 100})
    stage.a_job("one", labels={PRIORITY_CLASS: "urgent"})
    stage.settle()
    stage.change(WORKLOAD_PRIORITY_CLASSES, "urgent", {"value": 5})
    stage.settle()
    assert stage.workload("one").priority == 5


def test_a_workload_that_is_deleted_by_hand_is_made_again_and_its_job_stopped_meanwhile() -> None:
    stage = on_spot()
    stage.drop(WORKLOADS, stage.workload("one").metadata.name)
    for said in stage.look().said:
        stage.take(said)
    assert stage.running() == []
    stage.settle()
    assert stage.running() == ["one"]
    kept = msgspec.json.decode(stage.workload("one").spec.pod_sets[0].template)
    assert "nodeSelector" not in kept["spec"], "what it asks for is what the job asked for"


def test_the_mark_of_a_stopped_job_stays_until_its_quota_is_free() -> None:
    """Without it nobody could tell a job that was stopped from one that is about to be started."""
    stage = on_spot()
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})
    while STOPPING not in stage.job("one").metadata.annotations:
        for said in stage.look().said:
            stage.take(said)
    stage.play_jobs()
    said = stage.look().said
    assert [one.subject.kind for one in said if one.subject.kind in ("Job", "Workload")] == ["Workload"]


def test_nobody_is_admitted_for_what_it_wanted_before() -> None:
    stage = a_stage(cpu="2")
    stage.a_job("one")
    for said in stage.look().said:
        stage.take(said)
    stage.change(QUEUED_JOBS, "one", {"spec": {"parallelism": 3}})
    written = [one.body for one in stage.look().said if isinstance(one, PatchObject) and one.subject.kind == "Workload"]
    assert [list(body["spec"]) for body in written] == [["podSets"]]
