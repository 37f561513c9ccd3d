"""The stand-in for a storage driver's provisioner: makes a volume for a claim that asks, and destroys released ones.

It answers for every provisioner that a class may name. A volume made for a node is reachable where that node's CSINode
says: from all nodes with the same values of the driver's topology labels.
"""

from typing import Final

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import ATTACHMENTS, CLAIMS, CSI_NODES, NODES, VOLUMES
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.volumes.claims import (
    PROVISIONED_BY,
    PROVISIONER,
    SELECTED_NODE,
    annotations_of,
    class_of,
    is_bound,
    is_delayed,
    reference_to,
)
from growth_lab.simulator.work_queue import WorkQueue

_PROTECTION: Final = "kubernetes.io/pv-protection"


class Provisioner:
    """Makes and destroys volumes, each after a while."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._store = store
        self._making: WorkQueue[Key] = WorkQueue(clock, timings.volume_creation, self._make)
        self._destroying: WorkQueue[str] = WorkQueue(clock, timings.volume_deletion, self._destroy)
        store.listen(CLAIMS, self._hear_claim)
        store.listen(VOLUMES, self._hear_volume)
        store.listen(ATTACHMENTS, self._hear_attachment)
        for claim in store.all(CLAIMS):
            self._hear_claim(Event(0, "ADDED", CLAIMS, claim, None))
        for volume in store.all(VOLUMES):
            self._hear_volume(Event(0, "ADDED", VOLUMES, volume, None))

    def _hear_claim(self, event: Event) -> None:
        if event.what != "DELETED" and self._is_asking(event.object):
            self._making.add(event.key)

    def _hear_volume(self, event: Event) -> None:
        if event.what != "DELETED" and _is_to_go(event.object):
            self._destroying.add(event.key[1])

    def _hear_attachment(self, event: Event) -> None:
        name = event.object["spec"]["source"].get("persistentVolumeName")
        if event.what == "DELETED" and name:
            self._destroying.add(name)

    def _is_asking(self, claim: Json) -> bool:
        return (
            PROVISIONER in annotations_of(claim)
            and not is_bound(claim)
            and not claim["spec"].get("volumeName")
            and "deletionTimestamp" not in claim["metadata"]
            and not is_delayed(self._store, claim)
        )

    def _make(self, key: Key) -> None:
        claim = self._store.get(CLAIMS, key[1], key[0])
        known = class_of(self._store, claim) if claim is not None else None
        if claim is None or known is None or not self._is_asking(claim):
            return
        name, driver = f"pvc-{claim['metadata']['uid']}", annotations_of(claim)[PROVISIONER]
        if self._store.get(VOLUMES, name) is not None:
            return
        node = annotations_of(claim).get(SELECTED_NODE)
        if node and self._store.get(NODES, node) is None:
            # The scheduler has to choose again.
            self._store.patch(CLAIMS, key[1], key[0], {"metadata": {"annotations": {SELECTED_NODE: None}}})
            return
        spec: Json = {
            "capacity": {"storage": part(claim, "spec", "resources", "requests").get("storage", "0")},
            "accessModes": claim["spec"].get("accessModes", []),
            "volumeMode": claim["spec"].get("volumeMode", "Filesystem"),
            "claimRef": reference_to(claim),
            "persistentVolumeReclaimPolicy": known.get("reclaimPolicy", "Delete"),
            "storageClassName": known["metadata"]["name"],
            "csi": {"driver": driver, "volumeHandle": name},
        }
        terms = self._reach(driver, node) if node else []
        if terms:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": terms}]}}
        meta = {"name": name, "annotations": {PROVISIONED_BY: driver}, "finalizers": [_PROTECTION]}
        self._store.create(VOLUMES, {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}})

    def _reach(self, driver: str, node: str) -> list[Json]:
        """Where a volume made for this node can be reached."""
        csi_node, known = self._store.get(CSI_NODES, node), self._store.get(NODES, node)
        if csi_node is None or known is None:
            return []
        labels = part(known, "metadata", "labels")
        keys = [
            key
            for entry in parts(csi_node, "spec", "drivers")
            if entry["name"] == driver
            for key in entry.get("topologyKeys") or ()
        ]
        return [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys if key in labels]

    def _destroy(self, name: str) -> None:
        volume = self._store.get(VOLUMES, name)
        if volume is None or not _is_to_go(volume):
            return
        attached = (known["spec"]["source"].get("persistentVolumeName") for known in self._store.all(ATTACHMENTS))
        if name not in attached:
            self._store.delete(VOLUMES, key_of(volume)[1])


def _is_to_go(volume: Json) -> bool:
    return (
        part(volume, "status").get("phase") == "Released"
        and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and PROVISIONED_BY in annotations_of(volume)
        and "deletionTimestamp" not in volume["metadata"]
    )
