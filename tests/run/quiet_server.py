"""A server that lists what it was given and then says nothing but bookmarks; enough for whoever only watches."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from growth.kube.transport import Request, Response
from tests.builders import a_bookmark, a_node
from tests.kube.scripted import ScriptedStream, no


class QuietServer:
    """Nodes and nothing else. The watch of a kind in ``stuck`` neither goes on nor ends, whatever the patience."""

    def __init__(self, nodes: int = 0, *, bookmark_seconds: float = 3_600, stuck: str = "") -> None:
        self.nodes = [a_node(f"node-{number}") for number in range(nodes)]
        self._bookmark_seconds = bookmark_seconds
        self._stuck = stuck

    async def send(self, request: Request) -> Response:  # noqa: ARG002 - nothing but streams is asked for
        return no(404, "NotFound")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ScriptedStream]:
        objects = self.nodes if request.path.endswith("/nodes") else []
        lines = [json.dumps({"type": "ADDED", "object": node}).encode() for node in objects]
        seconds = 1e9 if self._stuck and request.path.endswith(self._stuck) else self._bookmark_seconds
        yield _Stream([*lines, _bookmark(ends_initial_events=True)], seconds)

    def clock(self) -> float:
        return asyncio.get_running_loop().time()

    async def close(self) -> None:
        pass


class _Stream(ScriptedStream):
    def __init__(self, lines: list[bytes], bookmark_seconds: float) -> None:
        super().__init__(Response(200, b""))
        self._lines = lines
        self._bookmark_seconds = bookmark_seconds

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        yield self._lines
        while True:
            await asyncio.sleep(self._bookmark_seconds)
            yield [_bookmark(ends_initial_events=False)]


def _bookmark(*, ends_initial_events: bool) -> bytes:
    mark = a_bookmark(7, ends_initial_events=ends_initial_events)
    return json.dumps({"type": "BOOKMARK", "object": mark}).encode()
