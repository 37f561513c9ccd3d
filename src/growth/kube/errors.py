"""What can go wrong at the door.

KubeError
├── BadAccess           what was given to reach the cluster cannot work: a kubeconfig, a token, an exec plugin
├── Unreachable         no answer: refused, reset, timed out, wrong certificate; ``sent`` says if it may have acted
├── Fenced              not sent: the lease that allowed this write has run out
└── ApiError            the server answered, and said no
    ├── Unauthorized    401: who are you?
    ├── Forbidden       403: names the missing verb
    ├── NotFound        404
    ├── AlreadyExists   409, on create
    ├── Conflict        409: a precondition failed, read again and decide anew
    ├── Gone            410: that resource version is too old to go on from, list again
    ├── Invalid         400, 422: this request can never succeed as it is
    ├── TooManyRequests 429: with the delay that was asked for
    └── ServerTrouble   5xx: with the delay, if one was asked for

The reading of files that a person named, and the words in which that fails (``BadAccess``).

Every failure in here is a person's to mend, so each is told as one sentence: where, what is wrong, what to do. No
sentence ever carries a secret: of tokens, keys and a plugin's output only kind, size and dates are told.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Final

import msgspec

from growth.kube.transport import Request, Response
from growth.kube.verbs import Permission, permission_of


class KubeError(Exception):
    """Anything that the door could not do."""


class BadAccess(KubeError):
    """What was given to reach the cluster cannot work.

    One class and no tree: a caller can do only one thing about it, which is to show the sentence (exit code 2 at the
    start; try again later when an exec plugin or a rotated file fails in a process that already runs).
    """

    def __init__(self, where: str, problem: str, next_step: str) -> None:
        super().__init__(where, problem, next_step)
        self.where = where
        self.problem = problem
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}; {self.next_step}"


class Unreachable(KubeError):
    """There was no answer. ``sent`` is False when the request certainly never reached the server."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class Untrusted(Unreachable):
    """The server could not prove who it is; asking again cannot help."""


class Fenced(KubeError):
    """The request was not sent, because the leader's lease may no longer be ours."""


class ApiError(KubeError):
    """The server answered and refused; ``reason`` is its own word for it, ``retry_after`` its wish."""

    def __init__(self, message: str, *, status: int, reason: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class Unauthorized(ApiError):
    """The server does not know who we are."""


class Forbidden(ApiError):
    """The server knows us and our role lacks a verb; ``permission`` is the one that a rule must grant."""

    permission: Permission | None = None


class NotFound(ApiError):
    """No such object, or no such kind."""


class AlreadyExists(ApiError):
    """An object of that name is there already."""


class Conflict(ApiError):
    """The object changed since we read it, or is not the one (uid) we meant."""


class Gone(ApiError):
    """The resource version or page token is too old; a new list is needed."""


class Invalid(ApiError):
    """The request itself is wrong; repeating it cannot help."""


class TooManyRequests(ApiError):
    """Not now. For an eviction this is a disruption budget's answer."""


class ServerTrouble(ApiError):
    """The server failed; whether it acted first is not known."""


class _Cause(msgspec.Struct, frozen=True):
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    retry_after_seconds: float = 0
    causes: tuple[_Cause, ...] = ()


class WireStatus(msgspec.Struct, frozen=True):
    """The API server's own form of an error."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


NEEDS_A_PERSON: Final = (BadAccess, Unauthorized, Forbidden, NotFound, Invalid, Untrusted)
"""What waiting cannot mend. It ends a start, so that somebody sees it; later it may pass (a role is being edited)."""

_BY_STATUS: Final[dict[int, type[ApiError]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}
_STATUS_DECODER: Final = msgspec.json.Decoder(WireStatus)


def error_from(request: Request, response: Response) -> ApiError:
    """The typed error of an answer that is not a success, whether or not its body is a Status."""
    try:
        status = _STATUS_DECODER.decode(response.body)
    except msgspec.DecodeError:
        text = response.body[:200].decode(errors="replace").strip()
        status = WireStatus(message=text or f"HTTP {response.status} without a message")
    error = _typed(status, f"{request.method} {request.path}", response.status, response.headers.get("retry-after"))
    if isinstance(error, Forbidden) and (permission := _missing_permission(request, status.message)):
        error.permission = permission
        error.args = (f"the role lacks the verb {permission.verb!r} on {permission.resource} ({error})",)
    return error


def error_from_line(data: msgspec.Raw | bytes, what: str) -> ApiError:
    """The typed error of a Status that arrives as the last line of a watch."""
    status = _STATUS_DECODER.decode(data)
    return _typed(status, what, status.code)


def _missing_permission(request: Request, message: str) -> Permission | None:
    """What a role could grant, by the authoriser's sentence; quotas and admission say 403, too, and it is not that."""
    permission = permission_of(request)
    return permission if permission and f" cannot {permission.verb} " in message else None


def _typed(status: WireStatus, what: str, code: int, retry_after_header: str | None = None) -> ApiError:
    kind = _BY_STATUS.get(code, ServerTrouble if code >= 500 else ApiError)
    if status.reason == "AlreadyExists":
        kind = AlreadyExists
    elif status.reason == "Expired":
        kind = Gone
    message = f"{what}: {status.message or status.reason or f'HTTP {code}'}"
    asked = status.details.retry_after_seconds if status.details else 0
    retry_after = _seconds(retry_after_header) or asked or None
    return kind(message, status=code, reason=status.reason, retry_after=retry_after)


def _seconds(header: str | None) -> float | None:
    """Retry-After as seconds; the API server never sends the date form."""
    return float(header) if header and header.isdecimal() else None


def shown(path: Path) -> str:
    """The path as people write it, with the home folder as ``~``."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):  # elsewhere, or a user without a home, as in many containers
        return str(path)


def listed(names: Iterable[str]) -> str:
    """The names that would have been right, few enough to read: a file of a fleet can hold hundreds."""
    known = sorted(names)
    if not known:
        return "none"
    return ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "")


def closest(name: str, names: Iterable[str]) -> str | None:
    """The known name that was probably meant, if one is near."""
    return next(iter(get_close_matches(name, list(names), n=1)), None)


def bytes_of(path: Path, where: str, next_step: str) -> bytes:
    """The content of a file that a person named; ``where`` says who named it."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        problem, cause = f"there is no file {shown(path)}", error
    except IsADirectoryError as error:
        problem, cause = f"{shown(path)} is a directory, expected a file", error
    except PermissionError as error:
        problem, cause = f"no permission to read {shown(path)}", error
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        problem, cause = f"cannot read {shown(path)} ({reason})", error
    raise BadAccess(where, problem, next_step) from cause
