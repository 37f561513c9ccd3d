"""``make demo``: Growth's informers and its World at work, live, against the benchmark's stand-in API server.

A small shop has its day: it needs more room, machines come, one dies, and the API server itself breaks every connection
and forgets its history. Growth only looks on here (the autoscaler that acts comes with later releases), and at the end
its picture is compared with what really is.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.live import Live as LiveDisplay
from rich.text import Text

from bench.live import Json, Live, a_node, a_pod
from bench.standin import StandIn, listen
from growth.cli.world import summary_now
from growth.cli.world_view import view
from growth.kube.access import access_from_kubeconfig
from growth.kube.client import connect
from growth.observe.world import World
from growth.run.watching import watching

_FRAME_SECONDS: Final = 0.1
_CATCH_UP_SECONDS: Final = 10.0


class Shop:
    """The day of the shop, act by act; each act says what happens and then lets it happen."""

    def __init__(self, cluster: Live, server: StandIn) -> None:
        self._cluster = cluster
        self._server = server

    async def open(self) -> None:
        """How it was before we came."""
        for number in range(4):
            await self._cluster.put("nodes", a_node(f"default-{number}", "cx33", 4, 8, ready=True))
        for number in range(20):
            await self._cluster.put("pods", a_pod("storefront", number, "250m", "512Mi", f"default-{number % 4}"))
        await self._cluster.put("pods", a_pod("search", 0, "1500m", "2Gi", "default-0"))

    async def acts(self) -> AsyncIterator[str]:
        yield "a quiet morning"
        await asyncio.sleep(3)
        yield "a sale begins: 24 more pods of checkout, and no room for all of them"
        for number in range(24):
            await self._cluster.put("pods", a_pod("checkout", number, "500m", "1Gi"))
            await asyncio.sleep(0.08)
        await self._bind_waiting()
        yield "three machines have been ordered; they appear, not ready yet"
        for number in (4, 5, 6):
            await self._cluster.put("nodes", a_node(f"default-{number}", "cx43", 8, 16, ready=False))
            await asyncio.sleep(0.8)
        yield "the machines are ready, the scheduler fills them"
        for number in (4, 5, 6):
            await self._cluster.put("nodes", a_node(f"default-{number}", "cx43", 8, 16, ready=True))
            await self._bind_waiting()
            await asyncio.sleep(0.8)
        yield "the API server breaks every connection; 15 things happen while nobody can watch"
        self._server.cut()
        for number in range(15):
            await self._cluster.put("pods", a_pod("reports", number, "100m", "128Mi"))
        await self._bind_waiting()
        await asyncio.sleep(3)
        yield "a machine dies: its pods are gone, their replacements wait"
        await self._lose("default-1")
        await asyncio.sleep(3)
        yield "the API server restarts and has forgotten its history: Growth lists again and tells only the difference"
        self._cluster.forget()
        self._server.cut()
        await self._bind_waiting()
        await asyncio.sleep(3)
        yield "the sale is over"
        for uid in [uid for uid in self._cluster.objects["pods"] if uid.startswith("pod-checkout-")]:
            await self._cluster.remove("pods", uid)
            await asyncio.sleep(0.08)
        await asyncio.sleep(1)

    async def _lose(self, name: str) -> None:
        await self._cluster.put("nodes", a_node(name, "cx33", 4, 8, ready=False))
        for uid, pod in list(self._cluster.objects["pods"].items()):
            if pod["spec"].get("nodeName") == name:
                await self._cluster.remove("pods", uid)
                asks = pod["spec"]["containers"][0]["resources"]["requests"]
                service, number = pod["metadata"]["labels"]["app"], int(uid[-3:])
                await self._cluster.put("pods", a_pod(service, number + 500, asks["cpu"], asks["memory"]))

    async def _bind_waiting(self) -> None:
        """A scheduler in miniature: the first ready node with enough CPU left."""
        for pod in list(self._cluster.objects["pods"].values()):
            if "nodeName" in pod["spec"]:
                continue
            node = next((name for name, free in self._free().items() if free >= _cpu(pod)), None)
            if node:
                bound = {**pod["spec"], "nodeName": node}
                await self._cluster.put("pods", {**pod, "spec": bound, "status": {"phase": "Running"}})
                await asyncio.sleep(0.05)

    def _free(self) -> dict[str, int]:
        free = {
            node["metadata"]["name"]: int(node["status"]["allocatable"]["cpu"]) * 1000
            for node in self._cluster.objects["nodes"].values()
            if node["status"]["conditions"][0]["status"] == "True"
        }
        for pod in self._cluster.objects["pods"].values():
            if pod["spec"].get("nodeName") in free:
                free[pod["spec"]["nodeName"]] -= _cpu(pod)
        return free


def _cpu(pod: Json) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"].removesuffix("m"))


async def play(console: Console) -> bool:
    """Play the day; says whether the picture was right in the end."""
    cluster = Live()
    server = StandIn(cluster)
    shop = Shop(cluster, server)
    await shop.open()
    with tempfile.TemporaryDirectory(prefix="growth-demo-") as folder:
        listener, kubeconfig = await listen(server, Path(folder))
        seen = World()
        started = time.monotonic()
        async with connect(access_from_kubeconfig(kubeconfig)) as client, watching(client, seen) as informers:
            await _show(console, seen, shop, started)
            is_equal = await _caught_up(cluster, seen)
            relists = sum(informer.relists - 1 for informer in informers)
        listener.close()
        await server.end()
    told = (
        f"{cluster.changes} changes in {time.monotonic() - started:.0f} s, every connection cut twice, "
        f"{relists} lists read again"
    )
    verdict = "Growth's picture equals the cluster" if is_equal else "Growth's picture DIFFERS from the cluster"
    console.print(Text(f"{verdict}: {told}.", style="bold green" if is_equal else "bold red"))
    return is_equal


async def _show(console: Console, seen: World, shop: Shop, started: float) -> None:
    act = "reading the cluster"

    async def follow() -> None:
        nonlocal act
        async for act in shop.acts():
            if not console.is_terminal:
                summary = summary_now(seen)
                counts = f"{summary.ready}/{summary.nodes} nodes ready, {summary.pods} pods, {summary.waiting} waiting"
                console.print(f"{time.monotonic() - started:5.1f} s  {counts:44}  {act}", soft_wrap=True)

    story = asyncio.create_task(follow())
    if not console.is_terminal:
        await story
        console.print(view(summary_now(seen), console.width))
        return
    with LiveDisplay(console=console, auto_refresh=False) as live:
        while not story.done():
            footer = f"{time.monotonic() - started:4.0f} s  {act}\n{seen.changes_heard:,} changes heard"
            live.update(view(summary_now(seen), console.width, footer), refresh=True)
            await asyncio.sleep(_FRAME_SECONDS)
    await story


async def _caught_up(cluster: Live, seen: World) -> bool:
    """Whether what Growth knows is what is, as soon as the last change has travelled."""
    deadline = time.monotonic() + _CATCH_UP_SECONDS
    while not _is_equal(cluster, seen):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_FRAME_SECONDS)
    return True


def _is_equal(cluster: Live, seen: World) -> bool:
    pods = {uid: pod for here in (seen.waiting, *seen.pods_by_node.values()) for uid, pod in here.items()}
    known = {uid: (pod.metadata.resource_version, pod.node_name) for uid, pod in pods.items()}
    real = {
        uid: (int(pod["metadata"]["resourceVersion"]), pod["spec"].get("nodeName", ""))
        for uid, pod in cluster.objects["pods"].items()
    }
    nodes = {node.metadata.uid: node.metadata.resource_version for node in seen.nodes.values()}
    return known == real and nodes == {
        uid: int(node["metadata"]["resourceVersion"]) for uid, node in cluster.objects["nodes"].items()
    }


def main() -> None:
    """Play, and say by the exit code whether it went well."""
    console = Console()
    console.print("[bold]Growth[/bold] looks on while a shop has its day (half a minute; Ctrl-C ends it)\n")
    try:
        is_equal = asyncio.run(play(console))
    except KeyboardInterrupt:
        console.print("\nended early")
        sys.exit(130)
    sys.exit(0 if is_equal else 1)


if __name__ == "__main__":
    main()
