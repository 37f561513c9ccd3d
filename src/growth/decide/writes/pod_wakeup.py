"""Waking a pod that the scheduler has put aside: a change of a label of ours makes it look again.

kube-scheduler (1.36) wakes a pod only for events that could help what it was rejected for. A pod that only others'
anti-affinity kept away is not woken by a new node, and not by an annotation; a label of its own does.
"""

from typing import Final

from growth.api.actions import PatchObject
from growth.api.kinds import PODS
from growth.api.pod import Pod
from growth.api.references import reference_to

NUDGE: Final = "growth.dev/nudge"


def nudge(pod: Pod, mark: str, why: str) -> PatchObject | None:
    """Wake the pod once for this mark; None if that was done."""
    if pod.metadata.labels.get(NUDGE) == mark:
        return None
    return PatchObject(subject=reference_to(PODS, pod.metadata), why=why, body={"metadata": {"labels": {NUDGE: mark}}})
