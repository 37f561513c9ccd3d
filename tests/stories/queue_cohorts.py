"""Queues that share: what is not used is lent, as far as the limits go, and comes back when its owner needs it."""

from typing import Any, Final

from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS
from growth.api.queue.workload import QUOTA_RESERVED
from growth.api.status import condition_of
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue_bad_input import until_inactive
from tests.stories.queue_cohort_scene import (
    ONCE,
    a_cohort,
    a_flavor,
    a_queue,
    at_rest,
    cpu_quota,
    evictions,
    starts,
    until_preempted,
)
from tests.stories.queue_scene import (
    CHANCE,
    later,
    queued,
    remove,
    requeuing,
    until_running,
    until_said,
)

STORIES = Stories("queue", alone=True)
PATIENT: Final = requeuing(timeout=600, timestamp="Creation")
RECLAIMING: Final = {"reclaimWithinCohort": "Any"}


@STORIES.story(ignores=CHANCE)
async def what_is_borrowed_is_given_back_and_the_newest_goes_first(play: Play) -> None:
    """One queue borrows both cpus of the other, which takes them back one by one. Who was sent back returns in order,
    once they are free again."""
    await play.node("worker")
    await a_flavor(play)
    await a_queue(play, "borrower", "1", "team", preemption=RECLAIMING)
    await a_queue(play, "owner", "2", "team", preemption=RECLAIMING)
    async with growing(play, settings=PATIENT):
        for name in ("first", "second", "third"):
            await queued(play, name, door="borrower")
            await until_running(play, name)
            await later()
        play.always(lambda: play.running("first"), "what is the borrower's own is left to it")
        for mine, going in (("mine", "third"), ("mine-too", "second")):
            await queued(play, mine, door="owner")
            await until_preempted(play, going, "InCohortReclamation")
            await until_running(play, mine)
        await at_rest(play, runs="first mine mine-too", waits="second third")
        for mine, coming in (("mine", "second"), ("mine-too", "third")):
            await remove(play, mine)
            await until_running(play, coming)
        assert [starts(play, name) for name in ("first", "second", "third", "mine", "mine-too")] == [1, 2, 2, 1, 1]
        assert [await evictions(play, name) for name in ("first", "second", "third")] == [{}, ONCE, ONCE]


@STORIES.story(ignores=CHANCE)
async def what_a_queue_does_not_lend_is_there_when_it_needs_it(play: Play) -> None:
    """lendingLimit: one of the two cpus cannot be borrowed. Its owner gets it at once, and nobody has to go; when it
    lends all, the next one is let in."""
    await play.node("worker")
    await a_flavor(play)
    await a_queue(play, "borrower", "1", "team")
    await a_queue(play, "owner", "2", "team", limits={"lendingLimit": "1"})
    async with growing(play, settings=PATIENT):
        for name in ("first", "second"):
            await queued(play, name, door="borrower")
            await until_running(play, name)
        await queued(play, "third", door="borrower")
        await until_said(play, "third", QUOTA_RESERVED, "WaitingForQuota", status="False")
        await queued(play, "mine", door="owner")
        await until_running(play, "mine")
        await at_rest(play, runs="first second mine", waits="third")
        await remove(play, "mine")
        await at_rest(play, runs="first second", waits="third")
        await play.change(CLUSTER_QUEUES, "owner", {"spec": {"resourceGroups": [cpu_quota("2")]}})
        await until_running(play, "third")


@STORIES.story(ignores=CHANCE)
async def a_queue_borrows_no_more_than_it_may(play: Play) -> None:
    """borrowingLimit: one cpu of two that are free. Who would need more than that at once is told that it never can."""
    await play.node("worker")
    await a_flavor(play)
    await a_queue(play, "borrower", "1", "team", limits={"borrowingLimit": "1"})
    await a_queue(play, "owner", "2", "team")
    async with growing(play, settings=PATIENT):
        for name in ("first", "second"):
            await queued(play, name, door="borrower")
            await until_running(play, name)
        await queued(play, "third", door="borrower")
        await until_said(play, "third", QUOTA_RESERVED, "WaitingForQuota", status="False")
        await queued(play, "large", cpu="3", door="borrower")
        await until_said(play, "large", QUOTA_RESERVED, "ExceedsMaxQuota", status="False")
        await at_rest(play, runs="first second", waits="third large")
        wider = [cpu_quota("1", borrowingLimit="2")]
        await play.change(CLUSTER_QUEUES, "borrower", {"spec": {"resourceGroups": wider}})
        await until_running(play, "third")
        await until_said(play, "large", QUOTA_RESERVED, "WaitingForQuota", status="False")


@STORIES.story(ignores=CHANCE)
async def a_queue_borrows_across_two_levels_of_cohorts(play: Play) -> None:
    """Of the quota of the company and of another department, which takes its own back; the company's stays lent."""
    await play.node("worker")
    await a_flavor(play)
    await a_cohort(play, "company", cpu="1")
    for name in ("left", "right"):
        await a_cohort(play, name, parent="company")
        await a_queue(play, f"{name}-team", "1", name, preemption=RECLAIMING)
    async with growing(play, settings=PATIENT):
        for name in ("first", "second", "third"):
            await queued(play, name, door="left-team")
            await until_running(play, name)
            await later()
        await queued(play, "fourth", door="left-team")
        await until_said(play, "fourth", QUOTA_RESERVED, "WaitingForQuota", status="False")
        await queued(play, "mine", door="right-team")
        await until_preempted(play, "third", "InCohortReclamation")
        await until_running(play, "mine")
        await at_rest(play, runs="first second mine", waits="third fourth")
        await remove(play, "mine")
        await until_running(play, "third")
        await at_rest(play, runs="first second third", waits="fourth")
        assert (starts(play, "third"), await evictions(play, "third")) == (2, ONCE)


@STORIES.story(ignores=CHANCE)
async def queues_of_cohorts_that_are_in_each_other_admit_nobody_until_that_is_mended(play: Play) -> None:
    """Who runs goes on, who waits is told why, and so is everybody who looks at the queue; a queue of another cohort is
    not concerned."""
    await play.node("worker")
    await a_flavor(play)
    await a_cohort(play, "one", parent="two")
    await a_cohort(play, "two")
    for queue, cohort in (("lower", "one"), ("upper", "two"), ("elsewhere", "three")):
        await a_queue(play, queue, "2", cohort)
    async with growing(play, settings=PATIENT):
        await queued(play, "first", door="lower")
        await until_running(play, "first")
        play.always(lambda: play.running("first"), "who runs goes on")
        await play.change(COHORTS, "two", {"spec": {"parentName": "one"}})
        for queue in ("lower", "upper"):
            await until_inactive(play, queue, "Misconfigured", "its cohorts are in each other")
            await queued(play, f"at-{queue}", door=queue)
            waiting = await until_said(play, f"at-{queue}", QUOTA_RESERVED, "Misconfigured", status="False")
            told = waiting.condition(QUOTA_RESERVED)
            assert told is not None
            assert "its cohorts are in each other" in told.message
        await queued(play, "stranger", door="elsewhere")
        await until_running(play, "stranger")
        await at_rest(play, runs="first stranger", waits="at-lower at-upper")
        mended: dict[str, Any] = {"spec": {"parentName": None}}
        await play.change(COHORTS, "two", mended)
        for queue in ("lower", "upper"):
            await until_running(play, f"at-{queue}")
            await _until_active(play, queue)


async def _until_active(play: Play, queue: str) -> None:
    async def is_said() -> bool:
        found = condition_of((await play.client.get(CLUSTER_QUEUES, queue)).status.conditions, "Active")
        return found is not None and (found.status, found.reason) == ("True", "Ready")

    await play.until_found(is_said, f"ClusterQueue {queue} says that it is at work")
