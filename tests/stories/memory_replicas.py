"""Several replicas remember together: each of them may die, stand still or be disturbed, and nothing is lost."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final

from growth.api.kinds import NODES
from growth.api.node_memory import MARKER
from growth.kube.client import Client
from growth.kube.transport import Method, Request, Response, Stream
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.environment import Process
from growth_lab.scenarios.replica import QUICK, growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.memory_scene import (
    CHANCE,
    RACK,
    TEAM,
    UNSEEN,
    following_transactions,
    label,
    labels_of,
    leave,
    memory_of,
    remembering,
    until_marked,
    until_remembered,
    until_saved,
    until_written,
)
from tests.trust.chaos.valve import Valve

STORIES = Stories("memory", alone=True)
VISITS: Final = "example.com/visits"


class Troupe:
    """All processes of Growth in one story, each behind a valve; by identity."""

    def __init__(self, play: Play) -> None:
        self.valves: dict[str, Valve] = {}
        self.stops_at: Callable[[Request], bool] = lambda _: False
        """The first who is about to send such a request stands still instead."""
        self.stopped: list[str] = []
        self.answers: list[int] = []
        """What became of that request in the end, as an HTTP status."""
        self._at_work: set[str] = set()
        self._around = play.backstage.around
        play.backstage = replace(play.backstage, around=self._behind_a_valve)

    def _behind_a_valve(self, process: Process) -> Process:
        inner, identity = self._around(process), process.host.identity
        valve = self.valves[identity] = Valve(inner.client.transport, lambda _: None)
        send = _Trap(valve, partial(self._send, identity))

        async def killed() -> None:
            ends = {asyncio.ensure_future(one) for one in (inner.killed(), valve.killed.wait())}
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for end in ends:
                    end.cancel()

        client = Client(send, sharing=inner.client.sharing, jitter=inner.client.jitter)
        return replace(inner, client=client, killed=killed)

    async def until_at_work(self, play: Play, replicas: int) -> None:
        """Wait until so many have read the whole cluster; only then they ask who leads."""

        async def are_at_work() -> bool:
            return len(self._at_work) == replicas

        await play.until_found(are_at_work, f"{replicas} replicas are at work")

    async def until_stopped(self, play: Play) -> Valve:
        """Wait until somebody stands still; gives its valve."""

        async def is_stopped() -> bool:
            return bool(self.stopped)

        await play.until_found(is_stopped, "a replica stands still")
        return self.valves[self.stopped[0]]

    async def until_answered(self, play: Play) -> None:
        """Wait until the request that was held back has come to its end."""

        async def is_answered() -> bool:
            return bool(self.answers)

        await play.until_found(is_answered, "its request has come to an end")

    async def _send(self, identity: str, request: Request) -> Response:
        valve = self.valves[identity]
        if request.path.endswith(f"/leases/{QUICK.leader_election.lease_name}"):
            self._at_work.add(identity)
        if self.stopped or not self.stops_at(request):
            return await valve.send(request)
        self.stopped.append(identity)
        valve.pause()
        response = await valve.send(request)
        self.answers.append(response.status)
        return response


class _Trap:
    """A valve whose requests are sent by somebody else."""

    def __init__(self, valve: Valve, send: Callable[[Request], Awaitable[Response]]) -> None:
        self._valve, self._send = valve, send

    async def send(self, request: Request) -> Response:
        """Give it to whoever sends."""
        return await self._send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Through the valve."""
        return self._valve.stream(request)

    def clock(self) -> float:
        """The sender's."""
        return self._valve.clock()

    async def close(self) -> None:
        """Close the sender."""
        await self._valve.close()


@STORIES.story(ignores=CHANCE)
async def three_replicas_go_on_when_one_is_killed(play: Play) -> None:
    """Six nodes leave and come back, and the first who is about to give one its memory back is killed."""
    names, troupe = [f"node-{number}" for number in range(6)], Troupe(play)
    for name in names:
        await play.node(name, labels={TEAM: name})
    async with growing(play, settings=remembering(), replicas=3):
        await until_marked(play, *names)
        for name in names:
            await until_saved(play, name, {TEAM: name})
        await leave(play, *names)
        troupe.stops_at = _gives_a_memory_back
        await asyncio.gather(*(play.node(name, labels={TEAM: "grey"}) for name in names))
        (await troupe.until_stopped(play)).kill()
        await until_marked(play, *names)
        assert [(await labels_of(play, name))[TEAM] for name in names] == names
        for name in names:
            await until_written(play, name)


@STORIES.story(ignores=CHANCE, unless_stopped="who starts in the middle may see a node first in a later version")
async def replicas_write_everything_down_once(play: Play) -> None:
    """All of them watch, and all of them make the same transaction: there is one for each coming and going."""
    names, troupe = [f"node-{number}" for number in range(4)], Troupe(play)
    async with growing(play, settings=remembering(), replicas=3), following_transactions(play) as made:
        await troupe.until_at_work(play, 3)
        for name in names:
            await play.node(name, labels={TEAM: name})
        await until_marked(play, *names)
        await leave(play, *names)
        for name in names:
            await until_remembered(play, name)
        told = sorted((one.data.node, one.data.type) for one in made.values())
        assert told == sorted((play.full(name), kind) for name in names for kind in ("added", "deleted")), told


@STORIES.story(ignores=CHANCE, unless_stopped=UNSEEN)
async def what_one_replica_saw_is_kept_though_another_one_dies(play: Play) -> None:
    """A label is changed, the node deleted, and whoever would write that down is killed in the same moment."""
    troupe = Troupe(play)
    await play.node("steady", labels={TEAM: "blue"})
    async with growing(play, settings=remembering(), replicas=3):
        await until_marked(play, "steady")
        await until_saved(play, "steady", {TEAM: "blue"})
        troupe.stops_at = _makes_a_transaction
        await label(play, "steady", {TEAM: "red"})
        await leave(play, "steady")
        (await troupe.until_stopped(play)).kill()
        await play.node("steady")
        await until_marked(play, "steady")
        assert (await labels_of(play, "steady"))[TEAM] == "red"


@STORIES.story(ignores=CHANCE, unless_stopped="then somebody else may be the one who stands still")
async def a_replica_that_stood_still_changes_nothing_when_it_wakes_up(play: Play) -> None:
    """It is about to give a node its memory back. Another one does; a person edits a label; then it goes on."""
    troupe = Troupe(play)
    await play.node("steady", labels={TEAM: "blue", RACK: "r7"})
    async with growing(play, settings=remembering(), replicas=2):
        await until_marked(play, "steady")
        await until_saved(play, "steady", {TEAM: "blue", RACK: "r7"})
        await leave(play, "steady")
        await until_remembered(play, "steady")
        troupe.stops_at = _gives_a_memory_back
        await play.node("steady")
        sleeper = await troupe.until_stopped(play)
        await until_marked(play, "steady")
        await play.ready("steady")
        await label(play, "steady", {TEAM: "red", RACK: None})
        await until_saved(play, "steady", {TEAM: "red", RACK: None})
        await until_written(play, "steady")
        memory = await memory_of(play, "steady")
        sleeper.resume()
        await troupe.until_answered(play)
        assert troupe.answers == [409], "it knew the node as it was before"
        labels = await labels_of(play, "steady")
        assert (labels[TEAM], labels.get(RACK)) == ("red", None)
        assert await memory_of(play, "steady") == memory


@STORIES.story(ignores=CHANCE)
async def a_node_that_others_change_all_the_time_gets_its_memory_back(play: Play) -> None:
    """Somebody writes to it twenty times a second from its first moment on; none of these writes is lost."""
    await play.node("busy", labels={TEAM: "blue"})
    async with growing(play, settings=remembering(), replicas=2):
        await until_marked(play, "busy")
        await until_saved(play, "busy", {TEAM: "blue"})
        await leave(play, "busy")
        await play.node("busy")
        async with _visited(play, "busy") as visits:
            await until_marked(play, "busy")
        node = await play.client.get(NODES, play.full("busy"))
        assert node.metadata.labels[TEAM] == "blue"
        assert node.metadata.annotations[VISITS] == str(len(visits))


@STORIES.story(ignores=CHANCE)
async def an_api_server_that_was_away_loses_nothing(play: Play) -> None:
    """It is gone for seconds right after a node left, and the node comes back meanwhile, or directly after."""
    await play.node("steady", labels={TEAM: "blue"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "steady")
        await until_saved(play, "steady", {TEAM: "blue"})
        await play.delete(NODES, play.full("steady"))
        await asyncio.gather(play.backstage.outage(2.0), play.node("steady"))
        await until_marked(play, "steady")
        assert (await labels_of(play, "steady"))[TEAM] == "blue"


@asynccontextmanager
async def _visited(play: Play, name: str) -> AsyncGenerator[list[None]]:
    """As long as this lasts, somebody writes to the node all the time."""
    visits: list[None] = []

    async def visit() -> None:
        while True:
            note = {"metadata": {"annotations": {VISITS: str(len(visits) + 1)}}}
            await play.change(NODES, play.full(name), note)
            visits.append(None)
            await asyncio.sleep(0.05)

    visiting = asyncio.create_task(visit())
    try:
        yield visits
    finally:
        visiting.cancel()
        await asyncio.gather(visiting, return_exceptions=True)


def _gives_a_memory_back(request: Request) -> bool:
    return request.method is Method.PATCH and "/nodes/" in request.path and MARKER.encode() in request.body


def _makes_a_transaction(request: Request) -> bool:
    return request.method is Method.POST and f"/{QUICK.memory.transaction_namespace}/" in request.path
