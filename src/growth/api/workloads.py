"""What makes pods and guards them: DaemonSets, Jobs, disruption budgets, priorities."""

from datetime import datetime

from growth.api.meta import Condition, FrozenValue, ObjectMeta
from growth.api.pod import TemplateSpec
from growth.api.selectors import LabelSelector


class PodTemplate(FrozenValue, frozen=True):
    """The pattern that pods are made from."""

    metadata: ObjectMeta = ObjectMeta()
    spec: TemplateSpec = TemplateSpec()


class DaemonSetSpec(FrozenValue, frozen=True):
    """What a DaemonSet puts on every node that its template accepts."""

    template: PodTemplate = PodTemplate()


class DaemonSet(FrozenValue, frozen=True):
    """One DaemonSet: its pods take room on nodes that do not exist yet."""

    metadata: ObjectMeta
    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(FrozenValue, frozen=True):
    """How many pods a Job wants, and whether it may run now."""

    parallelism: int | None = None
    completions: int | None = None
    suspend: bool = False
    template: PodTemplate = PodTemplate()


class JobStatus(FrozenValue, frozen=True):
    """How far a Job has come."""

    active: int = 0
    ready: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()


class Job(FrozenValue, frozen=True):
    """One Job."""

    metadata: ObjectMeta
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class DisruptionBudgetSpec(FrozenValue, frozen=True):
    """Which pods the budget protects; numbers are the controller's business."""

    selector: LabelSelector | None = None


class DisruptionBudgetStatus(FrozenValue, frozen=True):
    """How many of them may go right now."""

    disruptions_allowed: int = 0
    observed_generation: int = 0


class PodDisruptionBudget(FrozenValue, frozen=True):
    """One budget."""

    metadata: ObjectMeta
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus = DisruptionBudgetStatus()


class PriorityClass(FrozenValue, frozen=True):
    """A name for how important a pod is."""

    metadata: ObjectMeta
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"
