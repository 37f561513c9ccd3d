"""Somebody who only looks on for a day: what machines cost, who was evicted, who waited because of that, and whether
anything was done that should not be.

It hears of every write to the virtual cluster, so nothing is missed between two looks.
"""

import json
import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from typing import Any, Final

import msgspec

from bench.days_load import HOUR, Shape
from growth.api.growth_kinds import NODE_MOVES
from growth.api.quantity import milli_value, value
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.served_kinds import CONFIG_MAPS, DEPLOYMENTS, NODES, OURS, PODS
from growth_lab.simulator.store import Event, Store

APP: Final = "app"
"""Label of the pods of a service; its Deployment has the same name."""
SHARE_UNAVAILABLE: Final = 0.1
"""Of each service, and of the nodes of the pool, so much may be away at one time, rounded up."""
MOVES: Final = next(one for one in OURS if one.kind == NODE_MOVES.name)

_PENDING_SECONDS: Final = 30.0
# So soon a controller has made another pod for one that was evicted.
_MADE_ANEW_SECONDS: Final = 10.0
_ON_ITS_WAY_SECONDS: Final = 60.0
_MACHINE: Final = "growth.dev/machine"
_MIB: Final = 1024 * 1024


class Life(msgspec.Struct, frozen=True):
    """A machine from when it was bought to when it was given back."""

    began: float
    ended: float
    price_per_hour: float
    cores: float


class Witness:
    """Follows a cluster. Nothing counts before ``begin``."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._machines: dict[str, Life] = {}
        self._lives: list[Life] = []
        self._since = math.inf
        self._pods: dict[str, Shape] = {}
        """By uid, those that are neither over nor leaving."""
        self._healthy: dict[str, set[str]] = defaultdict(set)
        self._evicted: dict[str, deque[float]] = defaultdict(deque)
        """By owner, when pods were evicted for which no other was made yet."""
        self._anew: dict[str, float] = {}
        """By uid, pods that were made for evicted ones and have no node, and since when."""
        self._drained: dict[str, set[str]] = {}
        """By move, the nodes that are being emptied."""
        self._nodes: set[str] = set()
        self._millis = 0
        self._wanted: list[tuple[float, int]] = []
        """When it changed, how many thousandths of a core all pods together wanted from then on."""
        self._moves: dict[str, str] = {}
        self._counted_at, self._pod_seconds = 0.0, 0.0
        self.evictions = 0
        self.pending: list[float] = []
        """How long those waited who were evicted and had to wait for too long."""
        self.violated: list[str] = []
        self.most_nodes = 0
        store.listen(CONFIG_MAPS, self._hear_of_machine)
        store.listen(PODS, self._hear_of_pod)
        store.listen(NODES, self._hear_of_node)
        store.listen(MOVES, self._hear_of_move)

    def begin(self) -> None:
        """From now on it counts."""
        self._since = self._clock.seconds()

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self._nodes)

    @property
    def pods(self) -> int:
        """How many are wanted."""
        return len(self._pods)

    def look(self) -> Counter[Shape]:
        """What is wanted now, by shape."""
        return Counter(self._pods.values())

    # In the end

    def pod_days(self) -> float:
        """How many pods there were, for how many days."""
        self._count()
        return self._pod_seconds / (24 * HOUR)

    def moves(self) -> Counter[str]:
        """How all moves ended, or how far they are."""
        return Counter(self._moves.values())

    def spent(self) -> float:
        """What all machines have cost, by the second."""
        now = self._clock.seconds()
        lives = [*self._lives, *(msgspec.structs.replace(one, ended=now) for one in self._machines.values())]
        return sum(one.price_per_hour * max(0.0, one.ended - max(one.began, self._since)) / HOUR for one in lives)

    def close(self) -> None:
        """Who waits still has waited for so long."""
        now = self._clock.seconds()
        self.pending += [now - since for since in self._anew.values() if now - since > _PENDING_SECONDS]

    def oscillations(self) -> int:
        """Machines that were given back within an hour although what is wanted never fell by half of one meanwhile."""
        return sum(
            one.ended - one.began < HOUR and one.began >= self._since and self._fell(one) < one.cores / 2
            for one in self._lives
        )

    def short_lives(self) -> int:
        """Machines that were given back within an hour, for whatever reason."""
        return sum(one.ended - one.began < HOUR and one.began >= self._since for one in self._lives)

    def _fell(self, life: Life) -> float:
        """By how many cores what is wanted fell in the course of a life, from one moment to a later one. Who had gone
        just before counts: the machine was on its way then."""
        first = max(0, bisect_left(self._wanted, (life.began - _ON_ITS_WAY_SECONDS, 0)) - 1)
        last = bisect_right(self._wanted, (life.ended, math.inf))
        highest = fell = 0
        for _, millis in self._wanted[first:last]:
            highest = max(highest, millis)
            fell = max(fell, highest - millis)
        return fell / 1000

    # Hearing

    def _count(self) -> None:
        now = self._clock.seconds()
        self._pod_seconds += len(self._pods) * max(0.0, now - max(self._counted_at, self._since))
        self._counted_at = now

    def _hear_of_machine(self, event: Event) -> None:
        thing = event.object
        if _MACHINE not in thing["metadata"].get("labels", {}):
            return
        uid, now = thing["metadata"]["uid"], self._clock.seconds()
        if event.what == "ADDED":
            offering = json.loads(thing["data"]["request"])["offering"]
            cores = milli_value(offering["resources"]["cpu"]) / 1000
            self._machines[uid] = Life(now, math.inf, offering["pricePerHour"], cores)
        elif event.what == "DELETED":
            self._lives.append(msgspec.structs.replace(self._machines.pop(uid), ended=now))

    def _hear_of_node(self, event: Event) -> None:
        name = event.object["metadata"]["name"]
        if event.what == "DELETED":
            self._nodes.discard(name)
        else:
            self._nodes.add(name)
            self.most_nodes = max(self.most_nodes, len(self._nodes))

    def _hear_of_move(self, event: Event) -> None:
        uid, phase = event.object["metadata"]["uid"], event.object.get("status", {}).get("phase", "Buying")
        if event.what != "DELETED" and self._clock.seconds() >= self._since:
            self._moves[uid] = phase
        is_draining = event.what != "DELETED" and phase == "Draining"
        if is_draining and uid not in self._drained:
            self._drained[uid] = set(event.object["spec"]["nodes"])
            emptied = self._nodes & set[str]().union(*self._drained.values())
            # Nodes that stand empty and are removed disturb nobody.
            if len(emptied) > math.ceil(SHARE_UNAVAILABLE * len(self._nodes)):
                self.violated.append(f"{len(emptied)} of {len(self._nodes)} nodes are emptied")
        elif not is_draining:
            self._drained.pop(uid, None)

    def _hear_of_pod(self, event: Event) -> None:
        self._count()
        pod, meta, now = event.object, event.object["metadata"], self._clock.seconds()
        uid, app, owner = meta["uid"], meta.get("labels", {}).get(APP, ""), _owner(meta)
        is_there = event.what != "DELETED" and "deletionTimestamp" not in meta and not _is_over(pod)
        if event.what == "ADDED":
            self._follow_up(uid, owner, now)
        if is_there and uid not in self._pods:
            self._pods[uid] = _shape(pod)
            self._note_wanted(self._pods[uid].cpu_millis, now)
        elif not is_there and (gone := self._pods.pop(uid, None)) is not None:
            self._note_wanted(-gone.cpu_millis, now)
            if _is_evicted(pod):
                self._evictions(app, owner, uid, now)
        if is_there and _is_ready(pod):
            self._healthy[app].add(uid)
        else:
            self._healthy[app].discard(uid)
        if uid in self._anew and (pod["spec"].get("nodeName") or not is_there):
            waited = now - self._anew.pop(uid)
            if waited > _PENDING_SECONDS:
                self.pending.append(waited)

    def _note_wanted(self, millis: int, now: float) -> None:
        self._millis += millis
        if self._wanted and self._wanted[-1][0] == now:
            self._wanted.pop()
        self._wanted.append((now, self._millis))

    def _follow_up(self, uid: str, owner: str, now: float) -> None:
        """A pod that is made right after another of its owner was evicted is made for that."""
        evicted = self._evicted[owner]
        while evicted and now - evicted[0] > _MADE_ANEW_SECONDS:
            evicted.popleft()
        if evicted:
            evicted.popleft()
            self._anew[uid] = now

    def _evictions(self, app: str, owner: str, uid: str, now: float) -> None:
        if now < self._since:
            return
        self.evictions += 1
        self._evicted[owner].append(now)
        deployment = self._store.get(DEPLOYMENTS, app, "default") if app else None
        if deployment is None:
            return
        expected = deployment["spec"]["replicas"]
        left = len(self._healthy[app] - {uid})
        if left < expected - math.ceil(SHARE_UNAVAILABLE * expected):
            self.violated.append(f"{left} of {expected} pods of {app} are left")


def _owner(meta: dict[str, Any]) -> str:
    return next((one["uid"] for one in meta.get("ownerReferences", ())), "")


def _is_over(pod: dict[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def _has(pod: dict[str, Any], kind: str, key: str, text: str) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return any(one["type"] == kind and one.get(key) == text for one in conditions)


def _is_ready(pod: dict[str, Any]) -> bool:
    return _has(pod, "Ready", "status", "True")


def _is_evicted(pod: dict[str, Any]) -> bool:
    return _has(pod, "DisruptionTarget", "reason", "EvictionByEvictionAPI")


def _shape(pod: dict[str, Any]) -> Shape:
    asked = pod["spec"]["containers"][0]["resources"]["requests"]
    return Shape(milli_value(asked["cpu"]), value(asked["memory"]) // _MIB)
