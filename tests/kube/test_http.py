"""``HttpSend`` against real servers with real TLS: what is sent how often, and how trouble is told."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from growth.kube.access import Access
from growth.kube.certificates import ClientCertificate
from growth.kube.credentials import RequestCredentials
from growth.kube.errors import Unreachable, Untrusted
from growth.kube.http import HttpSend
from growth.kube.transport import Method, Request, Response
from tests.kube.http_server import AUTHORITY, Caller, Keyring, RudeServer, an_access, chunks, serving, whole
from tests.kube.kubeconfigs import a_certificate

READ = Request(Method.GET, "/api/v1/nodes/n1")
WRITES = [
    Request(method, "/api/v1/nodes/n1", body=b'{"some": "body"}')
    for method in (Method.POST, Method.PUT, Method.PATCH, Method.DELETE)
]
EVERY_METHOD = pytest.mark.parametrize("request_", [READ, *WRITES], ids=lambda request: request.method)
EVERY_WRITE = pytest.mark.parametrize("request_", WRITES, ids=lambda request: request.method)


@asynccontextmanager
async def sending(access: Access, *, max_concurrent_requests: int = 64) -> AsyncGenerator[HttpSend]:
    send = HttpSend(access, max_concurrent_requests=max_concurrent_requests)
    try:
        yield send
    finally:
        await send.close()


async def trouble(send: HttpSend, request: Request) -> Unreachable:
    """How a request fails, told in one sentence."""
    with pytest.raises(Unreachable) as raised:
        await send.send(request)
    sentence = str(raised.value)
    assert sentence.startswith("the API server at https://")
    assert "(a test)" in sentence
    assert "\n" not in sentence
    return raised.value


async def echo(request: web.Request) -> web.Response:
    """Tells what arrived."""
    told = [request.method, request.path_qs, request.headers.get("Content-Type", ""), (await request.read()).decode()]
    return web.Response(text="|".join(told), headers={"X-Word": "Yes"})


@EVERY_METHOD
async def test_a_request_arrives_whole_and_its_answer_comes_back_whole(request_: Request) -> None:
    async with serving(echo) as port, sending(an_access(port)) as send:
        answer = await send.send(request_)
    body = request_.body.decode() if request_.writes else ""
    assert (answer.status, answer.headers["x-word"]) == (200, "Yes")
    assert answer.body.decode() == f"{request_.method}|/api/v1/nodes/n1|application/json|{body}"


async def test_selectors_and_tokens_survive_the_way_through_the_query() -> None:
    wished = {"labelSelector": "a in (b,c),!d,e!=f+g", "continue": "eyJ2IjoibWV0YSJ9/+==", "fieldSelector": "x=ä &y"}

    async def told(request: web.Request) -> web.Response:
        return web.json_response(dict(request.query))

    async with serving(told) as port, sending(an_access(port)) as send:
        answer = await send.send(Request(Method.GET, "/api/v1/pods", tuple(wished.items())))
    assert answer.body == web.json_response(wished).body


async def test_refused_credentials_are_renewed_once_and_the_request_is_sent_again() -> None:
    old, new = (RequestCredentials({"Authorization": f"Bearer {token}"}) for token in ("old", "new"))
    keyring = Keyring(old, new)
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(status=200 if seen[-1] == "Bearer new" else 401, body=await request.read())

    async with serving(handler) as port, sending(an_access(port, credentials=keyring)) as send:
        answer = await send.send(WRITES[0])
    assert (answer.status, answer.body) == (200, WRITES[0].body)
    assert seen == ["Bearer old", "Bearer new"]
    assert keyring.refused == [old]


async def test_credentials_that_are_refused_again_are_not_tried_a_third_time() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.method)
        return web.Response(status=401, text="no")

    keyring = Keyring(RequestCredentials())
    async with serving(handler) as port, sending(an_access(port, credentials=keyring)) as send:
        answer = await send.send(READ)
    assert (answer.status, answer.body) == (401, b"no")
    assert seen == ["GET", "GET"]


async def test_a_redirect_is_not_followed() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.Response(status=307, headers={"Location": "/elsewhere"})

    async with serving(handler) as port, sending(an_access(port)) as send:
        assert (await send.send(WRITES[0])).status == 307
    assert seen == ["/api/v1/nodes/n1"]


@EVERY_METHOD
async def test_a_server_of_an_unknown_ca_is_not_trusted(request_: Request) -> None:
    async with serving(echo) as port, sending(an_access(port, ca=a_certificate("another-ca"))) as send:
        error = await trouble(send, request_)
    assert isinstance(error, Untrusted)
    assert not error.sent
    assert str(error) == (
        f"the API server at https://127.0.0.1:{port} (a test) cannot be trusted, check the CA: "
        "unable to get local issuer certificate"
    )


async def test_a_server_of_another_name_is_not_trusted() -> None:
    async with serving(echo) as port, sending(an_access(port, host="localhost")) as send:
        error = await trouble(send, READ)
    assert isinstance(error, Untrusted)
    assert "localhost" in str(error).partition("check the CA")[2]


@EVERY_METHOD
async def test_a_refused_connection_was_never_sent(request_: Request) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    async with sending(an_access(port)) as send:
        error = await trouble(send, request_)
    assert not error.sent
    assert "no connection" in str(error)


async def test_a_name_that_does_not_resolve_was_never_sent() -> None:
    async with sending(an_access(443, host="no-such-host.invalid")) as send:
        error = await trouble(send, READ)
    assert not error.sent
    assert "its name does not resolve" in str(error)


async def test_a_server_without_tls_was_never_sent_anything() -> None:
    async def talk_http(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk_http, "127.0.0.1", 0)
    async with server, sending(an_access(server.sockets[0].getsockname()[1])) as send:
        error = await trouble(send, WRITES[0])
    assert not error.sent
    assert "no TLS connection" in str(error)


@EVERY_WRITE
async def test_a_server_that_takes_the_connection_and_then_says_nothing_was_never_sent_anything(
    request_: Request,
) -> None:
    silent = asyncio.Event()

    async def say_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.wait()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with server, sending(an_access(server.sockets[0].getsockname()[1])) as send:
        error = await trouble(send, _within(request_, 0.2))
        silent.set()
    assert not error.sent
    assert "it did not answer in time" in str(error)


@EVERY_METHOD
async def test_a_server_that_reads_and_does_not_answer_in_time_may_have_acted(request_: Request) -> None:
    async def answer_once_then_ponder(caller: Caller) -> None:
        await caller.read_request()
        await caller.say(whole(b"first"))
        await caller.read_to_the_end()

    async with RudeServer(answer_once_then_ponder).serving() as port, sending(an_access(port)) as send:
        await send.send(READ)  # so that the time runs out after the handshake even on a busy machine
        error = await trouble(send, _within(request_, 0.2))
    assert error.sent
    assert "it did not answer in time" in str(error)


@EVERY_METHOD
async def test_a_connection_that_breaks_before_the_answer_is_told_and_not_repeated(request_: Request) -> None:
    """aiohttp would repeat GET, PUT and DELETE by itself; whether that is safe is not its business."""

    async def vanish(caller: Caller) -> None:
        await caller.read_request()
        caller.hang_up()

    server = RudeServer(vanish, vanish)
    async with server.serving() as port, sending(an_access(port)) as send:
        error = await trouble(send, request_)
    assert error.sent
    assert "the connection broke" in str(error)
    assert server.requests == [f"{request_.method} /api/v1/nodes/n1 HTTP/1.1"]


@EVERY_METHOD
async def test_a_kept_connection_that_breaks_is_told_and_not_repeated(request_: Request) -> None:
    async def answer_once_then_vanish(caller: Caller) -> None:
        await caller.read_request()
        await caller.say(whole(b"first"))
        await caller.read_request()
        caller.hang_up()

    server = RudeServer(answer_once_then_vanish, answer_once_then_vanish)
    async with server.serving() as port, sending(an_access(port)) as send:
        assert (await send.send(READ)).body == b"first"
        assert (await trouble(send, request_)).sent
    assert len(server.received) == 1
    assert bytes(server.received[0]).count(b" HTTP/1.1\r\n") == 2


@EVERY_WRITE
async def test_a_server_that_dies_with_the_request_in_its_hands_may_have_acted(request_: Request) -> None:
    """The second try of a library would be refused, and a refused connection looks as if nothing had been sent."""

    async def die(caller: Caller) -> None:
        await caller.read_request()
        closing.set()
        await closed.wait()
        caller.hang_up()

    closing, closed = asyncio.Event(), asyncio.Event()
    server = RudeServer(die)
    async with server.listening() as (listener, port), sending(an_access(port)) as send:
        asked = asyncio.create_task(trouble(send, request_))
        await closing.wait()
        listener.close()
        closed.set()
        assert (await asked).sent


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([whole(b"0123456789")[:-3]], id="in a body of known length"),
        pytest.param(chunks(b"0123456789"), id="in a body of chunks"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Le"], id="in the headers"),
    ],
)
async def test_half_an_answer_is_no_answer(answer: list[bytes]) -> None:
    async def stop_in_the_middle(caller: Caller) -> None:
        await caller.read_request()
        await caller.say(*answer)
        caller.hang_up()

    async with RudeServer(stop_in_the_middle).serving() as port, sending(an_access(port)) as send:
        assert (await trouble(send, WRITES[0])).sent


async def test_no_more_requests_are_under_way_than_allowed_and_all_are_answered() -> None:
    under_way = most = 0

    async def handler(_: web.Request) -> web.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return web.Response()

    async with serving(handler) as port, sending(an_access(port), max_concurrent_requests=3) as send:
        answers = await asyncio.gather(*(send.send(READ) for _ in range(12)))
    assert [answer.status for answer in answers] == [200] * 12
    assert most == 3


async def test_a_request_that_is_given_up_makes_room_for_the_next() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/slow":
            await asyncio.sleep(60)
        return web.Response()

    async with serving(handler) as port, sending(an_access(port), max_concurrent_requests=1) as send:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await send.send(Request(Method.GET, "/slow"))
        assert (await send.send(READ)).status == 200


async def test_a_renewed_client_certificate_is_shown_in_a_new_handshake() -> None:
    pairs = [a_certificate(name, issuer=AUTHORITY) for name in ("alice", "bob")]
    keyring = Keyring(*(RequestCredentials(certificate=ClientCertificate(pair.pem, pair.key_pem)) for pair in pairs))
    connections: set[object] = set()

    async def handler(request: web.Request) -> web.Response:
        connections.add(request.transport)
        return web.Response()

    async with serving(handler) as port, sending(an_access(port, credentials=keyring)) as send:
        for _ in range(2):
            await send.send(READ)
        assert len(connections) == 1
        keyring.refuse()
        assert (await send.send(READ)) == Response(200, b"", (await send.send(READ)).headers)
        assert len(connections) == 2


def _within(request: Request, seconds: float) -> Request:
    return Request(request.method, request.path, body=request.body, timeout_seconds=seconds)
