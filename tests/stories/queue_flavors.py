"""Story 1 of the seed: a job whose machines cannot be had on one flavor starts on another one, as soon as it can."""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS
from growth.api.offering import INSTANCE_TYPE
from growth.api.queue.cluster_queues import SHORT
from growth.api.queue.kinds import CLUSTER_QUEUES
from growth.api.queue.workload import EVICTED, PODS_READY_TIMEOUT, QUOTA_RESERVED, REQUEUED
from growth.api.settings.model import ProvidersSettings
from growth.api.status import condition_of
from growth.decide.queue.failed_flavors import FAILED_FLAVORS
from growth.decide.queue.flavor_assignment import OUT_OF_STOCK
from growth.decide.queue.pending_queue import queued_since
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue import QUEUED
from tests.stories.queue_cohort_scene import evictions
from tests.stories.queue_machines_scene import (
    TAINTED,
    a_job,
    asked_for,
    ever_asked_for,
    flavor_of,
    flavors,
)
from tests.stories.queue_scene import (
    CHANCE,
    DISK,
    remove,
    requeuing,
    the_workload,
    times,
    until_running,
    until_said,
    until_workload,
)

STORIES = Stories("queue", alone=True)
BOTH: Final = {"small": "2", "large": "2"}
FSN1: Final = ["fsn1"]
LONG_SECONDS: Final = 3600


def sold_out(*types: str, left: int = 0) -> str:
    """What is sold, but for these types, of which there are only so many."""
    lines = CATALOGUE.splitlines()
    few = f", stock: {{fsn1: {left}}}}}"
    return "\n".join(
        f"{line.removesuffix('}')}{few}" if any(f"name: {name}," in line for name in types) else line for line in lines
    )


# What is sold is read once, at the start: what changes later is a surprise.
SURPRISED: Final = msgspec.structs.replace(QUEUED, providers=ProvidersSettings("kwok", timedelta(minutes=10)))
# Nothing is tried again before the job is seen to wait.
CAREFUL: Final = msgspec.structs.replace(
    SURPRISED,
    provision=msgspec.structs.replace(
        SURPRISED.provision, unmet=timedelta(seconds=12), unmet_at_most=timedelta(seconds=24)
    ),
)


@STORIES.story(ignores=CHANCE)
async def a_job_in_its_backoff_starts_where_something_becomes_free(play: Play) -> None:
    """The seed's integration test. The first flavor is taken, so a job is admitted on the second one, for which no node
    comes, and nobody knows why. It is put back, and would be tried again in an hour. Then the first flavor is free, and
    it starts there at once."""
    await play.node("worker", labels={DISK: "first"})
    await flavors(play, DISK, {"first": "1", "second": "1"})
    async with growing(play, settings=requeuing(timeout=3, base=LONG_SECONDS)):
        await a_job(play, "holder", cpu="1")
        await until_running(play, "holder")
        await a_job(play, "mover", cpu="1")
        await until_workload(play, "mover", lambda one: flavor_of(one) == "second", "it is admitted on the second")
        evicted = await until_said(play, "mover", EVICTED, PODS_READY_TIMEOUT)
        assert evicted.metadata.annotations[FAILED_FLAVORS] == "second=PodsReadyTimeout"
        await until_said(play, "mover", REQUEUED, PODS_READY_TIMEOUT, status="False")
        await remove(play, "holder")
        await until_running(play, "mover")
        workload = await the_workload(play, "mover")
        assert (flavor_of(workload), times(workload)) == ("first", 1)
        assert await evictions(play, "mover") == {PODS_READY_TIMEOUT: 1}


@STORIES.story(ignores=CHANCE, unless_stopped="who starts anew reads the stock, and is not surprised")
async def a_job_moves_from_a_flavor_that_is_out_of_stock(play: Play) -> None:
    """Both flavors have quota. The machine for the first one is refused by its provider: the job moves to the second
    one without a count and a backoff, keeps its place, and the queue says what cannot be had."""
    await play.node("other", taints=TAINTED)
    await flavors(play, INSTANCE_TYPE, BOTH)
    async with growing(play, settings=SURPRISED) as growth:
        await a_pool(play, types="small large", locations=FSN1)
        await _is_open(play)
        growth.set_catalogue(sold_out("small"))
        await a_job(play, "mover")
        await until_running(play, "mover")
        workload = await the_workload(play, "mover")
        assert (flavor_of(workload), workload.status.requeue_state) == ("large", None)
        assert queued_since(workload, "Eviction") == workload.metadata.creation_timestamp
        assert await evictions(play, "mover") == {OUT_OF_STOCK: 1}
        await until_told(play, "all", OUT_OF_STOCK)
        assert [one.spec.target_offering for one in asked_for(play) if one.status.phase != "Unmet"] == [
            "kwok-large-fsn1"
        ]


@STORIES.story(ignores=CHANCE)
async def a_job_waits_for_stock_and_starts_where_it_comes_first(play: Play) -> None:
    """Nothing can be had of either flavor, and everybody is told. As soon as there is something of the second one, the
    job that waits is admitted there. Nothing is asked for in vain."""
    await play.node("other", taints=TAINTED)
    await flavors(play, INSTANCE_TYPE, BOTH)
    async with growing(play, settings=QUEUED, catalogue=sold_out("small", "large")) as growth:
        await a_pool(play, types="small large", locations=FSN1)
        await a_job(play, "patient")
        await until_said(play, "patient", QUOTA_RESERVED, OUT_OF_STOCK, status="False")
        await until_short(play, "small", "large")
        growth.set_catalogue(sold_out("small"))
        await until_running(play, "patient")
        workload = await the_workload(play, "patient")
        assert (flavor_of(workload), workload.status.requeue_state) == ("large", None)
        assert ever_asked_for(play) == 1
        await until_short(play, "small")
        growth.set_catalogue(CATALOGUE)
        await until_short(play)


@STORIES.story(ignores=CHANCE, unless_stopped="who starts anew reads the stock, and is not surprised")
async def a_flavor_that_may_be_tried_again_is_and_its_first_machine_counts(play: Play) -> None:
    """Machines of both flavors are refused when they are asked for. When one may be tried again, the job is admitted
    once more, and one machine is tried, which comes. Nobody takes it for the end of the stock meanwhile."""
    await play.node("other", taints=TAINTED)
    await flavors(play, INSTANCE_TYPE, BOTH)
    async with growing(play, settings=CAREFUL) as growth:
        await a_pool(play, types="small large", locations=FSN1)
        await _is_open(play)
        growth.set_catalogue(sold_out("small", "large"))
        await a_job(play, "patient")
        await until_short(play, "small", "large")
        await until_said(play, "patient", QUOTA_RESERVED, OUT_OF_STOCK, status="False")
        before = await evictions(play, "patient")
        growth.set_catalogue(CATALOGUE)
        await until_running(play, "patient")
        assert await evictions(play, "patient") == before
        assert (await the_workload(play, "patient")).status.requeue_state is None
        await until_workload(
            play,
            "patient",
            lambda one: not one.metadata.annotations.get(FAILED_FLAVORS),
            "where it failed is forgotten",
        )


@STORIES.story(ignores=CHANCE)
async def the_last_machine_is_for_whom_it_was_bought(play: Play) -> None:
    """Of the first flavor there is one machine left. Whoever has bought it waits for it, although nothing is left now;
    the next one goes to the second flavor."""
    await play.node("other", taints=TAINTED)
    await flavors(play, INSTANCE_TYPE, {"small": "4", "large": "2"})
    slow = sold_out("small", left=1).replace("bootDelay: 1s", "bootDelay: 5s")
    async with growing(play, settings=QUEUED, catalogue=slow):
        await a_pool(play, types="small large", locations=FSN1)
        await a_job(play, "first")
        await until_short(play, "small")
        await a_job(play, "second")
        await until_running(play, "first")
        await until_running(play, "second")
        assert [flavor_of(await the_workload(play, name)) for name in ("first", "second")] == ["small", "large"]
        assert (await evictions(play, "first"), await evictions(play, "second")) == ({}, {})
        assert ever_asked_for(play) == 2


async def until_short(play: Play, *names: str) -> None:
    """Wait until the queue says that these flavors are out of stock, and no others."""

    async def is_said() -> bool:
        queue = await play.client.get(CLUSTER_QUEUES, "all")
        told = condition_of(queue.status.conditions, SHORT)
        words = told.message if told is not None else ""
        return [name for name in BOTH if f"flavor {name}:" in words] == list(names)

    await play.until_found(is_said, f"out of stock: {' and '.join(names) or 'nothing'}")


async def _is_open(play: Play) -> None:
    """What is sold is known by the time at which the pool can be used."""
    pools = play.trace.objects[NODE_POOLS]
    await play.until(
        lambda: any(one.status == "True" for pool in pools.values() for one in pool.status.conditions),
        "the pool can be used",
    )
