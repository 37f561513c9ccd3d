"""What the scheduler notices of a write: most are none of its business, and reading them would cost the most."""

from growth_lab.simulator.merge_patch import Json


def is_all_the_same(before: Json, now: Json) -> bool:
    """Whether nothing changed that the scheduler reads of a pod. Mostly it is a kubelet that wrote the status."""
    old, new = before["metadata"], now["metadata"]
    if old.get("labels") != new.get("labels") or ("deletionTimestamp" in old) != ("deletionTimestamp" in new):
        return False
    if before.get("spec") is not now.get("spec") and before.get("spec") != now.get("spec"):
        return False
    was, has = before.get("status", {}), now.get("status", {})
    if was.get("nominatedNodeName", "") != has.get("nominatedNodeName", ""):
        return False
    if has.get("phase") in ("Succeeded", "Failed") and was.get("phase") != has.get("phase"):
        return False
    return not any("resources" in known for known in has.get("containerStatuses", ()))


def is_only_bound(before: Json, now: Json, node: str) -> bool:
    """Whether all that happened is that a pod was bound to the node that it was given."""
    old, new = before.get("spec", {}), now.get("spec", {})
    return (
        bool(node)
        and "nodeName" not in old
        and new.get("nodeName") == node
        and before["metadata"].get("labels") is now["metadata"].get("labels")
        and len(new) == len(old) + 1
        and all(new.get(key) is value for key, value in old.items())
    )


def is_same_node(before: Json, now: Json) -> bool:
    """Whether nothing changed that the scheduler reads of a node."""
    was, has = before.get("status", {}), now.get("status", {})
    return (
        before["metadata"].get("labels") == now["metadata"].get("labels")
        and before.get("spec", {}) == now.get("spec", {})
        and was.get("allocatable") == has.get("allocatable")
        and was.get("declaredFeatures") == has.get("declaredFeatures")
    )
