"""Virtual pods: pods without an object, that plans find capacity for.

Upcoming job pods: the Job controller creates the pods of a large job one after the other, and the scheduler refuses
them one after the other. A plan for the first ones launches small machines; a plan for all of them launches what fits
all.

Replacement pods: pods on dead nodes want capacity before they are gone. A replacement ends with its predecessor: then
the pod that its controller creates takes the capacity that was launched for it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from growth.api.meta import ObjectMeta
from growth.api.pod import Pod, PodStatus
from growth.decide.contract import Fact

_UPCOMING: Final = "announced-"
"""How the uids of these pods begin; no object's uid does."""
_REPLACEMENT: Final = "successor-of-"
"""How the uids of these pods begin; no object's uid does."""


class UpcomingJobPods(Fact, frozen=True):
    """Virtual pods of admitted jobs. Provided by the queue."""

    pods: Mapping[str, Pod] = {}
    """By uid."""


def is_announced(uid: str) -> bool:
    """Whether this is the uid of an upcoming pod."""
    return uid.startswith(_UPCOMING)


def is_announced_for(uid: str, whose: str) -> bool:
    """Whether this is the uid of an upcoming pod of this owner."""
    return uid.startswith(f"{_UPCOMING}{whose}-")


def announcements(pod: Pod, whose: str, count: int) -> tuple[Pod, ...]:
    """Return this many pods like this one; ``whose`` sets them apart from all other upcoming pods."""
    meta = pod.metadata
    return tuple(
        msgspec.structs.replace(
            pod,
            metadata=ObjectMeta(
                name=f"{meta.name}-{number}",
                namespace=meta.namespace,
                uid=f"{_UPCOMING}{whose}-{number}",
                creation_timestamp=meta.creation_timestamp,
                labels=meta.labels,
                owner_references=meta.owner_references,
            ),
        )
        for number in range(count)
    )


class ReplacementPod(msgspec.Struct, frozen=True):
    """A pod that loses its machine."""

    uid: str
    node: str
    virtual_pod: Pod
    """Its replacement, as far as one can know: the same requirements and volumes, and no node yet."""


class ReplacementPods(Fact, frozen=True):
    """Pods that lose their machines, by the uids of their replacements. Provided by failover."""

    pods: Mapping[str, ReplacementPod] = {}

    @classmethod
    def of(cls, pods: Iterable[Pod]) -> "ReplacementPods":
        """Return the replacements of these pods."""
        found = (ReplacementPod(pod.metadata.uid, pod.node_name, _replacement(pod)) for pod in pods)
        return cls({one.virtual_pod.metadata.uid: one for one in found})

    @property
    def dead_nodes(self) -> frozenset[str]:
        """Names of the nodes that the pods lose."""
        return frozenset(one.node for one in self.pods.values())


def is_successor(uid: str) -> bool:
    """Whether this is the uid of a replacement."""
    return uid.startswith(_REPLACEMENT)


def _replacement(pod: Pod) -> Pod:
    meta = pod.metadata
    known = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=f"{_REPLACEMENT}{meta.uid}",
        creation_timestamp=meta.creation_timestamp,
        labels=meta.labels,
        owner_references=meta.owner_references,
    )
    return Pod(known, pod.spec, status=PodStatus(phase="Pending"))
