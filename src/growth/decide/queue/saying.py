"""Conditions as a status can hold them: not too many, and no sentence too long.

The definitions allow so many conditions, whoever says them. Ours are needed, so others' make room.
"""

from typing import Final

import msgspec

from growth.api.queue.cluster_queues import ACTIVE, MAY_BLOCK, SHORT
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
)
from growth.api.status import MAX_CONDITIONS, MAX_WORDS, StatusCondition, with_condition

_OURS: Final = frozenset(
    {
        *(ADMITTED, DEACTIVATION_TARGET, EVICTED, FINISHED, PODS_READY, PREEMPTED, QUOTA_RESERVED, REQUEUED),
        *(ACTIVE, MAY_BLOCK, SHORT),
    }
)


def saying(known: tuple[StatusCondition, ...], new: StatusCondition) -> tuple[StatusCondition, ...]:
    """The statements with this one in place of the last of its type; the first of others' go if there are too many."""
    after = with_condition(known, msgspec.structs.replace(new, message=new.message[:MAX_WORDS]))
    excess = len(after) - MAX_CONDITIONS
    for one in [one for one in after if one.type not in _OURS][: max(0, excess)]:
        after = tuple(other for other in after if other is not one)
    return after
