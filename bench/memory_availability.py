"""How available node memory is over a day of faults: ``python -m bench.memory_availability --days 1 --seed 1``.

On a virtual cluster with stock timings ``growth run --only memory`` runs as several replicas with the settings that it
is shipped with. Nodes leave and return all day, one by one and by the rack. People set labels, an annotation and a
taint on each, and of every five that leave one has a label changed or removed within the minute before. Meanwhile
replicas are killed, paused and cut off, watches break or fall silent, the API server is restarted, and a share of all
requests fails. The same day is played for each number in ``--replicas``; the first is the figure, the others are in
``others``. Ends in one JSON line.

A return begins when the Node object is created and ends when it has its marker and all that it carried when it left.
While the API server is away no node can register, so that time is not part of a return; if the server goes away after
that, its absence counts in full. A return that still has time at the end of the day does not count.

| field | meaning |
|---|---|
| share | returns that were whole within 60 s, of all that count |
| restored_share | returns whose remembered keys were restored within 60 s: a last change that no replica saw is lost |
| p50_s, p99_s, worst_seconds | from the return until whole; of one that never was, until it left again |
| never_whole | those: it lacked something until it left, 2 minutes later at least |
| faults, failed_requests | what was drawn, by kind |
| missed | each of the others, with what failed within a minute of the return (a lost change: of the leaving) |

Doubts: the virtual API server answers within 1 ms and a start takes no longer than the rate says; a paused process
sends and hears nothing, but its timers go on. The rates are guesses far above what clusters see: the share is a lower
bound for a cluster with fewer faults, and none for one with faults of other kinds (a lost etcd, a wrong clock).
"""

import argparse
import asyncio
import gc
import json
import random
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from bench.availability_day import ALL, HOUR, RATES, Fault, Leave, Rate, Trouble, drawn_leaves, drawn_troubles
from bench.availability_replicas import GROWTH, Replica
from bench.availability_returns import AIM_SECONDS, PEOPLES, Returns, body_of, figures
from bench.crowd import tell
from growth.api.kinds import NAMESPACES, NODES
from growth.api.settings.model import Settings
from growth.api.settings.node_memory import MemorySettings
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists, NotFound, Unreachable
from growth.kube.patches import MergePatch
from growth.run.logs import silent_logs
from growth.run.runtime import undisturbed
from growth.run.shipped_manifests import shipped_roles
from growth_lab.simulator import faults as sim
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.virtual_loop import run_virtually

SETTINGS: Final = Settings(memory=MemorySettings(annotations=(PEOPLES,), taints=(PEOPLES,)))
_SETTLE_SECONDS: Final = 120.0  # until all nodes have their markers and checkpoints
_STAYS_SECONDS: Final = 120.0  # so that a return has time to miss its aim
_CHANGED_SHARE: Final = 0.2
_CHANGED_WITHIN_SECONDS: Final = 60.0
_RETRY_SECONDS: Final = 1.0
# Of the requests that fail: how they do.
_FAILING: Final[Mapping[sim.Fault, float]] = {
    sim.Fault.CONFLICT: 0.4,
    sim.Fault.TOO_MANY: 0.3,
    sim.Fault.INTERNAL: 0.2,
    sim.Fault.LOST: 0.08,
    sim.Fault.TIMEOUT: 0.02,
}
_MOST_NODES: Final = 5_000


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is made of."""

    hours: float
    seed: int
    nodes: int
    returns_per_day: float
    failing_percent: float
    finalizer: bool = False
    rates: Mapping[Fault, Rate]


class _Day:
    """One day with one number of replicas."""

    def __init__(self, plan: Plan, replicas: int) -> None:
        self._plan = plan
        self._cluster = cluster = VirtualCluster(plan.seed, roles=shipped_roles())
        self._admin: Client = cluster.admin()
        self._returns = Returns(cluster.store, cluster.clock)
        memory = msgspec.structs.replace(SETTINGS.memory, finalizer=plan.finalizer)
        settings = msgspec.structs.replace(SETTINGS, memory=memory)
        self._replicas = [Replica(number, cluster, settings) for number in range(replicas)]
        self._troubles = drawn_troubles(plan.seed, plan.hours, replicas, plan.rates)
        self._leaves = drawn_leaves(plan.seed, plan.hours, plan.returns_per_day)
        self._chance = random.Random(f"{plan.seed}/people")
        self._away = set[str]()
        self._skipped = 0

    async def play(self) -> dict[str, Any]:
        """All of it."""
        for namespace in (SETTINGS.namespace, SETTINGS.memory.namespace, SETTINGS.memory.transaction_namespace):
            await self._admin.create(NAMESPACES, {"metadata": {"name": namespace}})
        async with asyncio.TaskGroup() as work:
            running = [work.create_task(replica.run()) for replica in self._replicas]
            for number in range(self._plan.nodes):
                await self._admin.create(NODES, body_of(f"node-{number}", is_new=True))
            await asyncio.sleep(_SETTLE_SECONDS)
            for name in self._returns.present:
                self._returns.accept(name)
            found = await self._until_evening(work)
            for one in running:
                one.cancel()
        return found

    async def _until_evening(self, work: asyncio.TaskGroup) -> dict[str, Any]:
        clock, faults = self._cluster.clock, self._cluster.faults
        morning, started = clock.seconds(), time.perf_counter()
        troubles = [msgspec.structs.replace(one, at=morning + one.at) for one in self._troubles]
        faults.whose = GROWTH
        faults.rates = {fault: share * self._plan.failing_percent / 100 for fault, share in _FAILING.items()}
        self._returns.begin()
        happenings: list[tuple[float, Callable[[], object]]] = [
            *((one.at, partial(self._happen, one, work)) for one in troubles),
            *((morning + one.at, partial(self._leave, one, work)) for one in self._leaves),
            *((morning + hour * HOUR, partial(self._show, hour, started)) for hour in range(int(self._plan.hours))),
        ]
        for at, happen in sorted(happenings, key=lambda one: one[0]):
            await asyncio.sleep(at - clock.seconds())
            happen()
        await asyncio.sleep(morning + self._plan.hours * HOUR - clock.seconds())
        found = figures(self._returns.all, troubles, faults.told, clock.seconds())
        return {"starts": sum(one.starts for one in self._replicas), "skipped": self._skipped, **found}

    def _show(self, hour: int, started: float) -> None:
        whole = sum(one.whole_at is not None for one in self._returns.all)
        counts = f"{len(self._returns.all)} returns, {whole} whole"
        tell(f"    hour {hour:2d}, {len(self._replicas)} replicas: {counts}, {time.perf_counter() - started:.0f} s")
        gc.collect()  # nothing else collects in an undisturbed day

    def _happen(self, trouble: Trouble, work: asyncio.TaskGroup) -> None:
        replicas = self._replicas if trouble.replica == ALL else [self._replicas[trouble.replica]]
        match trouble.fault:
            case Fault.REPLICA_KILLED | Fault.HOST_LOST | Fault.ALL_KILLED:
                for replica in replicas:
                    replica.kill(trouble.seconds)
            case Fault.REPLICA_PAUSED:
                replicas[0].pause(trouble.seconds)
            case Fault.CUT_OFF:
                replicas[0].cut_off(trouble.seconds)
            case Fault.WATCHES_BROKEN:
                work.create_task(replicas[0].break_watches())
            case Fault.WATCH_SILENT:
                # The next watch of nodes is the one that this replica begins now.
                silent = sim.Fault.SILENT
                self._cluster.faults.order(silent, verb="watch", resource="nodes", user=GROWTH, seconds=0.0)
                work.create_task(replicas[0].break_watches())
            case Fault.SERVER_AWAY:
                self._cluster.api.restart(trouble.seconds)

    def _leave(self, leave: Leave, work: asyncio.TaskGroup) -> None:
        """The nodes that leave are drawn from those that are there for long enough."""
        now = self._cluster.clock.seconds()
        ready = [
            name
            for name, since in self._returns.present.items()
            if now - since >= _STAYS_SECONDS and name not in self._away
        ]
        names = self._chance.sample(ready, min(len(ready), len(leave.away_seconds)))
        self._skipped += len(leave.away_seconds) - len(names)
        self._away.update(names)
        for name, away_seconds in zip(names, leave.away_seconds, strict=False):
            work.create_task(self._leave_and_return(name, away_seconds, self._drawn_change(name)))

    def _drawn_change(self, name: str) -> tuple[float, dict[str, str | None]] | None:
        """What people change on this node before it leaves, and how long before that."""
        if self._chance.random() >= _CHANGED_SHARE:
            return None
        change: dict[str, str | None] = {f"{PEOPLES}shelf": str(self._chance.randrange(1000))}
        if self._chance.random() < 0.25:
            change = {f"{PEOPLES}team": None}
        elif self._chance.random() < 0.25:
            change = {f"{PEOPLES}team": name}
        return self._chance.uniform(0, _CHANGED_WITHIN_SECONDS), change

    async def _leave_and_return(
        self, name: str, away_seconds: float, change: tuple[float, dict[str, str | None]] | None
    ) -> None:
        if change is not None and self._returns.is_whole(name):
            before_seconds, labels = change
            await self._insist(lambda: self._admin.patch(NODES, name, MergePatch({"metadata": {"labels": labels}})))
            self._returns.accept(name)
            await asyncio.sleep(before_seconds)
        self._returns.accept(name)
        await self._insist(lambda: self._admin.delete(NODES, name))
        await asyncio.sleep(away_seconds)
        while name in self._returns.present:  # noqa: ASYNC110 - held by the finalizer, for a short time
            await asyncio.sleep(_RETRY_SECONDS)
        await self._insist(lambda: self._admin.create(NODES, body_of(name, is_new=False)))
        self._away.discard(name)

    async def _insist(self, do: Callable[[], Any]) -> None:
        """Do it, again and again while the API server is away. What was done at the first attempt is done."""
        while True:
            try:
                await do()
            except Unreachable:
                await asyncio.sleep(_RETRY_SECONDS)
            except (AlreadyExists, NotFound):
                return
            else:
                return


def measure(plan: Plan, replicas: int) -> dict[str, Any]:
    """The figures of one day with that many replicas."""

    async def play() -> dict[str, Any]:
        return await _Day(plan, replicas).play()

    with silent_logs(), undisturbed():
        return run_virtually(play())


def main() -> None:
    """Measure, and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=float, default=1.0, help="length of the run in days of virtual time (1)")
    parser.add_argument("--seed", type=int, default=1, help="number from which faults and returns are drawn (1)")
    parser.add_argument("--nodes", type=int, default=100, help="nodes of the cluster (100)")
    parser.add_argument("--returns", type=float, default=5000, help="returns of nodes a day, on average (5000)")
    parser.add_argument(
        "--replicas", type=int, nargs="+", default=[2, 3, 1], help="replicas, in turn; the first is the figure (2 3 1)"
    )
    parser.add_argument("--failing", type=float, default=1.0, help="percent of Growth's requests that fail (1)")
    parser.add_argument("--finalizer", action="store_true", help="run with memory.finalizer: true")
    rates = parser.add_argument_group("faults", "minutes between two of a kind on average; 0 is never")
    for fault, rate in RATES.items():
        whose = "each replica" if rate.is_of_each_replica else "the cluster"
        shortest, longest = rate.seconds
        lasts = f"{shortest:g} to {longest:g} s, " if shortest < longest else f"{longest:g} s, " if longest else ""
        words = f"{fault.value}: {lasts}drawn for {whose} ({rate.every_minutes:g})"
        rates.add_argument(f"--{rate.option}-every", type=float, default=rate.every_minutes, metavar="MIN", help=words)
    given = parser.parse_args()
    if not 1 <= given.nodes <= _MOST_NODES:
        parser.error(f"--nodes {given.nodes}: expected 1 to {_MOST_NODES}")
    if not given.days > 0:
        parser.error(f"--days {given.days:g}: expected more than 0")
    if min(given.replicas) < 1:
        parser.error(f"--replicas {min(given.replicas)}: expected at least 1")
    if not 0 <= given.failing <= 100:
        parser.error(f"--failing {given.failing:g}: expected 0 to 100")
    every = {fault: getattr(given, f"{rate.option.replace('-', '_')}_every") for fault, rate in RATES.items()}
    for fault, minutes in every.items():
        if minutes < 0:
            parser.error(f"--{RATES[fault].option}-every {minutes:g}: expected 0 or more")
    plan = Plan(
        hours=24 * given.days,
        seed=given.seed,
        nodes=given.nodes,
        returns_per_day=given.returns,
        failing_percent=given.failing,
        finalizer=given.finalizer,
        rates={fault: msgspec.structs.replace(RATES[fault], every_minutes=every[fault]) for fault in RATES},
    )
    started, found = time.perf_counter(), dict[int, dict[str, Any]]()
    for replicas in dict.fromkeys(given.replicas):
        tell(f"{given.days:g} days with {replicas} replicas, seed {given.seed} ...")
        found[replicas] = measure(plan, replicas)
    (first, figure), *others = found.items()
    shown = {
        "bench": "memory_availability",
        "days": given.days,
        "seed": given.seed,
        "nodes": given.nodes,
        "aim_seconds": AIM_SECONDS,
        "replicas": first,
        **figure,
        "others": {str(replicas): one for replicas, one in others},
        "seconds": round(time.perf_counter() - started, 1),
    }
    print(json.dumps(shown))
    sys.exit(0 if figure["returns"] else "no node returned: the run is too short")


if __name__ == "__main__":
    main()
