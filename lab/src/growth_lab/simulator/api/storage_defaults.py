"""What new claims, volumes and their kin get that their authors did not write (Kubernetes 1.36)."""

from typing import Final

from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import ATTACHMENTS, CLAIMS, CSI_DRIVERS, STORAGE_CLASSES, VOLUMES
from growth_lab.simulator.store import Store

_DRIVER: Final[Json] = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "volumeLifecycleModes": ["Persistent"],
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}


def install(store: Store) -> None:
    """Let the store fill them in, whoever creates them."""
    store.defaulting |= {
        CLAIMS: _claim,
        VOLUMES: _volume,
        STORAGE_CLASSES: _storage_class,
        CSI_DRIVERS: _driver,
        ATTACHMENTS: _attachment,
    }


def _claim(claim: Json) -> Json:
    spec = {"volumeMode": "Filesystem", **part(claim, "spec")}
    return _protected({**claim, "spec": spec}, "kubernetes.io/pvc-protection")


def _volume(volume: Json) -> Json:
    spec = {"volumeMode": "Filesystem", "persistentVolumeReclaimPolicy": "Retain", **part(volume, "spec")}
    return _protected({**volume, "spec": spec}, "kubernetes.io/pv-protection")


def _protected(thing: Json, finalizer: str) -> Json:
    """With the finalizer that admission adds, so that nothing goes while it is in use."""
    meta = thing["metadata"]
    finalizers: list[str] = meta.get("finalizers") or []
    if finalizer not in finalizers:
        meta = {**meta, "finalizers": [*finalizers, finalizer]}
    return {**thing, "metadata": meta, "status": {"phase": "Pending", **part(thing, "status")}}


def _storage_class(storage_class: Json) -> Json:
    return {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", **storage_class}


def _driver(driver: Json) -> Json:
    return {**driver, "spec": {**_DRIVER, **part(driver, "spec")}}


def _attachment(attachment: Json) -> Json:
    return {**attachment, "status": {"attached": False, **part(attachment, "status")}}
