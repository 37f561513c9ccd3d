"""Machines for which workloads will come back: bought for who was put back before they were there.

They are named on the workload, so a restart forgets none. As long as the workload may not be tried again, its machines
are kept, for whoever needs them meanwhile; then the time counts that nodes are kept empty, and the workload is served
long before. Else a machine that takes longer than the timeout would be given back and bought again for ever.

The queue provides them as a fact; where there is no queue, no workload comes back.
"""

from datetime import datetime
from typing import Final

from growth.api.queue.workload import Workload
from growth.decide.elapsed import is_ahead
from growth.decide.queue.requeue import RequeuePolicy, delay

MACHINES: Final = "growth.dev/machines"
"""Annotation of a workload that was put back: the machines that came, or come, for it."""


def machines_kept_for(workload: Workload, terms: RequeuePolicy, now: datetime) -> tuple[str, ...]:
    """The machines that must stay until this workload may be tried again."""
    text, state = workload.metadata.annotations.get(MACHINES, ""), workload.status.requeue_state
    if not text or state is None or workload.is_finished or not workload.spec.active:
        return ()
    # An instant that is farther away than it could ever be set was written by hand: nobody pays for that.
    longest = delay(state.count or 1, terms, workload.metadata.uid)
    is_gone = workload.metadata.deletion_timestamp is not None
    return tuple(text.split(",")) if not is_gone and is_ahead(state.requeue_at, now, longest) else ()
