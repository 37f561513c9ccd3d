"""The client: Kubernetes' verbs as methods, on any ``Send``.

Every method builds a request value, sends it and reads the answer into our structs. Bodies to create are plain
mappings, because our structs are slim and would lose what they do not know.
"""

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar, cast

import msgspec

from growth.api.decoding import ListMeta, Reader, Unreadable
from growth.api.interning import InternTables
from growth.api.kinds import Kind
from growth.kube.access import Access
from growth.kube.errors import Gone, error_from
from growth.kube.http import HttpSend
from growth.kube.patches import Json, Patch
from growth.kube.retry import send_once, send_with_retries
from growth.kube.transport import Method, Query, Request, Response, Send, Stream

T = TypeVar("T")

# What fits into one page without holding up the event loop for more than a few milliseconds while it is read.
PAGE_SIZE: Final = 500
# A page token expires after about five minutes; a list that is this unlucky again and again has another problem.
_LIST_ATTEMPTS: Final = 3


class ListResult(msgspec.Struct, Generic[T], frozen=True):
    """All objects of a kind, and the version of the world that shows them: a watch from there has no gap."""

    items: list[T]
    resource_version: str
    unreadable: tuple[Unreadable, ...] = ()
    """Those of a tolerant kind that are there, and that we cannot read."""


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str


_VERSIONS: Final = msgspec.json.Decoder(_Version)


class Client:
    """One user's view of one API server."""

    def __init__(
        self,
        send: Send,
        *,
        sharing: InternTables | None = None,
        jitter: random.Random | None = None,
        fence: Callable[[], float] | None = None,
    ) -> None:
        self.transport = send
        self.sharing = InternTables() if sharing is None else sharing  # an empty one is falsy, and still the one to use
        self.jitter = jitter or random.Random()  # noqa: S311 - spreads load, keeps no secret
        self._fence = fence
        self._readers: dict[Kind[Any], Reader[Any]] = {}

    def fenced(self, fence: Callable[[], float]) -> "Client":
        """The same client, whose writes do not leave after ``fence()``, read anew for each on the sender's clock."""
        return Client(self.transport, sharing=self.sharing, jitter=self.jitter, fence=fence)

    @property
    def is_fenced_off(self) -> bool:
        """Whether no write would leave any more: for those who act elsewhere by the same right, as at a provider."""
        return self._fence is not None and self.transport.clock() >= self._fence()

    def reader(self, kind: Kind[T]) -> Reader[T]:
        """The reader of a kind; all readers of a client share what is equal."""
        reader = self._readers.get(kind)
        if reader is None:
            reader = self._readers[kind] = Reader(kind, self.sharing)
        return cast("Reader[T]", reader)

    async def get(self, kind: Kind[T], name: str, namespace: str = "") -> T:
        """One object."""
        response = await self.request(Request(Method.GET, kind.path(name, namespace)))
        return self.reader(kind).object(response.body)

    async def list(
        self, kind: Kind[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> "ListResult[T]":
        """All objects, as they were at one instant."""
        selectors = selector_query(label_selector, field_selector)
        for _ in range(_LIST_ATTEMPTS - 1):
            try:
                return await self._list_pages(kind, namespace, selectors)
            except Gone:  # the page token expired on the way; what we have is a torn picture
                continue
        return await self._list_pages(kind, namespace, selectors)

    async def _list_pages(self, kind: Kind[T], namespace: str, selectors: Query) -> "ListResult[T]":
        reader = self.reader(kind)
        items: list[T] = []
        unreadable: list[Unreadable] = []
        page = ListMeta()
        while True:
            token = (("continue", page.next_page),) if page.next_page else ()
            query = (("limit", str(PAGE_SIZE)), *token, *selectors)
            response = await self.request(Request(Method.GET, kind.collection(namespace), query, timeout_seconds=60))
            found, strangers, page = reader.page(response.body)
            items += found
            unreadable += strangers
            if not page.next_page:
                return ListResult(items, page.resource_version, tuple(unreadable))

    async def create(self, kind: Kind[T], body: Json, namespace: str = "") -> T:
        """Make an object; raises AlreadyExists."""
        request = Request(Method.POST, kind.collection(namespace), body=_manifest(kind, body))
        return self.reader(kind).object((await self.request(request)).body)

    async def patch(self, kind: Kind[T], name: str, patch: Patch, namespace: str = "", *, subresource: str = "") -> T:
        """Change a part of an object, or of its status or another subresource."""
        request = Request(
            Method.PATCH,
            kind.path(name, namespace, subresource),
            patch.query,
            patch.encode(),
            patch.content_type,
        )
        return self.reader(kind).object((await self.request(request)).body)

    async def delete(
        self,
        kind: Kind[Any],
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: int | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """Delete an object, if it is still the one (uid) and the version that was meant; raises NotFound, Conflict."""
        options = _delete_options(uid, resource_version, grace_seconds)
        await self.request(Request(Method.DELETE, kind.path(name, namespace), body=msgspec.json.encode(options)))

    async def evict(self, name: str, namespace: str, *, uid: str = "", grace_seconds: int | None = None) -> None:
        """Ask a pod to leave.

        TooManyRequests is a disruption budget's answer and comes back at once: waiting for a budget is a decision, not
        the door's business.
        """
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": _delete_options(uid, None, grace_seconds),
        }
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/eviction"
        await send_once(self.transport, self._behind_fence(Request(Method.POST, path, body=msgspec.json.encode(body))))

    async def server_version(self) -> str:
        """What the server calls itself, such as ``v1.36.3``. Everybody may ask, so it tells whether one is there."""
        response = await self.request(Request(Method.GET, "/version"))
        return _VERSIONS.decode(response.body).git_version

    async def request(self, request: Request) -> Response:
        """Any request, with the retries that are safe for it."""
        return await send_with_retries(self.transport, self._behind_fence(request), self.jitter)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        """An answer that is read as it comes; raises the typed error if it is none."""
        async with self.transport.stream(request) as stream:
            if stream.status >= 300:
                raise error_from(request, Response(stream.status, await stream.body(), stream.headers))
            yield stream

    def _behind_fence(self, request: Request) -> Request:
        if self._fence is None or not request.writes:
            return request
        return msgspec.structs.replace(request, not_after=self._fence())

    async def close(self) -> None:
        """Give back the sockets."""
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def connect(access: Access, *, max_concurrent_requests: int = 64) -> Client:
    """A client over HTTP. Nothing is sent before the first request."""
    return Client(HttpSend(access, max_concurrent_requests=max_concurrent_requests))


def selector_query(label_selector: str, field_selector: str) -> Query:
    """The query of a list or watch that is not meant for all objects."""
    labels = (("labelSelector", label_selector),) if label_selector else ()
    fields = (("fieldSelector", field_selector),) if field_selector else ()
    return (*labels, *fields)


def _manifest(kind: Kind[Any], body: Json) -> bytes:
    return msgspec.json.encode({"apiVersion": kind.api_version, "kind": kind.name, **body})


def _delete_options(uid: str, resource_version: int | None, grace_seconds: int | None) -> Json:
    preconditions = {
        **({"uid": uid} if uid else {}),
        **({"resourceVersion": str(resource_version)} if resource_version is not None else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        **({"preconditions": preconditions} if preconditions else {}),
        **({"gracePeriodSeconds": grace_seconds} if grace_seconds is not None else {}),
    }
