"""Leader election with a fence: at most one replica writes at any time, even if it was paused and does not know.

    contend ──► lead ──► lost: the deadline passed, or another one holds the lease ──► contend
                  └────► stopped or done: finish writing, release

The promise of a holder: *after the instant in which I sent my last successful renewal, plus the renew deadline, nothing
of mine leaves.* The promise of the others: *nobody takes a lease before its full duration has passed since I saw it
renewed.* They saw it after it was sent, the duration is longer than the deadline, so the two never overlap, whatever
the wall clocks say. Only the speed of two clocks has to agree, roughly (15 : 10).

What that means in the awkward moments (docs/decisions/0002-fence-by-own-clock.md has the whole table):
- Paused before a write leaves: ``Request.not_after`` is checked in the instant before the body goes to the socket.
- Paused while a renewal is under way, answered "yes" long ago: the deadline counts from before the send, so it is over.
- The answer to a renewal is lost: the next attempt conflicts, reads, finds its own name and goes on.
- Two contend at once: every write carries the resource version it was decided on, so the slower one gets a Conflict.
- Somebody deletes the lease: the leader steps down; the others make a new one that nobody holds for a full duration,
  because whoever held the old one may still write that long.
"""

import asyncio
import logging
import math
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, cast

from growth.api.core import Lease
from growth.kube.client import Client
from growth.kube.errors import NEEDS_A_PERSON, AlreadyExists, Conflict, Fenced, KubeError, NotFound
from growth.kube.lease_record import LeaseObject, LeaseTerms, ObservedLease, claim, free_at, release, replacement, seen
from growth.kube.lease_term import LeadershipTerm

__all__ = ["LeaderLease", "LeaseTerms", "unique_identity"]

_LOG: Final = logging.getLogger(__name__)

# Two floats that should be equal may differ in the last bit; waiting for less than this could be waiting for nothing.
_SHORTEST_PAUSE_SECONDS: Final = 0.01

Lead = Callable[[Client], Awaitable[None]]
Now = Callable[[], datetime]


def unique_identity(host: str) -> str:
    """A name for this process that no other one ever had: a restarted pod must not take its predecessor for itself."""
    return f"{host}_{uuid.uuid4().hex[:12]}"


class LeaderLease:
    """One contender for one lease. ``run`` it once; ``identity`` must belong to this object alone.

    ``client`` is for the lease, ``work`` for what the leader does, and the two should have connections of their own: a
    leader that queues a thousand writes must not lose its lease because the renewal waits behind them. They must read
    the same clock, as all senders of one process do.
    """

    def __init__(
        self, client: Client, name: str, namespace: str, identity: str, *, work: Client, terms: LeaseTerms, now: Now
    ) -> None:
        self.identity = identity
        self._client = client
        self._work = work
        self._lease = LeaseObject(client, name, namespace)
        self._terms = terms
        self._now = now
        self._clock = client.transport.clock
        self._sight: ObservedLease | None = None
        self._term: LeadershipTerm | None = None
        self._in_trouble = False

    def fence(self) -> float:
        """The reading of ``client.transport.clock()`` from which on nothing may be written; -inf while not leading."""
        return self._term.fence() if self._term else -math.inf

    @property
    def holder(self) -> str:
        """Who held the lease when we last looked; empty if nobody did, or we never looked."""
        return self._sight.lease.spec.holder_identity if self._sight else ""

    async def run(self, lead: Lead) -> None:
        """Wait until we lead, run ``lead`` with a fenced client, cancel it when the lease is lost, and contend again.

        Returns when ``lead`` returns and raises what it raises, except that being locked out by the fence is no error:
        it only means that the work noticed the loss before we did. Cancelled, it cancels ``lead``, keeps renewing
        until that has ended, and releases the lease if every write was answered: otherwise one might still happen
        after the next leader began, and it is safer to let the lease run out.
        """
        while not await self._serve(await self._win(), lead):
            pass

    async def _win(self) -> LeadershipTerm:
        while True:
            patience = max(self._terms.retry_period_seconds, self._terms.renew_deadline_seconds / 2)
            try:
                async with asyncio.timeout(patience):
                    sent_at = await self._contend(patience)
                self._in_trouble = False
            except (AlreadyExists, Conflict):
                sent_at = None  # somebody else was quicker; the next look tells who
            except (KubeError, TimeoutError) as error:
                if self._sight is None and isinstance(error, NEEDS_A_PERSON):
                    raise
                self._tell_trouble("cannot contend for", error)
                sent_at = None
            if sent_at is not None:
                self._term = LeadershipTerm(self._work, sent_at + self._terms.renew_deadline_seconds)
                _LOG.info("%s leads: it holds %s", self.identity, self._lease)
                return self._term
            await asyncio.sleep(self._pause_seconds())

    async def _contend(self, patience: float) -> float | None:
        """The clock's reading before the request that won the lease was sent; None if it is somebody else's."""
        try:
            lease = await self._lease.read(patience)
        except NotFound:
            lease = await self._lease.create(replacement(self._terms, self._now()), patience)
        self._sight = seen(self._sight, lease, self._clock())
        if self._clock() < free_at(self._sight, self.identity, self._terms):
            return None
        return await self._claim(lease, patience)

    def _pause_seconds(self) -> float:
        """Until the next look: the retry period, spread out, or less if the lease runs out before."""
        period = self._terms.retry_period_seconds * self._client.jitter.uniform(1.0, 1.2)
        if self._sight is None:
            return period
        expires_in = free_at(self._sight, self.identity, self._terms) - self._clock()
        return max(_SHORTEST_PAUSE_SECONDS, min(period, expires_in)) if expires_in > 0 else period

    async def _serve(self, term: LeadershipTerm, lead: Lead) -> bool:
        """Whether the work came to an end by itself; False if the lease was lost."""
        work = asyncio.ensure_future(lead(term.client))
        renewal = asyncio.create_task(self._keep(term))
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
            is_lost, is_done = renewal.done(), work.done()
        finally:
            await self._wind_down(term, work, renewal)
        if not renewal.cancelled():
            renewal.result()  # a mistake of ours must not pass for a lost lease
        if work.cancelled() and is_lost:
            return False
        error = work.exception()
        if error is not None and _consists_of(error, KubeError if is_lost else Fenced):
            _LOG.info("%s stopped leading: %s", self.identity, error)
            return False
        work.result()
        return is_done

    async def _wind_down(self, term: LeadershipTerm, work: asyncio.Future[None], renewal: asyncio.Task[None]) -> None:
        """End the work, then the renewals (they let its last writes leave), then the lease.

        Whoever cancels a second time does not want to wait: then the lease is left to run out.
        """
        try:
            work.cancel()
            await asyncio.wait({work})
        finally:
            renewal.cancel()
        await asyncio.wait({renewal})
        was_open = term.seconds_left() > 0
        is_answered = await term.wait_until_answered(self._terms.gap_seconds)
        term.end()
        if was_open and is_answered:
            await self._release()

    async def _keep(self, term: LeadershipTerm) -> None:
        """Renew until the term is over."""
        next_at = self._clock() + self._terms.retry_period_seconds
        while not term.is_over:
            await asyncio.sleep(max(0.0, min(next_at - self._clock(), term.seconds_left())))
            next_at = self._clock() + self._terms.retry_period_seconds
            left = term.seconds_left()
            if left <= 0:
                _LOG.warning("%s lost %s: it could not renew it in time", self.identity, self._lease)
                term.end()
                return
            # Half of what is left, so that a request that hangs costs one attempt and not the lease.
            patience = min(left, max(self._terms.retry_period_seconds, left / 2))
            try:
                async with asyncio.timeout(patience):
                    await self._renew(term, patience)
                self._in_trouble = False
            except (KubeError, TimeoutError) as error:
                self._tell_trouble("cannot renew", error)

    async def _renew(self, term: LeadershipTerm, patience: float) -> None:
        """One attempt. A Conflict may be our own renewal whose answer was lost, somebody's label, or a new holder."""
        assert self._sight is not None  # noqa: S101 - a term begins with a sight
        try:
            try:
                sent_at = await self._claim(self._sight.lease, patience)
            except Conflict:
                lease = await self._lease.read(patience)
                self._sight = seen(self._sight, lease, self._clock())
                if self.holder != self.identity:
                    _LOG.warning("%s lost %s: %s holds it", self.identity, self._lease, self.holder or "nobody")
                    term.end()
                    return
                sent_at = await self._claim(lease, patience)
        except NotFound:
            _LOG.warning("%s lost %s: somebody deleted it", self.identity, self._lease)
            term.end()
            return
        term.extend(sent_at + self._terms.renew_deadline_seconds)

    async def _claim(self, lease: Lease, patience: float) -> float:
        """Take or renew; returns the clock's reading from before the request was sent."""
        sent_at = self._clock()
        lease = await self._lease.change(lease, claim(lease, self.identity, self._terms, self._now()), patience)
        self._sight = seen(self._sight, lease, self._clock())
        return sent_at

    async def _release(self) -> None:
        """Give the lease up, so that the next one need not wait. If that fails, it runs out by itself."""
        assert self._sight is not None  # noqa: S101 - a term begins with a sight
        lease, patience = self._sight.lease, self._terms.retry_period_seconds
        try:
            async with asyncio.timeout(patience):
                try:
                    await self._lease.change(lease, release(lease, self._now()), patience)
                except Conflict:
                    lease = await self._lease.read(patience)
                    if lease.spec.holder_identity == self.identity:
                        await self._lease.change(lease, release(lease, self._now()), patience)
            _LOG.info("%s released %s", self.identity, self._lease)
        except (KubeError, TimeoutError) as error:
            _LOG.info("%s could not release %s, which runs out by itself: %s", self.identity, self._lease, error)

    def _tell_trouble(self, what: str, error: Exception) -> None:
        if not self._in_trouble:  # once, not every retry period
            why = str(error) or type(error).__name__
            _LOG.warning("%s %s %s, and keeps trying: %s", self.identity, what, self._lease, why)
        self._in_trouble = True


def _consists_of(error: BaseException, kind: type[Exception]) -> bool:
    """Whether this is such an error, or a task group's bundle of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).split(kind)[1] is None
    return isinstance(error, kind)
