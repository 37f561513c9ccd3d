"""Machines before pods: they are bought for all pods of a job together, as soon as it is admitted."""

from typing import Final

from growth.api.queue.workload import EVICTED, PODS_READY_TIMEOUT, WORKLOAD_INACTIVE
from growth.decide.facts.pending_pods import is_announced
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool, growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue import QUEUED
from tests.stories.queue_cohort_scene import priorities, until_preempted
from tests.stories.queue_machines_scene import (
    IMPATIENT,
    TAINTED,
    a_job,
    allow_no_pods,
    allow_pods,
    asked_for,
    ever_asked_for,
    ever_made,
    until_nothing_is_left,
)
from tests.stories.queue_scene import (
    CHANCE,
    activate,
    requeuing,
    some_quota,
    times,
    until_running,
    until_said,
    until_stopped,
    until_workload,
)

STORIES = Stories("queue", alone=True)
FOUR: Final = 4
"""So many pods of 1.5 cpu get small machines one by one; together they get a large one, which costs less."""


@STORIES.story(ignores=CHANCE)
async def machines_for_all_pods_of_a_job_are_bought_before_its_pods_are_made(play: Play) -> None:
    """A job of four pods is admitted, and its pods cannot be made yet. One machine for all of them is asked for. Then
    they are made, and run there: nothing else is bought."""
    await play.node("other", taints=TAINTED)
    await some_quota(play, {"cpu": "8"})
    await allow_no_pods(play)
    async with growing(play, settings=QUEUED):
        await a_pool(play)
        await a_job(play, "wide", FOUR)
        await play.until(lambda: asked_for(play), "a machine is asked for")
        assert ever_made(play) == 0
        (machine,) = asked_for(play)
        assert (machine.spec.target_offering, len(machine.planned_for)) == ("kwok-large-fsn1", FOUR)
        assert all(map(is_announced, machine.planned_for))
        await allow_pods(play)
        await until_running(play, "wide", FOUR)
        assert {pod.node_name for pod in play.running("wide")} == {machine.metadata.name}
        await play.settled(2)
        assert ever_asked_for(play) == 1


@STORIES.story(ignores=CHANCE)
async def pods_that_are_made_at_once_get_one_machine(play: Play) -> None:
    """Nothing holds back the pods: they come while it is planned for them, and nobody is counted twice."""
    await play.node("other", taints=TAINTED)
    await some_quota(play, {"cpu": "8"})
    async with growing(play, settings=QUEUED):
        await a_pool(play)
        await a_job(play, "wide", FOUR)
        await until_running(play, "wide", FOUR)
        await play.settled(2)
        assert [one.spec.target_offering for one in asked_for(play)] == ["kwok-large-fsn1"]
        assert ever_asked_for(play) == 1


@STORIES.story(ignores=CHANCE)
async def what_was_bought_for_a_job_that_is_deactivated_is_given_back(play: Play) -> None:
    """Somebody changes their mind as soon as a machine is asked for. In the end nothing is left of it."""
    await play.node("other", taints=TAINTED)
    await some_quota(play, {"cpu": "8"})
    async with growing(play, settings=QUEUED):
        await a_pool(play, scaleDown=IMPATIENT)
        await a_job(play, "wide", FOUR)
        await play.until(lambda: asked_for(play), "a machine is asked for")
        await activate(play, "wide", active=False)
        await until_said(play, "wide", EVICTED, WORKLOAD_INACTIVE)
        await until_stopped(play, "wide")
        await until_nothing_is_left(play)
        assert ever_asked_for(play) == 1


@STORIES.story(ignores=CHANCE)
async def a_machine_of_who_was_preempted_serves_the_preemptor(play: Play) -> None:
    """A machine is asked for, and then somebody more important wants the quota: also the machine is theirs, and nothing
    else is bought as long as they run."""
    await play.node("other", taints=TAINTED)
    await some_quota(play, {"cpu": "2"}, preemption={"withinClusterQueue": "LowerPriority"})
    await priorities(play, urgent=1000)
    async with growing(play, settings=QUEUED):
        await a_pool(play, types="small", scaleDown=IMPATIENT)
        await a_job(play, "modest")
        await play.until(lambda: asked_for(play), "a machine is asked for")
        await a_job(play, "important", priority_class="urgent")
        await until_preempted(play, "modest", "InClusterQueue")
        await until_running(play, "important")
        await until_stopped(play, "modest")
        await play.settled(2)
        assert ever_asked_for(play) == 1


@STORIES.story(ignores=CHANCE)
async def a_job_that_makes_no_pods_keeps_no_machines(play: Play) -> None:
    """Its namespace may have no pods. A machine is bought for it once, and given back; when the job is tried again,
    nothing more is bought before its pods are there."""
    await play.node("other", taints=TAINTED)
    await some_quota(play, {"cpu": "8"})
    await allow_no_pods(play)
    async with growing(play, settings=requeuing(timeout=2, base=1)):
        await a_pool(play, scaleDown=IMPATIENT)
        await a_job(play, "wide", FOUR)
        evicted = await until_said(play, "wide", EVICTED, PODS_READY_TIMEOUT)
        condition = evicted.condition(EVICTED)
        assert condition is not None
        assert "its job has made no pods" in condition.message
        await until_workload(play, "wide", lambda one: times(one) >= 3, "it was tried three times")
        await until_nothing_is_left(play)
        # If Growth was away in the beginning, it was too late for the first one, too.
        assert ever_asked_for(play) <= 1
        assert ever_made(play) == 0
