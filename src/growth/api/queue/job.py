"""Jobs that wait in a queue: with their whole template, because it is given back to them as it was."""

from datetime import datetime
from typing import Final

import msgspec

from growth.api.interning import kept
from growth.api.kinds import Kind
from growth.api.meta import Condition, FrozenValue, ObjectMeta

STOPPING: Final = "kueue.x-k8s.io/stopping"
"""Annotation of a job that is being stopped: what was changed in its template is to be taken back."""

TEMPLATE_WAS: Final = "growth.dev/template-was"
"""Annotation of a job that was started: what its template said before, where that was changed."""


class QueuedJobSpec(FrozenValue, frozen=True):
    """How many pods it wants, made from what, and whether it may run now."""

    template: msgspec.Raw
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool = False

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "template", kept(self.template))

    @property
    def pods(self) -> int:
        """How many run at one time."""
        parallelism = 1 if self.parallelism is None else self.parallelism
        return parallelism if self.completions is None else min(parallelism, self.completions)


class UncountedPods(FrozenValue, frozen=True):
    """Pods that have ended and are not in the counts yet."""

    succeeded: tuple[str, ...] = ()


class QueuedJobStatus(FrozenValue, frozen=True):
    """How far it has come."""

    active: int = 0
    terminating: int = 0
    """Pods that are leaving and not gone: they are active no more, and still have their place."""
    ready: int = 0
    succeeded: int = 0
    start_time: datetime | None = None
    uncounted_terminated_pods: UncountedPods = UncountedPods()
    conditions: tuple[Condition, ...] = ()


class QueuedJob(FrozenValue, frozen=True):
    """One Job that names a queue."""

    metadata: ObjectMeta
    spec: QueuedJobSpec
    status: QueuedJobStatus = QueuedJobStatus()

    @property
    def ended(self) -> Condition | None:
        """How it ended, if it did: Complete or Failed."""
        endings = (one for one in self.status.conditions if one.type in ("Complete", "Failed"))
        return next((one for one in endings if one.status == "True"), None)

    @property
    def is_stopped(self) -> bool:
        """Whether no pod of it runs, and none can: whoever wanted to start it decided on a version without the mark."""
        is_marked = self.spec.suspend and STOPPING in self.metadata.annotations
        return is_marked and self.status.active == 0 and self.status.terminating == 0

    @property
    def pods_to_come(self) -> int:
        """How many pods it will still run at one time; fewer than at first when the last ones are running."""
        if self.spec.pods <= 1:
            return self.spec.pods
        whole = self.spec.pods if self.spec.completions is None else self.spec.completions
        return min(self.spec.pods, max(0, whole - self.status.succeeded))

    @property
    def are_pods_ready(self) -> bool:
        """Whether as many pods run or have succeeded as should."""
        status = self.status
        done = status.ready + status.succeeded + len(status.uncounted_terminated_pods.succeeded)
        return done >= self.spec.pods


QUEUED_JOBS: Final = Kind("batch", "v1", "jobs", "Job", namespaced=True, type=QueuedJob, is_tolerant=True)
"""Those that bear the label ``kueue.x-k8s.io/queue-name``."""
