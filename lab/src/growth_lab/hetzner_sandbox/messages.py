"""Requests and answers of the HTTP API as values, so that everything behind the socket can be tested without one."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from growth.api.meta import FrozenValue


class Request(FrozenValue, frozen=True):
    """One call. ``path`` is all of it, ``/v1`` included."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    token: str | None = None
    body: bytes = b""

    def values(self, name: str) -> tuple[str, ...]:
        """All values of a query parameter: most may stand there several times."""
        return tuple(value for key, value in self.query if key == name)

    def value(self, name: str) -> str | None:
        """The last value of a query parameter."""
        return next(iter(self.values(name)[::-1]), None)


class Answer(FrozenValue, frozen=True):
    """What goes back. ``body`` is JSON, a text that is none, or nothing."""

    status: int = 200
    body: Mapping[str, Any] | str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    delay_seconds: float = 0.0
    """How long it is held back after the work was done."""

    is_lost: bool = False
    """The connection is closed instead."""


def request_from(method: str, url: str, authorization: str = "", body: bytes = b"") -> Request:
    """Read what a client sent; ``authorization`` is the header of that name."""
    parts = urlsplit(url)
    scheme, _, token = authorization.partition(" ")
    return Request(
        method=method.upper(),
        path=parts.path,
        query=tuple(parse_qsl(parts.query, keep_blank_values=True)),
        token=token.strip() if scheme.lower() == "bearer" else None,
        body=body,
    )
