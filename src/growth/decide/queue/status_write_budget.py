"""What is only told to people must not slow down what is decided: so many such writes a second, and no more.

Why a workload waits, and how full a queue is, changes with every job that comes or goes. Where few do, each change is
told at once. Where hundreds do in a second, the API server is left to the admissions, and the latest is told as often
as there is room for it.

The end of a pass: what is to be written on workloads, and who need not be looked at in the next one.
"""

from collections.abc import Hashable
from datetime import datetime, timedelta

import msgspec

from growth.api.queue.workload import PODS_READY
from growth.decide.queue.context import QueueContext
from growth.decide.queue.flavor_migration import may_have_to_move
from growth.decide.queue.quota_holders import Key
from growth.decide.queue.retained_nodes import machines_kept_for
from growth.decide.queue.usage_figures import share_of
from growth.decide.queue.workload_patch import WorkloadDraft


class StatusWriteBudget(msgspec.Struct, frozen=True):
    """How many writes may be made now."""

    per_second: float
    most: float
    """So many at once, after a while without any."""
    left: float
    at: datetime | None = None
    paid: dict[Hashable, int] = {}
    """What was paid for and is not seen yet, with the version on which it was said: to repeat it costs nothing."""

    def opened(self, now: datetime) -> "BudgetSpending":
        """The purse for one pass."""
        elapsed = (now - self.at).total_seconds() if self.at is not None else 0.0
        left = min(self.most, self.left + max(0.0, elapsed) * self.per_second)
        return BudgetSpending(self, left, now)


class BudgetSpending:
    """A purse during a pass."""

    def __init__(self, budget: StatusWriteBudget, left: float, now: datetime) -> None:
        self._purse, self._left, self._now = budget, left, now
        self._paid: dict[Hashable, int] = {}
        self._is_short = False

    def pays(self, subject: Hashable, version: int) -> bool:
        """Whether this may be written now."""
        if self._purse.paid.get(subject) != version:
            if self._left < 1:
                self._is_short = True
                return False
            self._left -= 1
        self._paid[subject] = version
        return True

    @property
    def left(self) -> int:
        """How many more may be made now."""
        return int(self._left)

    @property
    def next_at(self) -> datetime:
        """When there is room for more."""
        return self._now + timedelta(seconds=1)

    @property
    def again_at(self) -> datetime | None:
        """When there is room again for what was left out; None if nothing was."""
        return self.next_at if self._is_short else None

    def closed(self) -> StatusWriteBudget:
        """What is left."""
        return msgspec.structs.replace(self._purse, left=self._left, at=self._now, paid=self._paid)


def rest(context: QueueContext, remarks: BudgetSpending) -> None:
    """Write what was said of workloads: first what others go by; then what only people want to know, as far as
    ``remarks`` pay for it."""
    for key, draft in sorted(context.drafts.items(), key=lambda one: (not one[1].is_weighty, one[0])):
        actions = draft.actions()
        if actions and not draft.is_weighty and not remarks.pays(key, draft.before.metadata.resource_version):
            context.carry.unsaid.setdefault(key)
            _note(context, key, draft, is_quiet=True)
            continue
        context.carry.unsaid.pop(key, None)
        context.said += actions
        _note(context, key, draft, is_quiet=not actions and not _is_awaited(context, draft))


def _note(context: QueueContext, key: Key, draft: WorkloadDraft, *, is_quiet: bool) -> None:
    index, seat = context.carry, context.carry.seats[key]
    (index.restless.discard if is_quiet else index.restless.add)(key)
    kept = machines_kept_for(draft.workload, context.terms.requeuing, context.now)
    if kept:
        index.kept[key] = kept
    else:
        index.kept.pop(key, None)
    index.count(seat, share_of(context, draft.workload))


def _is_awaited(context: QueueContext, draft: WorkloadDraft) -> bool:
    """Whether its pods are awaited: how they fare is seen on pods, machines and nodes, not on it."""
    workload = draft.workload
    if workload.metadata.controller is None or not workload.is_reserving or workload.holds(PODS_READY):
        return False
    return context.terms.readiness is not None or may_have_to_move(context, workload)
