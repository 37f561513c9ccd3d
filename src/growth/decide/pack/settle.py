"""The last steps of a plan: odd pods one by one, and a replay of whatever is not proved to be reachable."""

from collections.abc import Sequence

import numpy as np

from growth.api.pod import Pod
from growth.decide.pack.dissolve import dissolve
from growth.decide.pack.odd import OneByOne
from growth.decide.pack.problem import Bools
from growth.decide.pack.reach import stuck
from growth.decide.pack.sketch import Sketch
from growth.decide.pack.solution import LeftOut

# Plans of up to so many pods are replayed, whatever has been proved.
CHECKED_PODS = 400
# Of plans of up to so many pods, machines are given up that can be spared; it takes about a millisecond for each pod.
SIFTED_PODS = 200


def place_singly(sketch: Sketch, singles: Sequence[tuple[int, list[Pod]]]) -> None:
    """Find places for (group, pods) with Fit, buying where nothing else helps; who finds none is left out."""
    sketch.enact()
    placer = OneByOne(sketch.stage, sketch.table, sketch.limits, sketch.new_name)
    for number, pods in sorted(singles, key=lambda item: item[0]):
        mask = sketch.masks[number]
        for pod, node, reason in placer.place(pods, mask, sketch.groups[number].requests):
            if node:
                sketch.put(pod, node, placer.bought.get(node, -1))
            else:
                sketch.left_out.append(LeftOut(pod, _spent_limits(sketch, mask) or reason))


def check(sketch: Sketch, *, is_proven: bool, is_cheapest: bool, hopeless: int) -> None:
    """Replay what is not proven, and every small plan; in the smallest no machine is bought that could be spared.

    Whoever would wait for ever in some order is placed anew, where it fits beside all the others; if that does not help
    either, it is left out this time and planned again when the others are there. The first so many of those that were
    left out before are ``hopeless``, whatever becomes of the others.
    """
    pods = len(sketch.placements())
    if is_proven and pods > CHECKED_PODS:
        return
    _make_reachable(sketch, may_move=True)
    if pods > SIFTED_PODS or is_cheapest or not dissolve(sketch, lambda changed: not _stuck(changed)):
        return
    # What is not bought after all may be bought for somebody whom a limit kept out.
    sketch.left_out, again = sketch.left_out[:hopeless], sketch.left_out[hopeless:]
    _place_anew(sketch, [one.pod for one in again])
    _make_reachable(sketch, may_move=False)


def _make_reachable(sketch: Sketch, *, may_move: bool) -> None:
    while never := _stuck(sketch):
        taken = sketch.take_away(set(never))
        if may_move:
            _place_anew(sketch, taken)
            may_move = False
        else:
            sketch.left_out += [
                LeftOut(pod, f"must wait for other pods: {never[pod.metadata.uid]}", is_for_now=True) for pod in taken
            ]


def _stuck(sketch: Sketch) -> dict[str, str]:
    mark = sketch.stage.mark()
    sketch.enact()
    sketch.clear()
    never = stuck(sketch.stage, sketch.placements())
    sketch.stage.back_to(mark)
    return never


def _place_anew(sketch: Sketch, pods: Sequence[Pod]) -> None:
    """Where they fit beside all the others, on a stage that holds the sketch and nothing else."""
    by_uid = {pod.metadata.uid: pod for pod in pods}
    singles = [
        (number, [by_uid[uid] for uid in group.uids if uid in by_uid]) for number, group in enumerate(sketch.groups)
    ]
    place_singly(sketch, [(number, mine) for number, mine in singles if mine])


def _spent_limits(sketch: Sketch, mask: Bools) -> str:
    """The limits that stand in the way of every kind that would do, if they do."""
    use = sketch.table.limit_use[:, mask]
    over = use > sketch.limits[:, None] + 1e-9
    if not len(use) or not bool(over.any(axis=0).all()):
        return ""
    spent = [sketch.table.market.limits[at].what for at in np.flatnonzero(over.any(axis=1)).tolist()]
    return f"{'; '.join(spent)}, and that is used up"
