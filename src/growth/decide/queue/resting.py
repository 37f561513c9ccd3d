"""The end of a pass: what is to be written on workloads, and who need not be looked at in the next one."""

from growth.api.queue.workload import PODS_READY
from growth.decide.queue.courtesy import Spending
from growth.decide.queue.draft import Draft
from growth.decide.queue.figures import share_of
from growth.decide.queue.holders import Key
from growth.decide.queue.moving import may_have_to_move
from growth.decide.queue.returning import machines_kept_for
from growth.decide.queue.scene import Scene


def rest(scene: Scene, remarks: Spending) -> None:
    """Write what was said of workloads: first what others go by; then what only people want to know, as far as
    ``remarks`` pay for it."""
    for key, draft in sorted(scene.drafts.items(), key=lambda one: (not one[1].is_weighty, one[0])):
        actions = draft.actions()
        if actions and not draft.is_weighty and not remarks.pays(key, draft.before.metadata.resource_version):
            scene.desk.unsaid.setdefault(key)
            _note(scene, key, draft, is_quiet=True)
            continue
        scene.desk.unsaid.pop(key, None)
        scene.said += actions
        _note(scene, key, draft, is_quiet=not actions and not _is_awaited(scene, draft))


def _note(scene: Scene, key: Key, draft: Draft, *, is_quiet: bool) -> None:
    desk, seat = scene.desk, scene.desk.seats[key]
    (desk.restless.discard if is_quiet else desk.restless.add)(key)
    kept = machines_kept_for(draft.workload, scene.terms.requeuing, scene.now)
    if kept:
        desk.kept[key] = kept
    else:
        desk.kept.pop(key, None)
    desk.count(seat, share_of(scene, draft.workload))


def _is_awaited(scene: Scene, draft: Draft) -> bool:
    """Whether its pods are awaited: how they fare is seen on pods, machines and nodes, not on it."""
    workload = draft.workload
    if workload.metadata.controller is None or not workload.is_reserving or workload.holds(PODS_READY):
        return False
    return scene.terms.readiness is not None or may_have_to_move(scene, workload)
