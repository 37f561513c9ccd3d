"""StatefulSets: pods with identities, in order, and never two of one identity.

A pod that was deleted keeps its name until it is really gone, and so its place: on a dead node that is until somebody
proves that it is dead. Claims are made before the pod and stay after it.
"""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import STATEFUL_SETS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads.owned_pods import Families
from growth_lab.simulator.workloads.pod_from_template import template_hash
from growth_lab.simulator.workloads.pod_state import is_available, ready_since, state_of
from growth_lab.simulator.workloads.replica_sets import is_news
from growth_lab.simulator.workloads.stateful_pods import REVISION, make_pod, ordinal_of


class StatefulSets:
    """The controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings, families: Families) -> None:
        self._clock, self._store, self._families = clock, store, families
        self._claim_retry_seconds = timings.claim_retry
        self._queue: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync)
        # Old templates, which the real one keeps in ControllerRevisions: what stays below the partition needs them.
        self._templates: dict[tuple[str, str], Json] = {}
        families.follow(STATEFUL_SETS.kind, self._queue.add)
        store.listen(STATEFUL_SETS, self._hear)
        for known in store.all(STATEFUL_SETS):
            self._queue.add(key_of(known))

    def _hear(self, event: Event) -> None:
        if event.what != "DELETED" and is_news(event):
            self._queue.add(event.key)

    def _sync(self, key: Key) -> None:
        stateful_set = self._store.get(STATEFUL_SETS, key[1], key[0])
        if stateful_set is None:
            return
        revision = f"{key[1]}-{template_hash(stateful_set['spec']['template'])}"
        current = part(stateful_set, "status").get("currentRevision", revision)
        self._templates[stateful_set["metadata"]["uid"], revision] = stateful_set["spec"]["template"]
        if "deletionTimestamp" not in stateful_set["metadata"]:
            self._step(stateful_set, current, revision)
        self._write_status(stateful_set, current, revision)

    def _pods(self, stateful_set: Json) -> dict[int, Json]:
        family = self._families.of(stateful_set["metadata"]["uid"])
        return {ordinal_of(pod): pod for pod in family.pods.values()}

    def _step(self, stateful_set: Json, current: str, revision: str) -> None:
        """1. Make what is missing, in order. 2. Remove what is too much, from the end. 3. Update, from the end."""
        spec = stateful_set["spec"]
        first = part(spec, "ordinals").get("start", 0)
        wanted = range(first, first + spec.get("replicas", 1))
        is_ordered = spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        pods = self._pods(stateful_set)
        if self._make(stateful_set, pods, wanted, current, revision, is_ordered=is_ordered):
            return
        condemned = sorted((ordinal for ordinal in pods if ordinal not in wanted), reverse=True)
        if self._condemn(pods, condemned, is_ordered=is_ordered):
            return
        self._update(stateful_set, pods, wanted, revision)

    def _make(
        self,
        stateful_set: Json,
        pods: dict[int, Json],
        wanted: range,
        current: str,
        revision: str,
        *,
        is_ordered: bool,
    ) -> bool:
        """Whether there is something to wait for before the next step."""
        is_waiting = False
        for ordinal in wanted:
            pod = pods.get(ordinal)
            if pod is not None and state_of(pod).phase in ("Succeeded", "Failed"):
                if not state_of(pod).is_terminating:
                    delete_pod(self._store, pod)
                is_waiting = True
            elif pod is None:
                self._create(stateful_set, ordinal, current, revision)
                is_waiting = is_waiting or is_ordered
            elif is_ordered and (state_of(pod).is_terminating or not self._is_available(stateful_set, pod)):
                is_waiting = True
            if is_waiting and is_ordered:
                return True
        return is_waiting

    def _create(self, stateful_set: Json, ordinal: int, current: str, revision: str) -> None:
        spec = stateful_set["spec"]
        start = part(spec, "ordinals").get("start", 0)
        strategy = part(spec, "updateStrategy")
        partition = part(strategy, "rollingUpdate").get("partition", 0)
        template = self._templates.get((stateful_set["metadata"]["uid"], current))
        version = current if template is not None and ordinal < start + partition else revision
        template = template if version == current and template is not None else spec["template"]
        if not make_pod(self._store, stateful_set, ordinal, template, version):
            self._queue.add_after(key_of(stateful_set), self._claim_retry_seconds)

    def _condemn(self, pods: dict[int, Json], condemned: list[int], *, is_ordered: bool) -> bool:
        sick = [ordinal for ordinal, pod in pods.items() if not _is_running_and_ready(pod)]
        first_sick = min(sick, default=None)
        for ordinal in condemned:
            pod = pods[ordinal]
            if state_of(pod).is_terminating:
                if is_ordered:
                    return True
                continue
            if is_ordered and not _is_running_and_ready(pod) and ordinal != first_sick:
                return True
            delete_pod(self._store, pod)
            if is_ordered:
                return True
        return False

    def _update(self, stateful_set: Json, pods: dict[int, Json], wanted: range, revision: str) -> None:
        strategy = part(stateful_set["spec"], "updateStrategy")
        if strategy.get("type") == "OnDelete":
            return
        partition = part(strategy, "rollingUpdate").get("partition", 0)
        for ordinal in reversed(wanted[partition:]):
            pod = pods.get(ordinal)
            if pod is None:
                return
            if pod["metadata"]["labels"].get(REVISION) != revision and not state_of(pod).is_terminating:
                delete_pod(self._store, pod)
                return
            if state_of(pod).is_terminating or not self._is_available(stateful_set, pod):
                return

    def _is_available(self, stateful_set: Json, pod: Json) -> bool:
        wanted_seconds = stateful_set["spec"].get("minReadySeconds", 0)
        if not _is_running_and_ready(pod):
            return False
        now, since = self._clock.now(), ready_since(pod)
        if is_available(pod, wanted_seconds, now):
            return True
        if since is not None:
            self._queue.add_after(key_of(stateful_set), wanted_seconds - (now - since).total_seconds())
        return False

    def _write_status(self, stateful_set: Json, current: str, revision: str) -> None:
        meta = stateful_set["metadata"]
        pods = list(self._pods(stateful_set).values())
        lively = [pod for pod in pods if not state_of(pod).is_terminating]
        ready = sum(map(_is_running_and_ready, pods))
        updated = sum(pod["metadata"]["labels"].get(REVISION) == revision for pod in lively)
        # What is left below a partition is of the current version until the partition is gone.
        is_over = updated == len(pods) == ready == stateful_set["spec"].get("replicas", 1)
        current = revision if is_over else current
        status = {
            "observedGeneration": meta["generation"],
            "replicas": len(pods),
            "readyReplicas": ready or None,
            "availableReplicas": sum(self._is_available(stateful_set, pod) for pod in pods),
            "currentReplicas": sum(pod["metadata"]["labels"].get(REVISION) == current for pod in lively) or None,
            "updatedReplicas": updated or None,
            "currentRevision": current,
            "updateRevision": revision,
            "collisionCount": 0,
        }
        self._store.patch(STATEFUL_SETS, meta["name"], meta["namespace"], {"status": status})


def _is_running_and_ready(pod: Json) -> bool:
    state = state_of(pod)
    return state.phase == "Running" and state.is_ready
