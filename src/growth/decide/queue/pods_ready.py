"""Are the pods of an admitted workload ready, why not, and when is it put back for that?

What is said while it waits does not change by itself (``diagnosis.complaint``), because every change is a write. What
is said when it is put back tells also what nodes lack. Machines that were on their way to it are noted on it first:
they are kept for its next admission (``returning``).
"""

from typing import Final

from growth.api.pod import Pod
from growth.api.queue.job import QueuedJob
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    LIMIT_EXCEEDED,
    PODS_READY,
    PODS_READY_TIMEOUT,
    WAIT_FOR_RECOVERY,
)
from growth.decide.queue.context import QueueContext
from growth.decide.queue.failure_notes import flavors_of, note_failures
from growth.decide.queue.provisioning_deadline import LaunchingNode, extended, reported
from growth.decide.queue.requeue import MACHINES, ReadinessDeadline, later, next_state, term_of
from growth.decide.queue.unready_reasons import complaint, diagnosis
from growth.decide.queue.workload_patch import WorkloadDraft

_NOT_STARTED: Final = "not ready in time"
_NOT_RECOVERED: Final = "it ran and did not recover in time (recoveryTimeout)"


def follow_readiness(context: QueueContext, draft: WorkloadDraft, job: QueuedJob | None) -> None:
    """Say whether the pods are ready, and put the workload back if they are not in time."""
    workload, known = draft.workload, draft.workload.condition(PODS_READY)
    if job is None:
        # Whoever made it tells whether it is ready. One whose job is not seen yet is not judged.
        if not context.is_awaited(workload):
            _follow_deadline(context, draft, _Waiting(context, draft), "its pods are not ready")
        return
    if not workload.holds(ADMITTED) or workload.holds(EVICTED):
        if known is not None:
            draft.say(PODS_READY, "False", "WaitForStart", "it is not admitted")
        return
    was_ready = known is not None and (known.status == "True" or known.reason == WAIT_FOR_RECOVERY)
    if not job.spec.suspend and job.are_pods_ready:
        word = "Recovered" if was_ready and known is not None and known.reason != "Started" else "Started"
        draft.say(PODS_READY, "True", word, "all its pods are ready or have succeeded")
        return
    count = f"{job.status.ready + job.status.succeeded} of {job.spec.pods} pods are ready or have succeeded"
    waits = _Waiting(context, draft)
    # Its job counts pods a little after they have changed: those that it counts as active are none of the unready ones.
    is_late = not waits.pods and job.status.active >= max(1, job.spec.pods - job.status.succeeded)
    words = _joined(count, waits.machine_words, complaint(context.snapshot, waits.others))
    draft.say(PODS_READY, "False", WAIT_FOR_RECOVERY if was_ready else "WaitForStart", words)
    if not waits.pods and not job.status.active:
        count = f"{count}; its job has made no pods"
    _follow_deadline(context, draft, waits, count, are_ready=is_late)


def follow_patience(context: QueueContext, draft: WorkloadDraft) -> None:
    """Since it was first admitted it never was ready: that is said, and has not changed, from then on."""
    limit, ready = context.terms.requeuing.limit_timeout, draft.workload.condition(PODS_READY)
    is_over = not draft.workload.spec.active or draft.workload.holds(DEACTIVATION_TARGET)
    if limit is None or ready is None or is_over or (ready.status, ready.reason) != ("False", "WaitForStart"):
        return
    ends_at = later(ready.last_transition_time or context.now, limit)
    if context.now < ends_at:
        context.deadlines.append(ends_at)
        return
    why = f"its pods were not ready within {limit.total_seconds():g} s after its first admission"
    draft.say(DEACTIVATION_TARGET, "True", LIMIT_EXCEEDED, why)


class _Waiting:
    """The pods of a workload that are not ready, each with the machine that it waits for."""

    def __init__(self, context: QueueContext, draft: WorkloadDraft) -> None:
        readiness = context.terms.readiness
        self.term: ReadinessDeadline | None = term_of(draft.workload, readiness) if readiness is not None else None
        self.pods: list[tuple[Pod, LaunchingNode | None]] = []
        if self.term is not None:
            pods = context.unready_pods(draft.workload)
            self.pods = [(pod, context.provisioning.machine_for(pod, self.term)) for pod in pods]

    @property
    def machines(self) -> list[LaunchingNode | None]:
        return [machine for _, machine in self.pods]

    @property
    def machine_words(self) -> str:
        return reported(self.machines)

    @property
    def others(self) -> list[Pod]:
        """Those that do not wait for a machine, so that something else must be wrong."""
        return [pod for pod, machine in self.pods if machine is None or machine.is_there]

    @property
    def is_unplaced(self) -> bool:
        """Whether some of them have no node, so that other nodes may help."""
        return any(not pod.node_name for pod, _ in self.pods)

    @property
    def kept(self) -> str:
        """The machines that came late, or have yet to come: not those on which pods cannot start anyway."""
        names = {one.name for pod, one in self.pods if one is not None and not (pod.node_name and pod.status.trouble)}
        return ",".join(sorted(names))


def _follow_deadline(
    context: QueueContext, draft: WorkloadDraft, waits: _Waiting, count: str, *, are_ready: bool = False
) -> None:
    if waits.term is None:
        return
    ends_at = waits.term.ends_at
    if context.terms.extends:
        ends_at = extended(waits.term, waits.machines, context.settings.provision, are_ready=are_ready)
    if context.now < ends_at:
        context.deadlines.append(ends_at)
        return
    why = _joined(count, waits.machine_words, diagnosis(context.snapshot, waits.others, context.no_place))
    late = f"{_NOT_RECOVERED if waits.term.is_recovery else _NOT_STARTED}: {why}"
    state = next_state(draft.workload, context.terms.requeuing, context.now)
    if state is None:
        limit = context.terms.requeuing.limit_count
        draft.say(DEACTIVATION_TARGET, "True", LIMIT_EXCEEDED, f"{late}, and it was put back {limit} times already")
        return
    # It is put back once this is seen: then its pods go, and nobody knows any more what they waited for.
    failed = flavors_of(draft.workload) if waits.is_unplaced else ()
    is_noting = note_failures(draft, failed, context.closed, is_recovery=waits.term.is_recovery)
    if draft.workload.metadata.annotations.get(MACHINES, "") != waits.kept:
        draft.annotate(MACHINES, waits.kept)
        return
    if is_noting:
        return
    draft.requeue(state)
    draft.say(EVICTED, "True", PODS_READY_TIMEOUT, late)


def _joined(*words: str) -> str:
    return "; ".join(one for one in words if one)
