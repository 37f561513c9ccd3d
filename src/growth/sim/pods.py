"""How pods are deleted: with time to end, unless nobody is there to use it."""

from typing import Final

from growth.sim.merging import Json
from growth.sim.resources import PODS
from growth.sim.store import Store

# What spec.terminationGracePeriodSeconds is filled in with.
DEFAULT_GRACE_SECONDS: Final = 30
_ENDED: Final = ("Succeeded", "Failed")


def delete_pod(store: Store, pod: Json, grace_seconds: int | None = None) -> Json:
    """Delete this pod as the API server does, and give its last state; a pod that is gone already stays gone.

    Without a wish its own ``terminationGracePeriodSeconds`` counts. A pod that no kubelet knows, or that has ended,
    goes at once. One that is on its way out can only be hurried.
    """
    now = store.get(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])
    if now is None or now["metadata"]["uid"] != pod["metadata"]["uid"]:
        return pod
    meta = now["metadata"]
    if grace_seconds is not None and grace_seconds < 0:
        grace_seconds = 1  # what the API server makes of a wish that makes no sense
    if "deletionTimestamp" in meta:
        pending = meta.get("deletionGracePeriodSeconds", 0)
        grace = min(pending, pending if grace_seconds is None else grace_seconds)
        return store.delete(PODS, meta["name"], meta["namespace"], grace_seconds=grace)
    return store.delete(PODS, meta["name"], meta["namespace"], grace_seconds=_grace_of(now, grace_seconds))


def _grace_of(pod: Json, wish: int | None) -> int:
    spec = pod.get("spec", {})
    if not spec.get("nodeName") or pod.get("status", {}).get("phase") in _ENDED:
        return 0
    return spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS) if wish is None else wish
