"""Plain pods that wait in a queue: made by no controller, and gated when they are created.

A gate can only be set at creation, so the API server does it, by a policy (charts/growth/queue-policy.yaml). A pod that
has none cannot be held back any more.
"""

from functools import lru_cache
from typing import Any, Final

import msgspec

from growth.api.interning import kept
from growth.api.kinds import Kind
from growth.api.meta import Condition, FrozenValue, ObjectMeta
from growth.api.queue.job import QueuedJob, QueuedJobSpec, QueuedJobStatus

GATE: Final = "kueue.x-k8s.io/admission"
MANAGED: Final = "kueue.x-k8s.io/managed"
"""Label of a pod that was gated when it was created, which it still bears when its gate is gone."""

GROUP_NAME: Final = "kueue.x-k8s.io/pod-group-name"
TERMINATION_TARGET: Final = "TerminationTarget"
"""Condition of a pod that is ended because its workload was evicted."""

_ENDINGS: Final = {"Succeeded": "Complete", "Failed": "Failed"}


@lru_cache(8192)
def _conditions(written: bytes) -> tuple[Condition, ...]:
    return msgspec.json.decode(written, type=tuple[Condition, ...])


@lru_cache(8192)
def _gates(spec: bytes) -> tuple[str, ...]:
    gates: list[dict[str, Any]] = msgspec.json.decode(spec).get("schedulingGates") or []
    return tuple(one["name"] for one in gates)


@lru_cache(8192)
def _template(spec: bytes) -> msgspec.Raw:
    """The pod without our gate, as a template would have it."""
    plain: dict[str, Any] = msgspec.json.decode(spec)
    gates = [one for one in plain.pop("schedulingGates", None) or () if one["name"] != GATE]
    return msgspec.Raw(msgspec.json.encode({"spec": {**plain, **({"schedulingGates": gates} if gates else {})}}))


class QueuedPodStatus(FrozenValue, frozen=True):
    """How it is. Conditions are kept as they were sent, because one is added to them."""

    phase: str = ""
    conditions: msgspec.Raw = msgspec.Raw(b"[]")

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "conditions", kept(self.conditions))


class QueuedPod(FrozenValue, frozen=True):
    """One pod that names a queue."""

    metadata: ObjectMeta
    spec: msgspec.Raw
    status: QueuedPodStatus = QueuedPodStatus()

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "spec", kept(self.spec))

    @property
    def gates(self) -> tuple[str, ...]:
        """What keeps the scheduler from it."""
        return _gates(bytes(self.spec))

    @property
    def is_gated(self) -> bool:
        """Whether it waits for its queue."""
        return GATE in self.gates

    @property
    def is_held(self) -> bool:
        """Whether it was held back from the first instant, be it that it waits still or was let go since."""
        return self.is_gated or MANAGED in self.metadata.labels

    def holds(self, kind: str) -> bool:
        """Whether this is said of it."""
        return any(one.type == kind and one.status == "True" for one in _conditions(bytes(self.status.conditions)))

    @property
    def as_job(self) -> QueuedJob:
        """The same as a job of one pod, suspended while it is gated: so the queue need not tell one from the other."""
        ending = _ENDINGS.get(self.status.phase)
        has_ended = (Condition(ending, "True", self.status.phase),) if ending is not None else ()
        status = QueuedJobStatus(
            active=int(not self.is_gated and ending is None),
            ready=int(ending is None and self.holds("Ready")),
            succeeded=int(self.status.phase == "Succeeded"),
            conditions=has_ended,
        )
        spec = QueuedJobSpec(_template(bytes(self.spec)), parallelism=1, completions=1, suspend=self.is_gated)
        return QueuedJob(self.metadata, spec, status)


QUEUED_PODS: Final = Kind("", "v1", "pods", "Pod", namespaced=True, type=QueuedPod, is_tolerant=True)
"""Those that bear the label ``kueue.x-k8s.io/queue-name``, also pods of jobs whose template bears it."""
