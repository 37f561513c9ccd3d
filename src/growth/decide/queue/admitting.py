"""Who gets quota now: in order of priority and time, as far as there is some.

In a queue with StrictFIFO whoever cannot be served holds up those behind it; with BestEffortFIFO the next one is tried.

What was decided is not seen at once. Until it is, it counts: otherwise somebody who comes in between could be given the
same quota once more.
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
    QUOTA_RESERVED,
    Admission,
    PodSetAssignment,
    PodSetRequest,
)
from growth.decide.queue.draft import Draft
from growth.decide.queue.flavors import Assignment, PodSetNeeds, Refusal, asks_for_pods, assign, needs_of
from growth.decide.queue.leaving import is_leaving
from growth.decide.queue.lifecycle import is_queued
from growth.decide.queue.ordering import Order, order_of
from growth.decide.queue.scene import Key, Scene, usage_of
from growth.decide.queue.standing import Standing, standing_of_door


class Given(msgspec.Struct, frozen=True):
    """An admission that was decided on a version of a workload."""

    version: int
    admission: Admission


Assumed = Mapping[Key, Given]


def admit(scene: Scene, assumed: Assumed) -> Assumed:
    """Let in who can be; returns what is decided and not seen yet."""
    return _Round(scene, assumed).run()


def lines_in(scene: Scene) -> dict[str, list[Key]]:
    """Who waits for quota, queue by queue, in the order in which they are tried. Nobody is admitted by asking."""
    return {name: [key for _, key in line] for name, line in _Round(scene, {}).lines().items()}


class _Round:
    def __init__(self, scene: Scene, assumed: Assumed) -> None:
        self._scene = scene
        self._before = assumed
        self._decided: dict[Key, Given] = {}
        self._standings = scene.standings
        self._is_blocked = scene.terms.blocks_admission and any(
            draft.before.is_reserving and not draft.workload.holds(PODS_READY) for draft in scene.drafts.values()
        )

    def run(self) -> Assumed:
        lines = self.lines()
        self._repeat(lines)
        heads: list[tuple[Order, str]] = []
        for name, line in lines.items():
            if line:
                heappush(heads, (line[0][0], name))
        while heads:
            _, name = heappop(heads)
            line = lines[name]
            _, key = line.pop(0)
            if self._try(key, self._scene.queues[name]) or self._goes_on(name):
                if line:
                    heappush(heads, (line[0][0], name))
            else:
                self._hold_up(line, key)
        return self._decided

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
        for key, given in self._before.items():
            draft = self._scene.drafts.get(key)
            if draft is None or given.version != draft.before.metadata.resource_version:
                continue
            if key in waiting:
                name, order = waiting[key]
                lines[name].remove((order, key))
                self._give(key, given.admission, name)
            else:
                self._decided[key] = given
                self._use(given.admission, draft)

    def _try(self, key: Key, queue: ClusterQueue) -> bool:
        draft = self._scene.drafts[key]
        if self._is_blocked:
            _wait(draft, "WaitingForPodsReady", "pods of somebody who was admitted before are not ready yet")
            return False
        member = self._scene.members[queue.metadata.name]
        needs: tuple[PodSetNeeds, ...] = ()
        try:
            needs = needs_of(draft.workload, self._scene.filling)
            found = asks_for_pods(needs) or assign(queue, member, self._scene.flavors, needs)
        except (QuantityError, msgspec.ValidationError) as error:
            found = Refusal("Misconfigured", f"its pod sets cannot be read: {error}", is_final=True)
        if isinstance(found, Refusal):
            _wait(draft, found.reason, found.why)
            draft.ask(_requests(needs))
            return False
        self._give(key, _admission(queue.metadata.name, found), queue.metadata.name)
        return True

    def _give(self, key: Key, admission: Admission, queue: str) -> None:
        draft = self._scene.drafts[key]
        self._decided[key] = Given(draft.workload.metadata.resource_version, admission)
        draft.admit(admission)
        draft.ask(())
        draft.say(QUOTA_RESERVED, "True", "QuotaReserved", f"it has quota in ClusterQueue {queue}")
        draft.say(ADMITTED, "True", "Admitted", f"it is admitted by ClusterQueue {queue}")
        if draft.workload.condition(EVICTED) is not None:
            draft.say(EVICTED, "False", "QuotaReserved", "it has quota again")
        if self._scene.terms.readiness is not None:
            # The very words that follow as soon as it is looked at: other ones would be one more write for each job.
            pods = sum(one.count for one in draft.workload.spec.pod_sets)
            draft.say(PODS_READY, "False", "WaitForStart", f"0 of {pods} pods are ready or have succeeded")
        self._use(admission, draft)

    def _use(self, admission: Admission, draft: Draft) -> None:
        status = msgspec.structs.replace(draft.workload.status, admission=admission)
        usage = usage_of(msgspec.structs.replace(draft.workload, status=status))
        if admission.cluster_queue in self._scene.members:
            for slot, amount in usage.items():
                self._scene.members[admission.cluster_queue].use(slot, amount)
        self._is_blocked = self._scene.terms.blocks_admission

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
