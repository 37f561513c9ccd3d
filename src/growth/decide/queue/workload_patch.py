"""Conditions as a status can hold them: not too many, and no sentence too long.

The definitions allow so many conditions, whoever says them. Ours are needed, so others' make room.

What is to be written on one workload: statements are collected, and become one write of its status.
"""

from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from growth.api.actions import Action, PatchObject
from growth.api.queue.cluster_queues import ACTIVE, MAY_BLOCK, SHORT
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    Admission,
    PodSetRequest,
    ReclaimablePods,
    RequeueState,
    SchedulingStats,
    Workload,
)
from growth.api.references import reference_to
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


Truth = Literal["True", "False", "Unknown"]


class WorkloadDraft:
    """A workload as it is (``before``), and as it should be."""

    def __init__(self, workload: Workload, now: datetime) -> None:
        self.before, self._now = workload, now
        self.workload = workload
        self._whys: list[str] = []
        self.is_weighty = False
        """Whether something is to be written that somebody else goes by."""

    def say(self, kind: str, status: Truth, reason: str, message: str) -> None:
        """A statement; what is said already stays as it is, and since when it holds is kept."""
        known = self.workload.condition(kind)
        text = message[:MAX_WORDS]
        if known is not None and (known.status, known.reason, known.message) == (status, reason, text):
            return
        is_same = known is not None and known.status == status
        since = known.last_transition_time if known is not None and is_same else self._now
        condition = StatusCondition(kind, status, reason, text, since)
        self._set(conditions=saying(self.workload.status.conditions, condition))
        self._whys.append(f"{kind} is {status}: {reason}")

    def remark(self, kind: str, status: Truth, reason: str, message: str) -> None:
        """As ``say``, of something that only people want to know."""
        weight = self.is_weighty
        self.say(kind, status, reason, message)
        self.is_weighty = weight

    def unsay(self, kind: str) -> None:
        """It is not said any more."""
        conditions = tuple(one for one in self.workload.status.conditions if one.type != kind)
        if conditions != self.workload.status.conditions:
            self._set(conditions=conditions)
            self._whys.append(f"{kind} is over")

    def admit(self, admission: Admission | None) -> None:
        """What it is given; None takes it back."""
        self._set(admission=admission)

    def requeue(self, state: RequeueState | None) -> None:
        """When it may be tried again."""
        self._set(requeue_state=state)

    def reclaim(self, pods: tuple[ReclaimablePods, ...]) -> None:
        """What it does not need any more."""
        self._set(reclaimable_pods=pods)

    def ask(self, requests: tuple[PodSetRequest, ...]) -> None:
        """What it waits for, as it is counted; nothing once it has it."""
        if requests != self.workload.status.resource_requests:
            weight = self.is_weighty
            self._set(resource_requests=requests)
            self.is_weighty = weight

    def spend(self, seconds: int | None) -> None:
        """How long it has run so far."""
        self._set(accumulated_past_execution_time_seconds=seconds)

    def count(self, stats: SchedulingStats) -> None:
        """What became of it, in numbers."""
        self._set(scheduling_stats=stats)

    def annotate(self, name: str, value: str) -> None:
        """Note something on it, or that there is nothing to note; nothing else is written on it in the same pass."""
        annotations = {**self.workload.metadata.annotations, name: value}
        if not value:
            del annotations[name]
        metadata = msgspec.structs.replace(self.workload.metadata, annotations=annotations)
        self.workload = msgspec.structs.replace(self.workload, metadata=metadata)
        self._whys.append(f"{name} is {value or 'nothing'}")
        self.is_weighty = True

    def deactivate(self) -> None:
        """It may not be admitted any more until somebody says so."""
        spec = msgspec.structs.replace(self.workload.spec, active=False)
        self.workload = msgspec.structs.replace(self.workload, spec=spec)
        self.is_weighty = True

    def _set(self, **fields: Any) -> None:  # noqa: ANN401 - of any type that a status has
        status = msgspec.structs.replace(self.workload.status, **fields)
        self.is_weighty = True
        self.workload = msgspec.structs.replace(self.workload, status=status)

    def actions(self) -> list[Action]:
        """What to write. What is said about it comes first: whoever deactivates must have said why."""
        before, now = self.before, self.workload
        subject, version = reference_to(WORKLOADS, before.metadata), before.metadata.resource_version
        why = "; ".join(self._whys) or "its state has changed"
        noted, known = now.metadata.annotations, before.metadata.annotations
        if noted != known:
            notes = {name: noted.get(name) for name in {**known, **noted} if known.get(name) != noted.get(name)}
            body: dict[str, Any] = {"metadata": {"annotations": notes}}
            return [PatchObject(subject=subject, why=why, body=body, resource_version=version)]
        if before.status != now.status:
            body = {"status": _changed(before, now)}
            return [PatchObject(subject=subject, why=why, body=body, subresource="status", resource_version=version)]
        if before.spec.active != now.spec.active:
            body = {"spec": {"active": now.spec.active}}
            return [PatchObject(subject=subject, why=why, body=body, resource_version=version)]
        return []


def _changed(before: Workload, now: Workload) -> dict[str, Any]:
    """The fields of the status that differ; null takes one away. What others wrote beside them stays."""
    old, new = msgspec.to_builtins(before.status), msgspec.to_builtins(now.status)
    fields = {name: value for name, value in new.items() if old.get(name) != value}
    for name in ("admission", "requeueState"):
        if fields.get(name) is not None and old.get(name):
            # A merge patch would keep what the old one had.
            fields[name] = {**dict.fromkeys(old[name]), **fields[name]}
    return fields
