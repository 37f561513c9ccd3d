"""All pods that want capacity: pods without a node, and virtual pods.

A virtual pod has no object in the cluster, so nothing can be written on it and no capacity can be reserved for it. When
the pod comes that it stands for, the virtual one is gone, and what was launched for it is free for that pod.
"""

from collections.abc import Mapping

from growth.api.pod import Pod
from growth.api.settings.model import Settings
from growth.decide.contract import ClockTrust, Derivation, Fact, Facts, Need
from growth.decide.facts.virtual_pods import ReplacementPods, UpcomingJobPods, is_announced, is_successor
from growth.observe.snapshot import Snapshot


class PendingPods(Fact, frozen=True):
    """Pods that want capacity, by uid."""

    virtual: Mapping[str, Pod] = {}
    """Those without an object."""
    all: Mapping[str, Pod] = {}


def is_virtual(uid: str) -> bool:
    """Whether no object has this uid."""
    return is_successor(uid) or is_announced(uid)


def derive(
    snapshot: Snapshot, _settings: Settings, facts: Facts, _clock: ClockTrust, _previous: PendingPods | None
) -> PendingPods:
    """Put pods without a node and virtual pods together."""
    replacements = facts.get(ReplacementPods).pods
    virtual = {uid: one.virtual_pod for uid, one in replacements.items()} | dict(facts.get(UpcomingJobPods).pods)
    return PendingPods(virtual, {**snapshot.waiting, **virtual} if virtual else snapshot.waiting)


PENDING_PODS = Derivation(
    name="pending-pods",
    provides=PendingPods,
    derive=derive,
    needs=(Need(UpcomingJobPods, if_failed="default"), Need(ReplacementPods, if_failed="default")),
)
