"""Somebody more important comes: who has to go goes, comes back after it, and nobody goes back and forth."""

from typing import Final

import msgspec

from growth.api.queue.workload import QUOTA_RESERVED, WAITS_FOR_PREEMPTED
from growth.api.settings.model import Settings
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.failover_scene import HELD
from tests.stories.queue_cohort_scene import (
    ONCE,
    a_cohort,
    a_flavor,
    a_queue,
    at_rest,
    evictions,
    let_go,
    priorities,
    starts,
    until_preempted,
)
from tests.stories.queue_scene import (
    CHANCE,
    any_pod,
    later,
    queued,
    remove,
    requeuing,
    some_quota,
    the_workload,
    until_running,
    until_said,
    until_stopped,
)

STORIES = Stories("queue", alone=True)
# Longer than any story: nobody is put back for pods that are not ready.
PATIENT_SECONDS: Final = 600


@STORIES.story(ignores=CHANCE)
async def with_creation_who_was_preempted_comes_back_after_the_preemptor(play: Play) -> None:
    """``timestamp: Creation``: the one that had to go is the older one, and yet waits until the other has ended."""
    await _gives_way(play, "Creation")


@STORIES.story(ignores=CHANCE)
async def with_eviction_who_was_preempted_comes_back_after_the_preemptor(play: Play) -> None:
    """``timestamp: Eviction``: the same."""
    await _gives_way(play, "Eviction")


async def _gives_way(play: Play, timestamp: str) -> None:
    await play.node("worker")
    await some_quota(play, {"cpu": "1"}, preemption={"withinClusterQueue": "LowerPriority"})
    await priorities(play, high=100)
    async with growing(play, settings=requeuing(timeout=PATIENT_SECONDS, timestamp=timestamp)):
        await queued(play, "low", finalizers=(HELD,))
        await until_running(play, "low")
        play.always(lambda: not (any_pod(play, "low") and any_pod(play, "high")), "one of them has pods")
        await later()
        await queued(play, "high", priority_class="high")
        await until_preempted(play, "low", "InClusterQueue")
        await until_said(play, "high", QUOTA_RESERVED, WAITS_FOR_PREEMPTED, status="False")
        await play.until(lambda: not play.running("low"), "its pod is leaving")
        await later()
        assert (await the_workload(play, "low")).status.admission is not None, "its pod is still there"
        await let_go(play, "low")
        await until_running(play, "high")
        await until_said(play, "low", QUOTA_RESERVED, "WaitingForQuota", status="False")
        await at_rest(play, runs="high", waits="low")
        assert (starts(play, "high"), await evictions(play, "high")) == (1, {})
        assert (starts(play, "low"), await evictions(play, "low")) == (1, ONCE)
        await remove(play, "high")
        await until_running(play, "low")
        assert (starts(play, "low"), await evictions(play, "low")) == (2, ONCE)


@STORIES.story(ignores=CHANCE)
async def a_more_important_newcomer_starts_before_a_waiting_preemptor(play: Play) -> None:
    """The preemptor has not started when the newcomer comes, and starts after it: it is never preempted itself."""
    await _is_overtaken(play, requeuing(timeout=PATIENT_SECONDS), WAITS_FOR_PREEMPTED)
    assert (starts(play, "high"), await evictions(play, "high")) == (1, {})
    assert (starts(play, "low"), await evictions(play, "low")) == (1, ONCE)


@STORIES.story(ignores=CHANCE, unless_stopped="who is stopped before the preemptor starts finds the newcomer there")
async def with_waiting_preemptors_first_the_newcomer_starts_after_them(play: Play) -> None:
    """``waitingPreemptorsFirst``, as in Kueue: the preemptor starts, is preempted, and starts once more."""
    settings = requeuing(timeout=PATIENT_SECONDS)
    queue = msgspec.structs.replace(settings.queue, waiting_preemptors_first=True)
    await _is_overtaken(play, msgspec.structs.replace(settings, queue=queue), "WaitingForQuota")
    assert (starts(play, "high"), await evictions(play, "high")) == (2, ONCE)
    assert (starts(play, "low"), await evictions(play, "low")) == (1, ONCE)


async def _is_overtaken(play: Play, settings: Settings, newcomer_waits: str) -> None:
    """Until the newcomer, which first waits for this reason, has ended and the preemptor runs."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"}, preemption={"withinClusterQueue": "LowerPriority"})
    await priorities(play, high=100, higher=200)
    async with growing(play, settings=settings):
        await queued(play, "low", finalizers=(HELD,))
        await until_running(play, "low")
        await queued(play, "high", priority_class="high")
        await until_preempted(play, "low", "InClusterQueue")
        await until_said(play, "high", QUOTA_RESERVED, WAITS_FOR_PREEMPTED, status="False")
        await queued(play, "newcomer", priority_class="higher")
        await until_said(play, "newcomer", QUOTA_RESERVED, newcomer_waits, status="False")
        await play.until(lambda: not play.running("low"), "its pod is leaving")
        await let_go(play, "low")
        await until_running(play, "newcomer")
        await at_rest(play, runs="newcomer", waits="high low")
        assert (starts(play, "newcomer"), await evictions(play, "newcomer")) == (1, {})
        await remove(play, "newcomer")
        await until_running(play, "high")
        await at_rest(play, runs="high", waits="low")


@STORIES.story(ignores=CHANCE)
async def a_place_that_nobody_wants_any_more_goes_back_to_who_had_it(play: Play) -> None:
    """The preemptor is deleted while the other one is leaving: that one goes all the way, and comes back."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"}, preemption={"withinClusterQueue": "LowerPriority"})
    await priorities(play, high=100)
    async with growing(play, settings=requeuing(timeout=PATIENT_SECONDS)):
        await queued(play, "low", finalizers=(HELD,))
        await until_running(play, "low")
        await queued(play, "high", priority_class="high")
        await until_preempted(play, "low", "InClusterQueue")
        await play.until(lambda: not play.running("low"), "its pod is leaving")
        await remove(play, "high")
        await let_go(play, "low")
        await until_running(play, "low")
        await at_rest(play, runs="low", waits="high")
        assert (starts(play, "low"), await evictions(play, "low")) == (2, ONCE)


@STORIES.story(ignores=CHANCE)
async def who_came_first_gets_the_place_of_whoever_slipped_past(play: Play) -> None:
    """LowerOrNewerEqualPriority: the large one waits for the first one, and a newer small one takes what is left. When
    the first one is gone the newer one has to go; the first one, which is older, did not have to."""
    await play.node("worker")
    await some_quota(play, {"cpu": "2"}, preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    async with growing(play, settings=requeuing(timeout=PATIENT_SECONDS)):
        await queued(play, "first")
        await until_running(play, "first")
        play.always(lambda: starts(play, "first") == 1, "the first one is left alone")
        await later()
        await queued(play, "large", cpu="2")
        await until_said(play, "large", QUOTA_RESERVED, "WaitingForQuota", status="False")
        await later()
        await queued(play, "newer")
        await until_running(play, "newer")
        await at_rest(play, runs="first newer", waits="large")
        assert (await evictions(play, "first"), await evictions(play, "newer")) == ({}, {})
        await remove(play, "first")
        await until_preempted(play, "newer", "InClusterQueue")
        await until_running(play, "large")
        await at_rest(play, runs="large", waits="newer")
        assert (starts(play, "large"), await evictions(play, "large")) == (1, {})
        await remove(play, "large")
        await until_running(play, "newer")
        assert (starts(play, "newer"), await evictions(play, "newer")) == (2, ONCE)


@STORIES.story(ignores=CHANCE)
async def who_has_to_borrow_sends_back_less_important_ones_up_to_a_threshold(play: Play) -> None:
    """borrowWithinCohort: two cpus are nobody's own, and others have borrowed both. An urgent job gets that of the one
    below the threshold; the one above keeps its own, though it is less important than the next urgent job, too."""
    await play.node("worker")
    await a_flavor(play)
    await priorities(play, middle=50, urgent=100)
    await a_cohort(play, "team", cpu="2")
    borrowing = {"policy": "LowerPriority", "maxPriorityThreshold": 10}
    rules = {"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": borrowing}
    await a_queue(play, "ours", "1", "team", preemption=rules)
    await a_queue(play, "theirs", "0", "team")
    async with growing(play, settings=requeuing(timeout=PATIENT_SECONDS)):
        for name, door, priority in (("own", "ours", "urgent"), ("low", "theirs", ""), ("middle", "theirs", "middle")):
            await queued(play, name, door=door, priority_class=priority)
            await until_running(play, name)
        await queued(play, "borrower", door="ours", priority_class="urgent")
        await until_preempted(play, "low", "InCohortReclaimWhileBorrowing")
        await until_running(play, "borrower")
        await queued(play, "another", door="ours", priority_class="urgent")
        await until_said(play, "another", QUOTA_RESERVED, "WaitingForQuota", status="False")
        await at_rest(play, runs="own middle borrower", waits="low another")
        assert (await evictions(play, "middle"), await evictions(play, "low")) == ({}, ONCE)
        await remove(play, "middle")
        await until_running(play, "another")
        assert not any_pod(play, "low"), "the urgent one comes first"


@STORIES.story(ignores=CHANCE)
async def a_restart_between_preemption_and_admission_changes_nothing(play: Play) -> None:
    """Two have to go, one of them goes slowly, and Growth is stopped and started meanwhile. Both are older and more
    important than the one that takes its own back, and with Creation they are in front: yet the place of the one that
    is gone is kept for it."""
    await play.node("worker")
    await a_flavor(play)
    await priorities(play, high=100)
    await a_queue(play, "owner", "2", "team", preemption={"reclaimWithinCohort": "Any"})
    await a_queue(play, "borrower", "0", "team")
    settings = requeuing(timeout=PATIENT_SECONDS, timestamp="Creation")
    play.always(lambda: max(starts(play, name) for name in ("quick", "slow")) <= 2, "nobody goes back and forth")
    async with growing(play, settings=settings):
        for name, finalizers in (("quick", ()), ("slow", (HELD,))):
            await queued(play, name, door="borrower", priority_class="high", finalizers=finalizers)
            await until_running(play, name)
        await later()
        await queued(play, "mine", cpu="2", door="owner")
        for name in ("quick", "slow"):
            await until_preempted(play, name, "InCohortReclamation")
        await until_stopped(play, "quick")
        await play.until(lambda: not play.running("slow"), "its pod is leaving")
    async with growing(play, settings=settings):
        await queued(play, "late", door="borrower")
        await until_said(play, "late", QUOTA_RESERVED, "WaitingForQuota", status="False")
        await later()
        assert not any_pod(play, "quick")
        assert (await the_workload(play, "slow")).status.admission is not None, "its pod is still there"
    await let_go(play, "slow")
    await until_stopped(play, "slow")
    async with growing(play, settings=settings):
        await until_running(play, "mine")
        await at_rest(play, runs="mine", waits="quick slow late")
        assert (starts(play, "mine"), await evictions(play, "mine")) == (1, {})
        for name in ("quick", "slow"):
            assert (starts(play, name), await evictions(play, name)) == (1, ONCE)
        await remove(play, "mine")
        for name in ("quick", "slow"):
            await until_running(play, name)
            assert (starts(play, name), await evictions(play, name)) == (2, ONCE)
