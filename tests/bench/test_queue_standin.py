"""Who plays those that run: exactly their run time, from the beginning each time, on a virtual cluster."""

import asyncio
from collections.abc import Awaitable, Callable

from bench.queue_load import Planned, a_workload, lines_of, load_of
from bench.queue_standin import StandIn
from growth.api.change import Change, ChangeType
from growth.api.kinds import NAMESPACES
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import Workload
from growth.kube.client import Client
from growth.kube.patches import MergePatch
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.virtual_loop import run_virtually

LOAD = load_of(10, lines_of(1, 1))
LARGE: Planned = next(one for one in LOAD if one.size.name == "large")
NAMESPACE = LARGE.line.name


class Stage:
    """One large workload, which runs for a second, and whoever plays it; what is seen is told by hand."""

    def __init__(self, client: Client, working: asyncio.TaskGroup) -> None:
        self.standin = StandIn(client, {one.name: one for one in LOAD}, working)
        self._client = client

    async def be(self, *said: str, is_held: bool = True) -> Workload:
        """This is said of it from now on. Nobody is told."""
        given = {"clusterQueue": NAMESPACE, "podSetAssignments": [{"name": "main", "resourceUsage": {"cpu": "20"}}]}
        conditions = [
            {"type": kind, "status": "True", "reason": kind, "lastTransitionTime": "2026-11-16T09:00:00Z"}
            for kind in said
        ]
        patch = MergePatch({"status": {"admission": given if is_held else None, "conditions": conditions}})
        return await self._client.patch(WORKLOADS, LARGE.name, patch, NAMESPACE, subresource="status")

    def tell(self, workload: Workload) -> None:
        self.standin.hear([Change(ChangeType.MODIFIED, workload, None)])

    async def is_finished(self) -> bool:
        return (await self._client.get(WORKLOADS, LARGE.name, NAMESPACE)).is_finished


def on_stage(tell: Callable[[Stage], Awaitable[None]]) -> None:
    async def play() -> None:
        client = VirtualCluster(0).admin()
        await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        await client.create(WORKLOADS, a_workload(LARGE), NAMESPACE)
        async with asyncio.TaskGroup() as working:
            await tell(Stage(client, working))

    run_virtually(play())


def test_an_admitted_workload_is_finished_after_its_run_time() -> None:
    async def tell(stage: Stage) -> None:
        stage.tell(await stage.be("Admitted"))
        await asyncio.sleep(0.9)
        assert not await stage.is_finished()
        await asyncio.sleep(0.2)
        assert await stage.is_finished()

    on_stage(tell)


def test_one_that_was_sent_back_begins_anew_when_it_is_admitted_again() -> None:
    async def tell(stage: Stage) -> None:
        stage.tell(await stage.be("Admitted"))
        await asyncio.sleep(0.9)
        stage.tell(await stage.be("Admitted", "Evicted"))
        stage.tell(await stage.be("Evicted", is_held=False))
        await asyncio.sleep(5)
        stage.tell(await stage.be("Admitted"))
        await asyncio.sleep(0.9)
        assert not await stage.is_finished()
        await asyncio.sleep(0.2)
        assert await stage.is_finished()

    on_stage(tell)


def test_one_that_has_changed_in_that_instant_is_finished_as_it_is_then() -> None:
    async def tell(stage: Stage) -> None:
        stage.tell(await stage.be("Admitted"))
        newer = await stage.be("Admitted", "PodsReady")
        await asyncio.sleep(2)
        assert stage.standin.refused == 1
        assert not await stage.is_finished()
        stage.tell(newer)
        await asyncio.sleep(0.1)
        assert await stage.is_finished()

    on_stage(tell)


def test_one_that_was_sent_back_in_that_instant_is_not_finished() -> None:
    async def tell(stage: Stage) -> None:
        stage.tell(await stage.be("Admitted"))
        newer = await stage.be("Admitted", "Evicted")
        await asyncio.sleep(2)
        stage.tell(newer)
        await asyncio.sleep(2)
        assert not await stage.is_finished()

    on_stage(tell)
