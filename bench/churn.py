"""What Growth costs while a thousand nodes come and go: ``python -m bench.churn --nodes 1000 --minutes 10``.

Growth runs as a process of its own (``growth run``, shipped role and settings) against a real control plane whose nodes
kwok plays, with machines that boot at once. Two pools give nodes back that were empty for 20 s, and do not pause after
a scale-up. Jobs come in waves of two minutes and live for one to three (``bench.tide``); their pods fill whole
machines, so nodes are bought when a wave comes, emptied when its jobs end, and given back or used again. Then
everything is emptied, and it is awaited that everything is given back.

The first wave and a half are warm-up: they bring the cluster to its full size. What is measured is from one high tide
to another.

| field | meaning |
|---|---|
| purchases, removals | machines that the provider made and deleted, from the first job to the last deletion |
| purchases_per_minute, removals_per_minute | of the measured time alone |
| duplicates | machines too many, see below |
| unused | machines on which nothing ever ran: their pods found other room, or ended, while they came |
| leaked | machines at the end that have neither request, nor node, nor removal |
| left | nodes at the end, when all delays are over |
| cpu_percent | of one core, of Growth (its provider of played machines is part of it), in the measured time |
| rss_mb_start, rss_mb_end | memory of Growth at the high tides with which the measured time begins and ends |
| nodes_mean, nodes_peak, nodes_least | in the measured time, one look a second |
| pods_created, pods_bound, bound_p50_s, bound_p99_s | of the whole run, from creation to binding |
| late_s | how far the driver was behind its plan at worst; more than some seconds: the machine is too small |
| passes, decider_s | passes in the measured time, and the seconds by the clock that each capability took in them |
| warnings, errors | lines of these levels in Growth's log |
| emptied_s | from the deletion of the last pods until nothing of all that was bought is left |
| cpu_s_of | CPU seconds of each process in the measured time, of others, and of nobody |

A machine is one too many if one of its name was bought before; if a pod that it is for has a place on another machine
that is coming, and not open yet; or if all pods that it is for had found places, or were gone, 5 s before it was
requested. What is measured is seen from outside: at kwok's own records of machines, requests, nodes and pods.

Weaknesses: driver, control plane, kwok and Growth share the cores of one machine; there is no network; nodes are ready
at once, and no pod is slow to stop.
"""

import argparse
import asyncio
import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import msgspec

from bench.crowd import tell
from bench.growth_process import GrowthProcess, growth_running
from bench.ledger import Ledger, bookkeeping
from bench.shares import Shares
from bench.tide import POOLS, Job, Tide, drawn
from growth.api.duration import format_duration
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import PODS
from growth.api.offering import POOL
from growth.api.settings.model import Settings
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.run.shipped_manifests import ACCOUNT
from growth_lab.local_cluster.cluster import LocalCluster

EMPTY_AFTER_SECONDS: Final = 20.0
_NAMESPACE: Final = "churn"
# Machines that stand empty until they go are nodes as well: so large a share of the nodes is at work.
_AT_WORK: Final = 0.8
_AT_ONCE: Final = 16
_LINE_SECONDS: Final = 10.0
# Nobody has to wait for longer than this until everything is given back, whatever the delays are.
_LAST_SECONDS: Final = 300.0


class Reading(msgspec.Struct, frozen=True):
    """Growth and what it did, at an instant."""

    at: float
    cpu_seconds: float
    rss_mb: float
    launched: int
    given_back: int
    passes: float
    decider_seconds: dict[str, float]


class Driver:
    """Lets jobs come and go at their times."""

    def __init__(self, client: Client, ledger: Ledger, tide: Tide) -> None:
        self._client, self._ledger, self._tide = client, ledger, tide
        self._begun = time.monotonic()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self.created = 0
        self.late_seconds = 0.0

    @property
    def now(self) -> float:
        """Seconds since the first job."""
        return time.monotonic() - self._begun

    async def run(self) -> None:
        """Until the last pod is deleted."""
        async with asyncio.TaskGroup() as playing:
            for job in self._tide.jobs:
                playing.create_task(self._play(job))

    async def _play(self, job: Job) -> None:
        for when, do in ((job.begins, self._create), (job.ends, self._delete)):
            await asyncio.sleep(when - self.now)
            for number in range(job.pods):
                async with self._slots:
                    self.late_seconds = max(self.late_seconds, self.now - when)
                    await do(job, f"{job.name}-{number}")

    async def _create(self, job: Job, name: str) -> None:
        requests = {"cpu": f"{job.cpu_millis}m", "memory": f"{job.memory_mib}Mi"}
        container = {"name": "main", "image": "none", "resources": {"requests": requests}}
        body = {"metadata": {"name": name}, "spec": {"containers": [container], "nodeSelector": {POOL: job.pool}}}
        self._ledger.sent[name] = time.monotonic()
        self.created += 1
        await self._client.create(PODS, body, _NAMESPACE)

    async def _delete(self, _: Job, name: str) -> None:
        self._ledger.sent.pop(name, None)
        with suppress(NotFound):
            await self._client.delete(PODS, name, _NAMESPACE)


async def measure(nodes: int, minutes: float, seed: int, empty_after: float) -> dict[str, Any]:
    """One run, from an empty cluster to an empty cluster."""
    tide = drawn(max(1, round(_AT_WORK * nodes)), 60 * minutes, seed)
    patience = timedelta(seconds=empty_after)
    read_every = min(Settings().providers.read_every, 1.5 * patience)
    async with LocalCluster() as cluster:
        await cluster.add_namespace(_NAMESPACE)
        await cluster.add_nodes(1, prefix="other", taints=["dedicated=other:NoSchedule"])
        async with (
            growth_running(cluster, read_every=read_every) as growth,
            bookkeeping(cluster.admin, _NAMESPACE, ACCOUNT[0]) as ledger,
        ):
            await _add_pools(cluster.admin, patience)
            driver = Driver(cluster.admin, ledger, tide)
            driving = asyncio.create_task(driver.run())
            telling = asyncio.create_task(_tell_progress(driver, ledger, growth))
            try:
                await _until(tide.measured_from, driver, growth)
                shares, start = Shares(cluster, {"growth": growth.pid}), await _read(growth, ledger)
                counts = await _until(tide.ends, driver, growth, lambda: len(ledger.nodes))
                cpu, end = shares.read(), await _read(growth, ledger)
                tell("now everything is emptied ...")
                await driving
                emptied_seconds = await _wait_until_closed(ledger, growth)
            finally:
                driving.cancel()
                telling.cancel()
            return {
                "bench": "churn",
                "nodes": nodes,
                "minutes": minutes,
                "seed": seed,
                **_found(start, end, ledger),
                "nodes_mean": round(statistics.mean(counts)),
                "nodes_peak": max(counts),
                "nodes_least": min(counts),
                "pods_created": driver.created,
                **_waits(ledger.waits),
                "late_s": round(driver.late_seconds, 1),
                "rss_mb_peak": round(growth.peak_rss_mb(), 1),
                "emptied_s": round(emptied_seconds, 1),
                **_complaints(growth),
                "cpu_s_of": cpu,
            }


async def _add_pools(client: Client, empty_after: timedelta) -> None:
    scale_down = {"emptyAfter": format_duration(empty_after), "delayAfterScaleUp": "0s"}
    for name, (server_type, _) in POOLS.items():
        spec = {"serverTypes": [{"name": server_type}], "scaleDown": scale_down}
        await client.create(NODE_POOLS, {"metadata": {"name": name}, "spec": spec})


async def _until(when: float, driver: Driver, growth: GrowthProcess, look: Callable[[], int] = int) -> list[int]:
    """Wait for an instant of the tide; what was seen each second meanwhile."""
    seen = [look()]
    while (rest := when - driver.now) > 0:
        await asyncio.sleep(min(1.0, rest))
        growth.check()
        seen.append(look())
    return seen


async def _read(growth: GrowthProcess, ledger: Ledger) -> Reading:
    text = await growth.metrics()
    spent = re.findall(r'^growth_decider_seconds_sum{capability="(\w+)"} (\S+)$', text, re.MULTILINE)
    passes = re.findall(r"^growth_pass_seconds_count{.*} (\S+)$", text, re.MULTILINE)
    return Reading(
        at=time.monotonic(),
        cpu_seconds=growth.cpu_seconds(),
        rss_mb=growth.rss_mb(),
        launched=ledger.launched.total(),
        given_back=ledger.given_back,
        passes=sum(map(float, passes)),
        decider_seconds={name: float(seconds) for name, seconds in spent},
    )


async def _wait_until_closed(ledger: Ledger, growth: GrowthProcess) -> float:
    """Seconds until nothing is left of all that was bought; the longest wait if something is."""
    begun = time.monotonic()
    while not ledger.is_closed and time.monotonic() < begun + _LAST_SECONDS:
        await asyncio.sleep(0.2)
        growth.check()
    return time.monotonic() - begun


async def _tell_progress(driver: Driver, ledger: Ledger, growth: GrowthProcess) -> None:
    while True:
        before = growth.cpu_seconds()
        await asyncio.sleep(_LINE_SECONDS)
        percent = 100 * (growth.cpu_seconds() - before) / _LINE_SECONDS
        launched = (
            f"{ledger.launched.total()} bought, {ledger.given_back} given back, {len(ledger.duplicates)} duplicates"
        )
        pods = f"{driver.created} pods created, {len(ledger.waits)} bound"
        spent = f"Growth {percent:.0f}%, {growth.rss_mb():.0f} MB"
        tell(f"    {driver.now:4.0f} s: {len(ledger.nodes)} nodes, {launched}; {pods}; {spent}")


def _found(start: Reading, end: Reading, ledger: Ledger) -> dict[str, Any]:
    seconds = end.at - start.at
    for sentence in ledger.duplicates:
        tell(f"duplicate: {sentence}")
    for machine in ledger.leaked:
        tell(f"leaked: {machine}")
    spent = {name: round(value - start.decider_seconds[name], 2) for name, value in end.decider_seconds.items()}
    return {
        "purchases": ledger.launched.total(),
        "removals": ledger.given_back,
        "duplicates": len(ledger.duplicates),
        "leaked": len(ledger.leaked),
        "cpu_percent": round(100 * (end.cpu_seconds - start.cpu_seconds) / seconds, 1),
        "rss_mb_start": round(start.rss_mb, 1),
        "rss_mb_end": round(end.rss_mb, 1),
        "unused": ledger.unused,
        "left": len(ledger.nodes),
        "seconds": round(seconds, 1),
        "purchases_per_minute": round(60 * (end.launched - start.launched) / seconds, 1),
        "removals_per_minute": round(60 * (end.given_back - start.given_back) / seconds, 1),
        "passes": round(end.passes - start.passes),
        "decider_s": spent,
    }


def _waits(waits: list[float]) -> dict[str, Any]:
    ordered = sorted(waits) or [0.0]
    return {
        "pods_bound": len(waits),
        "bound_p50_s": round(statistics.median(ordered), 2),
        "bound_p99_s": round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 2),
    }


def _complaints(growth: GrowthProcess) -> dict[str, int]:
    lines = growth.lines()
    levels = Counter(line["level"] for line in lines)
    for message, count in Counter(line["message"][:120] for line in lines if line["level"] == "error").most_common(5):
        tell(f"error, {count} times: {message}")
    return {"warnings": levels["warning"], "errors": levels["error"] + levels["critical"]}


def main() -> None:
    """Measure, and print one line of JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1000, help="so many exist at a time, about and on average")
    parser.add_argument("--minutes", type=float, default=10.0, help="what is measured; warm-up and end come on top")
    parser.add_argument("--seed", type=int, default=1)
    shown = "seconds that nodes stand empty; providers are asked every 30 s, or after one and a half times this"
    parser.add_argument("--empty-after", type=float, default=EMPTY_AFTER_SECONDS, help=shown)
    options = parser.parse_args()
    for name, value, most in (
        ("--nodes", options.nodes, 5_000),
        ("--minutes", options.minutes, 120),
        ("--empty-after", options.empty_after, 120),
    ):
        if not 0 < value <= most:
            parser.error(f"{name} {value}: expected more than 0 and at most {most}")
    try:
        print(json.dumps(asyncio.run(measure(options.nodes, options.minutes, options.seed, options.empty_after))))
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left running")
    except (RuntimeError, TimeoutError) as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
