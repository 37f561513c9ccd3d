"""Informers and the World, wired: the context ends with an error that needs a person, and tidies up in any case."""

import asyncio
import gc
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager

import pytest

from growth.kube.client import Client
from growth.kube.errors import Forbidden
from growth.kube.transport import Request, Response
from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth_lab.simulator.virtual_loop import run_virtually
from tests.builders import a_bookmark
from tests.kube.scripted import ScriptedStream, no


@pytest.fixture(autouse=True)
def collector_as_before() -> Generator[None]:
    """``watching`` tunes the collector of its process; here that is the tests' own."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


class Empty:
    """A cluster without objects, whose watches say nothing after the list; kinds in ``closed`` are refused."""

    def __init__(self, closed: str = "") -> None:
        self.open_streams = 0
        self._closed = closed

    async def send(self, request: Request) -> Response:  # noqa: ARG002 - nothing but streams is asked for
        return no(404, "NotFound")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ScriptedStream]:
        self.open_streams += 1
        try:
            if self._closed and request.path.endswith(self._closed):
                yield ScriptedStream(no(403, "Forbidden"))
            else:
                yield Quiet()
        finally:
            self.open_streams -= 1

    def clock(self) -> float:
        return asyncio.get_running_loop().time()

    async def close(self) -> None:
        pass


class Quiet(ScriptedStream):
    """The end of an empty list, and then silence."""

    def __init__(self) -> None:
        line = json.dumps({"type": "BOOKMARK", "object": a_bookmark(7, ends_initial_events=True)})
        super().__init__(Response(200, line.encode()))

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        yield self._body.splitlines()
        await asyncio.sleep(3_600)


def test_it_is_entered_when_every_kind_is_read_and_leaves_no_stream_open() -> None:
    async def story() -> None:
        server, world = Empty(), ClusterCache()
        async with watching(Client(server), world) as informers:
            assert {informer.kind for informer in informers} == set(world.listeners())
            assert all(informer.synced.is_set() for informer in informers)
            assert server.open_streams == len(informers)
        assert server.open_streams == 0

    run_virtually(story())


def test_a_kind_that_may_not_be_read_ends_the_start_with_that_one_error() -> None:
    async def story() -> None:
        server = Empty(closed="/persistentvolumes")
        with pytest.raises(Forbidden):
            async with watching(Client(server), ClusterCache()):
                pytest.fail("entered without one kind")
        assert server.open_streams == 0

    run_virtually(story())


def test_what_is_raised_inside_comes_out_as_it_is() -> None:
    async def story() -> None:
        with pytest.raises(LookupError, match="mine"):
            async with watching(Client(Empty()), ClusterCache()):
                raise LookupError("mine")

    run_virtually(story())


def test_the_collector_is_spared_once_the_world_is_complete() -> None:
    async def story() -> None:
        async with watching(Client(Empty()), ClusterCache()):
            assert gc.get_freeze_count() > 0
            assert gc.get_threshold()[0] > 700

    run_virtually(story())
