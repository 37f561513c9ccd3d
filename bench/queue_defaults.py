"""What two defaults of the queue cost and gain: ``python -m bench.queue_defaults --hours 24 --seeds 5``.

``extendWhileProvisioning`` and ``tryOtherFlavors`` are true by default, and false is the letter of the design that the
queue follows (docs/decisions/0007-two-defaults.md). A day of jobs is drawn from a seed (``bench.queue_defaults_load``):
eight jobs an hour of 1 to 4 pods that run for 10 to 50 minutes, in one ClusterQueue of three flavors. The first is that
of four nodes that are not Growth's; for a sixth of the day they are cordoned, which the queue does not know. Each pod
of the others needs a machine of its own, which boots for 1 to 10 minutes; for another sixth of the day machines of the
second flavor never register. Growth runs as it is shipped, with ``waitForPodsReady`` at its defaults, on a virtual
cluster. The same days are played four times, with each of both settings. Ends in one JSON line; figures are sums over
all days, waits are means.

| field | meaning |
|---|---|
| evictions | by reason |
| until_running_mean_s, _p95_s | from the creation of a job until all its pods ran for the first time |
| machines, machine_hours | launched and paid for, also those that never worked |
| vain_hours | of these, without a pod that ended well: booting, failed, idle, or with work that was done once more |

Weaknesses: pods fit one machine each; images need not be pulled; boot times are uniform and independent.
"""

import argparse
import asyncio
import itertools
import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec

from bench.days_load import HOUR
from bench.days_stage import growth_at_work, new_cluster, settings_with
from bench.queue_defaults_load import (
    CORDONED,
    FAILS,
    LAUNCHED,
    OWN,
    a_door,
    a_flavor,
    a_job,
    a_queue,
    arrivals,
    offered,
    own_nodes,
)
from bench.queue_defaults_witness import Witness
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from growth.api.settings.model import QueueSettings, Settings
from growth.api.settings.queue import WaitForPodsReadySettings
from growth.cloud.kwok.plugin import open_kwok
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.plugins import ProviderEnvironment
from growth.run.runtime import undisturbed
from growth_lab.simulator.served_kinds import JOBS, NODES
from growth_lab.simulator.virtual_loop import run_virtually

_MINUTE: Final = 60.0
# After the last job has come, for those that wait.
_EVENING_SECONDS: Final = 12 * HOUR
VARIANTS: Final = {
    "defaults": (True, True),
    "extend_false": (False, True),
    "try_false": (True, False),
    "both_false": (False, False),
}
"""extendWhileProvisioning and tryOtherFlavors."""


def settings_of(variant: str) -> Settings:
    """As they are by default, but for these two."""
    extend, try_others = VARIANTS[variant]
    queue = QueueSettings(
        enabled=True,
        extend_while_provisioning=extend,
        try_other_flavors=try_others,
        wait_for_pods_ready=WaitForPodsReadySettings(enable=True),
    )
    return msgspec.structs.replace(settings_with({}, {}), queue=queue)


async def play(hours: float, seed: int, settings: Settings, *, is_sound: bool = False) -> dict[str, Any]:
    """One day, and the time after it until all jobs have ended; nothing fails in a sound one."""
    cluster = new_cluster(seed, is_large=False)
    admin, seconds = cluster.admin(), cluster.clock.seconds
    await admin.create(CLUSTER_QUEUES, a_queue())
    await admin.create(LOCAL_QUEUES, a_door(), "default")
    for name in (OWN, *LAUNCHED):
        await admin.create(RESOURCE_FLAVORS, a_flavor(name))
    nodes = [cluster.store.create(NODES, node)["metadata"]["name"] for node in own_nodes()]
    witness, midnight = Witness(cluster.store, cluster.clock, unpaid=nodes), seconds()

    async def change(provider: KwokProvider) -> None:
        """Other machines each minute."""
        is_cordoned = False
        for minute in itertools.count():
            part = 0.0 if is_sound else minute * _MINUTE / (hours * HOUR)
            provider.catalogue = offered(seed, minute, fails=FAILS[0] <= part < FAILS[1])
            if is_cordoned != (CORDONED[0] <= part < CORDONED[1]):
                is_cordoned = not is_cordoned
                for name in nodes:
                    cluster.store.patch(NODES, name, "", {"spec": {"unschedulable": is_cordoned or None}})
            await asyncio.sleep(_MINUTE)

    @asynccontextmanager
    async def machines(surroundings: ProviderEnvironment) -> AsyncGenerator[KwokProvider]:
        async with open_kwok(surroundings) as provider:
            provider.catalogue = offered(seed, 0, fails=False)
            changing = asyncio.create_task(change(provider))
            try:
                yield provider
            finally:
                changing.cancel()

    pool = {"serverTypes": [{"name": name} for name in LAUNCHED]}
    due = arrivals(hours, seed)
    async with growth_at_work(cluster, pool, settings, offers=machines):
        for arrival in due:
            await asyncio.sleep(max(0.0, midnight + arrival.at - seconds()))
            cluster.store.create(JOBS, a_job(arrival))
        with suppress(TimeoutError):
            await asyncio.wait_for(witness.until_finished(len(due)), _EVENING_SECONDS)
        return witness.figures()


def summed(days: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sums over all days, but for waits, which are means."""
    waits = ("until_running_mean_s", "until_running_p95_s")
    total: dict[str, Any] = {name: round(sum(day[name] for day in days) / len(days)) for name in waits}
    counted = ("jobs", "finished", "machines", "machine_hours", "vain_hours")
    total |= {name: round(sum(day[name] for day in days), 1) for name in counted}
    evictions = Counter[str]()
    for day in days:
        evictions.update(day["evictions"])
    total["evictions"] = dict(sorted(evictions.items()))
    return total


def main() -> None:
    """Parse, play, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--seeds", type=int, default=5, help="How many days, with the seeds from 1 on.")
    parser.add_argument("--sound", action="store_true", help="Nothing fails: machines only boot slowly.")
    given = parser.parse_args()
    figures: dict[str, Any] = {"hours": given.hours, "seeds": given.seeds, "sound": given.sound}
    for variant in VARIANTS:
        days: list[dict[str, Any]] = []
        for seed in range(1, given.seeds + 1):
            with undisturbed():
                days.append(run_virtually(play(given.hours, seed, settings_of(variant), is_sound=given.sound)))
            print(variant, seed, json.dumps(days[-1]), file=sys.stderr, flush=True)
        figures[variant] = summed(days)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
