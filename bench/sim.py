"""A day of a virtual cluster: ``python -m bench.sim --nodes 1000 --pods 30000 --hours 24``.

Deployments of a hundred pods each fill the nodes, and then a day passes: every hour some of them are scaled, some pods
are deleted, and two nodes fall silent for ten minutes, so that their pods are let go and made anew. An informer of pods
and one of nodes look on through the API, as Growth would. Ends in one JSON line.
"""

import argparse
import asyncio
import json
import random
import time
from typing import Any, Final

from bench.meter import rss_mb
from growth.api.kinds import NODES as NODE_KIND
from growth.api.kinds import PODS as POD_KIND
from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth.kube.informer import Informer
from growth.run.runtime import undisturbed
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import DEPLOYMENTS, NODES, PODS
from growth_lab.simulator.virtual_loop import run_virtually

PODS_PER_DEPLOYMENT: Final = 100
SILENT_SECONDS: Final = 600.0
HOUR: Final = 3_600.0
MORNING: Final = 60.0


class Day:
    """What happens to the cluster, drawn by a seed."""

    def __init__(self, cluster: VirtualCluster, seed: int) -> None:
        self._cluster, self._store = cluster, cluster.store
        self._chance = random.Random(seed)

    def fill(self, nodes: int, pods: int) -> None:
        """The morning: all nodes, all deployments."""
        for number in range(nodes):
            self._store.create(NODES, _node(f"node-{number:04d}", f"zone-{number % 3}"))
        for number in range(pods // PODS_PER_DEPLOYMENT):
            self._store.create(DEPLOYMENTS, _deployment(f"app-{number:03d}"))

    async def hour(self) -> None:
        """One hour of it."""
        store, chance = self._store, self._chance
        for deployment in chance.sample(list(store.all(DEPLOYMENTS)), 5):
            replicas = {"spec": {"replicas": chance.randint(80, 110)}}
            store.patch(DEPLOYMENTS, deployment["metadata"]["name"], "default", replicas)
        for pod in chance.sample(list(store.all(PODS)), 20):
            delete_pod(store, pod)
        silent = [node["metadata"]["name"] for node in chance.sample(list(store.all(NODES)), 2)]
        self._label(silent, None)
        await asyncio.sleep(SILENT_SECONDS)
        self._label(silent, KWOK_VALUE)
        await asyncio.sleep(HOUR - SILENT_SECONDS)

    def _label(self, nodes: list[str], value: str | None) -> None:
        for name in nodes:
            self._store.patch(NODES, name, patch={"metadata": {"labels": {KWOK_LABEL: value}}})


async def play(nodes: int, pods: int, hours: int, seed: int) -> dict[str, Any]:
    """Play it; gives the figures and what is left in the evening."""
    cluster = VirtualCluster(seed)
    day, begin = Day(cluster, seed), cluster.store.version
    client, observed = cluster.admin(), 0

    def hear(changes: list[Any]) -> None:
        nonlocal observed
        observed += len(changes)

    informers = (Informer(client, POD_KIND, hear), Informer(client, NODE_KIND, hear))
    following = [asyncio.create_task(informer.run()) for informer in informers]
    day.fill(nodes, pods)
    await asyncio.sleep(MORNING)
    for _ in range(hours):
        await day.hour()
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    running = sum(pod.get("status", {}).get("phase") == "Running" for pod in cluster.store.all(PODS))
    return {
        "virtual_hours": round(cluster.clock.seconds() / HOUR, 1),
        "events": cluster.store.version - begin,
        "heard": observed,
        "pods": cluster.store.count(PODS),
        "running": running,
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    began, cpu = time.perf_counter(), time.process_time()
    with undisturbed():
        told = run_virtually(play(given.nodes, given.pods, given.hours, given.seed))
    seconds = time.perf_counter() - began
    figures = {
        "nodes": given.nodes,
        **told,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "events_per_second": round(told["events"] / seconds),
        "rss_mb": round(rss_mb()),
    }
    print(json.dumps(figures))


def _node(name: str, zone: str) -> dict[str, Any]:
    room = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    labels = {KWOK_LABEL: KWOK_VALUE, "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    return {"metadata": {"name": name, "labels": labels}, "status": {"capacity": room, "allocatable": room}}


def _deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    requests = {"cpu": "400m", "memory": "1Gi"}
    container = {"name": "main", "image": "main", "resources": {"requests": requests}}
    spec = {
        "replicas": PODS_PER_DEPLOYMENT,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


if __name__ == "__main__":
    main()
