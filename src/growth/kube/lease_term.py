"""One term of leadership: until when it may write, with which client, and what of it is still under way.

Each term has its own fence, and a fence that closed for good never opens again. A replica that loses the lease and
wins it back later begins a new term: a forgotten task of the old one, which still believes what it saw back then, stays
locked out.
"""

import asyncio
import math
from contextlib import AbstractAsyncContextManager

from growth.kube.client import Client
from growth.kube.errors import Fenced, Unreachable
from growth.kube.transport import Request, Response, Send, Stream


class LeadershipTerm:
    """A right to write, extended by each renewal and ended once."""

    def __init__(self, client: Client, open_until: float) -> None:
        self._clock = client.transport.clock
        self._open_until = open_until
        self._writes = AnsweredWrites(client.transport, self)
        self.is_over = False
        self.client = Client(self._writes, sharing=client.sharing, jitter=client.jitter, fence=self.fence)

    def fence(self) -> float:
        """The reading of the sender's clock from which on nothing of this term may be written."""
        return self._open_until

    def seconds_left(self) -> float:
        """How long this term may still write."""
        return self._open_until - self._clock()

    def extend(self, open_until: float) -> None:
        """A renewal succeeded; too late, if the term is over."""
        if not self.is_over:
            self._open_until = max(self._open_until, open_until)

    def end(self) -> None:
        """Close the fence for good."""
        self.is_over = True
        self._open_until = -math.inf

    async def wait_until_answered(self, gap_seconds: float) -> bool:
        """Whether the server has dealt with every write of this term; waits for answers until the fence, not longer."""
        return await self._writes.wait_until_answered(max(0.0, self.seconds_left()), gap_seconds)


class AnsweredWrites:
    """A ``Send`` that knows which of its writes the server may still carry out.

    Whoever cancels a write stops waiting, but the request goes on to its answer: torn off the wire, it might still
    happen, and only after the lease was handed over to somebody else.
    """

    def __init__(self, send: Send, term: LeadershipTerm) -> None:
        self._send = send
        self._term = term
        self._under_way: set[asyncio.Task[Response]] = set()
        self._last_doubt = -math.inf

    async def send(self, request: Request) -> Response:
        """Send; a write of a term that is over does not even reach the fence."""
        if not request.writes:
            return await self._send.send(request)
        if self._term.is_over:
            raise Fenced(f"{request.method} {request.path} was not sent: this leader's term is over")
        exchange = asyncio.get_running_loop().create_task(self._send.send(request))
        self._under_way.add(exchange)
        exchange.add_done_callback(self._ended)
        await asyncio.wait({exchange})  # unlike awaiting it, this passes no cancellation on
        return exchange.result()

    def _ended(self, exchange: asyncio.Task[Response]) -> None:
        self._under_way.discard(exchange)
        if exchange.cancelled():
            in_doubt = True
        elif error := exchange.exception():
            in_doubt = isinstance(error, Unreachable) and error.sent
        else:
            in_doubt = exchange.result().status >= 500  # the server gave up waiting for itself; it may still do it
        if in_doubt:
            self._last_doubt = self.clock()

    async def wait_until_answered(self, patience_seconds: float, gap_seconds: float) -> bool:
        """Whether all writes were answered, or lost long enough ago to have died on the way."""
        if self._under_way:
            await asyncio.wait(set(self._under_way), timeout=patience_seconds)
        return not self._under_way and self.clock() >= self._last_doubt + gap_seconds

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Reads pass."""
        return self._send.stream(request)

    def clock(self) -> float:
        """The sender's clock."""
        return self._send.clock()

    async def close(self) -> None:
        """Close the sender, which other clients may share."""
        await self._send.close()
