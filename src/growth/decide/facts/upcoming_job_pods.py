"""Pods of jobs that were just admitted: the Job controller is about to create them, and they want capacity together.

It creates the pods of a large job one after the other, and the scheduler refuses them one after the other. A plan for
the first ones launches small machines; a plan for all of them launches what fits all.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from growth.api.meta import ObjectMeta
from growth.api.pod import Pod
from growth.decide.contract import Fact

_PREFIX: Final = "announced-"
"""How the uids of these pods begin; no object's uid does."""


class UpcomingJobPods(Fact, frozen=True):
    """Virtual pods of admitted jobs. Provided by the queue."""

    pods: Mapping[str, Pod] = {}
    """By uid."""


def is_announced(uid: str) -> bool:
    """Whether this is the uid of an upcoming pod."""
    return uid.startswith(_PREFIX)


def is_announced_for(uid: str, whose: str) -> bool:
    """Whether this is the uid of an upcoming pod of this owner."""
    return uid.startswith(f"{_PREFIX}{whose}-")


def announcements(pod: Pod, whose: str, count: int) -> tuple[Pod, ...]:
    """Return this many pods like this one; ``whose`` sets them apart from all other upcoming pods."""
    meta = pod.metadata
    return tuple(
        msgspec.structs.replace(
            pod,
            metadata=ObjectMeta(
                name=f"{meta.name}-{number}",
                namespace=meta.namespace,
                uid=f"{_PREFIX}{whose}-{number}",
                creation_timestamp=meta.creation_timestamp,
                labels=meta.labels,
                owner_references=meta.owner_references,
            ),
        )
        for number in range(count)
    )
