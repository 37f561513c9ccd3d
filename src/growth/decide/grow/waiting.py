"""Who waits, and how it stands with each: who has a place, who is left alone for now, and who is demand.

1. It has a place on a machine that is coming: nothing is to be done.
2. A node that stands has room for it: the scheduler will see that, too, or is made to look (``decide.waking``).
3. No machine helps it: it is gated, belongs to a DaemonSet, waits for a claim.
4. It asks for a pool that is not there, or of which nothing can be bought now: it is told so.
5. It found no place before and is left alone for a while.
6. Else it is demand.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.action import PatchObject
from growth.api.backoff import BackOff, back_off_of
from growth.api.noderequest import NodeRequest
from growth.api.pod import Pod
from growth.decide.fit.demand import why_not
from growth.decide.grow.backing_off import failed, is_held
from growth.decide.grow.coming import still_fitting
from growth.decide.grow.matching import Matching, Unmatched
from growth.decide.grow.outlook import Outlook
from growth.decide.grow.planning import Wanted
from growth.decide.waking import nudge

# The scheduler sees free room within a second or so, unless nothing wakes the pod; then a nudge does.
_EXPECTED: Final = timedelta(seconds=15)
_NUDGE_AFTER: Final = timedelta(seconds=3)


class Waiting(msgspec.Struct):
    """The pods that wait, each once."""

    unserved: list[Pod] = []
    """Demand."""
    seated: list[Pod] = []
    unmatched: list[tuple[Pod, Unmatched]] = []
    held: list[tuple[Pod, BackOff]] = []
    nudges: list[PatchObject] = []
    wake_at: list[datetime] = []
    """When it may stand otherwise with one of them."""


def sort_out(outlook: Outlook, unseen: Iterable[Wanted], *, is_node_new: bool) -> Waiting:
    """Look at everybody whom a scheduler refused. ``unseen`` are machines that were decided on and not seen yet."""
    plan, now = outlook.plan, outlook.now
    places = _places(outlook, unseen)
    expected = plan.expected if now < plan.at + _EXPECTED else dict[str, str]()
    matching = Matching(outlook.pools, outlook.usable)
    asks_again_at = plan.at + outlook.settings.grow.back_off
    found = Waiting()
    for uid, pod in outlook.snapshot.refused.items():
        if uid in places:
            found.seated.append(pod)
        elif uid in expected:
            _expect(outlook, pod, found)
        elif why_not(pod) is not None:
            continue
        elif uid in plan.set_aside and now < asks_again_at:
            # What must happen first is nothing that we would hear of in particular, so it is asked about again.
            found.wake_at.append(asks_again_at)
        elif (unmatched := matching.of(pod)) is not None:
            found.unmatched.append((pod, unmatched))
        elif (record := _record(outlook, pod)) is not None and _is_held(outlook, record, is_node_new=is_node_new):
            found.held.append((pod, record))
            if record.until is not None:
                found.wake_at.append(record.until)
        else:
            found.unserved.append(pod)
    if expected:
        found.wake_at.append(plan.at + _EXPECTED)
    found.wake_at += [one.until for pool in outlook.pools for one in pool.status.offerings if one.until]
    return found


def _places(outlook: Outlook, unseen: Iterable[Wanted]) -> set[str]:
    """Uids of pods that have a place on a machine that is coming."""
    found = {uid for one in unseen for uid in one.pods}
    for request in outlook.requests.values():
        if outlook.has_places(request):
            found.update(_places_on(outlook, request))
    # What joins a machine is written on its request; until that is seen, the plan says it.
    for one in outlook.plan.joining:
        request = outlook.request(one.request)
        if request is not None and outlook.has_places(request):
            found.update(one.pods)
    return found


def _places_on(outlook: Outlook, request: NodeRequest) -> Iterable[str]:
    node = outlook.snapshot.nodes.get(request.metadata.name)
    # Where nodes turned out to be smaller than promised, not all may find room on one that has arrived.
    is_as_planned = node is None or not node.is_ready or request.spec.target_offering not in outlook.disappointing
    return request.planned_for if is_as_planned else still_fitting(request, outlook.snapshot)


def _record(outlook: Outlook, pod: Pod) -> BackOff | None:
    """What is written on a pod, or will be because of the last plan."""
    written, plan = back_off_of(pod), outlook.plan
    if pod.metadata.uid not in plan.left_out or (written is not None and written.at > plan.at):
        return written
    return failed(written, plan.at, plan.circumstances, outlook.settings.grow)


def _is_held(outlook: Outlook, record: BackOff, *, is_node_new: bool) -> bool:
    return not is_node_new and is_held(record, outlook.now, outlook.circumstances, outlook.settings.grow)


def _expect(outlook: Outlook, pod: Pod, found: Waiting) -> None:
    plan = outlook.plan
    if outlook.now < plan.at + _NUDGE_AFTER:
        found.wake_at.append(plan.at + _NUDGE_AFTER)
        return
    why = f"node {plan.expected[pod.metadata.uid]} has room for it, and nothing else wakes it"
    action = nudge(pod, f"{plan.at:%Y%m%d-%H%M%S}", why)
    if action is not None:
        found.nudges.append(action)
