"""A write whose lease has run out never reaches the server, whatever it had to wait for on the way."""

import asyncio

import msgspec
import pytest
from aiohttp import web

from growth.kube.credentials import RequestCredentials
from growth.kube.errors import Fenced
from growth.kube.http import HttpSend
from growth.kube.transport import Method, Request
from tests.kube.http_server import Caller, RudeServer, an_access, serving, whole

WRITES = [
    pytest.param(Request(method, "/x", body=body), id=f"{method} {'with' if body else 'without'} a body")
    for method in (Method.POST, Method.PUT, Method.PATCH, Method.DELETE)
    for body in (b'{"some": "body"}', b"")
]
# Long enough for a busy machine to get going, short enough to wait for.
LEASE_SECONDS = 0.2


def until(request: Request, not_after: float) -> Request:
    return msgspec.structs.replace(request, not_after=not_after)


async def fenced(send: HttpSend, request: Request) -> None:
    with pytest.raises(Fenced) as raised:
        await send.send(request)
    assert str(raised.value) == f"{request.method} /x was not sent: the leader's lease ran out"


async def pass_by(send: HttpSend, not_after: float) -> None:
    await asyncio.sleep(not_after - send.clock() + 0.02)
    assert send.clock() >= not_after


async def read_all(caller: Caller) -> None:
    await caller.read_to_the_end()


@pytest.mark.parametrize("request_", WRITES)
async def test_a_write_that_is_late_before_it_begins_leaves_no_byte(request_: Request) -> None:
    server = RudeServer(read_all)
    async with server.serving() as port:
        send = HttpSend(an_access(port))
        await fenced(send, until(request_, send.clock()))
        await send.close()
    assert b"".join(server.received) == b""


@pytest.mark.parametrize("request_", WRITES)
async def test_a_write_in_time_passes(request_: Request) -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    async with serving(handler) as port:
        send = HttpSend(an_access(port))
        assert (await send.send(until(request_, send.clock() + 60))).body == request_.body
        await send.close()


async def test_a_write_that_waited_for_a_slot_too_long_is_not_sent() -> None:
    holding, let_go, seen = asyncio.Event(), asyncio.Event(), list[str]()

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.method)
        holding.set()
        await let_go.wait()
        return web.Response()

    async with serving(handler) as port:
        send = HttpSend(an_access(port), max_concurrent_requests=1)
        first = asyncio.create_task(send.send(Request(Method.GET, "/x")))
        await holding.wait()
        not_after = send.clock() + LEASE_SECONDS
        second = asyncio.create_task(fenced(send, until(Request(Method.DELETE, "/x"), not_after)))
        await pass_by(send, not_after)
        let_go.set()
        await first
        await second
        await send.close()
    assert seen == ["GET"]


async def test_a_write_whose_handshake_took_too_long_is_not_sent() -> None:
    server = RudeServer(read_all)
    async with server.listening(start=False) as (listener, port):
        send = HttpSend(an_access(port))
        not_after = send.clock() + LEASE_SECONDS
        late = asyncio.create_task(fenced(send, until(Request(Method.POST, "/x", body=b"{}"), not_after)))
        await pass_by(send, not_after)
        await listener.start_serving()
        await late
        await send.close()
    assert len(server.received) == 1
    assert b"".join(server.received) == b""


async def test_a_write_whose_credentials_took_too_long_is_not_sent() -> None:
    class SlowKeys:
        async def current(self) -> RequestCredentials:
            await pass_by(send, not_after)
            return RequestCredentials()

        def refuse(self, presented: RequestCredentials | None = None) -> None:
            raise AssertionError(f"{presented} was never shown")

    server = RudeServer(read_all)
    async with server.serving() as port:
        send = HttpSend(an_access(port, credentials=SlowKeys()))
        not_after = send.clock() + LEASE_SECONDS
        await fenced(send, until(Request(Method.POST, "/x", body=b"{}"), not_after))
        await send.close()
    assert b"".join(server.received) == b""


async def test_a_write_that_is_repeated_with_fresh_credentials_passes_the_fence_again() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.method)
        await pass_by(send, not_after)
        return web.Response(status=401)

    async with serving(handler) as port:
        send = HttpSend(an_access(port))
        not_after = send.clock() + 1
        await fenced(send, until(Request(Method.POST, "/x", body=b"{}"), not_after))
        await send.close()
    assert seen == ["POST"]


async def test_a_fenced_write_spoils_nothing_for_the_next() -> None:
    async def answer_all(caller: Caller) -> None:
        while True:
            await caller.read_request()
            await caller.say(whole(b"done"))

    server = RudeServer(answer_all, answer_all)
    async with server.serving() as port:
        send = HttpSend(an_access(port), max_concurrent_requests=1)
        await send.send(Request(Method.GET, "/x"))
        await fenced(send, until(Request(Method.DELETE, "/x"), send.clock()))
        assert (await send.send(until(Request(Method.POST, "/x"), send.clock() + 60))).body == b"done"
        await send.close()
    assert server.requests == ["GET /x HTTP/1.1", "POST /x HTTP/1.1"]
