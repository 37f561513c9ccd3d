"""The queue at full size: ``python -m bench.queue --workloads 15000``, or its decider alone with ``--cycle-only``.

On a real control plane there are 5 cohorts of 6 ClusterQueues (20 cpu each, borrowingLimit 100, reclaimWithinCohort
Any, withinClusterQueue LowerPriority) and for each queue 500 Workloads, fewer if fewer are asked for:

| | of 500 | one every | runs for | cpu | priority |
|---|---|---|---|---|---|
| small | 350 | 100 ms | 200 ms | 1 | 50 |
| medium | 100 | 500 ms | 500 ms | 5 | 100 |
| large | 50 | 1,200 ms | 1,000 ms | 20 | 200 |

``growth run --only queue`` is a process of its own under the shipped role; pods are not waited for. The driver makes
the Workloads (there are no Jobs), finishes those that were admitted after their run time, and looks on.

| field | meaning |
|---|---|
| finished, exceeded | workloads that ran to their end; changes after which more quota was held than there is |
| wall_s, made_s | from the first creation until the last is finished, and until the last is made |
| api_floor_s | three writes for each workload (made, admitted, finished), by two processes that only write |
| over_floor | wall_s by that |
| admissions_per_second | workloads by the seconds until the last admission |
| avg_admission_s | from its creation until a workload was admitted the last time, by size |
| usage_percent | cpu that was held, as a share of what there is, on average until the last admission |
| reserved_over_run | cpu-seconds that were held, by those that are needed; ``_of``: mean seconds alike, by size |
| admissions, preemptions | how often somebody was admitted, and sent back for somebody else |
| rss_mb, cpu_s_of | the most memory that Growth ever had; CPU seconds of each process until the last is finished |
| api_writes | writes of Growth that the server took, by kind; ``refused``: those that it did not |
| workload_writes | what was written on workloads, by everybody, by what it changed; some are two things at once |

With ``--cycle-only`` there is no API server, and time is that of ``decide`` alone: see ``bench/queue_cycle.py``.

Weaknesses: all share the cores of one machine, there is no network; who finishes workloads is the one who makes them,
and is late when the machine is busy, which is counted as Growth's; the audit log costs the API server a little.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.audit import AuditLog
from bench.crowd import tell
from bench.growth_process import GrowthProcess, install, start
from bench.queue_cycle import grid
from bench.queue_floor import floor_seconds
from bench.queue_load import FULL, Line, Planned, lines_of, load_of
from bench.queue_stage import furnish, make, watching
from bench.queue_witness import Witness
from bench.shares import Shares
from growth.api.crd import definitions
from growth.api.queue.kinds import CLUSTER_QUEUES, QUEUE_KINDS
from growth.api.status import condition_of
from growth.kube.access import access_from_kubeconfig
from growth.kube.client import Client, connect
from growth_lab.local_cluster.cluster import LocalCluster

_LINE_SECONDS: Final = 5.0
_READY_SECONDS: Final = 60.0
_PATIENCE_SECONDS: Final = 60.0  # without anything that happens
_LONGEST_SECONDS: Final = 900.0
_MOST: Final = 100_000
_SETTINGS: Final = {"queue": {"enabled": True}}


async def measure(workloads: int) -> dict[str, Any]:
    """The whole run."""
    lines = lines_of()
    load = load_of(workloads, lines)
    with tempfile.TemporaryDirectory(prefix="growth-audit-") as folder:
        audit = AuditLog(Path(folder))
        async with LocalCluster(flags=audit.flags) as cluster:
            await cluster.apply(definitions(QUEUE_KINDS))
            kubeconfig = await install(cluster)
            await furnish(cluster.admin, lines)
            growth = start(cluster, kubeconfig, _SETTINGS, only="queue")
            try:
                await _wait_until_queues_work(cluster.admin, growth)
                list(audit.since())  # what came before does not count
                found = await _run(cluster, growth, load, lines)
                found |= _writes(audit, workloads)
            finally:
                growth.kill()
            tell("the floor: the same writes without a queue ...")
            floor = await floor_seconds(cluster, workloads)
    return {**found, "api_floor_s": round(floor, 1), "over_floor": round(found["wall_s"] / floor, 2)}


async def _wait_until_queues_work(client: Client, growth: GrowthProcess) -> None:
    """Growth has read everything, leads, and has said so of each queue."""
    await growth.wait_until_ready()
    async with asyncio.timeout(_READY_SECONDS):
        while True:
            queues = (await client.list(CLUSTER_QUEUES)).items
            said = [condition_of(queue.status.conditions, "Active") for queue in queues]
            if all(one is not None and one.status == "True" for one in said):
                return
            growth.check()
            await asyncio.sleep(0.2)


async def _run(
    cluster: LocalCluster, growth: GrowthProcess, load: Sequence[Planned], lines: Sequence[Line]
) -> dict[str, Any]:
    """Until all workloads are finished, or it is given up."""
    async with (
        # A connection of its own for those who run: none runs longer because others are being made.
        connect(access_from_kubeconfig(cluster.kubeconfig)) as runners,
        watching(cluster.admin, runners, load, lines) as (witness, standin),
    ):
        shares = Shares(cluster, {"growth": growth.pid})
        tell(f"{len(load)} workloads come, the last after {load[-1].at_seconds:.0f} s ...")
        witness.begin()
        making = asyncio.create_task(make(cluster.admin, load, witness))
        try:
            await _until_finished(witness, growth, len(load), making)
        finally:
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
        cpu = shares.read()
    return {
        **witness.figures(),
        "rss_mb": round(growth.peak_rss_mb(), 1),
        "cpu_s": cpu["growth"],
        "cpu_s_of": cpu,
        "workload_writes": dict(witness.writes.most_common()),
        "finishes_refused": standin.refused,
    }


async def _until_finished(witness: Witness, growth: GrowthProcess, wanted: int, making: asyncio.Task[None]) -> None:
    """Wait for all. If nothing happens any more, or it takes too long, that is told and measured as it is."""
    began = since = told = time.monotonic()
    seen = (0, 0)
    while len(witness.finished) < wanted:
        await asyncio.sleep(0.1)
        growth.check()
        if making.done():
            making.result()
        now, moved = time.monotonic(), (witness.admissions, len(witness.finished))
        if moved != seen:
            seen, since = moved, now
        if now > told + _LINE_SECONDS:
            told = now
            counts = f"{len(witness.made)} made, {len(witness.admitted)} admitted, {len(witness.finished)} finished"
            tell(
                f"    {now - began:4.0f} s: of {wanted} workloads {counts}; {witness.held_cpu} cpu held, "
                f"{witness.preemptions} sent back; growth has {growth.rss_mb():.0f} MB"
            )
        if now > since + _PATIENCE_SECONDS or now > began + _LONGEST_SECONDS:
            tell(f"    given up after {now - began:.0f} s: {len(witness.finished)} of {wanted} are finished")
            return


def _writes(audit: AuditLog, workloads: int) -> dict[str, Any]:
    """What Growth wrote, by kind."""
    done: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for asked in audit.since():
        if asked.verb not in ("get", "list", "watch"):
            subject = asked.object_ref
            place = f"{subject.resource}/{subject.subresource}" if subject.subresource else subject.resource
            (done if asked.is_done else refused)[f"{asked.verb} {place}"] += 1
    return {
        "api_writes": dict(done.most_common()),
        "writes_per_workload": round(done.total() / workloads, 2),
        "refused": dict(refused.most_common()),
    }


def main() -> None:
    """Measure, and print one line of JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=FULL, help=f"workloads in all ({FULL})")
    parser.add_argument("--cycle-only", action="store_true", help="the decider alone, without an API server")
    options = parser.parse_args()
    if not 1 <= options.workloads <= _MOST:
        parser.error(f"--workloads {options.workloads}: expected 1 to {_MOST}")
    sizes = {"bench": "queue", "workloads": options.workloads}
    try:
        if options.cycle_only:
            print(json.dumps({**sizes, "cycle_only": True, **grid(options.workloads)}))
            return
        told = asyncio.run(measure(options.workloads))
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left running")
    except (RuntimeError, TimeoutError) as error:
        sys.exit(f"Error: {error or 'Growth does not say that its queues are at work'}")
    print(json.dumps({**sizes, **told}))
    tell(f"exceeded: {told['exceeded']}")
    if told["exceeded"] or told["finished"] < options.workloads:
        sys.exit(f"Error: of {options.workloads} workloads {told['finished']} finished, exceeded {told['exceeded']}")


if __name__ == "__main__":
    main()
