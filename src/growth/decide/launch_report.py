"""What people read about launches that fail: in the pool's status and conditions, and as events on it."""

from collections.abc import Iterable, Iterator
from typing import Final

from growth.api.actions import RecordEvent
from growth.api.growth_kinds import NODE_POOLS
from growth.api.node_pool import FailedLaunches, NodePool, Unhealthy
from growth.api.offering import Offering
from growth.api.references import reference_to
from growth.api.status import MAX_WORDS
from growth.api.timestamp import format_time
from growth.decide.launches import LaunchRecord

# A single machine that never works may be chance; a second one in a row is not.
_FAILURES_IN_A_ROW: Final = 2


def failing_parts(record: LaunchRecord, offerings: Iterable[Offering]) -> list[Unhealthy]:
    """Offerings that make their pool unhealthy: two machines in a row failed, of their type or of the whole pool."""
    listed = list(offerings)
    types = {one.id: one.type_id for one in listed}
    in_pool = sum(record.failing[name].failures for name in record.tried)
    return [
        Unhealthy(name, one.since, _sentence(one))
        for name, one in sorted(record.failing.items())
        if max(in_pool, record.failures_of(listed, types.get(name, name))) >= _FAILURES_IN_A_ROW
    ]


def launch_events(pool: NodePool, failed: Iterable[FailedLaunches]) -> Iterator[RecordEvent]:
    """One event for each cause, however many machines it costs."""
    subject = reference_to(NODE_POOLS, pool.metadata)
    for one in failed:
        if one.failures:
            why = f"{one.offering}: {one.message}"
            yield RecordEvent(subject=subject, why=why, type="Warning", reason=one.reason, action="Checking")


def _sentence(failing: FailedLaunches) -> str:
    count = failing.failures
    times = f"{count} machines in a row never worked" if count > 1 else "the last machine never worked"
    retry = f"; one more is tried after {format_time(failing.retry_at)}" if failing.retry_at is not None else ""
    return f"{times} ({failing.reason}: {failing.message}){retry}"[:MAX_WORDS]
