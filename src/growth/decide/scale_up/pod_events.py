"""What people hear of pods that wait: why there is no place for them, said on the pods themselves."""

from collections.abc import Iterator
from typing import Final

from growth.api.actions import Action, Hold, PatchObject, held_and_reported
from growth.api.annotations import BACK_OFF, BackOff, back_off_of
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import PODS
from growth.api.pod import Pod
from growth.api.references import reference_to
from growth.decide.capacity.upcoming_nodes import is_live
from growth.decide.fit.demand import why_not
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.pending_pods import SortedPods
from growth.decide.scale_up.pool_selection import POOL_UNUSABLE, PoolSelection

_ACTION: Final = "Planning"


def told(outlook: ScaleUpContext, waiting: SortedPods) -> Iterator[Action | Hold]:
    """Everything that there is to say now."""
    for pod, unmatched in waiting.unmatched:
        if unmatched.reason == POOL_UNUSABLE:  # the pool itself says why
            yield Hold(subject=reference_to(PODS, pod.metadata), why=unmatched.why, reason=unmatched.reason)
        else:
            yield from _said(pod, unmatched.reason, unmatched.why)
    for pod, why in waiting.set_aside:
        yield from _said(pod, "NoPlacement", why)
    for pod, record in waiting.held:
        verdict = outlook.verdicts.get(pod.metadata.uid)
        why = verdict.why if verdict is not None else ""
        yield from _of_held(pod, record, "; ".join([why, *_failing_launches(outlook, pod)]) if why else "")
    pools = {pool.metadata.name: pool for pool in outlook.usable}
    for shortage, why in waiting.cold:
        sentence = f"it has not as many machines as min asks for: {why}"
        subject = reference_to(NODE_POOLS, pools[shortage.pool].metadata)
        yield from held_and_reported(subject, reason="NotWarm", why=sentence, action=_ACTION)
    yield from _cleared(outlook, waiting)


def halted(outlook: ScaleUpContext, why: str) -> Iterator[Action | Hold]:
    """Tell pods for which no machine is on its way that nothing is launched now."""
    served = {uid for request in outlook.requests.values() if is_live(request) for uid in request.planned_for}
    for uid, pod in outlook.snapshot.refused.items():
        if uid not in served and why_not(pod) is None:
            yield from _said(pod, "ClusterUnhealthy", why)


def _failing_launches(outlook: ScaleUpContext, pod: Pod) -> Iterator[str]:
    """What fails in the pools that the pod asks for."""
    if not outlook.catalog.launches:
        return
    for pool in PoolSelection(outlook.pools, outlook.usable).pools_of(pod):
        record = outlook.catalog.launches.get(pool)
        if record is not None:
            yield record.sentence


def _of_held(pod: Pod, record: BackOff, why: str) -> Iterator[Action | Hold]:
    """Why a pod found no place; and how often, so that a restart knows it."""
    subject = reference_to(PODS, pod.metadata)
    if record != back_off_of(pod):
        body = {"metadata": {"annotations": {BACK_OFF: record.encode()}}}
        times = f"{record.failures} times" if record.failures > 1 else "once"
        yield PatchObject(subject=subject, why=f"it found no place {times}", body=body)
    if why:
        yield from _said(pod, "NoPlacement", why)
    if record.is_final:
        sentence = f"it found no place {record.failures} times and is not tried again until something changes"
        yield from _said(pod, "BackOff", sentence)


def _said(pod: Pod, reason: str, why: str) -> tuple[Action | Hold, ...]:
    return held_and_reported(reference_to(PODS, pod.metadata), reason=reason, why=why, action=_ACTION)


def _cleared(outlook: ScaleUpContext, waiting: SortedPods) -> Iterator[PatchObject]:
    """End the count of failures of pods that have a node, or a place by a plan: only failures in a row count."""
    placed = {pod.metadata.uid for pod in (*waiting.seated, *waiting.expected)}
    for uid, pod in outlook.snapshot.marked.items():
        if pod.node_name or uid in placed:
            body = {"metadata": {"annotations": {BACK_OFF: None}}}
            why = "it has a node" if pod.node_name else "a plan has a place for it"
            yield PatchObject(subject=reference_to(PODS, pod.metadata), why=why, body=body)
