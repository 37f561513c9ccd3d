"""A queue that has nothing to do does nothing, and one that has much to do does it at once.

The queue alone on a virtual cluster, in real durations, with all that it writes counted.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final

import msgspec

from growth.api.kinds import JOBS, LEASES, NAMESPACES
from growth.api.queue.workload import QUEUE_NAME
from growth.api.settings.model import ProvidersSettings, Settings
from growth.decide.contract import Decision, Inputs
from growth.decide.pipeline import chosen
from growth.kube.client import Client
from growth.kube.transport import Method, Request, Response, Send, Stream
from growth.run.replica import ReplicaConfig, control, new_health
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.queue_scene import queued, requeuing, some_quota, the_workload, until_said

HOUR, MINUTE = 3600.0, 60.0
TERMS: Final = msgspec.structs.replace(
    requeuing(timeout=5 * MINUTE, base=7200, backoff_max_seconds=None), providers=ProvidersSettings()
)


class Counting:
    """A sender that counts what is written, by kind; renewals of the leader's Lease are no news."""

    def __init__(self, send: Send) -> None:
        self.writes: Counter[str] = Counter()
        self._send = send

    async def send(self, request: Request) -> Response:
        if request.method is not Method.GET and LEASES.plural not in request.path:
            place = request.path.split("/")
            plural = next(one for one in place if one in _COUNTED)
            self.writes[plural + ("/status" if place[-1] == "status" else "")] += 1
        return await self._send.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._send.stream(request)

    def clock(self) -> float:
        return self._send.clock()

    async def close(self) -> None:
        await self._send.close()


_COUNTED: Final = ("workloads", "clusterqueues", "localqueues", "jobs", "events", "configmaps")


class Queue:
    """The queue at work, what it wrote and how often it looked."""

    def __init__(self, sent: Counting) -> None:
        self.sent, self.passes = sent, 0

    def forget(self) -> None:
        self.sent.writes.clear()
        self.passes = 0


@asynccontextmanager
async def queueing(play: Play, settings: Settings = TERMS) -> AsyncGenerator[Queue]:
    """The queue alone, as one process."""
    await play.client.create(NAMESPACES, {"metadata": {"name": settings.namespace}})
    sent = Counting((await play.backstage.client()).transport)
    queue = Queue(sent)
    (capability,) = chosen(["queue"])

    def look(inputs: Inputs[Any, Any, Any]) -> Decision[Any]:
        queue.passes += 1
        return capability.decide(inputs)

    client = Client(sent)
    plant = ReplicaConfig(
        client=client,
        lease_client=client,
        settings=settings,
        capabilities=(msgspec.structs.replace(capability, decide=look),),
        host=play.backstage.host("queue"),
    )
    task = asyncio.create_task(control(plant, new_health()))
    try:
        yield queue
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def test_an_hour_in_which_nothing_changes_costs_no_write() -> None:
    """One job runs, one waits for quota, one is in its backoff, one was too large from the beginning."""
    seen: list[Queue] = []

    async def tell(play: Play) -> None:
        await play.node("worker")
        await some_quota(play, {"cpu": "2"})
        async with queueing(play) as queue:
            await queued(play, "runs")
            await play.until(lambda: play.running("runs"), "the first job runs")
            await queued(play, "lost", needs_disk=True)
            await until_said(play, "lost", "QuotaReserved", "QuotaReserved")
            await queued(play, "waits", cpu="2")
            await queued(play, "large", cpu="3")
            await asyncio.sleep(10 * MINUTE)
            assert (await the_workload(play, "lost")).status.requeue_state is not None
            queue.forget()
            await asyncio.sleep(HOUR)
            seen.append(queue)

    play_virtually(tell, alone=True)
    assert seen[0].sent.writes == {}
    assert seen[0].passes == 0, "nobody woke it"


def test_a_job_costs_a_handful_of_writes_until_it_runs() -> None:
    """Its workload, its admission, its start, that its pods are ready; and what its queues say."""
    seen: list[Counter[str]] = []

    async def tell(play: Play) -> None:
        await play.node("worker")
        await some_quota(play, {"cpu": "2"})
        async with queueing(play) as queue:
            await asyncio.sleep(MINUTE)
            queue.forget()
            await queued(play, "one")
            await play.until(lambda: play.running("one"), "it runs")
            await asyncio.sleep(MINUTE)
            seen.append(Counter(queue.sent.writes))

    play_virtually(tell, alone=True)
    assert seen == [
        {
            "workloads": 1,
            "workloads/status": 2,  # it is admitted, and its pods are ready
            "jobs": 1,
            "events": 2,  # it is admitted: told of the job and of its workload
            "clusterqueues/status": 1,
            "localqueues/status": 1,
        }
    ]


def test_many_jobs_at_once_are_admitted_in_a_few_passes() -> None:
    """Ten times the jobs take about as many passes: who can be admitted is admitted together."""
    passes: dict[int, int] = {}

    async def tell(play: Play, count: int) -> None:
        await play.node("worker", cpu="1000", memory="1000Gi", pods="2000")
        await some_quota(play, {"cpu": "1000"})
        async with queueing(play) as queue:
            await asyncio.sleep(MINUTE)
            queue.forget()
            for number in range(count):
                await queued(play, f"job-{number}", cpu="1m")
            await play.until(lambda: sum(1 for n in range(count) if play.running(f"job-{n}")) == count, "all run")
            await asyncio.sleep(MINUTE)
            passes[count] = queue.passes

    for count in (10, 100):
        play_virtually(lambda play, count=count: tell(play, count), alone=True)
    assert passes[100] <= 3 * passes[10]


def test_a_running_job_that_leaves_its_queue_gives_its_quota_back_after_a_while() -> None:
    """Its label is removed: it runs on, and who waits for its quota runs five minutes later, not before."""

    async def tell(play: Play) -> None:
        await play.node("worker")
        await some_quota(play, {"cpu": "1"})
        async with queueing(play):
            await queued(play, "out")
            await play.until(lambda: play.running("out"), "the first job runs")
            await queued(play, "next")
            await play.change(JOBS, "out", {"metadata": {"labels": {QUEUE_NAME: None}}})
            await asyncio.sleep(5 * MINUTE - 5)
            assert not play.running("next")
            await asyncio.sleep(10)
            assert play.running("next")
            assert play.running("out")
            await play.change(JOBS, "out", {"metadata": {"labels": {QUEUE_NAME: "door"}}})
            await asyncio.sleep(MINUTE)
            assert not play.running("out"), "it waits its turn"
            assert play.running("next")

    play_virtually(tell, alone=True)
