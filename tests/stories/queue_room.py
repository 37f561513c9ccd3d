"""Nodes that stand are room, even while nothing more can be bought."""

from growth.api.offering import INSTANCE_TYPE
from growth.api.queue.workload import ON_STANDING_NODES, QUOTA_RESERVED
from growth.decide.queue.flavor_assignment import OUT_OF_STOCK
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool, growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue import QUEUED
from tests.stories.queue_cohort_scene import evictions
from tests.stories.queue_flavors import FSN1, sold_out, until_short
from tests.stories.queue_machines_scene import a_job, ever_asked_for, flavor_of, flavors
from tests.stories.queue_scene import CHANCE, remove, the_workload, until_running, until_said, until_workload

STORIES = Stories("queue", alone=True)


@STORIES.story(ignores=CHANCE)
async def a_job_runs_on_a_node_that_stands_while_nothing_can_be_bought(play: Play) -> None:
    """Machines of the only flavor are sold out, and a node of it stands there empty. A job that fits runs there; the
    next one does not fit beside it, and waits, until there is room. Nothing is asked for in vain, nobody is moved."""
    await play.node("stands", labels={INSTANCE_TYPE: "small"})
    await flavors(play, INSTANCE_TYPE, {"small": "100"})
    async with growing(play, settings=QUEUED, catalogue=sold_out("small")):
        await a_pool(play, types="small", locations=FSN1)
        await until_short(play, "small")
        await a_job(play, "first", 2)
        await until_running(play, "first", 2)
        await a_job(play, "second", 2)
        waiting = await until_said(play, "second", QUOTA_RESERVED, OUT_OF_STOCK, status="False")
        told = waiting.condition(QUOTA_RESERVED)
        assert told is not None
        assert "the nodes that stand have not enough room" in told.message
        await remove(play, "first")
        await until_running(play, "second", 2)
        assert {pod.node_name for pod in play.running("second")} == {play.full("stands")}
        await until_workload(play, "second", lambda one: not one.holds(ON_STANDING_NODES), "it is like all others")
        assert flavor_of(await the_workload(play, "second")) == "small"
        assert (await evictions(play, "second"), ever_asked_for(play)) == ({}, 0)
