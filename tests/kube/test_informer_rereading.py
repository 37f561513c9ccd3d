"""Who must know how things are now has a picture read anew, whatever its watch is doing."""

import asyncio

from tests.kube.fake_server import Trouble
from tests.kube.test_informer import ADDED, Scene, a_server, play


def test_who_cannot_wait_for_missing_bookmarks_has_it_read_anew_and_only_the_difference_is_told() -> None:
    async def story() -> None:
        server = await a_server("a")
        scene = Scene(server)
        scene.next_streams(Trouble(after_lines=2, is_silent=True))  # the list of one, and the mark that ends it
        task = asyncio.create_task(scene.informer.run())
        await scene.settled()
        await server.put("b")
        await asyncio.gather(scene.informer.reread(), scene.informer.reread())
        assert server.clock() < 10
        assert scene.seen == server.picture
        assert scene.witness.told == [(ADDED, "a"), (ADDED, "b")]
        assert scene.informer.relists == 2
        await server.put("c")  # and the watch goes on
        await scene.settled()
        assert scene.informer.relists == 2
        task.cancel()

    play(story)


def test_a_list_that_was_begun_before_somebody_asked_for_one_is_none() -> None:
    async def story() -> None:
        server = await a_server("a")
        scene = Scene(server)
        scene.next_streams(Trouble(after_lines=1, is_silent=True))  # in the middle of the list
        task = asyncio.create_task(scene.informer.run())
        await asyncio.sleep(1)
        assert not scene.informer.synced.is_set()
        await scene.informer.reread()
        assert server.clock() < 10
        assert scene.seen == server.picture
        task.cancel()

    play(story)
