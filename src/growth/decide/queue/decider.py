"""Whose turn is it, and what becomes of those that could not start? Docs: docs/queue.md.

Job ──► Workload waits ──quota──► admitted ──► Job runs ──► finished
             ▲                       │ not ready in time, drained, deactivated
             └── when that is over ◄─┘ evicted: the Job is suspended, its quota free once its pods are gone

The queue where Kueue is, or was: nothing is decided beside a live one, and what a dead one left is cleared away.
"""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.actions import held_and_reported
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NAMESPACES, NODES, PERSISTENT_VOLUME_CLAIMS, PODS, PRIORITY_CLASSES
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, QUEUE_KINDS, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.kueue_installation import KUEUES_OWN
from growth.api.queue.pod import QUEUED_PODS
from growth.api.queue.pod_defaults import FILLING_KINDS
from growth.api.settings.queue import QueueSettings
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.context import Step, run_steps
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, Need, WritePermission
from growth.decide.facts.gangs import GangFindings, PendingGangs
from growth.decide.facts.kept_nodes import RetainedNodes
from growth.decide.facts.virtual_pods import UpcomingJobPods
from growth.decide.queue.admission import admit
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.context import QueueContext
from growth.decide.queue.index import QueueIndex
from growth.decide.queue.jobs import follow_jobs
from growth.decide.queue.kueue_coexistence import ALIVE, let_go, live_kueue, told_of_leftovers
from growth.decide.queue.metrics import METRICS, gauges_of, measured
from growth.decide.queue.orphaned_workloads import note_absence
from growth.decide.queue.plain_pods import follow_pods
from growth.decide.queue.queue_entry import line_up
from growth.decide.queue.queue_status import report
from growth.decide.queue.unreadable_objects import holds_quota_of, told_of_unread, told_of_unreadable
from growth.decide.queue.upcoming_pods import announce
from growth.decide.queue.workload_events import tell_news
from growth.decide.queue.workload_lifecycle import follow
from growth.decide.queue.workload_writes import rest

# Informers sync within seconds; other causes need an operator.
_LOOK_AGAIN: Final = timedelta(seconds=5)


def follow_workloads(context: QueueContext) -> None:
    """Take each workload for which something may have changed as far as it can go without quota."""
    for key in context.touched:
        with context.following(key) as draft:
            follow(context, draft)
        line_up(context, key)


def admit_workloads(context: QueueContext) -> None:
    """Give quota to those whose turn it is."""
    context.carry = msgspec.structs.replace(context.carry, assumed=admit(context, context.carry.assumed))


def report_events(context: QueueContext) -> None:
    """Report what happened to workloads, and, as far as the budget goes, why others wait."""
    carry = context.carry
    news, reported = tell_news(context, carry.reported)
    context.carry = msgspec.structs.replace(carry, news=news, reported=reported)
    rest(context, context.remarks)


def report_queues(context: QueueContext) -> None:
    """Write the statuses of the queues."""
    queues = report(context, context.carry.queues)
    context.carry = msgspec.structs.replace(context.carry, queues=queues)
    context.instants += [one for one in (queues.again_at,) if one is not None]


def provide_facts(context: QueueContext) -> None:
    """Provide the nodes that stay for workloads, and the pods that are about to be created."""
    kept = context.backlog.kept.values()
    context.provided.append(RetainedNodes(frozenset(name for names in kept for name in names)))
    announce(context)


def end_pass(context: QueueContext) -> None:
    """Forget what was given tentatively in this pass, and keep what all looks came to."""
    context.ledger.drop()
    remarks_at = context.remarks.next_at if context.backlog.unsaid else None
    context.instants += [one for one in (context.backlog.next_deadline, remarks_at) if one is not None]
    backlog = context.backlog.finished(context.index.changes, context.closed)
    context.carry = msgspec.structs.replace(context.carry, remarks=context.remarks.closed(), backlog=backlog)


def clear_leftovers(context: QueueContext) -> None:
    """Release what a Kueue that is gone, or an ending workload, holds."""
    snapshot, index = context.snapshot, context.index
    given = {one.admission.cluster_queue for one in context.carry.assumed.given.values()}
    ending = [index.workloads[key] for key in sorted(index.terminating)]
    is_sure = not snapshot.unreadable.get(CLUSTER_QUEUES)
    context.said += let_go(snapshot, ending, given | holds_quota_of(snapshot), is_sure=is_sure)
    context.said += told_of_leftovers(snapshot, context.outcomes)
    context.said += told_of_unreadable(snapshot)


STEPS: Final[tuple[Step[QueueContext], ...]] = (
    note_absence,
    follow_jobs,
    follow_pods,
    follow_workloads,
    admit_workloads,
    report_events,
    report_queues,
    provide_facts,
    end_pass,
    clear_leftovers,
)


def decide(inputs: Inputs[QueueCarry, None, QueueIndex], /) -> Decision[QueueCarry]:
    """Decide whose turn it is, in a cluster that can be read and has no live Kueue."""
    snapshot, before = inputs.snapshot, inputs.carry
    # What was given may not be seen yet, so that is not forgotten while nothing is decided.
    kept = QueueCarry(before.assumed, before.reported)
    if snapshot.unread:
        return Decision(carry=kept, said=tuple(told_of_unread(snapshot)), requeue_at=snapshot.now + _LOOK_AGAIN)
    if (neighbour := live_kueue(snapshot, inputs.clock)) is not None:
        said = held_and_reported(neighbour.subject, reason=ALIVE, why=neighbour.why, action="Queueing")
        return Decision(carry=kept, said=said, requeue_at=neighbour.until)
    return decide_workloads(inputs)


def decide_workloads(inputs: Inputs[QueueCarry, None, QueueIndex]) -> Decision[QueueCarry]:
    """Decide about all workloads."""
    remarks = inputs.carry.remarks.opened(inputs.snapshot.now)
    context = QueueContext(inputs, remarks)
    run_steps(context, STEPS)
    context.deadlines[:] = context.instants
    carry = msgspec.structs.replace(context.carry, gauges=gauges_of(context.carry))
    context.measurements.extend(measured(carry))
    return context.decision(carry)


CAPABILITY: Final = Capability(
    name=CapabilityName("queue"),
    decide=decide,
    initial_carry=lambda _snapshot, _settings: QueueCarry(),
    new_index=QueueIndex,
    settings=QueueSettings,
    watches=(
        *(NAMESPACES, PRIORITY_CLASSES, QUEUED_JOBS, QUEUED_PODS, *FILLING_KINDS, *(own.kind for own in QUEUE_KINDS)),
        # Why pods do not start, and the machines that they wait for.
        *(PODS, NODES, PERSISTENT_VOLUME_CLAIMS, NODE_REQUESTS),
        # Whether Kueue is alive, and what it left.
        *KUEUES_OWN,
    ),
    permissions=(
        WritePermission("get create patch", WORKLOADS),
        WritePermission("patch", WORKLOADS, "status"),
        WritePermission("patch", CLUSTER_QUEUES, "status"),
        WritePermission("patch", LOCAL_QUEUES, "status"),
        WritePermission("patch", QUEUED_JOBS),
        WritePermission("patch", QUEUED_JOBS, "status"),
        WritePermission("patch delete", PODS),
        WritePermission("patch", PODS, "status"),
        WritePermission("patch", RESOURCE_FLAVORS),
        WritePermission("patch", CLUSTER_QUEUES),
    ),
    needs=(Need(OfferingCatalog), Need(GangFindings, if_failed="default")),
    provides=(UpcomingJobPods, PendingGangs, RetainedNodes),
    metrics=METRICS,
    is_enabled=lambda settings: settings.queue.enabled,
    # Definitions of Kueue whose conversion no webhook answers must not keep Growth from launching machines.
    is_late=True,
)
