"""DaemonSets: one pod on every node that the template accepts, whether or not there is room.

Work is done per DaemonSet and node, so a cluster of many nodes costs per change, not per look. A pod that is on its way
out still holds its node's place; the next one comes when it is gone.
"""

from typing import NamedTuple

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import DAEMON_SETS, NODES, PODS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads.daemon_pods import REVISION, Daemon, node_of
from growth_lab.simulator.workloads.int_or_percent import share_of
from growth_lab.simulator.workloads.pod_state import controller_of, is_available, ready_since, state_of
from growth_lab.simulator.workloads.replica_sets import is_news


class _View(NamedTuple):
    """What one node adds to the status."""

    desired: int = 0
    current: int = 0
    misscheduled: int = 0
    ready: int = 0
    available: int = 0
    updated: int = 0


class _Watched:
    """What is known about one DaemonSet beside the object: all of it can be seen again."""

    def __init__(self, daemon_set: Json) -> None:
        self.generation = daemon_set["metadata"]["generation"]
        self.daemon = Daemon(daemon_set)
        self.views: dict[str, _View] = {}
        self.totals = [0] * len(_View._fields)

    def note(self, node: str, view: _View | None) -> None:
        before = self.views.pop(node, _View())
        if view is not None:
            self.views[node] = view
        for place, (now, was) in enumerate(zip(view or _View(), before, strict=True)):
            self.totals[place] += now - was


class DaemonSets:
    """The controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store, self._timings = clock, store, timings
        self._places: WorkQueue[tuple[Key, str]] = WorkQueue(clock, timings.controller_delay, self._sync_place)
        self._statuses: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync_status)
        self._watched: dict[str, _Watched] = {}
        self._pods: dict[tuple[str, str], dict[Key, Json]] = {}
        self._failures: dict[tuple[str, str], tuple[float, float]] = {}
        store.listen(DAEMON_SETS, self._hear)
        store.listen(NODES, self._hear_node)
        store.listen(PODS, self._hear_pod)
        for pod in store.all(PODS):
            self._hear_pod(Event(0, "ADDED", PODS, pod, None))
        for known in store.all(DAEMON_SETS):
            self._look_everywhere(key_of(known))

    # Hearing

    def _hear(self, event: Event) -> None:
        if event.what == "DELETED":
            self._watched.pop(event.object["metadata"]["uid"], None)
        elif is_news(event):
            self._look_everywhere(event.key)

    def _hear_node(self, event: Event) -> None:
        before = event.before
        if event.what == "MODIFIED" and before is not None:
            node = event.object
            if node["metadata"].get("labels") == before["metadata"].get("labels") and part(node, "spec").get(
                "taints"
            ) == part(before, "spec").get("taints"):
                return
        for daemon_set in self._store.all(DAEMON_SETS):
            self._places.add((key_of(daemon_set), event.key[1]))

    def _hear_pod(self, event: Event) -> None:
        owner = controller_of(event.object)
        if owner is None or owner["kind"] != DAEMON_SETS.kind:
            return
        uid, name, before = owner["uid"], node_of(event.object), event.before
        if event.what == "DELETED" or (before is not None and node_of(before) != name):
            was = uid, node_of(before or event.object)
            self._pods[was].pop(event.key, None)
            if not self._pods[was]:
                del self._pods[was]
            self._places.add(((event.key[0], owner["name"]), was[1]))
        if event.what != "DELETED":
            self._pods.setdefault((uid, name), {})[event.key] = event.object
        if event.what != "MODIFIED" or before is None or state_of(event.object) != state_of(before):
            self._places.add(((event.key[0], owner["name"]), name))

    def _look_everywhere(self, key: Key) -> None:
        for node in self._store.all(NODES):
            self._places.add((key, node["metadata"]["name"]))
        self._statuses.add(key)

    # One node

    def _sync_place(self, place: tuple[Key, str]) -> None:
        (namespace, name), node_name = place
        daemon_set = self._store.get(DAEMON_SETS, name, namespace)
        if daemon_set is None or "deletionTimestamp" in daemon_set["metadata"]:
            return
        watched = self._watch(daemon_set)
        uid = daemon_set["metadata"]["uid"]
        node = self._store.get(NODES, node_name)
        pods = list(self._pods.get((uid, node_name), {}).values())
        may_start, may_stay = watched.daemon.may_start_and_stay(node) if node is not None else (False, False)
        if node is None:
            for pod in pods:  # those that ran there are the pod collector's
                if not pod["spec"].get("nodeName"):
                    delete_pod(self._store, pod)
        elif may_start and not pods:
            pods = [self._store.create(PODS, watched.daemon.pod_for(node_name))]
        elif may_stay:
            self._tidy(place, uid, pods)
        else:
            for pod in pods:
                if not state_of(pod).is_terminating:
                    delete_pod(self._store, pod)
        view = self._view(daemon_set, watched, pods, may_start=may_start) if node is not None else None
        watched.note(node_name, view)
        self._statuses.add(place[0])

    def _watch(self, daemon_set: Json) -> _Watched:
        meta = daemon_set["metadata"]
        watched = self._watched.get(meta["uid"])
        if watched is None or watched.generation != meta["generation"]:
            watched = self._watched[meta["uid"]] = _Watched(daemon_set)
        return watched

    def _tidy(self, place: tuple[Key, str], uid: str, pods: list[Json]) -> None:
        """Remove pods that ended, less and less eagerly, and all but the oldest of those that run."""
        running = list[Json]()
        for pod in pods:
            state = state_of(pod)
            if state.is_terminating:
                continue
            if state.phase == "Failed":
                pause, until = self._failures.get((uid, place[1]), (0.0, 0.0))
                now = self._clock.seconds()
                if now < until:
                    self._places.add_after(place, until - now)
                    continue
                pause = min(self._timings.daemon_max_backoff, pause * 2 or self._timings.daemon_backoff)
                self._failures[uid, place[1]] = pause, now + pause
                delete_pod(self._store, pod)
            elif state.phase == "Succeeded":
                delete_pod(self._store, pod)
            else:
                running.append(pod)
        running.sort(key=lambda pod: (not pod["spec"].get("nodeName"), pod["metadata"]["creationTimestamp"]))
        for pod in running[1:]:
            delete_pod(self._store, pod)

    def _view(self, daemon_set: Json, watched: _Watched, pods: list[Json], *, may_start: bool) -> _View:
        pods = [pod for pod in pods if state_of(pod).is_active]
        if not may_start:
            return _View(misscheduled=int(bool(pods)))
        if not pods:
            return _View(desired=1)
        pod = pods[0]
        return _View(
            desired=1,
            current=1,
            ready=int(state_of(pod).is_ready),
            available=int(self._is_available(daemon_set, pod)),
            updated=int(pod["metadata"]["labels"].get(REVISION) == watched.daemon.revision),
        )

    def _is_available(self, daemon_set: Json, pod: Json) -> bool:
        wanted_seconds = daemon_set["spec"].get("minReadySeconds", 0)
        now, since = self._clock.now(), ready_since(pod)
        if is_available(pod, wanted_seconds, now):
            return True
        if since is not None:
            left = wanted_seconds - (now - since).total_seconds()
            self._places.add_after((key_of(daemon_set), node_of(pod)), left)
        return False

    # All nodes

    def _sync_status(self, key: Key) -> None:
        daemon_set = self._store.get(DAEMON_SETS, key[1], key[0])
        if daemon_set is None:
            return
        watched = self._watch(daemon_set)
        totals = _View(*watched.totals)
        if totals.updated < totals.current and "deletionTimestamp" not in daemon_set["metadata"]:
            self._update(daemon_set, watched)
        status = {
            "observedGeneration": daemon_set["metadata"]["generation"],
            "desiredNumberScheduled": totals.desired,
            "currentNumberScheduled": totals.current,
            "numberMisscheduled": totals.misscheduled,
            "numberReady": totals.ready,
            "numberAvailable": totals.available or None,
            "numberUnavailable": totals.desired - totals.available or None,
            "updatedNumberScheduled": totals.updated or None,
        }
        self._store.patch(DAEMON_SETS, key[1], key[0], {"status": status})

    def _update(self, daemon_set: Json, watched: _Watched) -> None:
        """Delete old pods, as many as may be missing at once; the place is then filled with a new one."""
        strategy = part(daemon_set["spec"], "updateStrategy")
        if strategy.get("type") == "OnDelete":
            return
        written = part(strategy, "rollingUpdate").get("maxUnavailable", 1)
        totals = _View(*watched.totals)
        left = share_of(written, totals.desired, up=True) - (totals.desired - totals.available)
        uid = daemon_set["metadata"]["uid"]
        for node_name, view in list(watched.views.items()):
            if not view.current or view.updated:
                continue
            # An old pod that is of no use already costs nothing.
            if view.available:
                if left <= 0:
                    continue
                left -= 1
            for pod in list(self._pods.get((uid, node_name), {}).values()):
                if state_of(pod).is_active:
                    delete_pod(self._store, pod)
