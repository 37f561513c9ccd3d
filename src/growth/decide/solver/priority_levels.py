"""When limits bind, the important pods first.

Packing looks at all pods at once, because that is cheapest; if there is enough for everybody, priorities make no
difference. If there is not, and somebody is left out who matters more than somebody who is served, the plan is made
again level by level: each level finds the machines of those above it standing there, with what room they have left, and
the limits as far as they are used up.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from growth.api.pod import Pod
from growth.decide.solver.draft_plan import DraftPlan
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.placement_solution import PlacementSolution, UnplacedPod


def left_out_by_importance(levels: Sequence[int], left_out: Sequence[UnplacedPod]) -> tuple[int, ...]:
    """How many are left out of each level, the most important first: what is smaller serves the important better."""
    counts = Counter(one.pod.spec.priority for one in left_out)
    return tuple(counts[level] for level in levels)


def wrongs_the_important(solution: PlacementSolution, left_out: Sequence[UnplacedPod]) -> bool:
    """Whether a machine is bought for somebody who matters less than one of these who are left out."""
    most = max((one.pod.spec.priority for one in left_out), default=None)
    return most is not None and any(pod.spec.priority < most for node in solution.launch for pod in node.pods)


def plan_by_levels(
    sketch: DraftPlan, pods: Sequence[Pod], subplan: Callable[[Sequence[Pod], NodeOptions], PlacementSolution]
) -> None:
    """Fill an empty sketch level by level; ``subplan`` plans on the sketch's stage, within the limits it is given.

    Who needs somebody of a lower level near is asked once more at the end.
    """
    waiting: dict[int, list[Pod]] = {}
    for pod in pods:
        waiting.setdefault(pod.spec.priority, []).append(pod)
    left: list[UnplacedPod] = []
    for level in sorted(waiting, reverse=True):
        left += _adopted(sketch, waiting[level], subplan)
    if left and len(left) < len(pods):
        left = _adopted(sketch, [one.pod for one in left], subplan)
    sketch.left_out += left


def _adopted(
    sketch: DraftPlan, pods: Sequence[Pod], subplan: Callable[[Sequence[Pod], NodeOptions], PlacementSolution]
) -> list[UnplacedPod]:
    """Plan for these beside what the sketch holds, and take it into the sketch; returned are those left out."""
    node_options = sketch.table.node_options
    limits = [
        replace(limit, left=left) for limit, left in zip(node_options.limits, sketch.limits.tolist(), strict=True)
    ]
    mark = sketch.simulated.mark()
    found = subplan(pods, replace(node_options, limits=tuple(limits)))
    sketch.simulated.back_to(mark)
    options = {
        (option.pool.metadata.name, option.offering.id): number for number, option in enumerate(node_options.options)
    }
    for node in found.launch:
        kind = options[node.pool.metadata.name, node.offering.id]
        sketch.launched[node.name] = (kind, list(node.pods))
        sketch.limits -= sketch.table.limit_use[:, kind]
    for filled in found.existing:
        for pod in filled.pods:
            sketch.put(pod, filled.node)
    sketch.enact()
    return list(found.left_out)
