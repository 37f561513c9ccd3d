"""The informer's promises, one by one, against an API server in memory and on virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from growth.api.change import Change, ChangeType
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.kube.client import Client
from growth.kube.errors import BadAccess, Forbidden, Invalid, NotFound, Unauthorized, Unreachable, Untrusted
from growth.kube.informer import Informer
from growth.kube.transport import Response
from growth_lab.simulator.virtual_loop import run_virtually
from tests.builders import a_bookmark, a_node, a_status
from tests.kube.fake_server import NO_TROUBLE, Event, FakeServer, Trouble
from tests.kube.scripted import Scripted, dice, no
from tests.kube.witness import Witness
from tests.virtual_time import wait_until

ADDED, MODIFIED, DELETED = ChangeType.ADDED, ChangeType.MODIFIED, ChangeType.DELETED
LOST = Unreachable("the connection broke", sent=True)


class Scene:
    """A server, an informer that follows it, and its consumer."""

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.witness = Witness[Node]()
        self.informer = Informer(Client(server, jitter=dice(1)), NODES, self.witness)

    async def settled(self) -> None:
        """Wait until informer and consumer have seen all that the server has."""
        await wait_until(
            lambda: self.informer.synced.is_set() and self.seen == self.witness.picture == self.server.picture
        )

    @property
    def seen(self) -> dict[str, int]:
        """The informer's picture: versions by uid."""
        return {uid: node.metadata.resource_version for uid, node in self.informer.objects.items()}

    def next_streams(self, *troubles: Trouble) -> None:
        """What happens to the next streams; after them all goes well."""
        left = list(troubles)
        self.server.trouble = lambda _: left.pop(0) if left else NO_TROUBLE

    async def disturb(self, trouble: Trouble) -> None:
        """Break the stream, and from now on this happens to all others."""
        self.server.trouble = lambda _: trouble
        await self.server.hang_up()


@asynccontextmanager
async def following(server: FakeServer) -> AsyncGenerator[Scene]:
    scene = Scene(server)
    task = asyncio.create_task(scene.informer.run())
    try:
        yield scene
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert server.open_streams == 0


async def a_server(*names: str, streams_lists: bool = True, page_size: int | None = None) -> FakeServer:
    server = FakeServer(streams_lists=streams_lists, page_size=page_size)
    for name in names:
        await server.put(name)
    return server


def play(story: Callable[[], Awaitable[None]]) -> None:
    async def playing() -> None:
        await story()

    run_virtually(playing())


def test_the_first_picture_is_streamed_and_the_watch_goes_on_in_the_same_stream() -> None:
    async def story() -> None:
        server = await a_server("a", "b")
        async with following(server) as scene:
            await scene.settled()
            assert scene.witness.told == [(ADDED, "a"), (ADDED, "b")]
            await server.put("c")
            await scene.settled()
            assert scene.witness.told[2:] == [(ADDED, "c")]
            assert server.lists == []
            (only,) = server.watches
            assert (only["sendInitialEvents"], only["resourceVersionMatch"]) == ("true", "NotOlderThan")

    play(story)


def test_what_happens_while_the_list_is_streamed_is_part_of_it() -> None:
    class End(Exception):
        """No more script."""

    lines = [
        Event(1, "ADDED", a_node("a", version=1)),
        Event(2, "ADDED", a_node("b", version=2)),
        Event(3, "BOOKMARK", a_bookmark(3, kind="Node")),
        Event(4, "DELETED", a_node("a", version=4)),
        Event(5, "MODIFIED", a_node("b", version=5)),
        Event(6, "BOOKMARK", a_bookmark(6, kind="Node", ends_initial_events=True)),
        Event(7, "DELETED", a_node("b", version=7)),
    ]

    async def story() -> None:
        send = Scripted(Response(200, b"\n".join(event.line for event in lines)), End())
        witness = Witness[Node]()
        with pytest.raises(End):
            await Informer(Client(send), NODES, witness).run()
        assert witness.told == [(ADDED, "b"), (DELETED, "b")]
        assert send.queries[-1]["resourceVersion"] == "7"

    play(story)


def test_an_empty_cluster_is_a_picture_too() -> None:
    async def story() -> None:
        async with following(await a_server()) as scene:
            await scene.informer.synced.wait()
            assert (scene.seen, scene.witness.told) == ({}, [])

    play(story)


def test_a_server_that_streams_no_lists_is_asked_for_pages_and_not_again_for_a_stream() -> None:
    async def story() -> None:
        server = await a_server("a", "b", "c", streams_lists=False, page_size=2)
        async with following(server) as scene:
            await scene.settled()
            assert len(server.lists) == 2
            await server.hang_up()
            await server.put("d")
            server.compact()
            await scene.settled()
            assert len(server.lists) == 4
            assert sum("sendInitialEvents" in query for query in server.watches) == 1

    play(story)


def test_changes_are_told_as_they_come() -> None:
    async def story() -> None:
        server = await a_server("a")
        async with following(server) as scene:
            await scene.settled()
            await server.put("b")
            await server.put("a")
            await server.delete("b")
            await scene.settled()
            assert scene.witness.told == [(ADDED, "a"), (ADDED, "b"), (MODIFIED, "a"), (DELETED, "b")]
            assert scene.informer.relists == 1

    play(story)


def test_a_cut_watch_goes_on_where_it_was_and_misses_nothing() -> None:
    async def story() -> None:
        server = await a_server("a")
        async with following(server) as scene:
            await scene.settled()
            scene.next_streams(*(Trouble(after_lines=number, error=LOST) for number in (0, 1, 2)))
            await server.hang_up()
            for name in "bcdefgh":
                await server.put(name)
            await server.delete("b")
            await scene.settled()
            assert scene.informer.relists == 1
            assert len(server.watches) == 5

    play(story)


def test_a_watch_that_the_server_ends_in_peace_goes_on_at_once() -> None:
    async def story() -> None:
        server = await a_server("a")
        async with following(server) as scene:
            await scene.settled()
            await asyncio.sleep(3_000)
            await server.put("b")
            await scene.settled()
            assert scene.informer.relists == 1
            assert 5 <= len(server.watches) <= 12  # 300 to 600 seconds each

    play(story)


def test_a_quiet_watch_is_carried_over_a_compaction_by_its_bookmarks() -> None:
    async def story() -> None:
        server = await a_server("a")
        async with following(server) as scene:
            await scene.settled()
            server.version += 1_000  # other kinds change
            await asyncio.sleep(200)
            server.compact()
            await asyncio.sleep(2_000)
            await server.put("b")
            await scene.settled()
            assert scene.informer.relists == 1

    play(story)


@pytest.mark.parametrize(
    "gone",
    [
        pytest.param(Trouble(answer=no(410, "Expired", "too old resource version")), id="as an answer"),
        pytest.param(Trouble(after_lines=0, line=a_status(410, "Expired", "too old")), id="as a line of the stream"),
        pytest.param(Trouble(after_lines=2, line=a_status(410, "Gone", "too old")), id="as a line after others"),
    ],
)
def test_a_version_that_is_too_old_leads_to_a_new_list_of_which_only_the_difference_is_told(gone: Trouble) -> None:
    async def story() -> None:
        server = await a_server("same", "changed", "deleted", "recreated")
        async with following(server) as scene:
            await scene.settled()
            scene.witness.told.clear()
            scene.next_streams(gone)
            await server.hang_up()
            await server.put("changed")
            await server.delete("deleted")
            await server.delete("recreated")
            await server.put("recreated")
            await server.put("new")
            server.compact()
            await scene.settled()
            assert sorted(scene.witness.told, key=str) == sorted(
                [
                    (MODIFIED, "changed"),
                    (DELETED, "deleted"),
                    (DELETED, "recreated"),
                    (ADDED, "recreated"),
                    (ADDED, "new"),
                ],
                key=str,
            )
            told = [what for what, name in scene.witness.told if name == "recreated"]
            assert told == [DELETED, ADDED]

    play(story)


def test_an_error_in_the_middle_of_a_batch_does_not_swallow_what_came_before() -> None:
    async def story() -> None:
        server = await a_server()
        async with following(server) as scene:
            await scene.informer.synced.wait()
            failing = Trouble(after_lines=2, line=a_status(500, "InternalError", "etcd is gone"))
            scene.next_streams(*[failing] * 3)
            await server.hang_up()
            for name in "abcdef":
                await server.put(name)
            await scene.settled()
            assert scene.informer.relists == 1
            assert scene.witness.calls >= 3

    play(story)


def test_versions_that_come_twice_are_told_once() -> None:
    async def story() -> None:
        server = await a_server()
        async with following(server) as scene:
            await scene.informer.synced.wait()
            await server.put("a")
            await scene.settled()
            server.stutter()
            await server.put("b")
            await scene.settled()
            assert scene.witness.told == [(ADDED, "a"), (ADDED, "b")]

    play(story)


def test_a_restored_server_that_does_not_know_our_version_is_listed_anew() -> None:
    async def story() -> None:
        server = await a_server("a", "b")
        async with following(server) as scene:
            await scene.settled()
            await server.delete("b")
            await scene.settled()
            await server.hang_up()
            server.restore(50)
            await server.put("c")
            await scene.settled()
            assert scene.informer.relists == 2

    play(story)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Trouble(after_lines=0), id="ends every stream at once"),
        pytest.param(Trouble(after_lines=0, error=LOST), id="breaks every stream at once"),
        pytest.param(Trouble(after_lines=0, line=a_status(500, "InternalError")), id="answers with an error line"),
        pytest.param(Trouble(answer=no(503)), id="is not ready"),
        pytest.param(Trouble(answer=no(410, "Expired")), id="always says that the version is too old"),
    ],
)
def test_a_server_is_not_stormed_that(trouble: Trouble) -> None:
    async def story() -> None:
        server = await a_server("a")
        async with following(server) as scene:
            await scene.settled()
            before = len(server.requests)
            await scene.disturb(trouble)
            await asyncio.sleep(600)
            assert 20 <= len(server.requests) - before <= 60
            server.trouble = lambda _: NO_TROUBLE
            await server.put("b")
            await scene.settled()

    play(story)


def test_the_back_off_starts_over_after_a_success() -> None:
    async def story() -> None:
        server = await a_server("a")
        async with following(server) as scene:
            await scene.settled()
            await scene.disturb(Trouble(after_lines=0, error=LOST))
            await asyncio.sleep(600)
            server.trouble = lambda _: NO_TROUBLE
            await server.put("b")
            await scene.settled()
            await server.hang_up()
            await server.put("c")
            began = server.clock()
            await scene.settled()
            assert server.clock() - began < 1

    play(story)


def test_the_delay_that_the_server_asks_for_is_honoured() -> None:
    async def story() -> None:
        server = await a_server("a")
        scene = Scene(server)
        scene.next_streams(Trouble(answer=no(429, "TooManyRequests", retry_after=40)))
        task = asyncio.create_task(scene.informer.run())
        await scene.informer.synced.wait()
        assert 40 <= server.clock() <= 41
        task.cancel()

    play(story)


def test_a_connection_that_died_without_a_word_is_noticed_by_the_missing_bookmarks() -> None:
    async def story() -> None:
        server = await a_server("a")
        scene = Scene(server)
        scene.next_streams(Trouble(after_lines=2, is_silent=True))  # the list of one, and the mark that ends it
        task = asyncio.create_task(scene.informer.run())
        await scene.settled()
        await server.put("b")
        await scene.settled()
        assert 100 < server.clock() < 200
        assert scene.informer.relists == 1
        task.cancel()

    play(story)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(no(401, "Unauthorized"), id="unknown user"),
        pytest.param(no(403, "Forbidden"), id="missing right"),
        pytest.param(no(404, "NotFound"), id="missing kind"),
        pytest.param(no(400, "BadRequest"), id="a selector that makes no sense"),
        pytest.param(Untrusted("wrong CA", sent=False), id="wrong CA"),
        pytest.param(BadAccess("exec", "the login has ended", "log in"), id="credentials that ended"),
    ],
)
def test_what_needs_a_person_stops_the_start_and_later_only_waits(error: object) -> None:
    trouble = Trouble(0, error=error) if isinstance(error, Exception) else Trouble(answer=error)  # type: ignore[arg-type]

    async def at_the_start() -> None:
        scene = Scene(await a_server("a"))
        scene.server.trouble = lambda _: trouble
        with pytest.raises((Unauthorized, Forbidden, NotFound, Invalid, Untrusted, BadAccess)):
            await scene.informer.run()

    async def later() -> None:
        async with following(await a_server("a")) as scene:
            await scene.settled()
            await scene.disturb(trouble)
            await asyncio.sleep(3_600)
            await scene.server.put("b")
            assert len(scene.seen) == 1
            scene.server.trouble = lambda _: NO_TROUBLE
            await scene.settled()

    play(at_the_start)
    play(later)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Trouble(after_lines=0, error=Unreachable("refused", sent=False)), id="nobody is there"),
        pytest.param(Trouble(answer=no(503)), id="the server is not ready"),
        pytest.param(Trouble(after_lines=1, error=LOST), id="the list is cut in the middle"),
        pytest.param(Trouble(after_lines=1), id="the list ends before its end"),
        pytest.param(Trouble(after_lines=1, line=a_status(410, "Expired")), id="the list becomes too old on its way"),
    ],
)
def test_the_start_waits_while(error: Trouble) -> None:
    async def story() -> None:
        server = await a_server("a", "b", "c")
        async with following(server) as scene:
            server.trouble = lambda _: error
            await asyncio.sleep(300)
            assert not scene.informer.synced.is_set()
            assert scene.witness.told == []
            server.trouble = lambda _: NO_TROUBLE
            await scene.settled()

    play(story)


def test_an_informer_that_is_stopped_while_it_tells_a_list_tells_the_rest_when_it_runs_again() -> None:
    async def story() -> None:
        server = await a_server(*(f"n{number}" for number in range(1_200)))
        witness = Witness[Node]()

        def hear_and_stop(changes: list[Change[Node]]) -> None:
            witness(changes)
            if witness.calls == 1:
                running.cancel()

        informer = Informer(Client(server), NODES, hear_and_stop)
        running = asyncio.create_task(informer.run())
        with suppress(asyncio.CancelledError):
            await running
        assert 0 < len(witness.told) < 1_200
        assert len(informer.objects) == len(witness.told)
        running = asyncio.create_task(informer.run())
        await wait_until(lambda: witness.picture == server.picture)
        running.cancel()

    play(story)


def test_a_consumer_that_fails_ends_the_run_with_its_own_error() -> None:
    async def story() -> None:
        def fail(_: list[Change[Node]]) -> None:
            raise LookupError("the consumer's own")

        server = await a_server("a")
        with pytest.raises(LookupError, match="the consumer's own"):
            await Informer(Client(server), NODES, fail).run()
        assert server.open_streams == 0

    play(story)


def test_selectors_go_with_every_request() -> None:
    async def story() -> None:
        server = await a_server("a", streams_lists=False)
        witness = Witness[Node]()
        informer = Informer(Client(server), NODES, witness, label_selector="a=b", field_selector="c=d")
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        await asyncio.sleep(1)
        task.cancel()
        assert len(server.requests) == 3
        for query in [*server.watches, *server.lists]:
            assert (query["labelSelector"], query["fieldSelector"]) == ("a=b", "c=d")

    play(story)


def test_many_changes_are_told_in_slices_so_that_others_may_run_between_them() -> None:
    async def story() -> None:
        server = await a_server(*(f"n{number}" for number in range(1_200)))
        async with following(server) as scene:
            await scene.settled()
            assert scene.witness.calls == 3

    play(story)
