"""Stories on a virtual cluster: the same durations as on the real one, without waiting for any of them."""

import math

from growth.local.timings import Timings as LocalTimings
from growth.play.play import a_play
from growth.play.real import PATIENCE_SECONDS
from growth.play.story import Telling
from growth.play.trace import Seen
from growth.sim.cluster import VirtualCluster
from growth.sim.timings import Timings
from growth.sim.virtual_loop import run_virtually

NAME = "story"


def like(local: LocalTimings) -> Timings:
    """A virtual cluster as patient as a control plane that was started with these timings."""
    return Timings(
        node_monitor_period=local.node_monitor_period_seconds,
        node_monitor_grace=local.node_monitor_grace_seconds,
        node_startup_grace=local.node_startup_grace_seconds,
        node_lease=local.node_lease_seconds,
        node_evictions_per_second=local.node_evictions_per_second,
        default_toleration=local.toleration_seconds,
    )


def play_virtually(tell: Telling, seed: int = 0, *, speed: float = math.inf) -> list[Seen]:
    """Play one story on a cluster of its own; gives what was seen."""

    async def play() -> list[Seen]:
        cluster = VirtualCluster(seed, timings=like(LocalTimings.fast()))
        async with a_play(cluster.admin(), NAME, patience=PATIENCE_SECONDS, now=cluster.clock.now) as play:
            await tell(play)
            return list(play.trace.seen)

    return run_virtually(play(), speed=speed)
