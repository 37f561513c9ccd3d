"""NodeRequests as they are written: what is wanted, for which pods, and who owns it."""

from collections.abc import Iterator

from growth.api.actions import CreateObject, PatchObject
from growth.api.annotations import TEMPLATE, mark_of
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.node_request import FORESEES, HANDS_KEYS, PLANNED_FOR, PROBE, WAKES, NodeRequest
from growth.api.references import reference_by_name, reference_to
from growth.decide.facts.virtual_pods import is_announced, is_successor
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.planned_launch import PlannedLaunch
from growth.decide.writes.node_requests import owned_by


def asked_for(wanted: PlannedLaunch) -> CreateObject:
    """Ask for a machine."""
    pool, offering = wanted.pool, wanted.offering
    annotations = {
        TEMPLATE: mark_of(pool),
        **({PLANNED_FOR: ",".join(wanted.pods)} if wanted.pods else {}),
        **({HANDS_KEYS: "true"} if wanted.hands_keys else {}),
        **({WAKES: ",".join(wanted.wakes)} if wanted.wakes else {}),
        **({FORESEES: "true"} if wanted.foresees else {}),
        **({PROBE: "true"} if wanted.is_probe else {}),
    }
    return CreateObject(
        subject=reference_by_name(NODE_REQUESTS, wanted.name),
        why=_reason_for(wanted),
        body={
            "metadata": {"ownerReferences": [owned_by(pool)], "annotations": annotations},
            "spec": {
                "pool": pool.metadata.name,
                "targetOffering": offering.id,
                "location": offering.location,
                **({"replaces": wanted.replaces} if wanted.replaces else {}),
            },
        },
    )


def _reason_for(wanted: PlannedLaunch) -> str:
    if wanted.is_probe:
        return (
            f"launches of pool {wanted.pool.metadata.name} fail: one machine of {wanted.offering.id} shows if it works"
        )
    whom = _for_whom(wanted.pods)
    return f"{whom}, and {wanted.offering.id} is part of the cheapest plan{_for_who_follows(wanted)}"


def _for_whom(uids: tuple[str, ...]) -> str:
    if not uids:
        return "the pool wants it even without load"
    count = len(uids)
    if all(map(is_successor, uids)):
        return f"{count} pods lose their machines" if count > 1 else "a pod loses its machine"
    if all(map(is_announced, uids)):
        return f"{count} pods are about to be made" if count > 1 else "a pod is about to be made"
    return f"{count} pods wait" if count > 1 else "a pod waits"


def _for_who_follows(wanted: PlannedLaunch) -> str:
    return " with room for those who follow: more and more is wanted" if wanted.foresees else ""


def joined(outlook: ScaleUpContext) -> Iterator[PatchObject]:
    """Note on machines that are coming which pods the last plan added to them."""
    waiting = outlook.waiting
    for one in outlook.plan.joining:
        request = outlook.request(one.request)
        if request is None or not outlook.has_places(request):
            continue
        known = set(request.planned_for)
        added = [uid for uid in one.pods if uid not in known and uid in waiting]
        if added:
            # Those that are there, or have gone, need no place any more.
            kept = [uid for uid in request.planned_for if uid in waiting]
            yield _with(request, kept, added, one.wakes, hands_keys=one.hands_keys)


def _with(
    request: NodeRequest, kept: list[str], added: list[str], wakes: tuple[str, ...], *, hands_keys: bool
) -> PatchObject:
    annotations = {
        PLANNED_FOR: ",".join((*kept, *added)),
        **({HANDS_KEYS: "true"} if hands_keys else {}),
        **({WAKES: ",".join((*request.wakes, *wakes))} if wakes else {}),
    }
    more = f"{len(added)} more pods find" if len(added) > 1 else "one more pod finds"
    return PatchObject(
        subject=reference_to(NODE_REQUESTS, request.metadata),
        why=f"{more} room on the machine that is coming",
        body={"metadata": {"annotations": annotations}},
        resource_version=request.metadata.resource_version,
    )
