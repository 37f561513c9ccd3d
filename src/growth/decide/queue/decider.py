"""Whose turn is it, and what becomes of those that could not start? Docs: docs/queue.md.

Job ──► Workload waits ──quota──► admitted ──► Job runs ──► finished
             ▲                       │ not ready in time, drained, deactivated
             └── when that is over ◄─┘ evicted: the Job is suspended, its quota free once its pods are gone

The queue where Kueue is, or was: nothing is decided beside a live one, and what a dead one left is cleared away.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from growth.api.actions import Action, Hold, held_and_reported
from growth.api.queue.kinds import CLUSTER_QUEUES
from growth.api.settings.model import Settings
from growth.decide.contract import DeciderState, Decision
from growth.decide.queue.admission import admit
from growth.decide.queue.assumed_admissions import AssumedAdmission
from growth.decide.queue.context import Key, QueueContext
from growth.decide.queue.index import QueueIndex
from growth.decide.queue.jobs import follow_jobs
from growth.decide.queue.kueue_coexistence import ALIVE, let_go, live_kueue, told_of_leftovers
from growth.decide.queue.orphaned_workloads import note_absence
from growth.decide.queue.plain_pods import follow_pods
from growth.decide.queue.queue_entry import line_up
from growth.decide.queue.queue_status import QueueReports, report
from growth.decide.queue.retained_nodes import note_awaited
from growth.decide.queue.status_write_budget import StatusWriteBudget, rest
from growth.decide.queue.unreadable_objects import holds_quota_of, told_of_unread, told_of_unreadable
from growth.decide.queue.upcoming_pods import announce
from growth.decide.queue.usage_figures import QueueFigures
from growth.decide.queue.workload_events import WorkloadEvents, tell_news
from growth.decide.queue.workload_lifecycle import follow
from growth.observe.snapshot import Snapshot

# Informers sync within seconds; other causes need an operator.
_LOOK_AGAIN: Final = timedelta(seconds=5)


class QueueCarry(msgspec.Struct, frozen=True):
    """What was decided and is not seen yet, what there is to show, and what need not be worked out again."""

    assumed: AssumedAdmission = AssumedAdmission()
    reported: Mapping[Key, int] = {}
    """Of which version of a workload something was told just now."""
    news: WorkloadEvents = WorkloadEvents()
    queues: QueueReports = QueueReports()
    remarks: StatusWriteBudget = StatusWriteBudget(per_second=30, most=100, left=100)
    """For saying why somebody waits."""
    index: QueueIndex | None = None

    @property
    def figures(self) -> Mapping[str, QueueFigures]:
        """How full each ClusterQueue is."""
        return self.queues.figures


def decide(snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
    """What should happen now."""
    if snapshot.unread:
        return Decision(tuple(told_of_unread(snapshot)), snapshot.now + _LOOK_AGAIN, _kept(state))
    neighbour = live_kueue(snapshot, state)
    if neighbour is not None:
        said = held_and_reported(neighbour.subject, reason=ALIVE, why=neighbour.why, action="Queueing")
        return Decision(said, neighbour.until, _kept(state))
    decision = decide_workloads(snapshot, state, settings)
    carry = decision.previous if isinstance(decision.previous, QueueCarry) else QueueCarry()
    given = {one.admission.cluster_queue for one in carry.assumed.given.values()} | holds_quota_of(snapshot)
    index = carry.index
    ending = [index.seats[key].workload for key in sorted(index.ending)] if index is not None else []
    more: list[Action | Hold] = [
        *let_go(snapshot, ending, given, is_sure=not snapshot.unreadable.get(CLUSTER_QUEUES)),
        *told_of_leftovers(snapshot, state),
        *told_of_unreadable(snapshot),
    ]
    return msgspec.structs.replace(decision, said=(*decision.said, *more))


def decide_workloads(snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
    """Whose turn it is, in a cluster without a live Kueue."""
    carry = state.carry if isinstance(state.carry, QueueCarry) else QueueCarry()
    remarks = carry.remarks.opened(snapshot.now)
    context = QueueContext(snapshot, state, settings, carry.index, remarks.left)
    note_absence(context)
    follow_jobs(context)
    follow_pods(context)
    for key in context.touched:
        with context.following(key) as draft:
            follow(context, draft)
        line_up(context, key)
    assumed = admit(context, carry.assumed)
    news, reported = tell_news(context, carry.reported)
    rest(context, remarks)
    queues = report(context, carry.queues)
    note_awaited(snapshot, context.carry.kept.values())
    announce(context)
    context.end()
    remarks_at = remarks.next_at if context.carry.unsaid else None
    instants = (*context.instants, context.carry.next_deadline, remarks_at, queues.again_at)
    wake_at = min((when for when in instants if when is not None and when > context.now), default=None)
    return Decision(
        tuple(context.said), wake_at, QueueCarry(assumed, reported, news, queues, remarks.closed(), context.carry)
    )


def _kept(state: DeciderState) -> QueueCarry:
    """What is not forgotten while nothing is decided: what was given may not be seen yet."""
    before = state.carry if isinstance(state.carry, QueueCarry) else QueueCarry()
    return QueueCarry(before.assumed, before.reported)
