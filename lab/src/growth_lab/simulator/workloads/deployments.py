"""Deployments: one ReplicaSet per version of the template, and the way from the old version to the new one.

Simpler than the real one: a Deployment that is scaled in the middle of an update goes on with the update instead of
sharing the new number out, and a stuck update is never called stuck.
"""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import DEPLOYMENTS, REPLICA_SETS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads import rollout
from growth_lab.simulator.workloads.deployment_status import deployment_status, is_complete
from growth_lab.simulator.workloads.pod_from_template import controller_reference, template_hash
from growth_lab.simulator.workloads.pod_state import controller_of
from growth_lab.simulator.workloads.replica_sets import is_news

_HASH = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MOST = "deployment.kubernetes.io/max-replicas"


class Deployments:
    """The controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store = clock, store
        self._queue: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync)
        self._sets: dict[str, dict[Key, None]] = {}
        self._hashes: dict[Key, tuple[str, int, str]] = {}
        store.listen(DEPLOYMENTS, self._hear)
        store.listen(REPLICA_SETS, self._hear_set)
        for known in store.all(REPLICA_SETS):
            self._hear_set(Event(0, "ADDED", REPLICA_SETS, known, None))
        for known in store.all(DEPLOYMENTS):
            self._queue.add(key_of(known))

    def _hear(self, event: Event) -> None:
        if event.what == "DELETED":
            self._hashes.pop(event.key, None)
        elif is_news(event):
            self._queue.add(event.key)

    def _hear_set(self, event: Event) -> None:
        owner = controller_of(event.object)
        if owner is None or owner["kind"] != DEPLOYMENTS.kind:
            return
        sets = self._sets.setdefault(owner["uid"], {})
        if event.what == "DELETED":
            sets.pop(event.key, None)
            if not sets:
                del self._sets[owner["uid"]]
        else:
            sets[event.key] = None
        self._queue.add((event.key[0], owner["name"]))

    def _sync(self, key: Key) -> None:
        deployment = self._store.get(DEPLOYMENTS, key[1], key[0])
        if deployment is None:
            return
        new, olds = self._versions(deployment)
        if "deletionTimestamp" not in deployment["metadata"] and not _is_settled(deployment, new, olds):
            if deployment["spec"].get("paused"):
                # Only the size is kept up while somebody edits the template.
                if new is not None and not any(map(rollout.replicas, olds)):
                    self._scale(deployment, new, deployment["spec"].get("replicas", 1))
            elif part(deployment["spec"], "strategy").get("type") == "Recreate":
                self._recreate(deployment, new, olds)
            else:
                self._roll(deployment, new, olds)
            new, olds = self._versions(deployment)
        self._write_status(deployment, new, olds)
        if new is not None and is_complete(deployment, new, olds):
            self._forget(deployment, olds)

    def _versions(self, deployment: Json) -> tuple[Json | None, list[Json]]:
        """The ReplicaSet of today's template, if there is one, and the others, oldest first."""
        today = self._hash_of(deployment)
        new, olds = None, list[Json]()
        for namespace, name in self._sets.get(deployment["metadata"]["uid"], {}):
            known = self._store.get(REPLICA_SETS, name, namespace)
            if known is None:
                continue
            if known["metadata"]["labels"].get(_HASH) == today:
                new = known
            else:
                olds.append(known)
        return new, sorted(olds, key=_revision)

    def _hash_of(self, deployment: Json) -> str:
        meta = deployment["metadata"]
        known = self._hashes.get(key_of(deployment))
        if known is None or known[:2] != (meta["uid"], meta["generation"]):
            known = (meta["uid"], meta["generation"], template_hash(deployment["spec"]["template"]))
            self._hashes[key_of(deployment)] = known
        return known[2]

    def _roll(self, deployment: Json, new: Json | None, olds: list[Json]) -> None:
        new = self._newest(deployment, new, olds)
        wanted = rollout.size_of_new(deployment["spec"], new, olds)
        if wanted != rollout.replicas(new):
            self._scale(deployment, new, wanted)
            return  # one step at a time: what it leads to is heard of
        for old, size in zip(olds, rollout.sizes_of_old(deployment["spec"], new, olds), strict=True):
            self._scale(deployment, old, size)
        self._scale(deployment, new, wanted)

    def _recreate(self, deployment: Json, new: Json | None, olds: list[Json]) -> None:
        for old in olds:
            self._scale(deployment, old, 0)
        busy = ("replicas", "terminatingReplicas")
        if any(part(old, "status").get(field) for old in olds for field in busy):
            return
        new = self._newest(deployment, new, olds)
        self._scale(deployment, new, deployment["spec"].get("replicas", 1))

    def _newest(self, deployment: Json, new: Json | None, olds: list[Json]) -> Json:
        """Today's ReplicaSet, made if there is none; going back to an old template makes its ReplicaSet the newest."""
        latest = max((_revision(old) for old in olds), default=0)
        meta, spec = deployment["metadata"], deployment["spec"]
        if new is not None:
            if _revision(new) <= latest:
                new = self._note(new, {_REVISION: str(latest + 1)})
        else:
            labels = {_HASH: self._hash_of(deployment)}
            template = spec["template"]
            described = part(template, "metadata")
            all_labels = {**part(described, "labels"), **labels}
            body: Json = {
                "metadata": {
                    "name": f"{meta['name']}-{labels[_HASH]}",
                    "namespace": meta["namespace"],
                    "labels": all_labels,
                    "annotations": {_REVISION: str(latest + 1)},
                    "ownerReferences": [controller_reference(deployment, DEPLOYMENTS)],
                },
                "spec": {
                    "replicas": 0,
                    "selector": {
                        **spec["selector"],
                        "matchLabels": {**part(spec["selector"], "matchLabels"), **labels},
                    },
                    "template": {**template, "metadata": {**described, "labels": all_labels}},
                    **({"minReadySeconds": spec["minReadySeconds"]} if spec.get("minReadySeconds") else {}),
                },
                "status": {"replicas": 0},
            }
            # It is born with its first size, so that nobody sees it empty.
            size = rollout.size_of_new(spec, body, olds)
            body["spec"]["replicas"] = size
            body["metadata"]["annotations"] |= _sizes(spec)
            new = self._store.create(REPLICA_SETS, body)
        number = new["metadata"]["annotations"][_REVISION]
        if part(meta, "annotations").get(_REVISION) != number:
            self._store.patch(
                DEPLOYMENTS, meta["name"], meta["namespace"], {"metadata": {"annotations": {_REVISION: number}}}
            )
        return new

    def _scale(self, deployment: Json, replica_set: Json, size: int) -> None:
        meta = replica_set["metadata"]
        if not size and not rollout.replicas(replica_set):
            return
        change: Json = {"spec": {"replicas": size}, "metadata": {"annotations": _sizes(deployment["spec"])}}
        self._store.patch(REPLICA_SETS, meta["name"], meta["namespace"], change)

    def _note(self, replica_set: Json, annotations: Json) -> Json:
        meta = replica_set["metadata"]
        return self._store.patch(
            REPLICA_SETS, meta["name"], meta["namespace"], {"metadata": {"annotations": annotations}}
        )

    def _write_status(self, deployment: Json, new: Json | None, olds: list[Json]) -> None:
        meta = deployment["metadata"]
        status = deployment_status(deployment, new, olds, self._clock)
        self._store.patch(DEPLOYMENTS, meta["name"], meta["namespace"], {"status": status})

    def _forget(self, deployment: Json, olds: list[Json]) -> None:
        """Delete the oldest versions beyond what is to be remembered."""
        too_many = len(olds) - deployment["spec"].get("revisionHistoryLimit", 10)
        for old in olds[: max(0, too_many)]:
            if not rollout.replicas(old) and not part(old, "status").get("replicas"):
                self._store.delete(REPLICA_SETS, old["metadata"]["name"], old["metadata"]["namespace"])


def _is_settled(deployment: Json, new: Json | None, olds: list[Json]) -> bool:
    """Whether only the status can have changed, as it mostly has: one look per pod that gets ready."""
    if new is None or any(map(rollout.replicas, olds)):
        return False
    wanted, number = deployment["spec"].get("replicas", 1), _revision(new)
    return (
        rollout.replicas(new) == wanted
        and part(new, "metadata", "annotations").get(_DESIRED) == str(wanted)
        and part(deployment, "metadata", "annotations").get(_REVISION) == str(number)
        and all(_revision(old) < number for old in olds)
    )


def _revision(replica_set: Json) -> int:
    return int(part(replica_set["metadata"], "annotations").get(_REVISION, 0))


def _sizes(spec: Json) -> dict[str, str]:
    wanted = spec.get("replicas", 1)
    return {_DESIRED: str(wanted), _MOST: str(wanted + rollout.bounds_of(spec).surge)}
