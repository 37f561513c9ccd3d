"""A job that could not start: it comes back later and later, and in the end only when a person says so.

These are stories 2 and 3 of the design that the queue follows: quota for two GPUs is free, on two nodes with one each.
"""

from datetime import datetime
from typing import Any, Final

import msgspec

from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    LIMIT_EXCEEDED,
    PODS_READY_TIMEOUT,
    REQUEUED,
    WORKLOAD_INACTIVE,
    Workload,
)
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue_scene import (
    CHANCE,
    GPU,
    activate,
    give_disk,
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
    until_workload,
)

Json = dict[str, Any]

STORIES = Stories("queue", alone=True)
LIMIT: Final = 2
BASE_SECONDS: Final = 3
# Longer than it takes the next process to go on where one was stopped: a job that nobody started would be put back.
TWICE: Final = requeuing(timeout=6, base=BASE_SECONDS, backoff_limit_count=LIMIT)
# Instants may be written in whole seconds.
_ROUNDING_SECONDS: Final = 1.0


@STORIES.story(ignores=CHANCE, any_node=True)
async def two_gpus_are_free_but_on_no_node_and_others_get_their_chance(play: Play) -> None:
    """A job that fits the quota and no node is evicted, waits twice as long each time while others run, and at the
    limit it is deactivated, with its template as it was."""
    await _one_gpu_free_on_each(play)
    async with growing(play, settings=TWICE):
        await _all_but_two_in_use(play)
        play.always(lambda: not play.running("wide"), "no pod of the wide job runs")
        await queued(play, "wide", gpus=2)
        was = await _template_of(play, "wide")
        for count in range(1, LIMIT + 1):
            workload = await _until_put_back(play, "wide", count)
            assert _waits(workload) >= BASE_SECONDS * 2 ** (count - 1) - _ROUNDING_SECONDS
            assert _waits(workload) <= BASE_SECONDS * 2 ** (count - 1) * 1.01 + _ROUNDING_SECONDS
            assert f"2 {GPU} asked, largest free node has 1" in _why(workload, EVICTED)
            if count == 1:
                await queued(play, "narrow", gpus=1)
                await until_running(play, "narrow")
                await remove(play, "narrow")
        workload = await until_said(play, "wide", EVICTED, WORKLOAD_INACTIVE)
        assert (workload.spec.active, times(workload)) == (False, LIMIT)
        assert said(workload, DEACTIVATION_TARGET) == ("True", LIMIT_EXCEEDED)
        assert f"2 {GPU} asked, largest free node has 1" in _why(workload, DEACTIVATION_TARGET)
        await until_said(play, "wide", REQUEUED, WORKLOAD_INACTIVE, status="False")
        await until_stopped(play, "wide")
        await play.until_found(lambda: _is_as_it_was(play, "wide", was), "its template is what it was")
        assert len(play.running("busy")) == 2, "nobody else was disturbed"


@STORIES.story(ignores=CHANCE, any_node=True)
async def a_job_that_was_put_aside_runs_when_there_is_room_and_somebody_says_so(play: Play) -> None:
    """Room alone does not bring it back. Activated, it begins anew: nothing is counted, and it runs."""
    await _one_gpu_free_on_each(play)
    async with growing(play, settings=TWICE):
        await _all_but_two_in_use(play)
        await _until_put_aside(play)
        await remove(play, "busy")
        await play.settled(2)
        assert not play.running("wide")
        await activate(play, "wide")
        await _until_it_begins_anew(play)
        await until_running(play, "wide")


@STORIES.story(ignores=CHANCE, any_node=True)
async def a_job_that_was_put_aside_runs_also_after_a_restart(play: Play) -> None:
    """Who put it aside is gone, and so it is while it is activated: everything is in the objects."""
    await _one_gpu_free_on_each(play)
    async with growing(play, settings=TWICE):
        await _all_but_two_in_use(play)
        await _until_put_aside(play)
        await remove(play, "busy")
    await activate(play, "wide")
    async with growing(play, settings=TWICE):
        await _until_it_begins_anew(play)
        await until_running(play, "wide")


@STORIES.story(ignores=CHANCE)
async def what_a_person_deactivates_keeps_its_count(play: Play) -> None:
    """In its backoff, and while it runs: whoever deactivates it himself finds it counted as before."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    # Longer than it takes the next process to go on where one was stopped: that would be counted, too.
    async with growing(play, settings=requeuing(timeout=9, base=2, backoff_limit_count=9)):
        await queued(play, "sum", needs_disk=True)
        await until_said(play, "sum", EVICTED, PODS_READY_TIMEOUT)
        await activate(play, "sum", active=False)
        await give_disk(play, "worker")
        await until_stopped(play, "sum")
        await play.settled(2)
        count = times(await the_workload(play, "sum"))
        assert count >= 1
        await activate(play, "sum")
        await until_running(play, "sum")
        assert times(await the_workload(play, "sum")) == count
        await activate(play, "sum", active=False)
        await until_said(play, "sum", EVICTED, WORKLOAD_INACTIVE)
        await until_said(play, "sum", REQUEUED, WORKLOAD_INACTIVE, status="False")
        await until_stopped(play, "sum")
        await activate(play, "sum")
        await until_running(play, "sum")
        workload = await the_workload(play, "sum")
        assert (times(workload), said(workload, DEACTIVATION_TARGET)) == (count, ("", ""))


@STORIES.story(ignores=CHANCE)
async def a_job_that_never_starts_waits_no_longer_than_its_time_limit(play: Play) -> None:
    """``backoffLimitTimeout``: however often it was put back, so long after its first admission it is put aside."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=requeuing(timeout=1, base=1, backoff_limit_timeout=8)):
        await queued(play, "sum", needs_disk=True)
        first = await until_workload(play, "sum", lambda one: one.status.admission is not None, "it is admitted")
        workload = await until_said(play, "sum", DEACTIVATION_TARGET, LIMIT_EXCEEDED)
        waited = _since(workload, DEACTIVATION_TARGET) - _since(first, ADMITTED)
        assert waited.total_seconds() >= 8 - _ROUNDING_SECONDS
        await until_said(play, "sum", EVICTED, WORKLOAD_INACTIVE)
        assert times(workload) >= 1


async def _one_gpu_free_on_each(play: Play) -> None:
    for name in ("one", "two"):
        await play.node(name, resources={GPU: "4"})
    await some_quota(play, {"cpu": "8", GPU: "8"})


async def _all_but_two_in_use(play: Play) -> None:
    await queued(play, "busy", gpus=3, parallelism=2, completions=2)
    await until_running(play, "busy", pods=2)


async def _until_put_back(play: Play, job: str, count: int) -> Workload:
    return await until_workload(
        play,
        job,
        lambda one: times(one) == count and said(one, EVICTED) == ("True", PODS_READY_TIMEOUT),
        f"it is put back for the {count}. time",
    )


async def _until_put_aside(play: Play) -> None:
    await queued(play, "wide", gpus=2)
    await until_said(play, "wide", EVICTED, WORKLOAD_INACTIVE)
    await until_said(play, "wide", REQUEUED, WORKLOAD_INACTIVE, status="False")
    await until_stopped(play, "wide")


async def _until_it_begins_anew(play: Play) -> None:
    def is_new(workload: Workload) -> bool:
        is_queued = said(workload, REQUEUED) == ("True", "Reactivated")
        return is_queued and workload.status.requeue_state is None

    workload = await until_workload(play, "wide", is_new, "it is queued again, and nothing is counted")
    assert said(workload, DEACTIVATION_TARGET) == ("", "")


def _waits(workload: Workload) -> float:
    """For how many seconds it was put back."""
    state = workload.status.requeue_state
    assert state is not None
    assert state.requeue_at is not None
    return (state.requeue_at - _since(workload, EVICTED)).total_seconds()


def _why(workload: Workload, kind: str) -> str:
    """What is said of it, in words."""
    condition = workload.condition(kind)
    return condition.message if condition is not None else ""


def _since(workload: Workload, kind: str) -> datetime:
    """Since when something is said of it."""
    condition = workload.condition(kind)
    assert condition is not None
    assert condition.last_transition_time is not None
    return condition.last_transition_time


async def _template_of(play: Play, job: str) -> Json:
    return msgspec.json.decode((await play.client.get(QUEUED_JOBS, job, play.namespace)).spec.template)


async def _is_as_it_was(play: Play, job: str, template: Json) -> bool:
    return await _template_of(play, job) == template
