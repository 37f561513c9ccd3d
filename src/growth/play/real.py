"""Stories on a real control plane of this machine, many at a time, with durations in seconds."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from growth.local.cluster import LocalCluster
from growth.local.timings import Timings
from growth.play.attacher import Attacher
from growth.play.play import a_play
from growth.play.story import Telling
from growth.play.trace import Seen

# The pod collector looks every 20 s and leaves orphans alone for 40 s more: the longest that any story waits, twice.
PATIENCE_SECONDS: Final = 180.0


class RealWorld:
    """A control plane and somebody who attaches volumes."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster

    async def play(self, tell: Telling) -> list[Seen]:
        """Play one story to its end; gives what was seen. Stories share the cluster and never meet."""
        name = f"story-{secrets.token_hex(3)}"
        async with a_play(self._cluster.admin, name, patience=PATIENCE_SECONDS, now=_now) as play:
            await tell(play)
            return list(play.trace.seen)


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def a_real_world() -> AsyncGenerator[RealWorld]:
    """A control plane that lives as long as the context."""
    async with LocalCluster(timings=Timings.fast()) as cluster:
        attaching = asyncio.create_task(Attacher(cluster.admin).run())
        try:
            yield RealWorld(cluster)
        finally:
            attaching.cancel()
            await asyncio.gather(attaching, return_exceptions=True)
