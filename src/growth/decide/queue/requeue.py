"""Instants that come from objects, where anybody may have written anything: a sum never falls off the calendar.

A workload that could not start comes back, at the right place and time.

    admitted ──not ready in time──► evicted, count + 1 ──its pods gone──► waits until requeueAt ──► queued again
                                        └── count at the limit: deactivated, and its requeueState is kept
    deactivated by the limit ──a person reactivates it──► requeueState forgotten, queued again

The delay is base * 2^(count - 1), capped, and a little more, another little for each workload: those that were evicted
together do not come back in the same instant. ``requeueAt`` stays until it is admitted: it tells when it will be, and
then when it was, queued again.
"""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, Literal

import msgspec

from growth.api.queue.workload import (
    ADMITTED,
    EVICTED,
    PODS_READY,
    REQUEUED,
    WAIT_FOR_RECOVERY,
    RequeueState,
    Workload,
)
from growth.decide.elapsed import is_ahead

_END: Final = datetime.max.replace(tzinfo=UTC)


def later(instant: datetime, *spans: timedelta) -> datetime:
    """So much later, or the last instant that there is."""
    for span in spans:
        try:
            instant += span
        except OverflowError:
            return _END
    return instant


BACKOFF_FINISHED: Final = "BackoffFinished"
"""Why it is requeued: its time has come."""
# As a share of the delay. Kueue's own is a ten-thousandth, which seconds would swallow.
_JITTER: Final = 0.01
# Nobody waits for longer, even where no bound is set.
_EVER: Final = timedelta(days=3_650)

MACHINES: Final = "growth.dev/machines"
"""Annotation of a workload that was put back: the machines that came, or come, for it."""


class RequeuePolicy(msgspec.Struct, frozen=True):
    """How workloads come back."""

    timestamp: Literal["Eviction", "Creation"] = "Eviction"
    limit_count: int | None = None
    limit_timeout: timedelta | None = None
    """From the first admission; off unless it is said."""
    base: timedelta = timedelta(seconds=60)
    longest: timedelta | None = timedelta(hours=1)


class ReadinessPolicy(msgspec.Struct, frozen=True):
    """How long pods may take."""

    timeout: timedelta = timedelta(minutes=5)
    recovery_timeout: timedelta | None = None
    """Of pods that were ready and are not any more; None means that they may take for ever."""


class ReadinessDeadline(msgspec.Struct, frozen=True):
    """The time that pods have: so long, from this instant on."""

    since: datetime
    allowed: timedelta
    is_recovery: bool = False
    """Whether they were ready before."""

    @property
    def ends_at(self) -> datetime:
        """When it is over."""
        return later(self.since, self.allowed)


def delay(count: int, terms: RequeuePolicy, uid: str) -> timedelta:
    """How long a workload waits after so many vain attempts."""
    # A count that somebody wrote by hand must not become a number that no clock can show.
    seconds = terms.base.total_seconds() * 2.0 ** min(max(0, count - 1), 64)
    doubled = timedelta(seconds=min(seconds, _EVER.total_seconds()))
    bounded = doubled if terms.longest is None else min(doubled, terms.longest)
    chance = int(sha256(f"{uid}/{count}".encode()).hexdigest()[:8], 16) / 0x1_0000_0000
    return bounded * (1 + _JITTER * chance)


def deadline(workload: Workload, terms: ReadinessPolicy) -> datetime | None:
    """When the pods of an admitted workload must be ready, if they wait for no machine; None if they need not be."""
    term = term_of(workload, terms)
    return term.ends_at if term is not None else None


def term_of(workload: Workload, terms: ReadinessPolicy) -> ReadinessDeadline | None:
    """The time that the pods of an admitted workload have; None if they may take for ever, or are ready."""
    admitted, ready = workload.condition(ADMITTED), workload.condition(PODS_READY)
    if admitted is None or admitted.status != "True" or workload.holds(EVICTED) or workload.holds(PODS_READY):
        return None
    is_recovery = ready is not None and ready.reason == WAIT_FOR_RECOVERY
    if ready is not None and is_recovery:
        since, allowed = ready.last_transition_time, terms.recovery_timeout
    else:
        since, allowed = admitted.last_transition_time, terms.timeout
    return None if since is None or allowed is None else ReadinessDeadline(since, allowed, is_recovery)


def next_state(workload: Workload, terms: RequeuePolicy, now: datetime) -> RequeueState | None:
    """What an eviction writes down; None if the limit is reached: then the workload is deactivated."""
    state = workload.status.requeue_state
    count = (state.count or 0) if state is not None else 0
    if terms.limit_count is not None and count >= terms.limit_count:
        return None
    at = later(now, delay(count + 1, terms, workload.metadata.uid))
    if state is not None and state.requeue_at is not None:
        at = max(at, state.requeue_at)
    return RequeueState(count + 1, at)


def is_waiting(workload: Workload, now: datetime) -> bool:
    """Whether it may not be admitted yet, and holds up nobody meanwhile.

    The instant stays written until it is admitted. Once it was requeued, a clock that is set back before that instant
    does not make it wait again.
    """
    state, requeued = workload.status.requeue_state, workload.condition(REQUEUED)
    if state is None or state.requeue_at is None or now >= state.requeue_at:
        return False
    is_over = requeued is not None and (requeued.status, requeued.reason) == ("True", BACKOFF_FINISHED)
    return not is_over or workload.status.admission is not None


def machines_kept_for(workload: Workload, terms: RequeuePolicy, now: datetime) -> tuple[str, ...]:
    """Return the machines that must stay until this workload may be tried again.

    They are named on the workload, so a restart forgets none. Other pods may use them meanwhile. After that the time
    counts that empty nodes are kept, and the workload is served long before. Otherwise a machine that takes longer than
    the timeout would be terminated and launched again forever.
    """
    text, state = workload.metadata.annotations.get(MACHINES, ""), workload.status.requeue_state
    if not text or state is None or workload.is_finished or not workload.spec.active:
        return ()
    # An instant that is farther away than it could ever be set was written by hand: nobody pays for that.
    longest = delay(state.count or 1, terms, workload.metadata.uid)
    is_gone = workload.metadata.deletion_timestamp is not None
    return tuple(text.split(",")) if not is_gone and is_ahead(state.requeue_at, now, longest) else ()
