"""All about one workload, as one value: its story, what it waits for, and what happens next. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.pod import Pod
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    PODS_READY,
    PODS_READY_TIMEOUT,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    Workload,
)
from growth.api.status import StatusCondition
from growth.cli.formatting import amounts, times
from growth.cli.memory_list import counted
from growth.cli.queue_entry import HOLDING, WorkloadPhase, WorkloadRow, entry_of, written
from growth.cli.queue_future import coming, deadline_of, next_words
from growth.cli.queue_offers import FlavorOffer, changes_for, holders_of, offers_for
from growth.cli.queue_preemption import names_in, sent_back, until_gone, waits_for
from growth.cli.queue_reader import QueueView, title_of
from growth.decide.queue.context import Key
from growth.decide.queue.held_quota import usage_of

_SHOWN_AHEAD: Final = 5


_HAPPENED: Final = {
    (QUOTA_RESERVED, "False"): "it waits",
    (QUOTA_RESERVED, "True"): "",
    (ADMITTED, "True"): "it was admitted",
    (ADMITTED, "False"): "",
    (EVICTED, "True"): "it was evicted",
    (EVICTED, "False"): "",
    (PREEMPTED, "True"): "",
    (PREEMPTED, "False"): "",
    (REQUEUED, "True"): "it came back to the queue",
    (REQUEUED, "False"): "",
    (PODS_READY, "True"): "its pods were ready",
    (PODS_READY, "False"): "its pods are not ready",
    (DEACTIVATION_TARGET, "True"): "it was to be deactivated",
    (FINISHED, "True"): "it finished",
}
"""What each statement means as something that happened; empty where another one says the same."""


class WorkloadStep(msgspec.Struct, frozen=True):
    """Something that was written about it, or that will happen."""

    at: datetime
    what: str
    """The condition's type; empty for what is no condition."""
    words: str
    is_to_come: bool = False


class PodView(msgspec.Struct, frozen=True):
    """One of its pods."""

    name: str
    phase: str
    node: str
    is_ready: bool
    why: str
    """What keeps it from starting; empty if nothing is known to."""


class WorkloadReport(msgspec.Struct, frozen=True):
    """Everything; ``--output json`` prints this."""

    at: datetime
    notices: tuple[str, ...]
    """What holds for all: why nobody decides anything, and what cannot be read."""
    entry: WorkloadRow
    strategy: str
    """Of its ClusterQueue."""
    line: int
    """How many wait in its line."""
    ahead: tuple[str, ...]
    """Who of them comes before it, the next one last."""
    held_up_by: str
    """In a StrictFIFO queue, who holds up the line and why; empty if nobody does, or it itself."""
    victims: tuple[str, ...]
    """Who has to go before it is admitted, each with what it holds."""
    steps: tuple[WorkloadStep, ...]
    offers: tuple[FlavorOffer, ...]
    """What it asks for and what each flavor has; nothing for one that has quota."""
    holds: dict[str, str]
    """What it was given, by flavor."""
    holders: tuple[str, ...]
    """Who holds most of what it lacks."""
    changes: tuple[str, ...]
    """What would have to change."""
    next: str
    next_at: datetime | None
    job: str
    """How its Job is, in words; empty if it has none, or none is seen."""
    pods: tuple[PodView, ...]


def explained(seen: QueueView, key: Key, pods: Sequence[Pod]) -> WorkloadReport:
    """What there is to say about this workload."""
    workload, entry = seen.context.drafts[key].before, entry_of(seen, key)
    if pods and entry.standing is WorkloadPhase.STARTING:
        entry = msgspec.structs.replace(entry, until=deadline_of(seen, key) or entry.until)
    queue = seen.context.queue_of(workload)
    line = seen.lines.get(entry.cluster_queue, ())
    offers = tuple(offers_for(seen, workload)) if entry.standing not in (*HOLDING, WorkloadPhase.FINISHED) else ()
    return WorkloadReport(
        at=seen.context.now,
        notices=seen.notices,
        entry=entry,
        strategy=queue.spec.queueing_strategy if queue is not None else "",
        line=len(line) if entry.position else 0,
        ahead=tuple(title_of(seen, one) for one in line[: max(0, entry.position - 1)][-_SHOWN_AHEAD:]),
        held_up_by=_held_up_by(seen, key, entry),
        victims=tuple(_victim(seen, name) for name in names_in(written(seen, key, workload)) if entry.waits_for),
        steps=tuple(_steps(seen, workload, entry)),
        offers=offers,
        holds=_holds(workload),
        holders=tuple(holders_of(seen, key, offers)),
        changes=tuple(changes_for(seen, workload, entry, offers)),
        next=next_words(seen, workload, entry),
        next_at=entry.until,
        job=_job(seen, workload),
        pods=tuple(_pod(pod) for pod in sorted(pods, key=lambda pod: pod.metadata.name)),
    )


def _held_up_by(seen: QueueView, key: Key, entry: WorkloadRow) -> str:
    queue = seen.context.queues.get(entry.cluster_queue)
    first = seen.firsts.get(entry.cluster_queue, key)
    if not entry.position or first == key or queue is None or queue.spec.queueing_strategy != "StrictFIFO":
        return ""
    return f"{title_of(seen, first)}: {entry_of(seen, first).why}"


def _victim(seen: QueueView, name: str) -> str:
    if name not in seen.going:
        return name
    held = _holds(seen.context.drafts[seen.going[name]].before)
    return f"{title_of(seen, seen.going[name])} ({'; '.join(held.values())})"


def _holds(workload: Workload) -> dict[str, str]:
    given: dict[str, dict[str, int]] = {}
    for (flavor, resource), amount in usage_of(workload).items() if workload.is_reserving else ():
        given.setdefault(flavor, {})[resource] = amount
    return {flavor: amounts(each) for flavor, each in given.items()}


def _steps(seen: QueueView, workload: Workload, entry: WorkloadRow) -> Iterable[WorkloadStep]:
    """In order of time. A condition tells only of its last change, so what was before it is not known any more."""
    return sorted(
        (*_past(seen, workload), *_future(seen, workload, entry)), key=lambda step: (step.is_to_come, step.at)
    )


def _past(seen: QueueView, workload: Workload) -> Iterator[WorkloadStep]:
    job, meta = seen.context.job_of(workload), workload.metadata
    if job is not None and job.metadata.creation_timestamp is not None:
        yield WorkloadStep(job.metadata.creation_timestamp, "", f"Job {job.metadata.name} was made")
    if meta.creation_timestamp is not None:
        yield WorkloadStep(meta.creation_timestamp, "", f"it was queued in {meta.namespace}/{workload.spec.queue_name}")
    for said in workload.status.conditions:
        words = _worded(seen, workload, said)
        if words and said.last_transition_time is not None:
            yield WorkloadStep(said.last_transition_time, said.type, words)
    if job is not None and job.status.start_time is not None:
        yield WorkloadStep(job.status.start_time, "", f"Job {job.metadata.name} was started")


def _worded(seen: QueueView, workload: Workload, said: StatusCondition) -> str:
    """A statement as something that happened; empty if it only repeats what another one says."""
    if (said.type, said.status) not in _HAPPENED:
        truth = "" if said.status == "True" else f" is {said.status}"
        return f"{said.type}{truth} ({said.reason}): {said.message}"
    words = _HAPPENED[said.type, said.status]
    if said.type == ADMITTED:
        return words
    if said.type == PODS_READY and not workload.is_reserving:
        return ""
    if said.type == EVICTED and said.reason == PODS_READY_TIMEOUT and workload.status.requeue_state is not None:
        words += f" after it was tried {times(workload.status.requeue_state.count or 1)}"
    gave_way = sent_back(seen, workload)
    if said.type == EVICTED and gave_way is not None:
        return f"it was sent back ({gave_way.reason}): {gave_way.why}"
    if said.type == QUOTA_RESERVED and (titles := waits_for(seen, said.message)):
        return f"it {until_gone(titles)} ({said.reason})"
    if said.type == QUOTA_RESERVED and said.reason == "PendingEvaluation":
        return "its quota is free again"
    return f"{words} ({said.reason}): {said.message}" if words else ""


def _future(seen: QueueView, workload: Workload, entry: WorkloadRow) -> Iterator[WorkloadStep]:
    if entry.until is not None:
        yield WorkloadStep(entry.until, "", coming(seen, workload, entry), is_to_come=True)


def _job(seen: QueueView, workload: Workload) -> str:
    job = seen.context.job_of(workload)
    if job is None:
        return ""
    status, spec = job.status, job.spec
    if job.ended is not None:
        return f"Job {job.metadata.name} has ended: {job.ended.type}"
    state = "suspended" if spec.suspend else "running"
    done = f", {status.succeeded} have succeeded" if status.succeeded else ""
    has = f"it has {status.active}, {status.ready} of them ready" if status.active else "it has none"
    return f"Job {job.metadata.name} is {state}; of {counted(spec.pods, 'pod')} at one time {has}{done}"


def _pod(pod: Pod) -> PodView:
    ready, scheduled = pod.condition("Ready"), pod.condition("PodScheduled")
    is_refused = scheduled is not None and scheduled.status == "False"
    why = pod.status.trouble or (f"not scheduled: {scheduled.reason}" if scheduled is not None and is_refused else "")
    is_ready = ready is not None and ready.status == "True"
    return PodView(pod.metadata.name, pod.status.phase or "Pending", pod.node_name, is_ready, why)
