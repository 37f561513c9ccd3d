"""The HTTP door: ``running`` on the loop of whoever asks, ``serving`` on a thread with a loop of its own.

A blocking client cannot talk to a server on the loop that it blocks, so tests of blocking clients want ``serving``.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import msgspec
from aiohttp import web

from growth_lab.hetzner_sandbox.control_api import CONTROL, control
from growth_lab.hetzner_sandbox.messages import Answer, request_from
from growth_lab.hetzner_sandbox.routes import PREFIX
from growth_lab.hetzner_sandbox.sandbox import Sandbox

HOST: Final = "127.0.0.1"
_LARGEST_BODY: Final = 1024 * 1024
# A client that keeps its connection open must not keep us here.
_GOODBYE_SECONDS: Final = 0.1


class Gate:
    """What is under way at once: for those who measure it."""

    def __init__(self) -> None:
        self.now = self.most = 0

    @contextmanager
    def passing(self) -> Generator[None]:
        """One call, from its arrival to its answer."""
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            yield
        finally:
            self.now -= 1


class Door:
    """An open sandbox."""

    def __init__(self, sandbox: Sandbox, port: int) -> None:
        self.sandbox, self.port, self.gate = sandbox, port, Gate()

    @property
    def endpoint(self) -> str:
        """What clients must be told: ``HCLOUD_ENDPOINT``."""
        return f"http://{HOST}:{self.port}{PREFIX}"

    @property
    def control(self) -> str:
        """Where faults are ordered."""
        return f"http://{HOST}:{self.port}{CONTROL}"


@asynccontextmanager
async def running(sandbox: Sandbox, port: int = 0) -> AsyncGenerator[Door]:
    """Serve on this loop; a port of 0 is any that is free. Raises OSError."""
    door = Door(sandbox, port)

    async def handle(incoming: web.Request) -> web.StreamResponse:
        with door.gate.passing():
            return await _handled(sandbox, incoming)

    application = web.Application(client_max_size=_LARGEST_BODY)
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=_GOODBYE_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port, reuse_address=True).start()
        door.port = int(runner.addresses[0][1])
        yield door
    finally:
        await runner.cleanup()


async def _handled(sandbox: Sandbox, incoming: web.Request) -> web.StreamResponse:
    authorization = incoming.headers.get("Authorization", "")
    request = request_from(incoming.method, incoming.path_qs, authorization, await incoming.read())
    is_control = request.path == CONTROL or request.path.startswith(f"{CONTROL}/")
    answer = control(sandbox, request) if is_control else sandbox.answer(request)
    if answer.delay_seconds:
        await asyncio.sleep(answer.delay_seconds)
    if answer.is_lost and incoming.transport:
        incoming.transport.abort()
    return _response(answer)


def _response(answer: Answer) -> web.Response:
    headers = dict(answer.headers)
    if answer.body is None:
        return web.Response(status=answer.status or 500, headers=headers)
    if isinstance(answer.body, str):
        return web.Response(status=answer.status, headers=headers, text=answer.body, content_type="text/html")
    body = msgspec.json.encode(answer.body)
    return web.Response(status=answer.status, headers=headers, body=body, content_type="application/json")


@contextmanager
def serving(sandbox: Sandbox, port: int = 0) -> Generator[Door]:
    """Serve on a thread of its own until the context ends. Raises OSError."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="hetzner sandbox", daemon=True)
    thread.start()
    context = running(sandbox, port)
    try:
        door = asyncio.run_coroutine_threadsafe(context.__aenter__(), loop).result()
        try:
            yield door
        finally:
            asyncio.run_coroutine_threadsafe(context.__aexit__(None, None, None), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
