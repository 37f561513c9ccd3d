"""Pods of jobs that were just admitted: they will be made in a moment, all of them, and want places together.

The Job controller makes the pods of a large job one after the other, and a scheduler refuses them one after the other.
Who plans for the first ones buys small machines; who knows of all of them buys what fits all.

``queue`` decides first and notes them in the snapshot that all look at (``stand_ins``); where it does not run there are
none.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from growth.api.meta import ObjectMeta
from growth.api.pod import Pod
from growth.observe.snapshot import Snapshot

_ANNOUNCED: Final = "pods that will be made"
_PREFIX: Final = "announced-"
"""How the uids of stand-ins begin; no object's uid does."""


def note_announced(snapshot: Snapshot, pods: Iterable[Pod]) -> None:
    """These will be made."""
    snapshot.memo[_ANNOUNCED] = {pod.metadata.uid: pod for pod in pods}


def announced_in(snapshot: Snapshot) -> Mapping[str, Pod]:
    """What was noted, by uid."""
    return snapshot.memo.get(_ANNOUNCED, {})


def is_announced(uid: str) -> bool:
    """Whether no pod has this uid, but one was announced with it."""
    return uid.startswith(_PREFIX)


def is_announced_for(uid: str, whose: str) -> bool:
    """Whether this is the uid of a pod that was announced for this one."""
    return uid.startswith(f"{_PREFIX}{whose}-")


def announcements(pod: Pod, whose: str, count: int) -> tuple[Pod, ...]:
    """So many pods like this one; ``whose`` sets them apart from all others that are announced."""
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
