"""The scheduler itself: hears of every write, asks for each pod that is due, and writes what it decided."""

import random
from collections.abc import Callable
from typing import Final

from growth.api.pod import Pod
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.scheduler.cache import TABLED, Picture, PodChange
from growth_lab.simulator.scheduler.node_hints import node_hint
from growth_lab.simulator.scheduler.node_selection import Chooser
from growth_lab.simulator.scheduler.pod_writes import Writer
from growth_lab.simulator.scheduler.preemption import Preemption
from growth_lab.simulator.scheduler.queue import Entry, Queue, Waiting
from growth_lab.simulator.scheduler.queueing_hints import own_hint, pod_hint
from growth_lab.simulator.scheduler.unschedulable_message import Refusal
from growth_lab.simulator.scheduler.volume_hints import thing_hint
from growth_lab.simulator.scheduler.volumes import VolumeWaits
from growth_lab.simulator.served_kinds import CLAIMS, NODES, PODS, Resource
from growth_lab.simulator.store import Event, Store
from growth_lab.simulator.timings import Timings

NAME: Final = "default-scheduler"


class Scheduler:
    """One kube-scheduler with the default profile. It works by itself from its creation on."""

    def __init__(self, clock: Clock, store: Store, timings: Timings, chance: random.Random) -> None:
        self._clock, self._store = clock, store
        self._picture = Picture(clock, store)
        self._queue = Queue(clock, timings, self._has_work)
        self._chooser = Chooser(self._picture, chance)
        self._writer = Writer(clock, store)
        self._preemption = Preemption(clock, store, self._picture)
        self._volumes = VolumeWaits(
            clock, store, timings, self._picture, on_bound=self._bind, on_timeout=self._volumes_did_not_come
        )
        self._is_called = False
        for resource in TABLED:
            self._follow(resource, self._hear_of_thing)
        self._follow(NODES, self._hear_of_node)
        self._follow(PODS, self._hear_of_pod)

    def waiting(self) -> list[Waiting]:
        """The pods that have no node yet, and what keeps them."""
        return list(self._queue.waiting())

    @property
    def picture(self) -> Picture:
        """The cluster as the scheduler knows it, to look at."""
        return self._picture

    # Hearing

    def _follow(self, resource: Resource, hear: Callable[[Event], None]) -> None:
        for thing in list(self._store.all(resource)):
            hear(Event(self._store.version, "ADDED", resource, thing, None))
        self._store.listen(resource, hear)

    def _hear_of_thing(self, event: Event) -> None:
        change = self._picture.hear_of_thing(event)
        self._queue.wake(lambda name, pod: thing_hint(name, pod, event.resource, change))
        if event.resource is CLAIMS and change.now is not None:
            self._volumes.hear_of_claim(change.now)

    def _hear_of_node(self, event: Event) -> None:
        change = self._picture.hear_of_node(event)
        if change is not None:
            self._queue.wake(lambda name, pod: node_hint(name, pod, change))

    def _hear_of_pod(self, event: Event) -> None:
        change = self._picture.hear_of_pod(event)
        if change is None:
            return
        before, now = change
        if now is None:
            if before is not None:
                self._hear_of_end(before)
        elif event.object.get("spec", {}).get("nodeName"):
            self._hear_of_bound_pod(event, before, now)
        elif now.spec.scheduler_name == NAME and not now.node_name:
            self._hear_of_waiting_pod(before, now)

    def _hear_of_end(self, before: Pod) -> None:
        self._queue.remove(before.metadata.uid)
        self._volumes.forget(before.metadata.uid)
        if before.node_name:
            self._tell(PodChange(before, None))
        else:
            self._release(before)

    def _hear_of_bound_pod(self, event: Event, before: Pod | None, now: Pod) -> None:
        is_new = event.before is None or not event.before.get("spec", {}).get("nodeName")
        if is_new:
            # It may have been bound by somebody else while it waited here.
            self._queue.remove(now.metadata.uid)
            self._volumes.forget(now.metadata.uid)
        self._tell(PodChange(None if is_new else before, now))

    def _hear_of_waiting_pod(self, before: Pod | None, now: Pod) -> None:
        if before is None:
            self._queue.add(now)
            return
        self._queue.update(now, lambda name: own_hint(name, before, now))
        if before.status.nominated_node_name != now.status.nominated_node_name:
            self._release(before)

    def _tell(self, change: PodChange) -> None:
        self._queue.wake(lambda name, pod: pod_hint(name, pod, change))

    def _release(self, before: Pod) -> None:
        """Room that was kept for a pod is free for others, unless they are more important: those never minded."""
        if before.status.nominated_node_name:
            gone, priority = PodChange(before, None), before.spec.priority
            self._queue.wake(lambda name, pod: pod.spec.priority <= priority and pod_hint(name, pod, gone))

    # Working

    def _has_work(self) -> None:
        """Work at this very instant, but after all that is happening right now."""
        if not self._is_called:
            self._is_called = True
            self._clock.soon(self._work)

    def _work(self) -> None:
        self._is_called = False
        while (entry := self._queue.pop()) is not None:
            self._attempt(entry)

    def _attempt(self, entry: Entry) -> None:
        uid = entry.pod.metadata.uid
        pod = self._picture.pods.get(uid)
        if pod is None or pod.node_name or pod.metadata.deletion_timestamp is not None:
            self._queue.remove(uid)
            return
        choice = self._chooser.choose(pod)
        if isinstance(choice, Refusal):
            self._refuse(entry, pod, choice)
            return
        bindings = self._volumes.bindings(pod, choice) if pod.spec.volumes else []
        self._queue.remove(uid)
        placed = self._picture.assume(pod, choice)
        if bindings:
            meta = placed.metadata
            self._writer.nominate(meta.name, meta.namespace, uid, choice)
            self._volumes.begin(self._picture.pods[uid], choice, bindings)
        else:
            self._bind(placed, choice)

    def _refuse(self, entry: Entry, pod: Pod, refusal: Refusal) -> None:
        meta = pod.metadata
        self._queue.refuse(entry, refusal.filters)
        if self._preemption.is_under_way(pod, refusal):
            self._writer.refuse(
                meta.name, meta.namespace, meta.uid, refusal.message_while_waiting, clears_nomination=False
            )
            return
        eviction = self._preemption.plan(pod, refusal) if refusal.evictable else None
        if eviction is not None:
            self._writer.nominate(meta.name, meta.namespace, meta.uid, eviction.node, refusal.reason)
            self._preemption.carry_out(eviction)
            return
        clears = not refusal.keeps_nomination
        self._writer.refuse(meta.name, meta.namespace, meta.uid, refusal.message, clears_nomination=clears)

    def _bind(self, pod: Pod, node: str) -> None:
        meta = pod.metadata
        self._writer.bind(meta.name, meta.namespace, meta.uid, node)

    def _volumes_did_not_come(self, pod: Pod) -> None:
        """The binding failed: the room is free again, and the pod is asked again later, as after any error."""
        known = self._picture.pods.get(pod.metadata.uid)
        if known is None:
            return
        back = self._picture.give_up(known)
        self._queue.fail(back)
        self._tell(PodChange(known, None))
        meta = back.metadata
        message = "binding volumes: context deadline exceeded"
        self._writer.fail(meta.name, meta.namespace, meta.uid, message)
