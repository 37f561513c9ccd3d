"""Informers and the World, wired: as long as the context lasts, the World follows the cluster."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from growth.kube.client import Client
from growth.kube.informer import Informer
from growth.observe.world import World
from growth.run.collector import spare_the_collector


@asynccontextmanager
async def watching(client: Client, world: World) -> AsyncGenerator[Sequence[Informer[Any]]]:
    """Enter once the World is complete; inside, it keeps following.

    An informer ends only with an error that needs a person. Then the whole context ends with that error, because a
    World that silently lacks one kind would lead to wrong decisions.
    """
    informers = [Informer(client, kind, hear) for kind, hear in world.listeners().items()]
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(informer.run(), name=informer.kind.plural) for informer in informers]
            for informer in informers:
                await informer.synced.wait()
            spare_the_collector()
            yield informers
            for task in running:
                task.cancel()
    except ExceptionGroup as group:
        # Each informer that failed says the same of the same server; one sentence is enough for a person.
        raise group.exceptions[0] from None
