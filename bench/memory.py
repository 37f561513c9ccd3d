"""How fast nodes are given back what they were: ``python -m bench.memory --nodes 5000 --replicas 3 --kill-one``.

On a real control plane so many nodes are registered, with labels; ``growth run --only memory`` runs as so many
processes under the shipped role. Once all nodes are marked and written down, all of them are deleted and registered
again without these labels, as fast as the API server takes it; of ten nodes one has a label changed, and one has a
label removed, right before. With ``--kill-one`` a replica is killed when half of the nodes are back. Then so many
nodes a second leave and return (``--steady``), with all replicas.

| field | meaning |
|---|---|
| restored | nodes that were whole again: their marker, each label as it was, none that was removed |
| lost, resurrected | labels that were missing or different at the end; removed ones that were there again |
| p50_s, p99_s | from a node's return (answered or seen) until somebody who only watches saw it whole |
| api_writes | writes that the server took from Growth for that: transactions, memories, restores, checkpoints |
| writes_of | the same by kind, for each node; ``refused`` are those that came second or too late |
| checkpoints_of_changes | apart: those of the labels that were changed before nodes left |
| full_lists | how often the busiest kind was listed, for each replica; ``lists`` has all kinds |
| rss_mb, cpu_s_of | the most memory that a replica ever had; CPU seconds of each process during the burst |
| ceiling_writes_per_s | what the API server takes from as many processes that only write, in the same run |
| over_ceiling | seconds of the burst by how long these writes alone would take there |
| steady_p50_s, steady_p99_s | the same latencies at a steady pace |

Weaknesses: all share the cores of one machine, there is no network; the nodes have no kubelets, so nobody writes to
them but kube-controller-manager; the audit log by which writes are counted costs the API server a little.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from bench.crowd import tell
from bench.growth_process import GrowthProcess, install, start
from bench.memory_ceiling import AT_ONCE, ceiling
from bench.memory_nodes import Member
from bench.memory_witness import Witness, percentile, witnessing
from bench.memory_writes import Audit, shown
from bench.shares import Shares
from growth.api.kinds import NODES
from growth.api.node_memory import MEMORIES, TRANSACTIONS
from growth.api.settings.model import Settings
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.timings import Timings

_DEFAULTS: Final = Settings()
# Nobody sends heartbeats for these nodes, and it is not about that.
_UNHURRIED: Final = Timings(node_monitor_grace_seconds=7200, node_startup_grace_seconds=7200)
_PATIENCE_SECONDS: Final = 40.0  # without anything that changes
_LINE_SECONDS: Final = 5.0
_AWAY_SECONDS: Final = 1.0  # how long a node is away at a steady pace
_LONGEST_SECONDS: Final = 1200.0  # then the machine is too busy for this to mean anything
_MOST_NODES, _MOST_REPLICAS = 20_000, 16


class Scene:
    """A cluster, its nodes and those who remember them."""

    def __init__(self, cluster: LocalCluster, kubeconfig: Path, members: Sequence[Member], witness: Witness) -> None:
        self.cluster, self.members, self.witness = cluster, members, witness
        self.replicas: list[GrowthProcess] = []
        self.registered = 0
        self.peak_rss_mb = 0.0
        self._kubeconfig, self._started = kubeconfig, 0

    async def start_replica(self) -> None:
        """One more."""
        self._started += 1
        growth = start(self.cluster, self._kubeconfig, {}, name=f"growth-{self._started}", only="memory")
        self.replicas.append(growth)
        await growth.wait_until_ready()

    def kill_replica(self) -> float:
        """One less, without a farewell; returns the CPU seconds that it had used."""
        victim = self.replicas.pop()
        self.note_memory([victim])
        spent = victim.cpu_seconds()
        victim.kill()
        tell(f"    a replica is killed; {len(self.replicas)} are left")
        return spent

    def note_memory(self, replicas: Iterable[GrowthProcess]) -> None:
        """The most that any of them ever had."""
        self.peak_rss_mb = max(self.peak_rss_mb, *(one.peak_rss_mb() for one in replicas))

    async def register(self, member: Member, *, with_labels: bool) -> None:
        """A node comes."""
        node = await self.cluster.admin.create(NODES, member.body(with_labels=with_labels))
        self.witness.note_return(node.metadata.uid)
        self.registered += 1

    async def delete(self, member: Member) -> None:
        """A node goes, some of them with a last change."""
        if changes := member.last_change():
            patch = MergePatch({"metadata": {"labels": changes}})
            await self.cluster.admin.patch(NODES, member.name, patch)
        await self.cluster.admin.delete(NODES, member.name)

    async def come_back(self, member: Member, after_seconds: float = 0.0) -> None:
        """A node goes and comes back."""
        await self.delete(member)
        await asyncio.sleep(after_seconds)
        await self.register(member, with_labels=False)

    async def unsettled(self) -> int:
        """How many nodes are not written down as they are now, and transactions that are left."""
        memory = _DEFAULTS.memory
        memories = await self.cluster.admin.list(MEMORIES, memory.namespace)
        saved = sum(1 for one in memories.items if one.data.checkpoint)
        left = await self.cluster.admin.list(TRANSACTIONS, memory.transaction_namespace)
        # kube-controller-manager has a ConfigMap of its own in every namespace.
        return len(self.members) - saved + sum(1 for one in left.items if one.data.node)

    async def amiss(self) -> tuple[int, int]:
        """Labels that are missing or different now, and that are there although they were removed."""
        found = {node.metadata.name: node.metadata.labels for node in (await self.cluster.admin.list(NODES)).items}
        lost = sum(len(member.lost(found.get(member.name, {}))) for member in self.members)
        return lost, sum(len(member.resurrected(found.get(member.name, {}))) for member in self.members)


@asynccontextmanager
async def a_scene(members: Sequence[Member], replicas: int, audit: Audit) -> AsyncGenerator[Scene]:
    """The cluster with its nodes registered and Growth at work, until the context ends."""
    async with LocalCluster(timings=_UNHURRIED, flags=audit.flags) as cluster:
        kubeconfig = await install(cluster)
        async with witnessing(cluster.admin, {member.name: member for member in members}) as witness:
            scene = Scene(cluster, kubeconfig, members, witness)
            try:
                for _ in range(replicas):
                    await scene.start_replica()
                yield scene
            finally:
                for growth in scene.replicas:
                    growth.kill()


async def measure(nodes: int, replicas: int, *, kill_one: bool, steady: int, seconds: int) -> dict[str, Any]:
    """The whole run."""
    members = [Member(number) for number in range(nodes)]
    with tempfile.TemporaryDirectory(prefix="growth-audit-") as folder:
        audit = Audit(Path(folder))
        async with a_scene(members, replicas, audit) as scene:
            tell(f"{nodes} nodes are registered ...")
            began = time.monotonic()
            await _move(scene, lambda member: scene.register(member, with_labels=True))
            await _until(lambda: _count(scene.witness.whole), nodes, "nodes are marked")
            await _settle(scene)
            audit.read()
            tell(
                f"after {time.monotonic() - began:.0f} s all are marked and written down; now they leave and return ..."
            )
            found = await _burst(scene, audit, kill_one=kill_one)
            while len(scene.replicas) < replicas:
                await scene.start_replica()
            if steady:
                found |= await _steady(scene, audit, steady, seconds)
            scene.note_memory(scene.replicas)
            lost, resurrected = await scene.amiss()
            audit.read()
            tell("the ceiling: as many processes that only write ...")
            limit = await ceiling(scene.cluster, replicas, nodes)
    found["lost"] += lost
    found["resurrected"] += resurrected
    alone = found["api_writes"] / limit["ceiling_writes_per_s"]
    started = replicas + kill_one
    return {
        **found,
        "full_lists": round(max(audit.lists.values()) / started, 2),
        "lists": audit.lists,
        "rss_mb": round(scene.peak_rss_mb, 1),
        **limit,
        "over_ceiling": round(found["burst_s"] / alone, 2),
    }


async def _burst(scene: Scene, audit: Audit, *, kill_one: bool) -> dict[str, Any]:
    """All of them at once."""
    scene.witness.begin()
    nodes, killed_cpu = len(scene.members), 0.0
    alive = scene.replicas[:-1] if kill_one else scene.replicas
    pids = {f"replica-{number}": one.pid for number, one in enumerate(alive, 1)}
    shares, began = Shares(scene.cluster, pids), time.monotonic()
    victim_cpu = scene.replicas[-1].cpu_seconds()

    async def kill_midway() -> None:
        nonlocal killed_cpu
        while len(scene.witness.returned) < nodes // 2:  # noqa: ASYNC110 - counted, not told
            await asyncio.sleep(0.05)
        killed_cpu = scene.kill_replica() - victim_cpu

    async with asyncio.TaskGroup() as working:
        if kill_one:
            working.create_task(kill_midway())
        working.create_task(_move(scene, scene.come_back))
    returned = time.monotonic() - began
    await _until(lambda: _count(scene.witness.whole), nodes, "nodes are whole")
    burst_seconds = time.monotonic() - began
    cpu = shares.read()
    if kill_one:
        cpu |= {"replica-killed": round(killed_cpu, 2), "others": round(max(0.0, cpu["others"] - killed_cpu), 2)}
    waits = list(scene.witness.waits.values())
    await _settle(scene)
    lost, resurrected = await scene.amiss()
    return {
        "restored": len(waits),
        "lost": lost,
        "resurrected": resurrected,
        "p50_s": percentile(waits, 0.5),
        "p99_s": percentile(waits, 0.99),
        "worst_s": percentile(waits, 1.0),
        "returned_s": round(returned, 1),
        "burst_s": round(burst_seconds, 1),
        **shown(audit.read(scene.witness.returned), nodes),
        "cpu_s_of": cpu,
    }


async def _steady(scene: Scene, audit: Audit, rate: int, seconds: int) -> dict[str, Any]:
    """So many a second, one after the other."""
    count = min(rate * seconds, len(scene.members))
    tell(f"{rate} nodes a second leave and return, {count} in all ...")
    scene.witness.begin()
    audit.read()
    began, cpu = time.monotonic(), [one.cpu_seconds() for one in scene.replicas]
    async with asyncio.TaskGroup() as working:
        for number, member in enumerate(scene.members[:count]):
            await asyncio.sleep(began + number / rate - time.monotonic())
            working.create_task(scene.come_back(member, _AWAY_SECONDS))
    paced = time.monotonic() - began - _AWAY_SECONDS
    await _until(lambda: _count(scene.witness.whole), len(scene.members), "nodes are whole")
    waits = list(scene.witness.waits.values())
    spent = [one.cpu_seconds() - was for one, was in zip(scene.replicas, cpu, strict=True)]
    await _settle(scene)
    found = shown(audit.read(scene.witness.returned), count)
    return {
        "steady_returned": len(waits),
        "steady_per_s": round(count / paced, 1),
        "steady_p50_s": percentile(waits, 0.5),
        "steady_p99_s": percentile(waits, 0.99),
        "steady_worst_s": percentile(waits, 1.0),
        "steady_writes_per_node": found["writes_per_node"],
        "steady_refused": found["refused"],
        "steady_shard_lease_writes": found["shard_lease_writes"],
        "steady_cpu_s": [round(one, 2) for one in spent],
    }


async def _settle(scene: Scene) -> None:
    """Until every node is written down as it is and no transaction is left."""

    async def settled() -> int:
        await asyncio.sleep(1.0)  # it is a list of everything
        return -await scene.unsettled()

    await _until(settled, 0, "nodes and transactions are settled")


async def _until(look: Callable[[], Awaitable[int]], wanted: int, what: str) -> None:
    """Wait for so many. If nothing changes any more that is told, and measured as it is."""
    began = since = told = time.monotonic()
    seen = await look()
    while seen < wanted:
        await asyncio.sleep(0.1)
        now = time.monotonic()
        if (count := await look()) != seen:
            seen, since = count, now
        if now > since + _PATIENCE_SECONDS:
            tell(f"    {seen} of {wanted} {what}, and no more come for {_PATIENCE_SECONDS:.0f} s")
            return
        if now > told + _LINE_SECONDS:
            told = now
            tell(f"    {now - began:4.0f} s: {seen} of {wanted} {what}")


async def _count(names: Iterable[str]) -> int:
    return len(set(names))


async def _move(scene: Scene, do: Callable[[Member], Awaitable[None]]) -> None:
    """All nodes come, or go and come back; as many at a time as the client sends at once."""
    scene.registered, rest = 0, iter(scene.members)

    async def work() -> None:
        for member in rest:
            await do(member)

    async def tell_progress() -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(_LINE_SECONDS)
            seconds, counts = time.monotonic() - began, (scene.registered, len(scene.witness.waits))
            tell(f"    {seconds:4.0f} s: of {len(scene.members)} nodes {counts[0]} are there, {counts[1]} are whole")

    telling = asyncio.create_task(tell_progress())
    try:
        async with asyncio.TaskGroup() as working:
            for _ in range(AT_ONCE):
                working.create_task(work())
    finally:
        telling.cancel()


def main() -> None:
    """Measure, and print one line of JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000, help="nodes that leave and return (5000)")
    parser.add_argument("--replicas", type=int, default=3, help="processes of Growth (3)")
    parser.add_argument("--kill-one", action="store_true", help="kill a replica when half of the nodes are back")
    parser.add_argument("--steady", type=int, default=50, help="nodes a second afterwards; 0 leaves that out (50)")
    parser.add_argument("--seconds", type=int, default=60, help="for so long, or until each returned once (60)")
    options = parser.parse_args()
    if not 1 <= options.nodes <= _MOST_NODES:
        parser.error(f"--nodes {options.nodes}: expected 1 to {_MOST_NODES}")
    if not 1 <= options.replicas <= _MOST_REPLICAS:
        parser.error(f"--replicas {options.replicas}: expected 1 to {_MOST_REPLICAS}")
    if options.kill_one and options.replicas == 1:
        parser.error("--kill-one with --replicas 1: expected at least 2, or nobody is left to go on")
    for name, value, least in (("--steady", options.steady, 0), ("--seconds", options.seconds, 1)):
        if value < least:
            parser.error(f"{name} {value}: expected at least {least}")
    sizes = {"bench": "memory", "nodes": options.nodes, "replicas": options.replicas, "killed": options.kill_one}
    measuring = measure(
        options.nodes, options.replicas, kill_one=options.kill_one, steady=options.steady, seconds=options.seconds
    )
    try:
        print(json.dumps({**sizes, **asyncio.run(asyncio.wait_for(measuring, _LONGEST_SECONDS))}))
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left running")
    except TimeoutError as error:
        sys.exit(f"Error: {error or f'it is not over after {_LONGEST_SECONDS:.0f} s'}")
    except RuntimeError as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
