"""The pending pods, sorted: which have capacity, which are in backoff, and which are demand.

1. It has a place on a machine that is coming: nothing is to be done. 2. A node that stands has room for it: the
scheduler will see that, too, or is made to look (``decide.writes.pod_wakeup``). 3. No machine helps it: it is gated,
belongs to a DaemonSet, waits for a claim. 4. It asks for a pool that is not there, or of which nothing can be bought
now: it is told so. 5. It found no place before and is left alone for a while. 6. Else it is demand.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.actions import PatchObject
from growth.api.annotations import BackOff, back_off_of
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.pod import Pod
from growth.decide.capacity.node_startup import shortfall
from growth.decide.capacity.offering_catalog import offering_for
from growth.decide.capacity.pool_inventory import Shortage
from growth.decide.capacity.upcoming_nodes import still_fitting
from growth.decide.elapsed import is_ahead
from growth.decide.facts.virtual_pods import is_announced
from growth.decide.fit.demand import why_not
from growth.decide.fit.node_resources import has_room
from growth.decide.fit.template_node import allocatable_from
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.pod_backoff import failed, is_held
from growth.decide.scale_up.pod_results import PodResult, PodResults
from growth.decide.scale_up.pool_selection import NoMatchingPool, PoolSelection
from growth.decide.writes.pod_wakeup import nudge

# The scheduler sees free room within a second or so, unless nothing wakes the pod; then a nudge does.
_EXPECTED: Final = timedelta(seconds=15)
_NUDGE_AFTER: Final = timedelta(seconds=3)


class SortedPods(msgspec.Struct):
    """The pods that wait, each once."""

    unserved: list[Pod] = []
    """Demand."""
    seated: list[Pod] = []
    expected: list[Pod] = []
    set_aside: list[tuple[Pod, str]] = []
    """Those of whom there is something to say."""
    unmatched: list[tuple[Pod, NoMatchingPool]] = []
    held: list[tuple[Pod, BackOff]] = []
    cold: list[tuple[Shortage, str]] = []
    """Not pods, but machines that pools want even without load, and cannot have now."""
    nudges: list[PatchObject] = []
    wake_at: list[datetime] = []
    """When it may stand otherwise with one of them."""


def sort_out(outlook: ScaleUpContext, *, is_node_new: bool) -> SortedPods:
    """Look at everybody whom a scheduler refused; if one of them needs a machine, also at those it has not tried yet.

    A scheduler that refuses one of a crowd will refuse the others, in its time. Who is planned for together is packed
    better, and who has a place before its turn comes goes there at once.

    Stand-ins of pods that are not there yet (``decide.facts.pending_pods``) are demand, although no scheduler refused
    them. The first pods of a job may be there while the others are announced: they are demand with these.
    """
    found = SortedPods()
    sorting = _Sorting(outlook, _places(outlook, found), is_node_new=is_node_new)
    for uid, pod in outlook.snapshot.refused.items():
        sorting.put(uid, pod, found)
    virtual_pods = SortedPods()
    for uid, pod in outlook.virtual_pods.items():
        sorting.put(uid, pod, virtual_pods)
    is_refusing, starting = bool(found.unserved or found.seated), _starting(virtual_pods)
    # To them nothing is said: nobody would hear it.
    found.unserved += virtual_pods.unserved
    found.seated += virtual_pods.seated
    found.expected += virtual_pods.expected
    found.wake_at += virtual_pods.wake_at
    if is_refusing or starting:
        counts = SortedPods()
        for uid, pod in outlook.snapshot.untried.items():
            if is_refusing or _owner(pod) in starting:
                sorting.put(uid, pod, counts)
        # What there is to say to them is said when they are refused.
        found.unserved += counts.unserved
        found.seated += counts.seated
        found.expected += counts.expected
    if outlook.gangs:
        _keep_whole(outlook, found)
    found.wake_at += [one.until for pool in outlook.pools for one in pool.status.offerings if one.until]
    found.wake_at += [one.retry_at for pool in outlook.pools for one in pool.status.failed_launches if one.retry_at]
    return found


def _keep_whole(outlook: ScaleUpContext, found: SortedPods) -> None:
    """Take pods out of the demand whose gangs are not demand as a whole: they would get machines in vain."""
    served = {pod.metadata.uid for pod in (*found.unserved, *found.seated, *found.expected)}
    held = frozenset[str]().union(*(gang.pods for gang in outlook.gangs if not gang.pods <= served))
    if held.isdisjoint(served):
        return
    kept: list[Pod] = []
    for pod in found.unserved:
        if pod.metadata.uid not in held:
            kept.append(pod)
        elif pod.metadata.uid in outlook.snapshot.refused:
            why = "it starts together with other pods of its job, and not all of these can be planned for now"
            found.set_aside.append((pod, why))
    found.unserved = kept


def _starting(virtual_pods: SortedPods) -> set[str]:
    """Jobs of which pods are announced that need machines."""
    wanting = (*virtual_pods.unserved, *virtual_pods.seated)
    return {_owner(pod) for pod in wanting if is_announced(pod.metadata.uid)} - {""}


def _owner(pod: Pod) -> str:
    owner = pod.metadata.controller
    return owner.uid if owner is not None else ""


class _Sorting:
    """Puts each pod where it belongs."""

    def __init__(self, outlook: ScaleUpContext, places: set[str], *, is_node_new: bool) -> None:
        self._outlook, self._places, self._is_node_new = outlook, places, is_node_new
        self._matching = PoolSelection(outlook.pools, outlook.usable)

    def put(self, uid: str, pod: Pod, found: SortedPods) -> None:
        """One pod."""
        outlook, now = self._outlook, self._outlook.now
        again_after = outlook.settings.grow.back_off
        verdict = outlook.verdicts.get(uid)
        said = verdict.said if verdict is not None else None
        if uid in self._places:
            found.seated.append(pod)
        elif why_not(pod) is not None:
            return
        elif verdict is not None and said is PodResults.EXPECTED and _is_expected(outlook, pod, verdict):
            found.expected.append(pod)
            _expect(outlook, pod, verdict, found)
        elif (
            verdict is not None
            and said is PodResults.SET_ASIDE
            and is_ahead(verdict.at + again_after, now, again_after)
        ):
            # What must happen first is nothing that we would hear of in particular, so it is asked about again.
            found.wake_at.append(verdict.at + again_after)
            if verdict.why:
                found.set_aside.append((pod, verdict.why))
        elif (unmatched := self._matching.of(pod)) is not None:
            found.unmatched.append((pod, unmatched))
        elif (record := _record(outlook, pod, verdict)) and not self._is_node_new and _is_held(outlook, record):
            found.held.append((pod, record))
            if record.until is not None:
                found.wake_at.append(record.until)
        else:
            found.unserved.append(pod)


def nodes_expected(outlook: ScaleUpContext) -> set[str]:
    """Nodes that stand and on which pods are expected that still wait."""
    waiting, found = outlook.waiting, set[str]()
    for uid, verdict in outlook.verdicts.items():
        is_new = verdict.said is PodResults.EXPECTED and verdict.node not in found and uid in waiting
        if is_new and _is_expected(outlook, waiting[uid], verdict):
            found.add(verdict.node)
    return found


def _places(outlook: ScaleUpContext, waiting: SortedPods) -> set[str]:
    """Uids of pods that have a place on a machine that is coming."""
    found: set[str] = set()
    for request in outlook.requests.values():
        if not outlook.has_places(request):
            continue
        found.update(_places_on(outlook, request))
        if request.status.phase == "Ready":
            waiting.wake_at.append(outlook.hand_over_ends(request))
    # What joins a machine is written on its request; until that is seen, the plan says it.
    for one in outlook.plan.joining:
        request = outlook.request(one.request)
        if request is not None and outlook.has_places(request):
            found.update(one.pods)
    return found


def _places_on(outlook: ScaleUpContext, request: NodeRequest) -> Iterable[str]:
    name, snapshot = request.metadata.name, outlook.snapshot
    node = snapshot.nodes.get(name)
    # Others may have taken room on a node that is open, and one that has less than promised has not room for all.
    is_kept = name in snapshot.closed and request.spec.target_offering not in outlook.catalog.disappointing
    if node is None or not node.is_ready or is_kept:
        return request.planned_for
    fitting = still_fitting(request, snapshot, outlook.waiting)
    waiting = sum(uid in outlook.waiting for uid in request.planned_for)
    # A plan that is made before the surprise is noted would buy the same again.
    return request.planned_for if len(fitting) < waiting and _is_surprising(outlook, request, node) else fitting


def _is_surprising(outlook: ScaleUpContext, request: NodeRequest, node: Node) -> bool:
    """Whether a node has less than is believed of its offering so far."""
    offering = offering_for(request, outlook.catalog)
    pool = next((pool for pool in outlook.pools if pool.metadata.name == request.pool), None)
    return offering is not None and pool is not None and bool(shortfall(node, allocatable_from(offering, pool)))


def _is_expected(outlook: ScaleUpContext, pod: Pod, verdict: PodResult) -> bool:
    """Whether the scheduler may still place it where there was room: until others have taken that."""
    if (
        verdict.node not in outlook.snapshot.nodes
        or verdict.node in outlook.terminating
        or verdict.node in outlook.dead
    ):
        return False
    if not is_ahead(verdict.at + _EXPECTED, outlook.now, _EXPECTED):
        return False
    snapshot = outlook.snapshot
    return has_room(snapshot.room.free(verdict.node), snapshot.shapes.requests_of(pod.spec))


def _expect(outlook: ScaleUpContext, pod: Pod, verdict: PodResult, found: SortedPods) -> None:
    found.wake_at.append(verdict.at + _EXPECTED)
    if is_ahead(verdict.at + _NUDGE_AFTER, outlook.now, _NUDGE_AFTER):
        found.wake_at.append(verdict.at + _NUDGE_AFTER)
        return
    why = f"node {verdict.node} has room for it, and nothing else wakes it"
    action = nudge(pod, f"{verdict.at:%Y%m%d-%H%M%S}", why)
    if action is not None:
        found.nudges.append(action)


def _record(outlook: ScaleUpContext, pod: Pod, verdict: PodResult | None) -> BackOff | None:
    """What is written on a pod, or will be because a plan left it out."""
    written = back_off_of(pod)
    if verdict is None or verdict.said is not PodResults.LEFT_OUT:
        return written
    if written is not None and verdict.at < written.at <= outlook.now:
        return written
    return failed(written, verdict.at, verdict.circumstances, outlook.settings.grow)


def _is_held(outlook: ScaleUpContext, record: BackOff) -> bool:
    return is_held(record, outlook.now, outlook.circumstances, outlook.settings.grow)
