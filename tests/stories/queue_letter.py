"""The smaller letters of Kueue's API: what pods are filled with counts, jobs run for as long as they may, and jobs that
are edited, taken out of their queue, deleted or made anew."""

from typing import Any, Final

import msgspec

from growth.api.kinds import JOBS, PODS
from growth.api.queue.kinds import LOCAL_QUEUES, WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from growth.api.queue.pod_defaults import LIMIT_RANGES, RUNTIME_CLASSES
from growth.api.queue.workload import MAX_EXECUTION_TIME, PRIORITY_CLASS, QUEUE_NAME
from growth.api.settings.model import QueueSettings, Settings
from growth.kube.transport import Method, Request
from growth.observe.pod_requests import requests_of
from growth_lab.scenarios.context import STORY_LABEL, Play
from growth_lab.scenarios.replica import QUICK, growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue_scene import (
    CHANCE,
    queued,
    some_quota,
    the_workload,
    until_said,
    until_workload,
    workload_of,
)

STORIES = Stories("queue", alone=True)
QUEUED: Final[Settings] = msgspec.structs.replace(QUICK, queue=QueueSettings(enabled=True))
SANDBOX: Final = "growth-story-sandbox"


@STORIES.story()
async def what_the_api_server_adds_to_pods_counts_against_the_quota(play: Play) -> None:
    """A LimitRange gives a container its request, a RuntimeClass its overhead: what was counted when the job was
    admitted is what its pod asks for."""
    await play.node("worker")
    await some_quota(play, {"cpu": "2"})
    items = [{"type": "Container", "defaultRequest": {"cpu": "600m"}, "default": {"cpu": "1"}}]
    await play.create(LIMIT_RANGES, {"metadata": {"name": "defaults"}, "spec": {"limits": items}})
    sandbox = {"handler": "runc", "overhead": {"podFixed": {"cpu": "150m"}}}
    await play.create(RUNTIME_CLASSES, {"metadata": {"name": SANDBOX}, **sandbox})
    try:
        async with growing(play, settings=QUEUED):
            silent = {"name": "silent", "image": "main"}
            limited = {"name": "limited", "image": "main", "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}}}
            await _job(play, "filled", containers=[silent, limited], runtimeClassName=SANDBOX)
            await play.until(lambda: play.running("filled"), "the job runs")
            admission = (await the_workload(play, "filled")).status.admission
            assert admission is not None
            (given,) = admission.pod_set_assignments
            (pod,) = play.running("filled")
            assert requests_of(pod.spec)["cpu"] == 1250, "600 of the default, 500 of the limit, 150 of the sandbox"
            assert given.resource_usage["cpu"] == "1250m"
            await _job(play, "second", containers=[silent], parallelism=2)
            await until_said(play, "second", "QuotaReserved", "WaitingForQuota", status="False")
            (asked,) = (await the_workload(play, "second")).status.resource_requests
            assert asked.resources["cpu"] == "1200m"
    finally:
        await play.delete(RUNTIME_CLASSES, SANDBOX)


@STORIES.story(ignores=CHANCE, unless_stopped="who dies takes along what it would have told")
async def a_job_runs_for_as_long_as_it_may(play: Play) -> None:
    """Two seconds: then it is deactivated, and another one gets its place. Activated again it has all its time anew."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=QUEUED):
        await _job(play, "short", labels={MAX_EXECUTION_TIME: "2"})
        await play.until(lambda: play.running("short"), "the job runs")
        await until_said(play, "short", "DeactivationTarget", "MaximumExecutionTimeExceeded")
        await until_said(play, "short", "Requeued", "WorkloadInactive", status="False")
        for told in ("Admitted", "Deactivated", "EvictedDueToWorkloadInactive"):
            await until_told(play, "short", told)
        workload = await the_workload(play, "short")
        assert not workload.spec.active
        assert (workload.status.accumulated_past_execution_time_seconds or 0) >= 2
        await queued(play, "next")
        await play.until(lambda: play.running("next"), "its place is free")
        await play.change(WORKLOADS, workload.metadata.name, {"spec": {"active": True}})
        await until_said(play, "short", "QuotaReserved", "WaitingForQuota", status="False")
        workload = await the_workload(play, "short")
        assert workload.status.accumulated_past_execution_time_seconds is None


@STORIES.story(ignores=CHANCE)
async def a_job_that_is_edited_while_it_waits_is_judged_by_what_it_wants_now(play: Play) -> None:
    """Another priority, another queue, another class value: each counts at once."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    await play.create(LOCAL_QUEUES, {"metadata": {"name": "side-door"}, "spec": {"clusterQueue": "all"}})
    await play.create(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 7})
    async with growing(play, settings=QUEUED):
        await queued(play, "first")
        await play.until(lambda: play.running("first"), "the first job runs")
        await queued(play, "second")
        await until_said(play, "second", "QuotaReserved", "WaitingForQuota", status="False")
        await queued(play, "third")
        await until_said(play, "third", "QuotaReserved", "WaitingForQuota", status="False")
        labels = {QUEUE_NAME: "side-door", PRIORITY_CLASS: "high"}
        await play.change(JOBS, "third", {"metadata": {"labels": labels}})
        await until_workload(
            play, "third", lambda one: (one.spec.queue_name, one.priority) == ("side-door", 7), "it is as it was edited"
        )
        await play.change(WORKLOAD_PRIORITY_CLASSES, "high", {"value": 9})
        await until_workload(play, "third", lambda one: one.priority == 9, "the new value is pushed")
        await _delete(play, "first", "Background")
        await play.until(lambda: play.running("third"), "who is more important comes first")
        await play.settled(1)
        assert not play.running("second")


@STORIES.story(ignores=CHANCE)
async def a_waiting_job_that_is_taken_out_of_its_queue_is_given_nothing(play: Play) -> None:
    """Without its label it is no job of ours. Labelled again it waits its turn."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=QUEUED):
        await queued(play, "first")
        await play.until(lambda: play.running("first"), "the first job runs")
        await queued(play, "out")
        await until_said(play, "out", "QuotaReserved", "WaitingForQuota", status="False")
        await play.change(JOBS, "out", {"metadata": {"labels": {QUEUE_NAME: None}}})
        await play.settled(1)
        await _delete(play, "first", "Foreground")
        await play.until(lambda: not play.running("first"), "the first job is gone")
        await play.settled(2)
        assert not play.running("out")
        assert (await the_workload(play, "out")).status.admission is None
        await play.change(JOBS, "out", {"metadata": {"labels": {QUEUE_NAME: "door"}}})
        await play.until(lambda: play.running("out"), "it is queued again, and runs")


@STORIES.story(ignores=CHANCE)
async def a_job_that_is_deleted_frees_its_quota_however_that_is_done(play: Play) -> None:
    """In the background, in the foreground, its pods left behind; and made anew with the same name."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=QUEUED):
        for way in ("Background", "Foreground", "Orphan"):
            await queued(play, "again")
            await play.until(lambda: play.running("again"), "the job runs")
            await _delete(play, "again", way)
            await play.until_found(lambda: _is_gone(play, "again"), f"the job is gone ({way})")
            for pod in play.running("again") if way == "Orphan" else ():
                await play.delete(PODS, pod.metadata.name, grace_seconds=0)
        await queued(play, "last")
        await play.until(lambda: play.running("last"), "nobody else holds quota")


@STORIES.story(ignores=CHANCE)
async def a_workload_that_somebody_deletes_is_made_anew(play: Play) -> None:
    """Its job is stopped, gets its template back, and waits its turn like a new one."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=QUEUED):
        await queued(play, "first")
        await play.until(lambda: play.running("first"), "the first job runs")
        before = await the_workload(play, "first")
        await play.delete(WORKLOADS, before.metadata.name)
        await until_workload(play, "first", lambda one: one.metadata.uid != before.metadata.uid, "there is a new one")
        await play.until(lambda: play.running("first"), "the job runs again")
        assert (await the_workload(play, "first")).spec.pod_sets == before.spec.pod_sets


async def _is_gone(play: Play, job: str) -> bool:
    jobs = [one.metadata.name for one in (await play.client.list(JOBS, play.namespace)).items]
    workload = await workload_of(play, job)
    return job not in jobs and (workload is None or workload.status.admission is None or workload.is_finished)


async def _job(
    play: Play,
    name: str,
    *,
    labels: dict[str, str] | None = None,
    parallelism: int = 1,
    **pods: Any,  # noqa: ANN401
) -> None:
    """A job whose pods are as they are given."""
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": "1"}}}
    spec = {
        "containers": [container],
        "nodeSelector": {STORY_LABEL: play.namespace},
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        **pods,
    }
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    metadata = {"name": name, "labels": {QUEUE_NAME: "door", **(labels or {})}}
    body = {"metadata": metadata, "spec": {"suspend": True, "parallelism": parallelism, "template": template}}
    await play.create(JOBS, body)


async def _delete(play: Play, job: str, way: str) -> None:
    options = msgspec.json.encode({"propagationPolicy": way})
    await play.client.request(Request(Method.DELETE, JOBS.path(job, play.namespace), body=options))
