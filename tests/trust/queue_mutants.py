"""Deliberate defects of the queue: each would give quota twice, lose somebody, or serve the wrong one first."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.queue.job import QueuedJob
from growth.api.queue.quotas import FlavorQuotas
from growth.api.queue.workload import EVICTED, RequeueState, Workload
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import OfferingInCatalog
from growth.decide.queue.context import QueueContext
from growth.decide.queue.failed_flavors import FailedFlavors
from growth.decide.queue.pending_queue import Order, Strategy, order_of
from growth.decide.queue.requeue import RequeuePolicy, delay
from growth.decide.queue.workload_patch import WorkloadDraft
from tests.trust.mutant import Mutant

_QUEUE: Final = "growth.decide.queue"
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_REQUEUE: Final = WorkloadDraft.requeue


def _suspended_is_stopped(job: QueuedJob) -> bool:
    return job.spec.suspend


def _nothing_active_is_stopped(job: QueuedJob) -> bool:
    return job.spec.suspend and job.status.active == 0


def _nothing(*_: object) -> None:
    """What was decided and is not seen does not count."""


def _always(*_: object) -> bool:
    return True


def _never(*_: object) -> bool:
    return False


def _front(workload: Workload, _: Strategy) -> Order:
    return order_of(workload, "Creation")


def _any_eviction(workload: Workload, strategy: Strategy) -> Order:
    evicted = workload.condition(EVICTED)
    if strategy == "Creation" or evicted is None or evicted.status != "True":
        return order_of(workload, "Creation")
    return -workload.priority, evicted.last_transition_time or _NEVER, workload.metadata.uid


def _time_alone(workload: Workload, strategy: Strategy) -> Order:
    return 0, *order_of(workload, strategy)[1:]


def _without_limit(workload: Workload, terms: RequeuePolicy, now: datetime) -> RequeueState:
    state = workload.status.requeue_state
    count = (state.count or 0) if state is not None else 0
    return RequeueState(count + 1, now + delay(count + 1, terms, workload.metadata.uid))


def _always_the_same(count: int, terms: RequeuePolicy, _: str) -> timedelta:
    return terms.base if count else timedelta(0)


def _never_forgets(draft: WorkloadDraft, state: RequeueState | None) -> None:
    if state is not None:
        _REQUEUE(draft, state)


def _template_unknown(*_: object) -> Mapping[str, Any]:
    return {}


def _all_at_once(draft: WorkloadDraft) -> list[Any]:
    """What is deactivated is written without what is said about it."""
    before, now = draft.before, draft.workload
    if before.spec.active == now.spec.active and now.condition("DeactivationTarget") is not None and now.spec.active:
        draft.deactivate()
        draft.workload = msgspec.structs.replace(draft.workload, status=before.status)
    return _ACTIONS(draft)


_ACTIONS: Final = WorkloadDraft.actions


def _some_may_be_asked_for(offered: OfferingInCatalog) -> bool:
    return offered.access is not Availability.CLOSED and offered.offering.stock != 0


def _has_no_node(scene: QueueContext, workload: Workload) -> bool:
    return any(not pod.node_name for pod in scene.unready_pods(workload))


def _as_written(_: FailedFlavors, quotas: Iterable[FlavorQuotas]) -> list[FlavorQuotas]:
    return list(quotas)


def _mutant(name: str, changes: Mapping[str, object], *, story: str = "", tests: str = "") -> Mutant:
    dotted = {one if one.startswith("growth.") else f"{_QUEUE}.{one}": new for one, new in changes.items()}
    paths = " ".join(f"tests/decide/queue/test_{one}.py" for one in tests.split())
    return Mutant(f"queue: {name}", dotted, story, paths)


_IS_STOPPED: Final = "growth.api.queue.job.QueuedJob.is_stopped"

QUEUE_MUTANTS: Final = (
    _mutant(
        "quota is free as soon as a job is suspended",
        {_IS_STOPPED: property(_suspended_is_stopped)},
        tests="properties workload_lifecycle",
    ),
    _mutant(
        "pods that are leaving have no place",
        {_IS_STOPPED: property(_nothing_active_is_stopped)},
        story="when the last pod is gone",
    ),
    _mutant(
        "what was decided and is not seen does not count", {"admission._Round._repeat": _nothing}, tests="admission"
    ),
    _mutant("a strict queue is not strict", {"admission._Round._goes_on": _always}, tests="properties"),
    _mutant("every queue is strict", {"admission._Round._goes_on": _never}, tests="properties", story="wakes whom"),
    _mutant(
        "who could not start is in front again",
        {"queue_entry.order_of": _front},
        tests="order_model",
        story="with eviction who",
    ),
    _mutant("any eviction moves a workload to the back", {"queue_entry.order_of": _any_eviction}, tests="order_model"),
    _mutant("priority is no matter", {"queue_entry.order_of": _time_alone}, tests="order_model"),
    _mutant(
        "a backoff holds nobody back", {"workload_lifecycle.is_waiting": _never}, tests="order_model", story="two gpus"
    ),
    _mutant("a backoff does not grow", {"requeue.delay": _always_the_same}, tests="order_model", story="two gpus"),
    _mutant("there is no limit", {"pods_ready.next_state": _without_limit}, tests="properties", story="two gpus"),
    _mutant(
        "a reactivated workload is counted on",
        {"workload_patch.WorkloadDraft.requeue": _never_forgets},
        tests="order_model",
        story="after a restart",
    ),
    _mutant(
        "the cause of a deactivation is not kept",
        {"workload_patch.WorkloadDraft.actions": _all_at_once},
        tests="workload_lifecycle",
        story="after a restart",
    ),
    _mutant(
        "nobody knows what a template was", {"jobs._before_start": _template_unknown}, tests="jobs", story="two gpus"
    ),
    _mutant(
        "what is tried with one machine is out of stock",
        {"flavor_stock._is_to_be_had": _some_may_be_asked_for},
        tests="flavor_stock",
    ),
    _mutant(
        "whoever has bought the last machine has to go",
        {"flavor_migration._is_in_vain": _has_no_node},
        tests="flavor_migration",
        story="the last machine is",
    ),
    _mutant(
        "a backoff holds also for what was not tried",
        {"queue_entry._is_early": _never},
        tests="failed_flavors",
        story="in its backoff starts",
    ),
    _mutant(
        "where it failed is tried first again",
        {"failed_flavors.FailedFlavors.ordered": _as_written},
        tests="failed_flavors",
    ),
    _mutant(
        "where it failed is never forgotten", {"workload_lifecycle.follow_failures": _never}, tests="failed_flavors"
    ),
    _mutant(
        "whoever has quota is about to make pods",
        {"upcoming_pods._is_about_to_start": _always},
        tests="upcoming_pods",
        story="makes no pods",
    ),
)
