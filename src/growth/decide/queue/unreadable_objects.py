"""Objects of the queue that are there and that we cannot read: a newer Kueue's words, or somebody's own definition.

They are not taken for absent. Each says so itself (event), and a queue that depends on one admits nobody.
"""

from typing import Any

import msgspec

from growth.api.actions import Action, Hold, held_and_reported
from growth.api.core import ObjectReference
from growth.api.decoding import Unreadable
from growth.api.kinds import Kind
from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, QUEUE_KINDS, RESOURCE_FLAVORS, WORKLOADS
from growth.api.references import reference_to, shown
from growth.decide.queue.cluster_queue_status import UnreadableQueues
from growth.decide.queue.kueue_coexistence import advice
from growth.observe.snapshot import Snapshot

_KINDS = (*(own.kind for own in QUEUE_KINDS), QUEUED_JOBS)


class _Holding(FrozenValue, frozen=True):
    cluster_queue: str = ""


class _Status(FrozenValue, frozen=True):
    admission: _Holding | None = None


class _Holder(FrozenValue, frozen=True):
    """As little of a workload as tells whose quota it holds."""

    status: _Status = _Status()


def unread_in(snapshot: Snapshot) -> UnreadableQueues:
    """What cannot be read, by whom it matters to."""
    return UnreadableQueues(
        _sentences(snapshot, CLUSTER_QUEUES),
        _sentences(snapshot, RESOURCE_FLAVORS),
        _sentences(snapshot, COHORTS),
        _holders(snapshot),
    )


def told_of_unreadable(snapshot: Snapshot) -> list[Action | Hold]:
    """One event for each, on the object itself."""
    said: list[Action | Hold] = []
    for kind in _KINDS:
        for one in _all(snapshot, kind):
            why = f"{_sentence(kind, one)}. Until it can be, Growth does nothing for it"
            said += held_and_reported(reference_to(kind, one.metadata), reason="Unreadable", why=why, action="Reading")
    return said


def told_of_unread(snapshot: Snapshot) -> list[Action | Hold]:
    """Kinds of which nothing can be read, and what the server says instead."""
    said: list[Action | Hold] = []
    for kind, trouble in snapshot.unread.items():
        if trouble:
            name = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
            subject = ObjectReference("CustomResourceDefinition", name, api_version="apiextensions.k8s.io/v1")
            more = advice(trouble)
            why = f"the queue decides nothing, because {name} cannot be read: {trouble}{f'. {more}' if more else ''}"
            said += held_and_reported(subject, reason="NotRead", why=why, action="Reading")
    return said


def holds_quota_of(snapshot: Snapshot) -> frozenset[str]:
    """ClusterQueues of which an unreadable workload holds some quota."""
    return frozenset(_holders(snapshot))


def _all(snapshot: Snapshot, kind: Kind[Any]) -> list[Unreadable]:
    found = snapshot.unreadable.get(kind, {}).values()
    return sorted(found, key=lambda one: (one.metadata.namespace, one.metadata.name))


def _sentences(snapshot: Snapshot, kind: Kind[Any]) -> dict[str, str]:
    return {one.metadata.name: _sentence(kind, one) for one in _all(snapshot, kind)}


def _holders(snapshot: Snapshot) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in _all(snapshot, WORKLOADS):
        queue = _queue_of(one)
        if queue:
            found.setdefault(
                queue, f"{_sentence(WORKLOADS, one)}, and it holds quota of this queue: nobody knows how much"
            )
    return found


def _queue_of(one: Unreadable) -> str:
    try:
        admission = msgspec.json.decode(one.text, type=_Holder, strict=False).status.admission
    except msgspec.ValidationError:
        return ""
    return admission.cluster_queue if admission is not None else ""


def _sentence(kind: Kind[Any], one: Unreadable) -> str:
    return f"{_name(kind, one.metadata)} cannot be read: {one.problem}"


def _name(kind: Kind[Any], metadata: ObjectMeta) -> str:
    return shown(reference_to(kind, metadata))
