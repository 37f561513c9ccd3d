"""What the storage controllers ask about claims, classes and pods."""

from typing import Final

from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import STORAGE_CLASSES
from growth_lab.simulator.store import Key, Store

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
OLD_PROVISIONER: Final = "volume.beta.kubernetes.io/storage-provisioner"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


def annotations_of(thing: Json) -> Json:
    """Its annotations, none if there are none."""
    return part(thing, "metadata", "annotations")


def class_of(store: Store, claim: Json) -> Json | None:
    """The storage class that a claim names."""
    return store.get(STORAGE_CLASSES, claim["spec"].get("storageClassName") or "")


def default_class(store: Store) -> str | None:
    """What a claim gets that names no class at all: the newest of the defaults."""
    defaults = [known for known in store.all(STORAGE_CLASSES) if annotations_of(known).get(_DEFAULT_CLASS) == "true"]
    defaults.sort(key=lambda known: (known["metadata"]["creationTimestamp"], known["metadata"]["name"]))
    return defaults[-1]["metadata"]["name"] if defaults else None


def is_delayed(store: Store, claim: Json) -> bool:
    """Whether the claim waits until the scheduler has chosen a node for its first pod."""
    if annotations_of(claim).get(SELECTED_NODE):
        return False
    known = class_of(store, claim)
    return known is not None and known.get("volumeBindingMode") == "WaitForFirstConsumer"


def is_bound(claim: Json) -> bool:
    """Whether claim and volume have found each other, for good."""
    return BIND_COMPLETED in annotations_of(claim)


def claims_of(pod: Json) -> list[Key]:
    """The claims that a pod names, also those that are made for it alone."""
    meta = pod["metadata"]
    found: list[Key] = []
    for volume in parts(pod, "spec", "volumes"):
        if "persistentVolumeClaim" in volume:
            found.append((meta["namespace"], volume["persistentVolumeClaim"]["claimName"]))
        elif "ephemeral" in volume:
            found.append((meta["namespace"], f"{meta['name']}-{volume['name']}"))
    return found


def is_reference_to(reference: Json, claim: Json) -> bool:
    """Whether a volume's claimRef means this claim; one written by hand has no uid."""
    meta = claim["metadata"]
    is_named = reference.get("name") == meta["name"] and reference.get("namespace", "") == meta["namespace"]
    return is_named and reference.get("uid") in (None, "", meta["uid"])


def reference_to(claim: Json) -> Json:
    """What a volume's claimRef says."""
    meta = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": meta["name"],
        "namespace": meta["namespace"],
        "uid": meta["uid"],
        "resourceVersion": meta["resourceVersion"],
    }
