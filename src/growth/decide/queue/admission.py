"""Who gets quota now: in order of priority and time, as far as there is some.

In a queue with StrictFIFO whoever cannot be served holds up those behind it; with BestEffortFIFO the next one is tried.
Among the heads of queues that share a cohort, whoever need not borrow comes first.

Somebody who is more important than those who hold quota may have it instead: they are sent back, and it waits for them
to go. What it waits for is counted as its own, or somebody else would take it.

What was decided is not seen at once. Until it is, it counts: otherwise somebody who comes in between could be given the
same quota once more, or more would be sent back than need be.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

import msgspec

from growth.api.quantity import QuantityError
from growth.api.queue.cluster_queues import ClusterQueue
from growth.api.queue.workload import (
    EVICTED,
    PREEMPTED,
    WAITS_FOR_PREEMPTED,
    Admission,
)
from growth.decide.queue.assumed_admissions import AssumedAdmission, NewAdmission, admission_of, requests_of
from growth.decide.queue.context import Key, QueueContext
from growth.decide.queue.existing_capacity import ExistingCapacity, shut_in
from growth.decide.queue.failed_flavors import NOTHING_TRIED, FailedFlavors, tried_by
from growth.decide.queue.flavor_assignment import (
    NO_PLACEMENT,
    Assignment,
    AssignmentMode,
    AssignmentRefusal,
    FlavorRank,
    PodSetNeeds,
    asks_for_pods,
    assign,
    needs_of,
)
from growth.decide.queue.held_quota import usage_of
from growth.decide.queue.pending_queue import (
    Order,
    QueueIterator,
    Waiter,
    queued_since,
    waits_for_preempted,
    was_sent_back,
)
from growth.decide.queue.preemption import PreemptionTree, Victim, height_without, promise, promised_to, victims
from growth.decide.queue.queue_entry import wait, write_admission
from growth.decide.queue.quota_holders import QuotaRequest
from growth.decide.queue.quota_tree import QuotaNode, Slot
from growth.decide.queue.workload_patch import WorkloadDraft


class _Head(msgspec.Struct, frozen=True):
    """Whose turn it is in one queue, and what it could have when that was looked at."""

    waiter: Waiter
    needs: tuple[PodSetNeeds, ...]
    found: Assignment | AssignmentRefusal
    looked_at: int
    tried: FailedFlavors = NOTHING_TRIED

    @property
    def key(self) -> Key:
        return self.waiter[1]

    @property
    def is_early(self) -> bool:
        """Whether its backoff is not over."""
        return self.tried.is_early

    @property
    def holds_up(self) -> bool:
        """Whether others may have to wait until it is served: not if that may never be, or not before its time."""
        has_place = not isinstance(self.found, AssignmentRefusal) or self.found.reason != NO_PLACEMENT
        return has_place and not self.is_early


def admit(context: QueueContext, assumed: AssumedAdmission) -> AssumedAdmission:
    """Let in who can be; returns what is decided and not seen yet."""
    return _Round(context, assumed).run()


class _Round:
    """One pass through all lines.

    Who is refused speaks for all behind it in its line that want the same (``WorkloadLook.shape``): during a pass there
    is less and less, so they would be refused, too.
    """

    def __init__(self, context: QueueContext, assumed: AssumedAdmission) -> None:
        self._context, self._backlog, self._trees = context, context.backlog, context.index.trees
        self._before = assumed
        self._given: dict[Key, NewAdmission] = {}
        self._sent_back: dict[Key, int] = {}
        self._heads: dict[str, _Head] = {}
        self._heap: list[tuple[int, Order, str]] = []
        self._asked: set[Key] = set()
        self._held_up: dict[str, Waiter] = {}
        """By queue, who holds up all behind it."""
        self._refused: dict[tuple[str, object], tuple[str, str] | None] = {}
        """What is to be said to all who want the same; None where that is said already."""
        self._changes: dict[int, int] = {}
        self._terminating: dict[object, tuple[int, list[Victim]]] = {}
        self._room = ExistingCapacity(context)
        self._is_blocked = context.terms.blocks_admission and bool(context.backlog.awaited)
        lines = [context.backlog.look(key).line for key in context.touched]
        self._stirred = {self._trees[line[0]] for line in lines if line is not None}
        self._walks = {
            name: QueueIterator(line)
            for name, line in sorted(context.backlog.lines.items())
            if not self._is_quiet(name)
        }

    def run(self) -> AssumedAdmission:
        self._repeat()
        for name in self._walks:
            self._look(name)
        while self._heap:
            _, _, name = heappop(self._heap)
            head = self._heads[name]
            if head.looked_at != self._stamp(name):
                # Somebody got something since. It may be another one's turn now.
                self._look(name)
                continue
            self._asked.add(head.key)
            self._walks[name].step()
            if self._serve(head, self._context.queues[name]) or self._goes_on(name) or not head.holds_up:
                self._look(name)
            else:
                self._held_up[name] = head.waiter
                self._keep_share(head, self._context.queues[name])
        self._tell_others()
        self._settle()
        return AssumedAdmission(self._given, self._sent_back)

    def _look(self, name: str) -> None:
        """What the next one of a line could have."""
        walk = self._walks[name]
        while walk.head is not None:
            waiter, shape = walk.head
            place, key = waiter
            if (name, shape) in self._refused:
                walk.skip()
            elif key in self._given:
                walk.step()
            else:
                self._heads[name] = head = self._head(waiter, self._context.queues[name])
                heappush(self._heap, (self._height(head, name), place.order, name))
                return

    def _height(self, head: _Head, name: str) -> int:
        """How far up it has to borrow, as far as that matters: whoever waits for others to go was asked that before
        they were sent back. If one of them, who borrows from less far, came before it now, or before those in front of
        it in its line, they would go for ever."""
        if isinstance(head.found, AssignmentRefusal) or self._backlog.lines[name].has_preemptor_from(head.waiter):
            return 0
        return 0 if waits_for_preempted(self._context.drafts[head.key].workload) else head.found.price.height

    def _is_quiet(self, name: str) -> bool:
        """Whether to ask anybody of this line would come to the same as in the last pass, nothing."""
        root = self._trees[name]
        return root in self._backlog.settled and root not in self._stirred

    def _settle(self) -> None:
        """Note the trees in which nobody was served. Whatever changes there later stirs them (``BacklogDraft.stir``),
        but for pods that are awaited, and room on nodes: where these decide, no tree is ever left out."""
        if self._context.closed or self._context.terms.blocks_admission or self._context.index.refusals.by_key:
            self._backlog.settled.clear()
        else:
            self._backlog.settled |= {self._trees[name] for name in self._walks} - self._changes.keys()

    def _stamp(self, name: str) -> int:
        """How often something was given in the tree of this queue, or of room that is for all."""
        return self._changes.get(self._trees[name], 0) + self._room.taken

    def _changed(self, name: str) -> None:
        if name in self._trees:
            root = self._trees[name]
            self._changes[root] = self._changes.get(root, 0) + 1

    def _repeat(self) -> None:
        """Decide once more what was decided and is not seen, before anybody else is asked. Who cannot be admitted any
        more keeps its share until something is seen of it: the write may be under way."""
        for key, version in self._before.sent_back.items():
            draft = self._context.draft(key)
            if draft is not None and version == draft.before.metadata.resource_version:
                self._sent_back[key] = version
                self._context.ledger.mark_evicted(key)
        for key, given in self._before.given.items():
            draft = self._context.draft(key)
            if draft is None or given.version != draft.before.metadata.resource_version:
                continue
            line = self._backlog.look(key).line
            if line is not None:
                self._give(key, given.admission, given.shut)
            else:
                self._given[key] = given
                self._count(given.admission, draft)

    def _head(self, waiter: Waiter, queue: ClusterQueue) -> _Head:
        _, key = waiter
        member = self._context.members[queue.metadata.name]

        def price(slot: Slot, amount: int) -> FlavorRank:
            return self._price(key, queue, member, slot, amount)

        workload, stamp = self._context.drafts[key].workload, self._stamp(queue.metadata.name)
        try:
            needs = needs_of(workload, self._context.filling)
        except (QuantityError, msgspec.ValidationError) as error:
            refusal = AssignmentRefusal("Misconfigured", f"its pod sets cannot be read: {error}", is_final=True)
            return _Head(waiter, (), refusal, stamp)
        tried = tried_by(workload, self._context.now)
        tried = (
            tried
            if (refused := self._context.index.refusals.of(workload)) <= tried.refused
            else tried.with_refused(refused)
        )
        closed, lack = self._context.closed, self._room.lack

        def look(promised: Sequence[str] = ()) -> Assignment | AssignmentRefusal:
            return assign(
                queue,
                member,
                self._context.flavors,
                needs,
                oracle=price,
                closed=closed,
                lack=lack,
                tried=tried,
                promised=promised,
            )

        found, promised = asks_for_pods(needs) or look(), promised_to(workload)
        if promised and not _is_free(found):
            kept = look(promised)
            found = kept if self._can_be_had(kept, key, queue, member) else found
        return _Head(waiter, needs, found, stamp, tried)

    def _can_be_had(
        self, found: Assignment | AssignmentRefusal, key: Key, queue: ClusterQueue, member: QuotaNode
    ) -> bool:
        """Whether it is free, or will be."""
        if isinstance(found, AssignmentRefusal):
            return False
        return _is_free(found) or bool(self._victims(queue, member, self._wish(key, found.usage), found.short))

    def _price(self, key: Key, queue: ClusterQueue, member: QuotaNode, slot: Slot, amount: int) -> FlavorRank:
        """What it would take to have so much, when that is not free."""
        terminating = self._victims(queue, member, self._wish(key, {slot: amount}), frozenset({slot}))
        height = height_without(self._context.members, terminating, member, slot, amount)
        if not terminating:
            return FlavorRank(AssignmentMode.NOBODY_TO_GO, height)
        is_own = any(victim.holder.queue == member.name for victim in terminating)
        return FlavorRank(AssignmentMode.SOMEBODY_GOES if is_own else AssignmentMode.OTHERS_GO, height)

    def _wish(self, key: Key, usage: Mapping[Slot, int]) -> QuotaRequest:
        workload = self._context.drafts[key].workload
        since = queued_since(workload, self._context.terms.requeuing.timestamp)
        past = was_sent_back(workload), waits_for_preempted(workload)
        return QuotaRequest(key, workload.priority, since, usage, *past)

    def _victims(
        self, queue: ClusterQueue, member: QuotaNode, request: QuotaRequest, short: frozenset[Slot]
    ) -> list[Victim]:
        """Who has to go for it. That is asked for a price and, if nothing was given meanwhile, of the same thing again
        when it is paid."""
        asked, stamp = (request.key, short, frozenset(request.usage.items())), self._stamp(member.name)
        known = self._terminating.get(asked)
        if known is None or known[0] != stamp:
            tree = PreemptionTree(self._context.members, self._context.holders)
            known = self._terminating[asked] = (stamp, victims(tree, member, queue.spec.preemption, request, short))
        return known[1]

    def _serve(self, head: _Head, queue: ClusterQueue) -> bool:
        """Give it what it could have; whether it got it, or will."""
        draft, found, name = self._context.drafts[head.key], head.found, queue.metadata.name
        if head.is_early and (self._is_blocked or not _is_free(found)):
            # It waits for its backoff, and that is said on it.
            self._refused[name, self._backlog.look(head.key).shape] = None
            return False
        if self._is_blocked:
            words = "pods of somebody who was admitted before are not ready yet"
            return self._refuse(head, name, "WaitingForPodsReady", words)
        if isinstance(found, AssignmentRefusal):
            return self._refuse(head, name, found.reason, found.why)
        if found.price.way is AssignmentMode.FREE:
            is_back = was_sent_back(draft.workload) and not waits_for_preempted(draft.workload)
            if is_back and found.price.height and self._is_preemptor_ahead(name):
                words = "it was preempted, and what it would borrow is for a workload that preempted others"
                return self._refuse(head, name, "WaitingForQuota", words)
            admission = admission_of(name, found)
            self._give(head.key, admission, shut_in(self._context, admission, head.tried.refused))
            return True
        member, request = self._context.members[name], self._wish(head.key, found.usage)
        terminating = self._victims(queue, member, request, found.short)
        if not terminating:
            return self._refuse(head, name, "WaitingForQuota", found.why)
        for victim in terminating:
            self._send_back(victim, head.key)
        self._context.ledger.use(name, found.usage)
        self._room.take(found.sets)
        self._changed(name)
        wait(draft, WAITS_FOR_PREEMPTED, promise(found.chosen, [victim.holder.key[1] for victim in terminating]))
        return True

    def _is_preemptor_ahead(self, name: str) -> bool:
        """Whether somebody of this tree who waits for others to go is yet to be asked in this pass.

        A preempted workload that is more important would come before it, borrow what was freed for it, and be
        preempted again, for ever.
        """
        for other, walk in self._walks.items():
            if self._trees[other] != self._trees[name]:
                continue
            line, front = self._backlog.lines[other].preemptors, walk.head
            is_next = front is not None and other != name and other not in self._held_up
            if front is not None and is_next and waits_for_preempted(self._context.drafts[front[0][1]].workload):
                line = [*line, front[0]]
            if any(key not in self._asked and key not in self._given for _, key in line):
                return True
        return False

    def _refuse(self, head: _Head, queue: str, reason: str, why: str) -> bool:
        draft = self._context.drafts[head.key]
        wait(draft, reason, why)
        if head.needs:
            draft.ask(requests_of(head.needs))
        self._refused[queue, self._backlog.look(head.key).shape] = (reason, why)
        return False

    def _send_back(self, victim: Victim, preemptor: Key) -> None:
        key, draft = victim.holder.key, self._context.drafts[victim.holder.key]
        self._context.ledger.mark_evicted(key)
        if draft.workload.holds(EVICTED):
            return
        why = f"{'/'.join(preemptor)} gets its quota"
        self._sent_back[key] = draft.before.metadata.resource_version
        draft.say(EVICTED, "True", PREEMPTED, why)
        draft.say(PREEMPTED, "True", victim.reason, why)

    def _give(self, key: Key, admission: Admission, shut: str) -> None:
        draft = self._context.drafts[key]
        self._given[key] = NewAdmission(draft.workload.metadata.resource_version, admission, shut)
        write_admission(self._context, draft, admission, shut)
        self._count(admission, draft)

    def _count(self, admission: Admission, draft: WorkloadDraft) -> None:
        """It uses what it is given."""
        status = msgspec.structs.replace(draft.workload.status, admission=admission)
        usage = usage_of(msgspec.structs.replace(draft.workload, status=status))
        self._context.ledger.use(admission.cluster_queue, usage)
        self._room.take_for(draft.workload, admission)
        self._changed(admission.cluster_queue)
        self._is_blocked = self._context.terms.blocks_admission

    def _keep_share(self, head: _Head, queue: ClusterQueue) -> None:
        """What is the queue's own and free is kept for whoever holds up its line: who borrowed it could not be sent
        back."""
        found, name = head.found, queue.metadata.name
        if isinstance(found, AssignmentRefusal) or queue.spec.preemption.reclaim_within_cohort == "Any":
            return
        member = self._context.members[name]
        own = {slot: max(0, member.nominal(slot) - member.used(slot)) for slot in found.usage}
        self._context.ledger.use(name, {slot: min(amount, own[slot]) for slot, amount in found.usage.items()})
        self._changed(name)

    def _goes_on(self, name: str) -> bool:
        return self._context.queues[name].spec.queueing_strategy == "BestEffortFIFO"

    def _tell_others(self) -> None:
        """Who was not asked hears why, if it is looked at now; all others have heard it."""
        for key in self._context.touched:
            look = self._backlog.look(key)
            if look.line is None or key in self._asked or key in self._given:
                continue
            name, place = look.line
            if name in self._held_up and (place, key) > self._held_up[name]:
                wait(self._context.drafts[key], "WaitingForQuota", "others are before it, and the queue is StrictFIFO")
            elif (refusal := self._refused.get((name, look.shape))) is not None:
                wait(self._context.drafts[key], *refusal)


def _is_free(found: Assignment | AssignmentRefusal) -> bool:
    return isinstance(found, Assignment) and found.price.way is AssignmentMode.FREE
