"""An API server of one kind in memory, behind the port ``Send``: lists, pages, watches, and every fault of them.

It keeps the history of all changes, so a watch may begin at any version that is not compacted. Time is the loop's:
run it on virtual time. What goes wrong is decided by ``trouble``, which tests set or draw from a seed.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import NamedTuple

from growth.kube.errors import Unreachable
from growth.kube.transport import Request, Response
from tests.builders import Json, a_bookmark, a_list, a_node, a_status, uid_of
from tests.kube.scripted import no

BOOKMARK_SECONDS = 60.0


class Event(NamedTuple):
    """A line of a watch."""

    version: int
    type: str
    object: Json

    @property
    def line(self) -> bytes:
        """As Go writes it."""
        return json.dumps({"type": self.type, "object": self.object}, separators=(",", ":")).encode()


class Trouble(NamedTuple):
    """What happens to one stream after ``after_lines`` lines of it; the default is nothing, ever."""

    after_lines: int = 1 << 60
    error: Exception | None = None
    """Raised as the transport would."""
    line: Json | None = None
    """A Status sent as an ERROR line, after which the stream ends."""
    is_silent: bool = False
    """Nothing comes any more, until the reader's patience ends."""
    answer: Response | None = None
    """The whole answer instead of a stream."""


NO_TROUBLE = Trouble()


class FakeServer:
    """Nodes, their history, and who watches them."""

    def __init__(self, *, streams_lists: bool = True, page_size: int | None = None) -> None:
        self.nodes: dict[str, Json] = {}
        self.version = 100
        self.requests: list[Request] = []
        self.trouble: Callable[[Request], Trouble] = lambda _: NO_TROUBLE
        self.batch_size: Callable[[], int] = lambda: 1 << 60
        self._streams_lists = streams_lists
        self._page_size = page_size
        self._history: list[Event] = []
        self._compacted = 0
        self._pages: dict[str, tuple[int, list[Json]]] = {}
        self._changed = asyncio.Condition()
        self._deaths = 0
        self.open_streams = 0

    # What tests do to it.

    async def put(self, name: str) -> str:
        """Make or change a node; gives its uid."""
        known = self.nodes.get(name)
        uid = known["metadata"]["uid"] if known else uid_of(name, self.version)
        node = a_node(name, uid=uid, version=self.version + 1)
        await self._happen("MODIFIED" if known else "ADDED", node)
        self.nodes[name] = node
        return uid

    async def delete(self, name: str) -> None:
        """Remove a node."""
        node = self.nodes.pop(name)
        last = {**node, "metadata": {**node["metadata"], "resourceVersion": str(self.version + 1)}}
        await self._happen("DELETED", last)

    def compact(self) -> None:
        """Forget history: nobody can go on from a version before this one."""
        self._compacted = self.version
        self._history.clear()
        self._pages.clear()

    def restore(self, version: int) -> None:
        """Come back from a backup whose version was lower; what lives lives under it."""
        self.version = version
        self.compact()

    async def hang_up(self) -> None:
        """Break all connections, as a server does that is killed."""
        self._deaths += 1
        async with self._changed:
            self._changed.notify_all()

    def stutter(self) -> None:
        """Tell the last change again to all who watch, under the same version."""
        last = self._history[-1]
        self.version += 1
        self._history.append(Event(self.version, "MODIFIED", last.object))

    async def _happen(self, what: str, node: Json) -> None:
        self.version += 1
        self._history.append(Event(self.version, what, node))
        async with self._changed:
            self._changed.notify_all()

    @property
    def picture(self) -> dict[str, int]:
        """What is there: versions by uid."""
        return {node["metadata"]["uid"]: int(node["metadata"]["resourceVersion"]) for node in self.nodes.values()}

    @property
    def watches(self) -> list[dict[str, str]]:
        """The queries of all streams that were asked for."""
        return [query for query in map(_query, self.requests) if "watch" in query]

    @property
    def lists(self) -> list[dict[str, str]]:
        """The queries of all pages that were asked for."""
        return [query for query in map(_query, self.requests) if "watch" not in query]

    # The port.

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        await asyncio.sleep(0.001)
        trouble = self.trouble(request)
        if trouble.error:
            raise trouble.error
        return trouble.answer or self._page(_query(request))

    def _page(self, query: Mapping[str, str]) -> Response:
        token = query.get("continue")
        if token is not None and token not in self._pages:
            return no(410, "Expired", "The provided continue parameter is too old")
        version, rest = self._pages[token] if token else (self.version, list(self.nodes.values()))
        size = self._page_size or int(query["limit"])
        next_page = ""
        if rest[size:]:
            next_page = f"{version}-{len(rest) - size}"
            self._pages[next_page] = (version, rest[size:])
        return Response(200, json.dumps(a_list(rest[:size], version=version, next_page=next_page)).encode())

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator["FakeStream"]:
        self.requests.append(request)
        await asyncio.sleep(0.001)
        trouble = self.trouble(request)
        if trouble.error and not trouble.after_lines:
            raise trouble.error
        refused = trouble.answer or self._refusal(_query(request))
        self.open_streams += 1
        try:
            yield FakeStream(refused or Response(200, b""), self._batches(request, trouble))
        finally:
            self.open_streams -= 1

    def _refusal(self, query: Mapping[str, str]) -> Response | None:
        if "sendInitialEvents" in query:
            return None if self._streams_lists else no(422, "Invalid", "sendInitialEvents is forbidden for watch")
        if int(query["resourceVersion"]) > self.version:
            return no(
                504, "Timeout", f"Too large resource version: {query['resourceVersion']}, current: {self.version}"
            )
        return None

    async def _batches(self, request: Request, trouble: Trouble) -> AsyncGenerator[list[bytes]]:
        batch: list[bytes] = []
        left = trouble.after_lines
        if left:
            async with aclosing(self._events(request)) as events:
                async for event in events:
                    if event is not None:
                        left -= 1
                        batch.append(event.line)
                    if left == 0:
                        break
                    if batch and (event is None or len(batch) >= self.batch_size()):
                        yield batch
                        batch = []
        if trouble.line:
            batch.append(Event(0, "ERROR", trouble.line).line)
        if batch:
            yield batch
        if left > 0:
            return
        if trouble.is_silent:
            await asyncio.sleep(request.timeout_seconds)
            raise Unreachable("silence", sent=True)
        if trouble.error:
            raise trouble.error

    async def _events(self, request: Request) -> AsyncGenerator[Event | None]:
        """All that a watch tells, None wherever it has to wait for more."""
        query, deaths = _query(request), self._deaths
        ends = self.clock() + int(query["timeoutSeconds"])
        if "sendInitialEvents" in query:
            version = self.version
            for node in list(self.nodes.values()):
                yield Event(version, "ADDED", node)
            yield Event(version, "BOOKMARK", a_bookmark(version, kind="Node", ends_initial_events=True))
        else:
            version = int(query["resourceVersion"])
        while True:
            if version < self._compacted:
                yield Event(0, "ERROR", a_status(410, "Expired", f"too old resource version: {version}"))
                return
            for event in [known for known in self._history if known.version > version]:
                version = event.version
                yield event
            yield None
            try:
                async with asyncio.timeout(min(BOOKMARK_SECONDS, ends - self.clock())), self._changed:
                    await self._changed.wait_for(lambda: self._is_news(version) or self._deaths > deaths)  # noqa: B023
                if self._deaths > deaths:
                    raise Unreachable("the connection broke", sent=True)
            except TimeoutError:
                if self.clock() >= ends:
                    return
                version = max(version, self.version)
                yield Event(version, "BOOKMARK", a_bookmark(version, kind="Node"))

    def _is_news(self, version: int) -> bool:
        return self._compacted > version or bool(self._history and self._history[-1].version > version)

    def clock(self) -> float:
        return asyncio.get_running_loop().time()

    async def close(self) -> None:
        return


class FakeStream:
    """An open answer of the fake server."""

    def __init__(self, response: Response, batches: AsyncGenerator[list[bytes]]) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._body = response.body
        self._batches = batches

    def batches(self) -> AsyncGenerator[list[bytes]]:
        return self._batches

    async def body(self) -> bytes:
        return self._body


def _query(request: Request) -> dict[str, str]:
    return dict(request.query)
