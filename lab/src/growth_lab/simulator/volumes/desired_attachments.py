"""Which volumes must be attached where: what the live pods of managed nodes want.

A pod wants its volumes from the moment it is assigned until it has ended, or was deleted and no container of it runs.
As long as a pod object says that it runs, nobody here believes that it is dead: that is what keeps data safe.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CLAIMS, CSI_DRIVERS, NODES, PODS, VOLUMES
from growth_lab.simulator.store import Event, Key, Store
from growth_lab.simulator.volumes.claims import annotations_of, claims_of

MANAGED: Final = "volumes.kubernetes.io/controller-managed-attach-detach"
_SHARED_MODES: Final = ("ReadWriteMany", "ReadOnlyMany")


class Disk(NamedTuple):
    """A volume as the attach/detach controller sees it."""

    unique_name: str
    """How nodes call it in volumesInUse and volumesAttached."""
    volume: str
    driver: str
    handle: str
    is_exclusive: bool
    """Whether it may be attached to one node only."""


def disk_of(volume: Json) -> Disk | None:
    """The disk behind a volume; None if nobody has to attach anything."""
    csi = part(volume, "spec", "csi")
    if not csi:
        return None
    driver, handle = csi["driver"], csi["volumeHandle"]
    modes = volume["spec"].get("accessModes") or ()
    is_exclusive = bool(modes) and not any(mode in _SHARED_MODES for mode in modes)
    return Disk(f"kubernetes.io/csi/{driver}^{handle}", volume["metadata"]["name"], driver, handle, is_exclusive)


class Wishes:
    """Follows pods, claims and nodes, and tells which disk to look at."""

    def __init__(self, store: Store, told: Callable[[str], None]) -> None:
        self._store, self._told = store, told
        self.disks: dict[str, Disk] = {}
        self._wanted: dict[str, dict[str, dict[Key, None]]] = {}
        self._of_pods: dict[Key, list[tuple[str, str]]] = {}
        self._users: dict[Key, dict[Key, None]] = {}
        self._managed: dict[str, None] = {}
        for node in store.all(NODES):
            self._hear_node(Event(0, "ADDED", NODES, node, None))
        for pod in store.all(PODS):
            self._hear_pod(Event(0, "ADDED", PODS, pod, None))
        store.listen(NODES, self._hear_node)
        store.listen(PODS, self._hear_pod)
        store.listen(CLAIMS, self._hear_claim)
        store.listen(VOLUMES, self._hear_volume)

    def nodes_for(self, unique_name: str) -> dict[str, dict[Key, None]]:
        """The nodes on which a disk is wanted, each with the pods that want it."""
        return self._wanted.get(unique_name, {})

    def _hear_node(self, event: Event) -> None:
        name = event.key[1]
        if event.what == "DELETED":
            if not any(node == name for wishes in self._of_pods.values() for _, node in wishes):
                self._managed.pop(name, None)
        elif name not in self._managed and annotations_of(event.object).get(MANAGED) == "true":
            self._managed[name] = None
            for users in list(self._users.values()):
                self._look_at(users)

    def _hear_pod(self, event: Event) -> None:
        claims = claims_of(event.object)
        if not claims:
            return
        for claim in claims:
            users = self._users.setdefault(claim, {})
            if event.what != "DELETED":
                users[event.key] = None
            else:
                users.pop(event.key, None)
                if not users:
                    del self._users[claim]
        self._note(event.key, [] if event.what == "DELETED" else self._wishes_of(event.object))

    def _hear_claim(self, event: Event) -> None:
        self._look_at(self._users.get(event.key, {}))

    def _hear_volume(self, event: Event) -> None:
        reference = part(event.object, "spec", "claimRef")
        if reference and event.what == "ADDED":
            self._look_at(self._users.get((reference.get("namespace", ""), reference["name"]), {}))

    def _look_at(self, pods: dict[Key, None]) -> None:
        for namespace, name in list(pods):
            pod = self._store.get(PODS, name, namespace)
            if pod is not None:
                self._note((namespace, name), self._wishes_of(pod))

    def _wishes_of(self, pod: Json) -> list[tuple[str, str]]:
        node = pod["spec"].get("nodeName")
        if not node or node not in self._managed or is_over(pod):
            return []
        wishes: list[tuple[str, str]] = []
        for namespace, name in claims_of(pod):
            claim = self._store.get(CLAIMS, name, namespace)
            if claim is None or part(claim, "status").get("phase") != "Bound":
                continue
            volume = self._store.get(VOLUMES, claim["spec"].get("volumeName") or "")
            disk = disk_of(volume) if volume is not None else None
            if disk is not None and self._needs_attaching(disk):
                self.disks[disk.unique_name] = disk
                wishes.append((disk.unique_name, node))
        return wishes

    def _needs_attaching(self, disk: Disk) -> bool:
        driver = self._store.get(CSI_DRIVERS, disk.driver)
        return driver is None or part(driver, "spec").get("attachRequired", True)

    def _note(self, pod: Key, wishes: list[tuple[str, str]]) -> None:
        before = self._of_pods.get(pod, [])
        if before == wishes:
            return
        for disk, node in before:
            wanted = self._wanted[disk]
            wanted[node].pop(pod, None)
            if not wanted[node]:
                del wanted[node]
            if not wanted:
                del self._wanted[disk]
            self._told(disk)
        for disk, node in wishes:
            self._wanted.setdefault(disk, {}).setdefault(node, {})[pod] = None
            self._told(disk)
        if wishes:
            self._of_pods[pod] = wishes
        else:
            del self._of_pods[pod]


def is_over(pod: Json) -> bool:
    """Whether a pod needs its volumes no more."""
    status = part(pod, "status")
    if status.get("phase") in ("Succeeded", "Failed"):
        return True
    is_running = any("running" in part(container, "state") for container in parts(status, "containerStatuses"))
    return "deletionTimestamp" in pod["metadata"] and not is_running
