"""The lines of a watch, whatever the network does to them."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from growth.kube.credentials import RequestCredentials
from growth.kube.errors import Unreachable
from growth.kube.http import HttpSend, HttpStream
from growth.kube.transport import Method, Request
from growth_lab.simulator.virtual_loop import run_virtually
from tests.kube.http_server import Caller, Keyring, RudeServer, an_access, chunks, serving

WATCH = Request(Method.GET, "/api/v1/pods", (("watch", "true"),))


class Cut(SimpleNamespace):
    """What ``HttpStream`` reads of an answer: its content, in pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        async def iter_any() -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece

        super().__init__(content=SimpleNamespace(iter_any=iter_any))


async def follow(send: HttpSend, request: Request = WATCH, *, into: list[bytes]) -> None:
    """Read to the end of the stream, or to its trouble."""
    async with send.stream(request) as stream:
        async for batch in stream.batches():
            into += batch


def lines_of(pieces: list[bytes]) -> list[bytes]:
    async def reading() -> list[bytes]:
        batches = [batch async for batch in HttpStream(an_access(0), cast("Any", Cut(pieces))).batches()]
        assert all(batches), "a batch holds at least one line"
        return [line for batch in batches for line in batch]

    return run_virtually(reading())


@st.composite
def cut_lines(draw: st.DrawFn) -> tuple[list[bytes], bytes, list[bytes]]:
    """Lines, half a line after them, and all of it cut at any places."""
    line = st.binary(min_size=1, max_size=12).map(lambda raw: raw.replace(b"\n", b"."))
    lines = draw(st.lists(line, max_size=8))
    half = draw(st.one_of(st.just(b""), line))
    whole = b"".join(one + b"\n" for one in lines) + half
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(whole) - 1)), max_size=len(whole))))
    return lines, half, [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@given(cut_lines())
def test_lines_come_out_whole_however_they_were_cut_and_half_a_line_does_not(
    cut: tuple[list[bytes], bytes, list[bytes]],
) -> None:
    lines, _, pieces = cut
    assert lines_of([piece for piece in pieces if piece]) == lines


def test_a_line_of_megabytes_in_small_pieces_comes_out_whole() -> None:
    line = bytes(range(32, 127)) * 30_000
    pieces = [line[start : start + 16_384] for start in range(0, len(line), 16_384)]
    assert lines_of([*pieces, b"\n", b"next\n"]) == [line, b"next"]


async def test_lines_arrive_as_they_are_written_and_the_end_of_the_stream_ends_them() -> None:
    read_first = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"one\ntwo\nth")
        await read_first.wait()
        await answer.write(b"ree\nhalf")
        return answer

    async with serving(handler) as port:
        send = HttpSend(an_access(port))
        batches: list[list[bytes]] = []
        async with send.stream(WATCH) as stream:
            assert stream.status == 200
            async for batch in stream.batches():
                batches.append(batch)
                read_first.set()
        await send.close()
    assert batches == [[b"one", b"two"], [b"three"]]


async def test_a_stream_that_breaks_says_so_after_its_last_line() -> None:
    async def break_off(caller: Caller) -> None:
        await caller.read_request()
        await caller.say(*chunks(b"one\n", b"tw"))
        caller.hang_up()

    async with RudeServer(break_off).serving() as port:
        send = HttpSend(an_access(port))
        lines: list[bytes] = []
        with pytest.raises(Unreachable, match="the connection broke"):
            await follow(send, into=lines)
        await send.close()
    assert lines == [b"one"]


async def test_a_silent_stream_counts_as_broken_after_its_time_and_a_slow_one_does_not() -> None:
    async def speak_twice_and_fall_silent(caller: Caller) -> None:
        await caller.read_request()
        head, one, two = chunks(b"one\n", b"two\n")
        await caller.say(head, one)
        await asyncio.sleep(0.3)
        await caller.say(two)
        await caller.read_to_the_end()

    async with RudeServer(speak_twice_and_fall_silent).serving() as port:
        send = HttpSend(an_access(port))
        lines: list[bytes] = []
        with pytest.raises(Unreachable, match="it did not answer in time"):
            await follow(send, Request(Method.GET, "/x", timeout_seconds=2), into=lines)
        await send.close()
    assert lines == [b"one", b"two"]


async def test_watches_take_no_slots() -> None:
    began, both_began, let_go = 0, asyncio.Event(), asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        nonlocal began
        if "watch" in request.query:
            began += 1
            if began == 2:
                both_began.set()
            await let_go.wait()
        return web.Response(text="line\n")

    async with serving(handler) as port:
        send = HttpSend(an_access(port), max_concurrent_requests=1)
        lines: list[bytes] = []
        watches = asyncio.gather(*(follow(send, into=lines) for _ in range(2)))
        await both_began.wait()
        assert (await send.send(Request(Method.GET, "/x"))).status == 200
        let_go.set()
        await watches
        await send.close()
    assert lines == [b"line"] * 2


async def test_a_stream_renews_refused_credentials_once() -> None:
    keyring = Keyring(*(RequestCredentials({"Authorization": f"Bearer {token}"}) for token in ("old", "new")))

    async def handler(request: web.Request) -> web.Response:
        good = request.headers["Authorization"] == "Bearer new"
        return web.Response(status=200 if good else 401, text="line\n")

    async with serving(handler) as port:
        send = HttpSend(an_access(port, credentials=keyring))
        async with send.stream(WATCH) as stream:
            assert [batch async for batch in stream.batches()] == [[b"line"]]
        await send.close()
    assert len(keyring.refused) == 1


async def test_the_body_of_a_refused_stream_can_be_read() -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=410, text="too old")

    async with serving(handler) as port:
        send = HttpSend(an_access(port))
        async with send.stream(WATCH) as stream:
            assert (stream.status, await stream.body()) == (410, b"too old")
        await send.close()


@pytest.mark.parametrize("error", [TimeoutError("mine"), OSError("mine"), ValueError("mine")], ids=repr)
async def test_what_a_caller_raises_inside_a_stream_stays_its_own(error: Exception) -> None:
    async def handler(_: web.Request) -> web.Response:
        return web.Response(text="line\n")

    async with serving(handler) as port:
        send = HttpSend(an_access(port))
        with pytest.raises(type(error)) as raised:
            async with send.stream(WATCH):
                raise error
        assert raised.value is error
        await send.close()


async def test_a_stream_that_is_cancelled_hangs_up() -> None:
    hung_up, reading = asyncio.Event(), asyncio.Event()

    async def speak_and_listen(caller: Caller) -> None:
        await caller.read_request()
        await caller.say(*chunks(b"line\n"))
        await caller.read_to_the_end()
        hung_up.set()

    async def follow_for_ever() -> None:
        async with send.stream(WATCH) as stream:
            async for _ in stream.batches():
                reading.set()

    async with RudeServer(speak_and_listen).serving() as port:
        send = HttpSend(an_access(port))
        following = asyncio.create_task(follow_for_ever())
        await reading.wait()
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        async with asyncio.timeout(5):
            await hung_up.wait()
        await send.close()


async def test_closing_cuts_streams_and_leaves_no_warning_behind() -> None:
    reading = asyncio.Event()

    async def speak_and_listen(caller: Caller) -> None:
        await caller.read_request()
        await caller.say(*chunks(b"line\n"))
        await caller.read_to_the_end()

    async def follow_for_ever() -> None:
        async with send.stream(WATCH) as stream:
            async for _ in stream.batches():
                reading.set()

    async with RudeServer(speak_and_listen).serving() as port:
        send = HttpSend(an_access(port))
        following = asyncio.create_task(follow_for_ever())
        await reading.wait()
        await send.close()
        with pytest.raises(Unreachable):
            await following
