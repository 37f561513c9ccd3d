"""One object that our type does not fit: the others go on, and it is known to be there."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import NODES
from growth.api.queue.cluster_queues import ClusterQueue
from growth.api.queue.kinds import CLUSTER_QUEUES
from growth.kube.informer import Informer
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.served_kinds import OURS
from growth_lab.simulator.virtual_loop import run_virtually
from lab.tests.simulator.api.worlds import World
from tests.builders import Json, a_list
from tests.virtual_time import wait_until

QUEUES = next(one for one in OURS if one.kind == "ClusterQueue")
NEWER = "ShortestFirst"
WORDS = "Invalid enum value 'ShortestFirst' - at `$.spec.queueingStrategy`"


def a_queue(name: str, strategy: str = "StrictFIFO") -> Json:
    return {"metadata": {"name": name}, "spec": {"queueingStrategy": strategy, "namespaceSelector": {}}}


class Scene:
    """A server whose definitions know more than our classes, and somebody who follows it."""

    def __init__(self) -> None:
        self.world = World()
        self.picture: dict[str, ClusterQueue] = {}
        self.calls = 0
        self.client = self.world.client()
        self.informer = Informer(self.client, CLUSTER_QUEUES, self._hear)

    def _hear(self, changes: list[Change[ClusterQueue]]) -> None:
        self.calls += 1
        for change in changes:
            if change.happened is ChangeType.DELETED:
                del self.picture[change.now.metadata.name]
            else:
                self.picture[change.now.metadata.name] = change.now

    @property
    def unreadable(self) -> set[str]:
        return {one.metadata.name for one in self.informer.unreadable.values()}

    def put(self, name: str, strategy: str = "StrictFIFO") -> None:
        """As a server does whose definition allows it."""
        self.world.store.create(QUEUES, a_queue(name, strategy))

    def change(self, name: str, strategy: str) -> None:
        self.world.store.patch(QUEUES, name, patch={"spec": {"queueingStrategy": strategy}})

    async def until(self, readable: set[str], unreadable: set[str]) -> None:
        await wait_until(lambda: (set(self.picture), self.unreadable) == (readable, unreadable))


@asynccontextmanager
async def following(scene: Scene) -> AsyncGenerator[None]:
    task = asyncio.create_task(scene.informer.run())
    try:
        yield
        assert not task.done(), "the watch goes on"
    finally:
        task.cancel()
        await asyncio.wait({task})


def played(story: Callable[[Scene], Awaitable[None]]) -> None:
    async def play() -> None:
        await story(Scene())

    run_virtually(play())


def test_it_is_set_aside_and_the_others_are_read(caplog: pytest.LogCaptureFixture) -> None:
    async def story(scene: Scene) -> None:
        scene.put("old")
        scene.put("newer", NEWER)
        async with following(scene):
            await scene.until({"old"}, {"newer"})
            scene.put("later")
            await scene.until({"old", "later"}, {"newer"})

    with caplog.at_level(logging.WARNING):
        played(story)
    assert f"ClusterQueue newer cannot be read, the others go on: {WORDS}" in caplog.text
    assert caplog.text.count("cannot be read") == 1


def test_one_that_becomes_unreadable_is_gone_and_comes_back_when_it_is_mended() -> None:
    async def story(scene: Scene) -> None:
        scene.put("queue")
        async with following(scene):
            await scene.until({"queue"}, set())
            scene.change("queue", NEWER)
            await scene.until(set(), {"queue"})
            scene.change("queue", "BestEffortFIFO")
            await scene.until({"queue"}, set())
            assert scene.picture["queue"].spec.queueing_strategy == "BestEffortFIFO"

    played(story)


def test_the_consumer_is_called_when_one_comes_or_goes_so_that_somebody_looks() -> None:
    async def story(scene: Scene) -> None:
        async with following(scene):
            await wait_until(scene.informer.synced.is_set)
            assert scene.calls == 0
            scene.put("newer", NEWER)
            await wait_until(lambda: scene.calls == 1)
            scene.world.store.delete(QUEUES, "newer")
            await wait_until(lambda: scene.calls == 2)
            assert not scene.unreadable

    played(story)


def test_a_new_list_knows_them_too_and_who_went_meanwhile() -> None:
    async def story(scene: Scene) -> None:
        for name, strategy in (("old", "StrictFIFO"), ("newer", NEWER), ("newest", NEWER), ("mended", NEWER)):
            scene.put(name, strategy)
        async with following(scene):
            await scene.until({"old"}, {"newer", "newest", "mended"})
            away = scene.world.faults.order(Fault.REFUSED, times=1_000)
            await scene.client.transport.close()
            scene.world.store.delete(QUEUES, "newest")
            scene.change("mended", "StrictFIFO")
            scene.change("old", NEWER)
            scene.world.store.compact()
            away.times = 0
            await scene.until({"mended"}, {"newer", "old"})

    played(story)


def test_a_page_that_holds_one_is_read_but_for_that() -> None:
    items = [{**a_queue(name, strategy)} for name, strategy in (("old", "StrictFIFO"), ("newer", NEWER))]
    data = msgspec.json.encode(a_list(items, version=5))
    readable, unreadable, page = Reader(CLUSTER_QUEUES, InternTables()).page(data)
    assert [one.metadata.name for one in readable] == ["old"]
    assert [(one.metadata.name, one.problem) for one in unreadable] == [("newer", WORDS)]
    assert page.resource_version == "5"


def test_of_other_kinds_nobody_may_be_missed() -> None:
    data = msgspec.json.encode({"metadata": {"name": "a"}, "spec": {"taints": 7}})
    with pytest.raises(msgspec.ValidationError):
        Reader(NODES, InternTables()).seen(data)
    with pytest.raises(msgspec.ValidationError):
        Reader(NODES, InternTables()).page(msgspec.json.encode(a_list([{"metadata": {}, "spec": 7}], version=5)))
