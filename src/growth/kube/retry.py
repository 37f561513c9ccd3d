"""How long to wait before asking again: doubling, capped, and jittered so that replicas do not march in step.

Asking again, only where that is safe.

A read may always be repeated. A write may be repeated only if the server certainly did nothing: it could not be
reached, or it said 429 before it looked at the request. After anything else (a reset connection, a 500, a time-out)
the write may have happened, and only the caller, who knows what it wanted, can find out.
"""

import asyncio
import random
from typing import Final

from growth.kube.errors import ApiError, KubeError, ServerTrouble, TooManyRequests, Unreachable, Untrusted, error_from
from growth.kube.transport import Request, Response, Send


class Backoff:
    """The delays of one who keeps failing; a success starts them over."""

    def __init__(self, first_seconds: float, cap_seconds: float, jitter: random.Random) -> None:
        self._first = first_seconds
        self._cap = cap_seconds
        self._jitter = jitter
        self._failures = 0

    def succeeded(self) -> None:
        """Forget all failures."""
        self._failures = 0

    def failed(self, asked_seconds: float | None = None) -> float:
        """Seconds to wait after one more failure: never less than the server asked for."""
        # Beyond 2^16 the cap has long been reached; the bound keeps the power from growing for ever.
        longest = min(self._cap, self._first * 2.0 ** min(self._failures, 16))
        self._failures += 1
        return (asked_seconds or 0.0) + longest * self._jitter.uniform(0.5, 1.0)


ATTEMPTS: Final = 5
_FIRST_SECONDS: Final = 0.1
_CAP_SECONDS: Final = 5.0


async def send_with_retries(send: Send, request: Request, jitter: random.Random) -> Response:
    """The successful answer to a request; raises the last error once trying again is unsafe or useless."""
    backoff = Backoff(_FIRST_SECONDS, _CAP_SECONDS, jitter)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return await send_once(send, request)
        except KubeError as error:
            if attempt == ATTEMPTS or not may_repeat(request, error):
                raise
            delay = backoff.failed(error.retry_after if isinstance(error, ApiError) else None)
        await asyncio.sleep(delay)
    raise AssertionError("the last attempt returns or raises")


async def send_once(send: Send, request: Request) -> Response:
    """The successful answer to a request, or its typed error."""
    response = await send.send(request)
    if response.status >= 300:  # a redirect, too: nobody but this server may get our credentials and writes
        raise error_from(request, response)
    return response


def may_repeat(request: Request, error: KubeError) -> bool:
    """Whether the same request may be sent again after this error, and whether that could help."""
    match error:
        case TooManyRequests():
            return True
        case Untrusted():
            return False
        case Unreachable():
            return not request.writes or not error.sent
        case ServerTrouble():
            return not request.writes
        case _:
            return False
