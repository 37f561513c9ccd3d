"""How much it costs to see a cluster: list and index it, then follow its events.

    python -m bench.ingest --nodes 5000 --pods 150000
    python -m bench.ingest --nodes 5000 --pods 150000 --peer lightkube --peer kubernetes

Each client runs in a process of its own, so that CPU time and memory are its alone; the stand-in API server is another
one. Peers are measured on 20,000 pods and 5,000 events, beside a run of ours on the same load, and the ratios of CPU
time per object are given. Each client lists in its own way: we as a stream, peers in pages. A peer keeps its objects by
uid and by node, which is less of an index than our World is. Weaknesses: one machine, so client and server share caches
and cores; no network; one kind of cluster.
"""

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from bench.meter import Meter
from bench.peers import PEERS
from bench.standin import running
from growth.kube.access import access_from_kubeconfig
from growth.kube.client import connect
from growth.observe.cache import ClusterCache
from growth.run.informers import watching

PEER_PODS: Final = 20_000
PEER_NODES: Final = 700
PEER_EVENTS: Final = 5_000


async def _measure_growth(kubeconfig: str, objects: int, events: int) -> dict[str, Any]:
    async with connect(access_from_kubeconfig(Path(kubeconfig))) as client:
        world = ClusterCache()
        meter = Meter()
        async with watching(client, world):
            listed = meter.read()
            meter = Meter()
            # An event that is set for each change would be part of what is measured.
            while world.changes_heard < objects + events:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            followed = meter.read()
        pods = len(world.waiting) + sum(map(len, world.pods_by_node.values()))
    return {"nodes": len(world.nodes), "pods": pods, "list": listed, "watch": followed, "shapes": len(world.shapes)}


def _run(client: str, nodes: int, pods: int, events: int, *, pages_only: bool = False) -> dict[str, Any]:
    print(f"{client}: {nodes} nodes, {pods} pods, {events} events ...", file=sys.stderr, flush=True)
    with running(nodes, pods, events, pages_only=pages_only) as kubeconfig:
        counts = [str(nodes + pods), str(events)]
        command = [sys.executable, "-m", "bench.ingest", "--measure", client, kubeconfig, *counts]
        answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print(f"    list {answer['list']}  watch {answer['watch']}", file=sys.stderr, flush=True)
    return answer


def _per_cpu_second(count: int, reading: dict[str, float]) -> float:
    return round(count / max(reading["cpu_seconds"], 1e-9))


def main() -> None:
    """Measure, and print one line of JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--pages-only", action="store_true", help="list in pages, as older servers need it")
    parser.add_argument("--peer", action="append", default=[], choices=sorted(PEERS))
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)  # client, kubeconfig, objects, events
    options = parser.parse_args()
    if options.events > options.pods:
        parser.error(f"--events {options.events}: expected at most as many as --pods ({options.pods})")
    if options.measure:
        client, kubeconfig, objects, events = options.measure
        print(json.dumps(_measure(client, kubeconfig, int(objects), int(events))))
        return
    ours = _run("growth", options.nodes, options.pods, options.events, pages_only=options.pages_only)
    result: dict[str, Any] = {
        "nodes": options.nodes,
        "pods": options.pods,
        **ours["list"],
        "events_per_second": _per_cpu_second(options.events, ours["watch"]),
    }
    if options.peer:
        small = _run("growth", PEER_NODES, PEER_PODS, PEER_EVENTS, pages_only=options.pages_only)
        for peer in options.peer:
            theirs = _run(peer, PEER_NODES, PEER_PODS, PEER_EVENTS, pages_only=True)
            result[peer] = {
                "list_ratio": round(theirs["list"]["cpu_seconds"] / small["list"]["cpu_seconds"], 1),
                "watch_ratio": round(theirs["watch"]["cpu_seconds"] / small["watch"]["cpu_seconds"], 1),
                "memory_ratio": round(theirs["list"]["rss_mb_growth"] / small["list"]["rss_mb_growth"], 1),
            }
    print(json.dumps(result))


def _measure(client: str, kubeconfig: str, objects: int, events: int) -> dict[str, Any]:
    if client == "growth":
        return asyncio.run(_measure_growth(kubeconfig, objects, events))
    return PEERS[client](kubeconfig, events)


if __name__ == "__main__":
    main()
