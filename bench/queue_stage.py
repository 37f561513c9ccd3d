"""What happens on a cluster while its queue is measured, real or virtual: queues are set up, workloads come, those that
are admitted run, and somebody looks on. Time is the event loop's."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from bench.queue_load import Line, Planned, a_door, a_flavor, a_queue, a_workload
from bench.queue_standin import StandIn
from bench.queue_witness import Witness
from growth.api.change import Change
from growth.api.kinds import NAMESPACES
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.workload import Workload
from growth.kube.client import Client
from growth.kube.informer import Informer


async def furnish(client: Client, lines: Sequence[Line]) -> None:
    """The queues, each with a namespace of its own."""
    await client.create(RESOURCE_FLAVORS, a_flavor())
    for line in lines:
        await client.create(NAMESPACES, {"metadata": {"name": line.name}})
        await client.create(CLUSTER_QUEUES, a_queue(line))
        await client.create(LOCAL_QUEUES, a_door(line), line.name)


@asynccontextmanager
async def watching(
    client: Client, runners: Client, load: Sequence[Planned], lines: Sequence[Line]
) -> AsyncGenerator[tuple[Witness, StandIn]]:
    """Who looks on, and who plays those who run, told by the same watch; ``runners`` is whose writes end a run."""
    by_name = {one.name: one for one in load}
    async with asyncio.TaskGroup() as working:
        witness = Witness(by_name, lines, asyncio.get_running_loop().time)
        standin = StandIn(runners, by_name, working)

        def hear(changes: list[Change[Workload]]) -> None:
            standin.hear(changes)
            witness.hear(changes)

        informer = Informer(client, WORKLOADS, hear)
        looking = working.create_task(informer.run())
        try:
            await informer.synced.wait()
            yield witness, standin
        finally:
            looking.cancel()
            standin.close()


async def make(client: Client, load: Sequence[Planned], witness: Witness) -> None:
    """Each at its time, or as soon as the server takes it."""

    async def make_one(planned: Planned) -> None:
        await client.create(WORKLOADS, a_workload(planned), planned.line.name)
        witness.note_creation(planned.name)

    clock = asyncio.get_running_loop().time
    began = clock()
    async with asyncio.TaskGroup() as working:
        for planned in load:
            early = began + planned.at_seconds - clock()
            if early > 0:
                await asyncio.sleep(early)
            working.create_task(make_one(planned))
