"""Whose turn it is: order, queues that are stopped, pods that were ready, and quota that is free again."""

from typing import Final

from growth.api.kinds import JOBS, PODS
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES
from growth.api.queue.workload import (
    ADMITTED,
    EVICTED,
    PODS_READY,
    PODS_READY_TIMEOUT,
    QUOTA_RESERVED,
    REQUEUED,
    WORKLOAD_INACTIVE,
)
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.failover_scene import HELD
from tests.stories.queue_scene import (
    CHANCE,
    activate,
    any_pod,
    give_disk,
    later,
    queued,
    remove,
    requeuing,
    said,
    some_quota,
    the_workload,
    times,
    until_running,
    until_said,
    until_stopped,
)

STORIES = Stories("queue", alone=True)
# Longer than any story: who waits for so long does so until its end.
LONG_SECONDS: Final = 600


@STORIES.story(ignores=CHANCE)
async def a_job_in_its_backoff_does_not_hold_up_a_strict_queue(play: Play) -> None:
    """The first of a StrictFIFO queue could not start: while it waits, the next one runs."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"}, queueingStrategy="StrictFIFO")
    async with growing(play, settings=requeuing(timeout=9, base=LONG_SECONDS)):
        await queued(play, "first", needs_disk=True)
        await until_said(play, "first", PODS_READY, "WaitForStart", status="False")
        await queued(play, "second")
        await until_said(play, "second", QUOTA_RESERVED, "WaitingForQuota", status="False")
        await until_running(play, "second")
        first = await the_workload(play, "first")
        assert (times(first), first.status.admission) == (1, None)


@STORIES.story(ignores=CHANCE)
async def with_eviction_who_could_not_start_is_behind_those_that_waited(play: Play) -> None:
    """``timestamp: Eviction``: the third one waited when the first was evicted, and comes before it."""
    await _first_comes_back(play, "Eviction", then="third")


@STORIES.story(ignores=CHANCE)
async def with_creation_who_could_not_start_is_in_front_again(play: Play) -> None:
    """``timestamp: Creation``: the first one is the oldest still."""
    await _first_comes_back(play, "Creation", then="first")


async def _first_comes_back(play: Play, timestamp: str, *, then: str) -> None:
    (other,) = {"first", "third"} - {then}
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=requeuing(timeout=9, timestamp=timestamp)):
        await queued(play, "first", needs_disk=True)
        await until_said(play, "first", ADMITTED, "Admitted")
        for name in ("second", "third"):
            await later()
            await queued(play, name)
            await until_said(play, name, QUOTA_RESERVED, "WaitingForQuota", status="False")
        await until_running(play, "second")
        await give_disk(play, "worker")
        await until_said(play, "first", REQUEUED, "BackoffFinished")
        await until_stopped(play, "first")
        await remove(play, "second")
        await until_running(play, then)
        assert not any_pod(play, other)
        await remove(play, then)
        await until_running(play, other)


@STORIES.story(ignores=CHANCE)
async def a_queue_on_hold_lets_nobody_in_and_nobody_go(play: Play) -> None:
    """Who runs goes on, who comes waits; at work again, it is served. So it is with one namespace's door."""
    await play.node("worker")
    await some_quota(play, {"cpu": "3"})
    async with growing(play, settings=requeuing(timeout=LONG_SECONDS)):
        await queued(play, "first")
        await until_running(play, "first")
        play.always(lambda: play.running("first"), "who runs goes on")
        for name, kind, queue in (("second", CLUSTER_QUEUES, "all"), ("third", LOCAL_QUEUES, "door")):
            await play.change(kind, queue, {"spec": {"stopPolicy": "Hold"}})
            await queued(play, name)
            await until_said(play, name, QUOTA_RESERVED, "Suspended", status="False")
            await play.settled(2)
            assert not any_pod(play, name)
            await play.change(kind, queue, {"spec": {"stopPolicy": "None"}})
            await until_running(play, name)


@STORIES.story(ignores=CHANCE)
async def a_queue_that_is_drained_stops_its_jobs_until_it_is_at_work_again(play: Play) -> None:
    """HoldAndDrain: everybody leaves and nobody is blamed for it; at work again, all come back in their order."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=requeuing(timeout=LONG_SECONDS)):
        await queued(play, "first")
        await until_running(play, "first")
        await later()
        await queued(play, "second")
        await until_said(play, "second", QUOTA_RESERVED, "WaitingForQuota", status="False")
        for kind, queue, word in ((CLUSTER_QUEUES, "all", "ClusterQueue"), (LOCAL_QUEUES, "door", "LocalQueue")):
            await play.change(kind, queue, {"spec": {"stopPolicy": "HoldAndDrain"}})
            await until_said(play, "first", REQUEUED, f"{word}Stopped", status="False")
            await until_stopped(play, "first")
            first = await the_workload(play, "first")
            assert said(first, EVICTED) == ("True", f"{word}Stopped")
            assert (first.status.admission, first.status.requeue_state) == (None, None)
            assert not any_pod(play, "second")
            await play.change(kind, queue, {"spec": {"stopPolicy": "None"}})
            await until_running(play, "first")
            assert not any_pod(play, "second"), "the first one is the first again"


@STORIES.story(ignores=CHANCE)
async def pods_that_were_ready_have_time_to_recover(play: Play) -> None:
    """A pod is not ready for a moment: nothing happens. It is not ready for longer: its job is put back."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=requeuing(timeout=LONG_SECONDS, recovery=4, base=LONG_SECONDS)):
        await queued(play, "sum")
        await until_said(play, "sum", PODS_READY, "Started")
        await _say_ready(play, "sum", is_ready=False)
        await until_said(play, "sum", PODS_READY, "WaitForRecovery", status="False")
        await _say_ready(play, "sum", is_ready=True)
        workload = await until_said(play, "sum", PODS_READY, "Recovered")
        assert (said(workload, EVICTED), workload.status.requeue_state) == (("", ""), None)
        await _say_ready(play, "sum", is_ready=False)
        workload = await until_said(play, "sum", EVICTED, PODS_READY_TIMEOUT)
        assert times(workload) == 1
        await until_stopped(play, "sum")


async def _say_ready(play: Play, job: str, *, is_ready: bool) -> None:
    """Its kubelet says whether its one pod is."""
    (pod,) = play.running(job)
    condition = {"type": "Ready", "status": str(is_ready)}
    await play.change(PODS, pod.metadata.name, {"status": {"conditions": [condition]}}, subresource="status")


@STORIES.story(ignores=CHANCE)
async def with_block_admission_one_waits_until_the_other_is_ready(play: Play) -> None:
    """There is quota for both; the second one is let in when the pods of the first are ready."""
    await play.node("worker")
    await some_quota(play, {"cpu": "2"})
    async with growing(play, settings=requeuing(timeout=LONG_SECONDS, block=True)):
        await queued(play, "first", needs_disk=True)
        await until_said(play, "first", PODS_READY, "WaitForStart", status="False")
        await queued(play, "second")
        await until_said(play, "second", QUOTA_RESERVED, "WaitingForPodsReady", status="False")
        play.always(lambda: play.running("first") or not any_pod(play, "second"), "one after the other")
        await give_disk(play, "worker")
        await until_running(play, "second")


@STORIES.story(ignores=CHANCE)
async def quota_that_is_free_wakes_whom_it_can_serve(play: Play) -> None:
    """Two wait. What is free is enough for the small one only, which runs at once; the large one when all is free."""
    await play.node("worker")
    await some_quota(play, {"cpu": "3"})
    async with growing(play, settings=requeuing(timeout=LONG_SECONDS)):
        for name, cpu in (("two", "2"), ("one", "1")):
            await queued(play, name, cpu=cpu)
            await until_running(play, name)
        for name, cpu in (("large", "3"), ("small", "1")):
            await queued(play, name, cpu=cpu)
            await until_said(play, name, QUOTA_RESERVED, "WaitingForQuota", status="False")
        await remove(play, "one")
        await until_running(play, "small")
        assert not any_pod(play, "large")
        await remove(play, "two")
        await remove(play, "small")
        await until_running(play, "large")


@STORIES.story(ignores=CHANCE)
async def quota_is_free_when_the_last_pod_is_gone_and_not_before(play: Play) -> None:
    """A pod of a stopped job takes its time to leave. As long as it is there, its place is nobody else's."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=requeuing(timeout=LONG_SECONDS)):
        await queued(play, "first", finalizers=(HELD,))
        await until_running(play, "first")
        await queued(play, "second")
        await activate(play, "first", active=False)
        await until_said(play, "first", EVICTED, WORKLOAD_INACTIVE)
        play.always(lambda: not (any_pod(play, "first") and any_pod(play, "second")), "one of them has pods")
        await play.until(lambda: not play.running("first"), "its pod is leaving")
        await later()
        assert (await the_workload(play, "first")).status.admission is not None
        (pod,) = [one for one in play.trace.pods.values() if one.metadata.labels.get("app") == "first"]
        await play.change(PODS, pod.metadata.name, {"metadata": {"finalizers": None}})
        await until_running(play, "second")


@STORIES.story(ignores=CHANCE)
async def a_job_that_waits_and_bears_a_start_is_started_all_the_same(play: Play) -> None:
    """Nobody may change the template of a job that has a start time, which others leave behind: that goes first."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=requeuing(timeout=LONG_SECONDS)):
        await queued(play, "first")
        await until_running(play, "first")
        await queued(play, "second")
        await until_said(play, "second", QUOTA_RESERVED, "WaitingForQuota", status="False")
        started = play.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        await play.change(JOBS, "second", {"status": {"startTime": started}}, subresource="status")
        await remove(play, "first")
        await until_running(play, "second")
