"""Pods whose volumes are made, or bound, where they go: they are bound when their claims are.

What the scheduler says to the volume controller: ``volume.kubernetes.io/selected-node`` on a claim that needs a new
volume, ``spec.claimRef`` on a volume that it chose for a claim. What it waits for: ``spec.volumeName`` and
``pv.kubernetes.io/bind-completed`` on the claim.
"""

from asyncio import TimerHandle
from collections.abc import Callable
from typing import Final, NamedTuple

from growth.api.pod import Pod
from growth.api.storage import PersistentVolumeClaim
from growth.decide.fit import FilterRefusal
from growth.decide.fit.volume_binding import Binding, bind
from growth.decide.fit.volume_claims import is_bound, named_claims, unbound_claims
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.scheduler.cache import Picture
from growth_lab.simulator.served_kinds import CLAIMS, VOLUMES
from growth_lab.simulator.store import Key, Store
from growth_lab.simulator.timings import Timings

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"


class _Waiting(NamedTuple):
    pod: Pod
    node: str
    claims: tuple[Key, ...]
    timer: TimerHandle


class VolumeWaits:
    """Pods that have a node and wait for their volumes."""

    def __init__(
        self,
        clock: Clock,
        store: Store,
        timings: Timings,
        picture: Picture,
        *,
        on_bound: Callable[[Pod, str], None],
        on_timeout: Callable[[Pod], None],
    ) -> None:
        self._clock, self._store, self._timings, self._picture = clock, store, timings, picture
        self._on_bound, self._on_timeout = on_bound, on_timeout
        self._waiting: dict[str, _Waiting] = {}
        self._by_claim: dict[Key, dict[str, None]] = {}

    def bindings(self, pod: Pod, node: str) -> list[Binding]:
        """What taking this node means for the pod's claims; empty if all have their volumes."""
        stage = self._picture.stage
        found = bind(stage, unbound_claims(stage, pod), stage.node_info(node))
        return [] if isinstance(found, FilterRefusal) else found

    def begin(self, pod: Pod, node: str, bindings: list[Binding]) -> None:
        """Say what is wanted, and wait for it."""
        uid = pod.metadata.uid
        claims = tuple((pod.metadata.namespace, name) for _, name in named_claims(pod))
        timer = self._clock.after(self._timings.scheduler_volume_wait, lambda: self._give_up(uid))
        self._waiting[uid] = _Waiting(pod, node, claims, timer)
        for key in claims:
            self._by_claim.setdefault(key, {})[uid] = None
        for binding in bindings:
            self._ask_for(binding)

    def hear_of_claim(self, claim: PersistentVolumeClaim) -> None:
        """A claim changed: perhaps it was the last that somebody waited for."""
        for uid in list(self._by_claim.get((claim.metadata.namespace, claim.metadata.name), ())):
            waiting = self._waiting[uid]
            known = [self._picture.thing(CLAIMS, name, namespace) for namespace, name in waiting.claims]
            if all(each is not None and is_bound(each) for each in known):
                self.forget(uid)
                self._on_bound(waiting.pod, waiting.node)

    def forget(self, uid: str) -> None:
        """The pod is gone, or done."""
        waiting = self._waiting.pop(uid, None)
        if waiting is None:
            return
        waiting.timer.cancel()
        for key in waiting.claims:
            users = self._by_claim[key]
            users.pop(uid, None)
            if not users:
                del self._by_claim[key]

    def _give_up(self, uid: str) -> None:
        waiting = self._waiting[uid]
        self.forget(uid)
        self._on_timeout(waiting.pod)

    def _ask_for(self, binding: Binding) -> None:
        meta = binding.claim.metadata
        if binding.volume is None:
            wish = {"metadata": {"annotations": {SELECTED_NODE: binding.node}}}
            if self._store.get(CLAIMS, meta.name, meta.namespace) is not None:
                self._store.patch(CLAIMS, meta.name, meta.namespace, wish)
            return
        reference: Json = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
        }
        name = binding.volume.metadata.name
        if self._store.get(VOLUMES, name) is not None:
            change = {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}, "spec": {"claimRef": reference}}
            self._store.patch(VOLUMES, name, patch=change)
