"""Who we are to the API server: what a request and a handshake carry.

A client asks ``current()`` before each request, so it must be cheap when nothing changed, and calls ``refuse()`` when
the server answered 401, so that whatever was rotated meanwhile is found. Exec plugins live in ``exec_plugin``;
everything that is simply there, in the kubeconfig or in files, is ``StaticCredentials``.
"""

import base64
import binascii
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import msgspec

from growth.kube.certificates import ClientCertificate, day
from growth.kube.errors import BadAccess

REREAD_SECONDS: Final = 60.0
"""Files are read again after this long even if they look unchanged: some network file systems report times late."""


class RequestCredentials(msgspec.Struct, frozen=True):
    """What one request shows the server: headers, and a certificate in the handshake below it."""

    headers: Mapping[str, str] = {}
    certificate: ClientCertificate | None = None

    def __repr__(self) -> str:
        return f"Presented(headers={sorted(self.headers)}, certificate={self.certificate!r})"  # names, never values


class Credentials(Protocol):
    """Something that knows what to present now."""

    async def current(self) -> RequestCredentials:
        """What to present; raises ``BadAccess`` when there is nothing valid."""
        ...

    def refuse(self, presented: RequestCredentials | None = None) -> None:
        """The server said 401: the next ``current()`` asks anew.

        With ``presented``, what the refused request carried: an answer that comes late does not throw away what was
        fetched since, so that twenty refused requests lead to one renewal.
        """
        ...


class StaticCredentials:
    """Credentials that are in the kubeconfig or in files: read at once, and again when a file changes.

    If reading again fails, what was read before stays in use until the server refuses it: a file that is missing for a
    moment, in the middle of a rotation, must not stop anything.
    """

    def __init__(
        self,
        read: Callable[[], RequestCredentials],
        files: Sequence[Path] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._files = tuple(files)
        self._monotonic = monotonic
        self._due = 0.0
        self._state: tuple[tuple[int, int, int], ...] = ()
        self._kept: RequestCredentials | None = self._renewed()

    async def current(self) -> RequestCredentials:
        """What was read, or reads now."""
        if self._kept is None:
            self._kept = self._renewed()
        elif self._files and (self._monotonic() >= self._due or self._look() != self._state):
            with suppress(BadAccess):
                self._kept = self._renewed()
        return self._kept

    def refuse(self, presented: RequestCredentials | None = None) -> None:
        """Read again, and check dates again, at the next request."""
        if presented is None or presented == self._kept:
            self._kept = None

    def _renewed(self) -> RequestCredentials:
        state = self._look()  # before reading: a change in between is then seen at the next request
        presented = self._read()
        self._state, self._due = state, self._monotonic() + REREAD_SECONDS
        return presented

    def _look(self) -> tuple[tuple[int, int, int], ...]:
        """What changes when a file is rewritten or, as kubelet does with tokens, replaced behind a link."""
        try:
            return tuple((found.st_mtime_ns, found.st_ino, found.st_size) for found in map(os.stat, self._files))
        except OSError:
            return ()


def anonymous() -> StaticCredentials:
    """Nothing at all, for a proxy that authenticates for us or a server that asks nobody."""
    return StaticCredentials(RequestCredentials)


def bearer(token: str, where: str, certificate: ClientCertificate | None = None) -> RequestCredentials:
    """A token as a header, once it is clear that it can be sent and has not expired."""
    if not token:
        raise BadAccess(where, "the token is empty", "put the user's token there")
    if not token.isascii() or not token.isprintable() or " " in token:
        problem = f"the token ({len(token)} characters) has blanks, line breaks or special characters inside"
        raise BadAccess(where, problem, "paste it again in one piece")
    expired = jwt_expiry(token)
    if expired is not None and expired < datetime.now(UTC):
        raise BadAccess(where, f"the token expired on {day(expired)}", "renew it, or log in again where it came from")
    return RequestCredentials({"Authorization": f"Bearer {token}"}, certificate)


class _Claims(msgspec.Struct):
    exp: float | None = None


def jwt_expiry(token: str) -> datetime | None:
    """When a token says that it ends, if it is a JWT that says so. Not verified: only the server can do that."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        claims = msgspec.json.decode(payload, type=_Claims)
        return None if claims.exp is None else datetime.fromtimestamp(claims.exp, UTC)
    except (binascii.Error, msgspec.MsgspecError, OverflowError, ValueError, OSError):
        return None
