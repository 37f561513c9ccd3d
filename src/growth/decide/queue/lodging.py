"""Whoever was let in for the nodes that stand (``room``), while no machines of its flavor can be had.

    let in ──its pods run──► like all others
      └── a minute, and a pod has no node ──► it moves, and that flavor's nodes are not tried again (``tried``)
                                              until machines can be had: so nobody goes back and forth

That it was is said on it in the very write that admits it, so a restart does not forget it.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from growth.api.queue.job import QueuedJob
from growth.api.queue.workload import ADMITTED, ON_STANDING_NODES, Admission, Workload
from growth.decide.elapsed import is_ahead
from growth.decide.queue.draft import Draft
from growth.decide.queue.failing import flavors_in, flavors_of
from growth.decide.queue.flavors import OUT_OF_STOCK
from growth.decide.queue.scene import Scene
from growth.decide.queue.tried import supplies_seen_by

_TIME_TO_BE_PLACED: Final = timedelta(minutes=1)
"""A scheduler that is not busy takes a second; a Job controller makes hundreds of pods in this time."""


def shut_in(scene: Scene, admission: Admission, refused: Collection[str] = ()) -> str:
    """The flavor of which no machines can be had now, or none for its pods (these are ``refused``), if one of these is;
    whoever gets it is let in for nodes."""
    flavors = flavors_in(admission)
    shut = flavors[0] if flavors and refused and set(refused).issuperset(flavors) else ""
    return next((flavor for flavor in flavors if flavor in scene.premises.closed), shut)


def lodge(draft: Draft, shut: str) -> None:
    """Say that it is let in for the nodes that stand, because machines of this flavor cannot be had; or that it is not.

    That is decided once: what is given and not seen yet is given again as it was, whatever can be had meanwhile.
    """
    if not shut:
        draft.unsay(ON_STANDING_NODES)
    else:
        why = f"no machines of flavor {shut} can be had now, and its nodes have room for all pods"
        draft.say(ON_STANDING_NODES, "True", OUT_OF_STOCK, why)


def is_given_time(scene: Scene, workload: Workload) -> bool:
    """Whether it was just let in: its pods have to be made, and a scheduler to see them."""
    admitted = workload.condition(ADMITTED)
    if not workload.holds(ON_STANDING_NODES) or admitted is None or admitted.last_transition_time is None:
        return False
    until = admitted.last_transition_time + _TIME_TO_BE_PLACED
    is_given = is_ahead(until, scene.now, _TIME_TO_BE_PLACED)
    if is_given:
        scene.deadlines.append(until)
    return is_given


def follow_lodging(scene: Scene, draft: Draft, job: QueuedJob | None) -> None:
    """Whoever runs, has no quota any more, or may wait for machines again is like all others."""
    closed, refused = scene.premises.closed, supplies_seen_by(draft.workload)
    is_open = not any(flavor in closed or flavor in refused for flavor in flavors_of(draft.workload))
    if is_open or (job is not None and job.are_pods_ready):
        draft.unsay(ON_STANDING_NODES)
