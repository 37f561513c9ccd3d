"""Jobs that leave a queue, are deleted, or come back."""

from growth.api.actions import CreateObject
from growth.api.kinds import NAMESPACES
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import LOCAL_QUEUES, WORKLOADS
from growth.api.queue.workload import FINISHED, QUEUE_NAME, QUOTA_RESERVED
from tests.builders import Json
from tests.decide.queue.stage import Id, Stage, a_stage, settings


def two_jobs() -> Stage:
    """One runs, the other waits."""
    stage = a_stage(settings(wait=False))
    stage.a_job("one")
    stage.a_job("two")
    stage.settle()
    assert (stage.running(), stage.admitted()) == (["one"], ["one"])
    return stage


def take_out(stage: Stage, job: str) -> tuple[Id, Json]:
    """Somebody removes the label: the job vanishes from our sight, and stays as it is."""
    key = (QUEUED_JOBS, "default", job)
    return key, stage.objects.pop(key)


def put_back(stage: Stage, seen: tuple[Id, Json]) -> None:
    stage.objects[seen[0]] = seen[1]


def test_a_waiting_job_that_leaves_the_queue_is_not_admitted_any_more() -> None:
    stage = two_jobs()
    take_out(stage, "two")
    stage.end("one")
    stage.settle()
    assert stage.admitted() == []
    stage.wait(301)
    assert stage.says("two", FINISHED) == ("True", "LeftQueue")
    assert stage.queue().status.pending_workloads == 0
    assert stage.wake_at is None


def test_a_running_job_that_leaves_the_queue_keeps_its_quota_until_that_is_certain() -> None:
    stage = two_jobs()
    take_out(stage, "one")
    stage.wait(299)
    assert stage.admitted() == ["one"]
    assert stage.wake_at is not None
    stage.now = stage.wake_at
    stage.settle()
    assert stage.says("one", FINISHED) == ("True", "LeftQueue")
    assert stage.admitted() == ["two"], "its quota is free"
    assert stage.workload("one").status.admission is None


def test_a_job_that_is_seen_again_in_time_has_lost_nothing() -> None:
    stage = two_jobs()
    seen = take_out(stage, "one")
    stage.wait(200)
    put_back(stage, seen)
    stage.settle()
    assert stage.admitted() == ["one"]
    take_out(stage, "one")
    stage.wait(200)
    assert stage.admitted() == ["one"], "it counts from when it was last seen"


def test_a_job_that_names_a_queue_again_is_queued_like_a_new_one() -> None:
    """It ran on without quota meanwhile: it is stopped, and waits its turn."""
    stage = two_jobs()
    seen = take_out(stage, "one")
    stage.settle()
    stage.wait(301)
    assert stage.admitted() == ["two"]
    put_back(stage, seen)
    stage.settle()
    assert stage.running() == ["two"]
    assert stage.says("one", FINISHED) == ("", "")
    assert stage.says("one", QUOTA_RESERVED) == ("False", "WaitingForQuota")
    stage.end("two")
    stage.settle()
    assert stage.admitted() == ["one"]


def test_a_restart_gives_a_job_all_its_time_to_be_seen() -> None:
    stage = two_jobs()
    take_out(stage, "one")
    stage.wait(200)
    stage.memory = None
    stage.wait(200)
    assert stage.admitted() == ["one"]


def test_a_waiting_job_that_is_being_deleted_is_not_admitted() -> None:
    stage = two_jobs()
    stage.change(QUEUED_JOBS, "two", {"metadata": {"deletionTimestamp": "2026-03-02T09:00:00Z"}})
    stage.end("one")
    stage.settle()
    assert stage.admitted() == []


def test_a_job_made_anew_with_the_same_name_has_a_workload_of_its_own() -> None:
    stage = two_jobs()
    old = stage.workload("one").metadata.name
    _, job = take_out(stage, "one")
    stage.put(QUEUED_JOBS, {**job, "metadata": {**job["metadata"], "uid": "another"}, "status": {}})
    stage.change(QUEUED_JOBS, "one", {"spec": {"suspend": True}})
    stage.settle()
    names = {one.metadata.name for one in stage.workloads() if one.metadata.name.startswith("job-one-")}
    assert len(names) == 2
    assert stage.admitted() == ["one"]
    stage.drop(WORKLOADS, old)
    stage.settle()
    assert stage.admitted() == ["two"], "it waited longer"


def test_a_job_orphaned_by_its_workload_s_owner_frees_its_quota() -> None:
    """kubectl delete job --cascade=orphan: the garbage collector takes the reference off, and leaves the workload."""
    stage = two_jobs()
    take_out(stage, "one")
    stage.change(WORKLOADS, stage.workload("one").metadata.name, {"metadata": {"ownerReferences": []}})
    stage.settle()
    assert stage.says("one", FINISHED) == ("True", "OwnerNotFound")
    assert stage.admitted() == ["two"]


def test_a_workload_deleted_by_hand_is_made_anew_and_waits_its_turn() -> None:
    stage = two_jobs()
    for job in ("one", "two"):
        stage.drop(WORKLOADS, stage.workload(job).metadata.name)
    stage.settle()
    assert len(stage.workloads()) == 2
    assert stage.admitted() == stage.running()
    assert len(stage.running()) == 1


def test_nothing_is_made_in_a_namespace_that_is_being_deleted() -> None:
    stage = a_stage()
    stage.a_job("one")
    stage.change(NAMESPACES, "default", {"metadata": {"deletionTimestamp": "2026-03-02T09:00:00Z"}})
    assert [said for said in stage.look().said if isinstance(said, CreateObject)] == []


def test_another_queue_that_is_named_while_it_waits_counts_at_once() -> None:
    stage = two_jobs()
    stage.a_queue("free", cpu="1")
    stage.put(LOCAL_QUEUES, {"metadata": {"name": "side-door"}, "spec": {"clusterQueue": "free"}})
    stage.change(QUEUED_JOBS, "two", {"metadata": {"labels": {QUEUE_NAME: "side-door"}}})
    stage.settle()
    admission = stage.workload("two").status.admission
    assert admission is not None
    assert admission.cluster_queue == "free"
    assert stage.queue("all").status.pending_workloads == 0


def test_a_job_that_something_else_starts_and_stops_is_left_alone() -> None:
    stage = a_stage()
    stage.a_job("one", suspend=False)
    stage.a_job("two")
    for job, api in (("one", "jobset.x-k8s.io/v1alpha2"), ("two", "batch/v1")):
        owner = {"apiVersion": api, "kind": "Maker", "name": "maker", "uid": "maker", "controller": True}
        stage.change(QUEUED_JOBS, job, {"metadata": {"ownerReferences": [owner]}})
    stage.settle()
    assert stage.running() == ["one", "two"]
    assert stage.admitted() == ["two"], "a CronJob's jobs are queued"
