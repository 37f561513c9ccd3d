"""Machines for which workloads will come back: bought for who was put back before they were there.

They are named on the workload, so a restart forgets none. As long as the workload may not be tried again, its machines
are kept, for whoever needs them meanwhile; then the time counts that nodes are kept empty, and the workload is served
long before. Else a machine that takes longer than the timeout would be given back and bought again for ever.

The queue decides before those who remove nodes, and notes the machines in the snapshot that both look at; where there
is no queue, nobody comes back.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from growth.api.queue.workload import Workload
from growth.decide.elapsed import is_ahead
from growth.decide.queue.requeue import RequeuePolicy, delay
from growth.observe.snapshot import Snapshot

MACHINES: Final = "growth.dev/machines"
"""Annotation of a workload that was put back: the machines that came, or come, for it."""

_AWAITED: Final = "machines that workloads will come back for"


def note_awaited(snapshot: Snapshot, kept: Iterable[tuple[str, ...]]) -> None:
    """These machines are kept, some for each of several workloads."""
    snapshot.memo[_AWAITED] = {name for names in kept for name in names}


def awaited_in(snapshot: Snapshot) -> set[str]:
    """What was noted: names of machines."""
    return snapshot.memo.get(_AWAITED, set[str]())


def machines_kept_for(workload: Workload, terms: RequeuePolicy, now: datetime) -> tuple[str, ...]:
    """The machines that must stay until this workload may be tried again."""
    text, state = workload.metadata.annotations.get(MACHINES, ""), workload.status.requeue_state
    if not text or state is None or workload.is_finished or not workload.spec.active:
        return ()
    # An instant that is farther away than it could ever be set was written by hand: nobody pays for that.
    longest = delay(state.count or 1, terms, workload.metadata.uid)
    is_gone = workload.metadata.deletion_timestamp is not None
    return tuple(text.split(",")) if not is_gone and is_ahead(state.requeue_at, now, longest) else ()
