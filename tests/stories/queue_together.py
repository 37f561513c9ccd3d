"""Pods that start together: no machine is launched for some of them while the others have no place."""

from collections import Counter
from typing import Final

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.offering import INSTANCE_TYPE, REGION
from growth.api.queue.workload import QUOTA_RESERVED
from growth.decide.queue.failed_flavors import FAILED_FLAVORS
from growth.decide.queue.flavor_assignment import NO_PLACEMENT
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool, growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue import QUEUED
from tests.stories.queue_cohort_scene import evictions
from tests.stories.queue_flavors import FSN1, SURPRISED, sold_out
from tests.stories.queue_machines_scene import (
    IMPATIENT,
    TAINTED,
    a_job,
    asked_for,
    ever_asked_for,
    flavor_of,
    flavors,
    until_nothing_is_left,
)
from tests.stories.queue_scene import CHANCE, remove, the_workload, until_running, until_said, until_workload

STORIES = Stories("queue", alone=True)
QUOTA: Final = {"fsn1": "4", "nbg1": "4"}
"""Flavors are locations: the same machines are in stock in one, and cost more in the other."""
PAIR: Final = 2
FULL: Final = "1500m"
"""One such pod fills a small machine."""
A_FEW_SECONDS: Final = 10
"""Machines boot in one second."""


@STORIES.story(ignores=CHANCE)
async def a_job_of_two_pods_launches_nothing_where_there_is_one_machine(play: Play) -> None:
    """Of the first flavor one machine is left, and each pod needs one of its own. None is launched; the job moves to
    the second flavor as soon as a plan has found that out, and starts there. Nothing is left of the first."""
    await play.node("other", taints=TAINTED)
    await flavors(play, REGION, QUOTA)
    async with growing(play, settings=QUEUED, catalogue=sold_out("small", left=1)):
        await a_pool(play, types="small", scaleDown=IMPATIENT)
        began = play.now()
        await a_job(play, "pair", PAIR, cpu=FULL)
        await until_running(play, "pair", PAIR)
        assert (play.now() - began).total_seconds() < A_FEW_SECONDS
        assert flavor_of(await the_workload(play, "pair")) == "nbg1"
        assert await evictions(play, "pair") == {NO_PLACEMENT: 1}
        assert await launched(play) == {"kwok-small-nbg1": PAIR}
        await until_nothing_is_noted(play, "pair")
        await remove(play, "pair")
        await until_nothing_is_left(play)
        assert ever_asked_for(play) == PAIR


@STORIES.story(ignores=CHANCE)
async def a_machine_that_a_job_cannot_use_serves_another_pod(play: Play) -> None:
    """The same, and another pod waits for which one machine there is enough. It gets the machine."""
    await play.node("other", taints=TAINTED)
    await flavors(play, REGION, QUOTA)
    async with growing(play, settings=SURPRISED, catalogue=sold_out("small", left=1)):
        await a_pool(play, types="small", scaleDown=IMPATIENT)
        await a_job(play, "pair", PAIR, cpu=FULL)
        await play.pod("plain", cpu=FULL, labels={"app": "plain"}, nodeSelector={REGION: "fsn1"})
        await until_running(play, "pair", PAIR)
        await until_running(play, "plain")
        assert flavor_of(await the_workload(play, "pair")) == "nbg1"
        assert await launched(play) == {"kwok-small-fsn1": 1, "kwok-small-nbg1": PAIR}
        (first,) = (one for one in asked_for(play) if one.spec.target_offering == "kwok-small-fsn1")
        (pod,) = play.running("plain")
        assert (pod.node_name, first.planned_for) == (first.metadata.name, (pod.metadata.uid,))
        await until_nothing_is_noted(play, "pair")


@STORIES.story(ignores=CHANCE)
async def a_job_waits_without_machines_until_there_are_enough(play: Play) -> None:
    """Its only flavor has one machine left, and it needs two. Nothing is launched, and it gives its quota to others,
    such as a job for which one machine is enough. It starts as soon as there are two."""
    await play.node("other", taints=TAINTED)
    await flavors(play, INSTANCE_TYPE, {"small": "6"})
    async with growing(play, settings=QUEUED, catalogue=sold_out("small", left=1)) as growth:
        await a_pool(play, types="small", locations=FSN1)
        await a_job(play, "pair", PAIR, cpu=FULL)
        await until_said(play, "pair", QUOTA_RESERVED, NO_PLACEMENT, status="False")
        await play.settled(3)
        assert (await evictions(play, "pair"), ever_asked_for(play)) == ({NO_PLACEMENT: 1}, 0)
        await a_job(play, "single", cpu=FULL)
        await until_running(play, "single")
        growth.set_catalogue(sold_out("small", left=1 + PAIR))
        await until_running(play, "pair", PAIR)
        assert (await evictions(play, "pair"), ever_asked_for(play)) == ({NO_PLACEMENT: 1}, 1 + PAIR)
        await until_nothing_is_noted(play, "pair")


async def launched(play: Play) -> Counter[str]:
    """How many machines of what are requested, or there."""
    return Counter(one.spec.target_offering for one in (await play.client.list(NODE_REQUESTS)).items)


async def until_nothing_is_noted(play: Play, job: str) -> None:
    """Wait until nothing tells any more where a job had no place."""
    await until_workload(play, job, lambda one: FAILED_FLAVORS not in one.metadata.annotations, "nothing is noted")
