"""How pods are deleted: with time to end, unless nobody is there to use it."""

from datetime import timedelta
from typing import Final

from growth_lab.simulator.clock import read, written
from growth_lab.simulator.merge_patch import Json, merged
from growth_lab.simulator.served_kinds import PODS
from growth_lab.simulator.store import Store

# What spec.terminationGracePeriodSeconds is filled in with.
DEFAULT_GRACE_SECONDS: Final = 30
_ENDED: Final = ("Succeeded", "Failed")


def delete_pod(store: Store, pod: Json, grace_seconds: int | None = None) -> Json:
    """Delete this pod as the API server does, and give its last state; a pod that is gone already stays gone.

    Without a wish its own ``terminationGracePeriodSeconds`` counts. A pod that no kubelet knows, or that has ended,
    goes at once. One that is on its way out can only be hurried. Watchers hear of a pod that goes at once in two steps,
    as in Kubernetes 1.36: that it is given no time, then that it is gone.
    """
    now = store.get(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])
    if now is None or now["metadata"]["uid"] != pod["metadata"]["uid"]:
        return pod
    if grace_seconds is not None and grace_seconds < 0:
        grace_seconds = 1  # what the API server makes of a wish that makes no sense
    marks = _hurry(now, grace_seconds) if "deletionTimestamp" in now["metadata"] else _marks(store, now, grace_seconds)
    return store.replace(PODS, merged(now, {"metadata": marks}))


def _marks(store: Store, pod: Json, wish: int | None) -> Json:
    """What the first deletion writes."""
    spec = pod.get("spec", {})
    grace: int = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS) if wish is None else wish
    if not spec.get("nodeName") or pod.get("status", {}).get("phase") in _ENDED:
        grace = 0
    return {
        "deletionTimestamp": store.stamp_after(grace),
        "deletionGracePeriodSeconds": grace,
        "generation": pod["metadata"].get("generation", 0) + 1,
    }


def _hurry(pod: Json, wish: int | None) -> Json:
    """What a further deletion changes: the end moves to where it would be if this had been the wish from the start."""
    meta = pod["metadata"]
    pending: int = meta.get("deletionGracePeriodSeconds", 0)
    if wish is None or wish >= pending:
        return {}
    sooner = read(meta["deletionTimestamp"]) - timedelta(seconds=pending - wish)
    return {"deletionTimestamp": written(sooner), "deletionGracePeriodSeconds": wish}
