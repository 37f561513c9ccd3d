"""The seam: a request is a value, ``Send`` turns it into a response or into the lines of a watch.

Everything above (client, informer, lease, events) only makes requests and reads answers, so a virtual cluster that
implements these two methods runs all of it unchanged, retries and relists included.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import Protocol

import msgspec

Query = tuple[tuple[str, str], ...]


class Method(StrEnum):
    """The HTTP methods that the API server's verbs travel by."""

    GET = "GET"
    POST = "POST"
    PUT = "PUT"
    PATCH = "PATCH"
    DELETE = "DELETE"


class Request(msgspec.Struct, frozen=True):
    """One call on the API server.

    ``not_after`` is the fence: a reading of the sender's monotonic clock after which this request must not leave,
    because the lease that allowed it may by then belong to somebody else.
    """

    method: Method
    path: str
    query: Query = ()
    body: bytes = b""
    content_type: str = "application/json"
    timeout_seconds: float = 30.0
    not_after: float | None = None

    @property
    def writes(self) -> bool:
        """Whether this changes anything on the server."""
        return self.method is not Method.GET


class Response(msgspec.Struct, frozen=True):
    """A whole answer. Header names are lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


class Stream(Protocol):
    """An answer that goes on: the lines of a watch, in the batches in which they arrived."""

    @property
    def status(self) -> int:
        """The HTTP status; anything but 200 means that ``batches`` holds an error's body."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case."""
        ...

    def batches(self) -> AsyncGenerator[list[bytes]]:
        """Complete lines, at least one per batch; ends when the server ends the stream. Close it when you leave it."""
        ...

    async def body(self) -> bytes:
        """The whole rest, for an error's sake."""
        ...


class Send(Protocol):
    """The port: two ways to ask, and nothing else. Raises ``Unreachable`` when there is no answer at all."""

    async def send(self, request: Request) -> Response:
        """Send a request and wait for its whole answer, whatever its status."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send a request whose answer is read as it comes."""
        ...

    def clock(self) -> float:
        """The monotonic clock, in seconds, on which this sender reads ``Request.not_after``."""
        ...

    async def close(self) -> None:
        """Give back sockets and whatever else is held."""
        ...
