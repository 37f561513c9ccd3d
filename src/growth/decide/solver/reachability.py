"""Will the plan come true? Whether every order of the scheduler leads to it, and whose places must be kept for it.

kube-scheduler takes pods in its own order and, left alone, puts each where it likes. A pod whose place is kept goes to
its node if it fits there at that moment. So two questions remain: can pods wait for each other for ever, and who may be
left to the scheduler without harm?
"""

import random
from collections.abc import Callable, Sequence
from typing import Final

from growth.api.pod import Pod
from growth.decide.fit.predicates import fit
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.problem import Bools

Placement = tuple[Pod, str]

# So many seeded orders: a few for large plans, more where they cost nothing, one if nobody has rules about others.
ORDERS: Final = 3
ORDERS_OF_SMALL: Final = 24
SMALL: Final = 120
STANDS: Final = -1
MAX_LEFT_ALONE: Final = 2_000
_SEED: Final = 20_260_301


def stuck(simulated: SimulatedCluster, placements: Sequence[Placement]) -> dict[str, str]:
    """Replay the plan in several orders, each pod only to its node; who never gets there, by uid, and why.

    The planned nodes must be on the stage, without the pods. Besides seeded orders there are two that do harm most:
    first those who ask for nothing, and last those who do.
    """
    if not any(pod.spec.topology_spread_constraints or pod.spec.affinity for pod, _ in placements):
        orders, never = 0, dict[str, str]()
    else:
        orders = ORDERS if len(placements) > SMALL else ORDERS_OF_SMALL
        never = _too_late(simulated, placements)
    easy_first = sorted(placements, key=lambda placement: _asks_of_others(placement[0]))
    drawn = [list(placements) for _ in range(orders)]
    for turn, shuffled in enumerate(drawn):
        random.Random(_SEED + turn).shuffle(shuffled)  # noqa: S311 - seeded on purpose: the same plan, the same orders
    for order in (placements, easy_first, easy_first[::-1], *drawn)[: orders + 3 if orders else 1]:
        mark = simulated.mark()
        waiting: Sequence[Placement] = order
        while waiting:
            left: list[Placement] = []
            for pod, node in waiting:
                if fit(simulated, pod, node) is None:
                    simulated.place(pod, node)
                else:
                    left.append((pod, node))
            if len(left) == len(waiting):
                for pod, node in left:
                    misfit = fit(simulated, pod, node)
                    never.setdefault(pod.metadata.uid, misfit.reason if misfit else "")
                break
            waiting = left
        simulated.back_to(mark)
    return never


def _too_late(simulated: SimulatedCluster, placements: Sequence[Placement]) -> dict[str, str]:
    """Who could not come any more if all the others were there before."""
    never: dict[str, str] = {}
    mark = simulated.mark()
    for pod, node in placements:
        simulated.place(pod, node)
    for pod, node in placements:
        if pod.spec.topology_spread_constraints or pod.spec.affinity:
            simulated.remove(pod.metadata.uid, node)
            misfit = fit(simulated, pod, node)
            if misfit is not None:
                never[pod.metadata.uid] = misfit.reason
            simulated.place(pod, node)
    simulated.back_to(mark)
    return never


def _asks_of_others(pod: Pod) -> bool:
    spec = pod.spec
    return bool(spec.topology_spread_constraints or (spec.affinity and spec.affinity.pod_affinity))


def to_keep(
    nodes: Sequence[tuple[int, Sequence[Pod]]],
    masks: Sequence[Bools],
    slots: Callable[[int, Pod], int],
    rivals: Sequence[Bools] = (),
) -> frozenset[str]:
    """Uids of pods whose places must be kept; a node is its kind, or STANDS if it exists already, and its pods.

    Kinds that some group may both go to belong together. Where only one node is in question, or pods of one template
    fill all of them so well that each is needed, the scheduler can do no harm, unless somebody who is left out would
    take the place (``rivals``: the kinds they may go to). ``slots`` says how many pods of a template a fresh node of a
    kind holds.
    """
    options = sorted({option for option, _ in nodes})
    root = {kind: kind for kind in options}

    def find(option: int) -> int:
        while root[option] != option:
            option = root[option]
        return option

    for mask in masks:
        # Whoever may be bought a machine was turned away by the nodes there are, but they may have room by then.
        linked = [kind for kind in options if kind == STANDS or mask[kind]]
        for kind in linked[1:]:
            root[find(kind)] = find(linked[0])
    together: dict[int, list[tuple[int, Sequence[Pod]]]] = {}
    for kind, pods in nodes:
        together.setdefault(find(kind), []).append((kind, pods))
    chosen: set[str] = set()
    for members in together.values():
        wanted_by_others = any(kind != STANDS and mask[kind] for kind, _ in members for mask in rivals)
        if wanted_by_others or (len(members) > 1 and not _each_is_needed(members, slots)):
            chosen.update(pod.metadata.uid for _, pods in members for pod in pods)
    return frozenset(chosen)


def _each_is_needed(members: Sequence[tuple[int, Sequence[Pod]]], slots: Callable[[int, Pod], int]) -> bool:
    """Whether pods of one template, without rules about each other, lie on nodes of which none could be spared."""
    first = members[0][1][0]
    total = sum(len(pods) for _, pods in members)
    if total > MAX_LEFT_ALONE or any(option == STANDS for option, _ in members):
        return False
    same = (first.metadata.namespace, id(first.spec), id(first.metadata.labels))
    for _, pods in members:
        if any((pod.metadata.namespace, id(pod.spec), id(pod.metadata.labels)) != same for pod in pods):
            return False
    if first.spec.topology_spread_constraints or first.spec.volumes or first.spec.affinity:
        return False
    held = [slots(kind, first) for kind, _ in members]
    return sum(held) - min(held) < total
