"""Who gets quota now: in order of priority and time, as far as there is some.

In a queue with StrictFIFO whoever cannot be served holds up those behind it; with BestEffortFIFO the next one is tried.
Among the heads of queues that share a cohort, whoever need not borrow comes first.

Somebody who is more important than those who hold quota may have it instead: they are sent back, and it waits for them
to go. What it waits for is counted as its own, or somebody else would take it.

What was decided is not seen at once. Until it is, it counts: otherwise somebody who comes in between could be given the
same quota once more, or more would be sent back than need be.
"""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

import msgspec

from growth.api.quantity import QuantityError, canonical
from growth.api.queue.queues import ClusterQueue
from growth.api.queue.workload import (
    ADMITTED,
    EVICTED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    WAITS_FOR_PREEMPTED,
    Admission,
    PodSetAssignment,
    PodSetRequest,
)
from growth.decide.queue.draft import Draft
from growth.decide.queue.flavors import Assignment, PodSetNeeds, Price, Refusal, Way, asks_for_pods, assign, needs_of
from growth.decide.queue.holders import Wish
from growth.decide.queue.leaving import is_leaving
from growth.decide.queue.lifecycle import is_queued
from growth.decide.queue.ordering import Order, order_of, queued_since
from growth.decide.queue.preempting import Tree, Victim, victims
from growth.decide.queue.scene import Key, Scene, usage_of
from growth.decide.queue.standing import Standing, standing_of_door
from growth.decide.queue.tree import Member, Slot


class Given(msgspec.Struct, frozen=True):
    """An admission that was decided on a version of a workload."""

    version: int
    admission: Admission


class Assumed(msgspec.Struct, frozen=True):
    """What was decided and is not seen yet."""

    given: Mapping[Key, Given] = {}
    sent_back: Mapping[Key, int] = {}
    """Who is sent back for somebody else, with the version on which that was decided."""


class _Head(msgspec.Struct, frozen=True):
    """Whose turn it is in one queue, and what it could have when that was looked at."""

    key: Key
    needs: tuple[PodSetNeeds, ...]
    found: Assignment | Refusal
    looked_at: int


def admit(scene: Scene, assumed: Assumed) -> Assumed:
    """Let in who can be; returns what is decided and not seen yet."""
    return _Round(scene, assumed).run()


def lines_in(scene: Scene) -> dict[str, list[Key]]:
    """Who waits for quota, queue by queue, in the order in which they are tried. Nobody is admitted by asking."""
    return {name: [key for _, key in line] for name, line in _Round(scene, Assumed()).lines().items()}


class _Round:
    def __init__(self, scene: Scene, assumed: Assumed) -> None:
        self._scene = scene
        self._before = assumed
        self._given: dict[Key, Given] = {}
        self._sent_back: dict[Key, int] = {}
        self._heads: dict[str, _Head] = {}
        self._heap: list[tuple[int, Order, str]] = []
        self._changes = 0
        self._standings = scene.standings
        self._is_blocked = scene.terms.blocks_admission and any(
            draft.before.is_reserving and not draft.workload.holds(PODS_READY) for draft in scene.drafts.values()
        )

    def run(self) -> Assumed:
        lines = self.lines()
        self._repeat(lines)
        for name, line in lines.items():
            self._look(name, line)
        while self._heap:
            _, _, name = heappop(self._heap)
            head, line = self._heads[name], lines[name]
            if head.looked_at != self._changes:
                # Somebody got something since. It may be another one's turn now.
                self._look(name, line)
                continue
            line.pop(0)
            if self._serve(head, self._scene.queues[name]) or self._goes_on(name):
                self._look(name, line)
            else:
                self._hold_up(line, head.key)
        return Assumed(self._given, self._sent_back)

    def _look(self, name: str, line: list[tuple[Order, Key]]) -> None:
        """What the first of a line could have."""
        if line:
            order, key = line[0]
            self._heads[name] = head = self._head(key, self._scene.queues[name])
            height = head.found.price.height if isinstance(head.found, Assignment) else 0
            heappush(self._heap, (height, order, name))

    def lines(self) -> dict[str, list[tuple[Order, Key]]]:
        """Who waits, queue by queue, in order."""
        lines: dict[str, list[tuple[Order, Key]]] = {}
        for key, draft in self._scene.drafts.items():
            workload = draft.workload
            # What it holds, or what it wants, is not yet seen to be otherwise: its turn comes when it is.
            is_changing = draft.before.status.admission is not None or key in self._scene.edited
            if is_changing or not is_queued(workload, self._scene.now) or is_leaving(self._scene, workload):
                continue
            if (queue := self._queue(draft)) is not None:
                order = order_of(workload, self._scene.terms.requeuing.timestamp)
                lines.setdefault(queue.metadata.name, []).append((order, key))
        for line in lines.values():
            line.sort()
        return lines

    def _queue(self, draft: Draft) -> ClusterQueue | None:
        """The queue in which it can wait; if there is none, that is said on it."""
        workload = draft.workload
        door = self._scene.door_of(workload)
        if door is None:
            where = f"{workload.metadata.namespace}/{workload.spec.queue_name}"
            _wait(draft, "Misconfigured", f"there is no LocalQueue {where}: create it, or name another one")
            return None
        standing: Standing = standing_of_door(door, self._standings)
        if not standing.is_active:
            behind = self._standings.get(door.spec.cluster_queue)
            is_stopped = "Stopped" in (standing.reason, behind.reason if behind is not None else "")
            word = "Suspended" if is_stopped else "Misconfigured"
            _wait(draft, word, f"LocalQueue {door.metadata.name} is not at work: {standing.why}")
            return None
        queue = self._scene.queues[door.spec.cluster_queue]
        if not self._scene.is_welcome(workload, queue):
            why = f"ClusterQueue {queue.metadata.name} is not for namespace {workload.metadata.namespace}"
            _wait(draft, "Misconfigured", f"{why} (namespaceSelector)")
            return None
        return queue

    def _repeat(self, lines: dict[str, list[tuple[Order, Key]]]) -> None:
        """Decide once more what was decided and is not seen, before anybody else is asked. Who cannot be admitted any
        more keeps its share until something is seen of it: the write may be under way."""
        waiting = {key: (name, order) for name, line in lines.items() for order, key in line}
        for key, version in self._before.sent_back.items():
            draft = self._scene.drafts.get(key)
            if draft is not None and version == draft.before.metadata.resource_version:
                self._sent_back[key] = version
                self._scene.mark_evicted(key)
        for key, given in self._before.given.items():
            draft = self._scene.drafts.get(key)
            if draft is None or given.version != draft.before.metadata.resource_version:
                continue
            if key in waiting:
                name, order = waiting[key]
                lines[name].remove((order, key))
                self._give(key, given.admission, name)
            else:
                self._given[key] = given
                self._count(given.admission, draft)

    def _head(self, key: Key, queue: ClusterQueue) -> _Head:
        member = self._scene.members[queue.metadata.name]

        def price(slot: Slot, amount: int) -> Price:
            return self._price(key, queue, member, slot, amount)

        try:
            needs = needs_of(self._scene.drafts[key].workload, self._scene.filling)
        except (QuantityError, msgspec.ValidationError) as error:
            refusal = Refusal("Misconfigured", f"its pod sets cannot be read: {error}", is_final=True)
            return _Head(key, (), refusal, self._changes)
        found = asks_for_pods(needs) or assign(queue, member, self._scene.flavors, needs, price)
        return _Head(key, needs, found, self._changes)

    def _price(self, key: Key, queue: ClusterQueue, member: Member, slot: Slot, amount: int) -> Price:
        """What it would take to have so much, when that is not free."""
        going = self._victims(queue, member, self._wish(key, {slot: amount}), frozenset({slot}))
        for victim in going:
            self._use(victim.holder.queue, victim.holder.usage, -1)
        height = member.reach(slot, amount).height
        for victim in going:
            self._use(victim.holder.queue, victim.holder.usage)
        if not going:
            return Price(Way.NOBODY_TO_GO, height)
        is_own = any(victim.holder.queue == member.name for victim in going)
        return Price(Way.SOMEBODY_GOES if is_own else Way.OTHERS_GO, height)

    def _wish(self, key: Key, usage: Mapping[Slot, int]) -> Wish:
        workload = self._scene.drafts[key].workload
        since = queued_since(workload, self._scene.terms.requeuing.timestamp)
        return Wish(key, workload.priority, since, usage)

    def _victims(self, queue: ClusterQueue, member: Member, wish: Wish, short: frozenset[Slot]) -> list[Victim]:
        tree = Tree(self._scene.members, self._scene.holders)
        return victims(tree, member, queue.spec.preemption, wish, short)

    def _serve(self, head: _Head, queue: ClusterQueue) -> bool:
        """Give it what it could have; whether it got it, or will."""
        draft, found, name = self._scene.drafts[head.key], head.found, queue.metadata.name
        if self._is_blocked:
            _wait(draft, "WaitingForPodsReady", "pods of somebody who was admitted before are not ready yet")
            return False
        if isinstance(found, Refusal):
            _wait(draft, found.reason, found.why)
            draft.ask(_requests(head.needs))
            return False
        if found.price.way is Way.FREE:
            self._give(head.key, _admission(name, found), name)
            return True
        member, wish = self._scene.members[name], self._wish(head.key, found.usage)
        going = self._victims(queue, member, wish, found.short)
        if not going:
            _wait(draft, "WaitingForQuota", found.why)
            draft.ask(_requests(head.needs))
            return False
        for victim in going:
            self._send_back(victim, head.key)
        self._use(name, found.usage)
        self._changes += 1
        names = ", ".join(victim.holder.key[1] for victim in going)
        _wait(draft, WAITS_FOR_PREEMPTED, f"it gets what {names} had, once they are gone")
        return True

    def _send_back(self, victim: Victim, preemptor: Key) -> None:
        key, draft = victim.holder.key, self._scene.drafts[victim.holder.key]
        self._scene.mark_evicted(key)
        if draft.workload.holds(EVICTED):
            return
        why = f"{'/'.join(preemptor)} gets its quota"
        self._sent_back[key] = draft.before.metadata.resource_version
        draft.say(EVICTED, "True", PREEMPTED, why)
        draft.say(PREEMPTED, "True", victim.reason, why)

    def _give(self, key: Key, admission: Admission, queue: str) -> None:
        draft = self._scene.drafts[key]
        self._given[key] = Given(draft.workload.metadata.resource_version, admission)
        draft.admit(admission)
        draft.ask(())
        draft.say(QUOTA_RESERVED, "True", "QuotaReserved", f"it has quota in ClusterQueue {queue}")
        draft.say(ADMITTED, "True", "Admitted", f"it is admitted by ClusterQueue {queue}")
        for over in (EVICTED, PREEMPTED):
            if draft.workload.condition(over) is not None:
                draft.say(over, "False", "QuotaReserved", "it has quota again")
        if self._scene.terms.readiness is not None:
            # The very words that follow as soon as it is looked at: other ones would be one more write for each job.
            pods = sum(one.count for one in draft.workload.spec.pod_sets)
            draft.say(PODS_READY, "False", "WaitForStart", f"0 of {pods} pods are ready or have succeeded")
        self._count(admission, draft)

    def _count(self, admission: Admission, draft: Draft) -> None:
        """It uses what it is given."""
        status = msgspec.structs.replace(draft.workload.status, admission=admission)
        usage = usage_of(msgspec.structs.replace(draft.workload, status=status))
        self._use(admission.cluster_queue, usage)
        self._changes += 1
        self._is_blocked = self._scene.terms.blocks_admission

    def _use(self, queue: str, usage: Mapping[Slot, int], sign: int = 1) -> None:
        if queue in self._scene.members:
            for slot, amount in usage.items():
                self._scene.members[queue].use(slot, sign * amount)

    def _goes_on(self, name: str) -> bool:
        return self._scene.queues[name].spec.queueing_strategy == "BestEffortFIFO"

    def _hold_up(self, line: list[tuple[Order, Key]], ahead: Key) -> None:
        for _, key in line:
            _wait(self._scene.drafts[key], "WaitingForQuota", f"{ahead[1]} is before it, and the queue is StrictFIFO")


def _wait(draft: Draft, reason: str, why: str) -> None:
    draft.say(QUOTA_RESERVED, "False", reason, why)


def _admission(queue: str, found: Assignment) -> Admission:
    sets = [
        PodSetAssignment(
            one.needs.name,
            dict(one.flavors),
            {resource: _quantity(resource, one.needs.amounts[resource]) for resource in one.flavors},
            one.needs.count,
        )
        for one in found.sets
    ]
    return Admission(queue, tuple(sets))


def _requests(needs: Iterable[PodSetNeeds]) -> tuple[PodSetRequest, ...]:
    return tuple(
        PodSetRequest(one.name, {name: _quantity(name, one.amounts[name]) for name in sorted(one.amounts)})
        for one in needs
    )


def _quantity(resource: str, amount: int) -> str:
    return canonical(f"{amount}m" if resource == "cpu" else str(amount))
