"""One by one, with Fit: pods whose rules are not modelled in arrays, and those that found no slot.

The stage holds everything that is planned so far. A pod goes to the fullest node that takes it, planned or standing;
only if none does, the cheapest machine that would is bought. Correct for every rule that Fit knows, and slow: a pod
costs about as much time as a thousand others.

The last steps of a plan: odd pods one by one, and a replay of whatever is not proved to be reachable.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from growth.api.offering import HOSTNAME
from growth.api.pod import Pod
from growth.decide.fit.predicates import fit, fits_anywhere
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.draft_plan import DraftPlan
from growth.decide.solver.existing_nodes import ExistingNodes
from growth.decide.solver.improvement import dissolve
from growth.decide.solver.placement_solution import UnplacedPod
from growth.decide.solver.problem import Bools, Floats, Ints
from growth.decide.solver.problem_rows import NodeOptionTable
from growth.decide.solver.reachability import stuck

# Machines of so many different prices are tried in each zone before a pod is given up.
_TRIED_PER_ZONE = 4


class SinglePodPlacement:
    """Places single pods on a stage."""

    def __init__(
        self, simulated: SimulatedCluster, table: NodeOptionTable, limits: Floats, new_name: Callable[[], str]
    ) -> None:
        self._simulated, self._table, self._limits = simulated, table, limits
        self._new_name = new_name
        self._refusal = ""
        self.launched: dict[str, int] = {}
        """By node, the kind that was bought for it."""

    def place(self, pods: Sequence[Pod], allowed: Bools, need: Mapping[str, int]) -> list[tuple[Pod, str, str]]:
        """Where each pod went: (pod, node, ""), or (pod, "", why not)."""
        placed: list[tuple[Pod, str, str]] = []
        existing = ExistingNodes(self._simulated, self._table.resources)
        amounts = np.array([need.get(name, 0) for name in self._table.resources], dtype=np.int64)
        for number, pod in enumerate(pods):
            roomy = self._for_company(pod, allowed, amounts, len(pods) - number)
            node = self._on_standing(existing, pod, amounts) or self._on_new(pod, roomy)
            if node in self.launched and node not in existing.names:
                existing = ExistingNodes(self._simulated, self._table.resources)
            placed.append((pod, node, "" if node else self._why_not(pod)))
        return placed

    def _why_not(self, pod: Pod) -> str:
        """What the nodes say that there are or will be, and what the best machine says that could be bought."""
        there = fits_anywhere(self._simulated, pod).sentence if self._simulated.nodes else ""
        return "; ".join(filter(None, (there, self._refusal))) or "there is no node, and none can be bought"

    def _for_company(self, pod: Pod, allowed: Bools, need: Ints, pods: int) -> Bools:
        """For pods that want to be on one node together: only kinds that hold all of them, or as many as any does."""
        affinity = pod.spec.affinity
        terms = affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()
        if not any(term.topology_key == HOSTNAME for term in terms):
            return allowed
        asked = need > 0
        # A machine that cannot be had holds nobody, however large it is.
        is_left = (self._limits[:, None] >= self._table.limit_use - 1e-9).all(axis=0)
        holds = np.where(allowed & is_left, (self._table.room[:, asked] // need[asked]).min(axis=1), 0)
        return allowed & (holds >= min(pods, int(holds.max(initial=0))))

    def _on_standing(self, existing: ExistingNodes, pod: Pod, need: Ints) -> str:
        room = existing.roomy(need)
        slack = existing.slack(room)
        order: list[int] = room[np.argsort(slack, kind="stable")].tolist()
        for at in order:
            name = existing.names[at]
            if fit(self._simulated, pod, name) is None:
                self._simulated.place(pod, name)
                existing.take(at, need)
                return name
        return ""

    def _on_new(self, pod: Pod, allowed: Bools) -> str:
        options = self._table.node_options.options
        self._refusal = ""
        tried: dict[tuple[str, tuple[int, int, int]], int] = {}
        order = sorted(np.flatnonzero(allowed).tolist(), key=lambda at: (tuple(-t for t in options[at].tier), at))
        for at in order:
            option = options[at]
            place = (option.zone, option.tier)
            if tried.get(place, 0) >= _TRIED_PER_ZONE or not self._has_limit_for(at):
                continue
            tried[place] = tried.get(place, 0) + 1
            mark = self._simulated.mark()
            name = self._new_name()
            self._table.node_options.node(name, at).enter(self._simulated)
            misfit = fit(self._simulated, pod, name)
            if misfit is None:
                self._simulated.place(pod, name)
                self._limits -= self._table.limit_use[:, at]
                self.launched[name] = at
                return name
            if not self._refusal:
                reason = misfit.reason.replace(f"at {HOSTNAME}={name}", "on it")
                self._refusal = f"a new {option.offering.server_type} would not do: {reason}"
            self._simulated.back_to(mark)
        return ""

    def _has_limit_for(self, option: int) -> bool:
        use = self._table.limit_use[:, option]
        return bool((self._limits[use > 0] >= use[use > 0] - 1e-9).all())


# Plans of up to so many pods are replayed, whatever has been proved.
CHECKED_PODS = 400
# Of plans of up to so many pods, machines are given up that can be spared; it takes about a millisecond for each pod.
SIFTED_PODS = 200


def place_singly(sketch: DraftPlan, singles: Sequence[tuple[int, list[Pod]]]) -> None:
    """Find places for (group, pods) with Fit, buying where nothing else helps; who finds none is left out."""
    sketch.enact()
    placer = SinglePodPlacement(sketch.simulated, sketch.table, sketch.limits, sketch.new_name)
    for number, pods in sorted(singles, key=lambda item: item[0]):
        mask = sketch.masks[number]
        for pod, node, reason in placer.place(pods, mask, sketch.groups[number].requests):
            if node:
                sketch.put(pod, node, placer.launched.get(node, -1))
            else:
                sketch.left_out.append(UnplacedPod(pod, _spent_limits(sketch, mask) or reason))


def check(sketch: DraftPlan, *, is_proven: bool, is_cheapest: bool, hopeless: int) -> None:
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


def _make_reachable(sketch: DraftPlan, *, may_move: bool) -> None:
    while never := _stuck(sketch):
        taken = sketch.take_away(set(never))
        if may_move:
            _place_anew(sketch, taken)
            may_move = False
        else:
            sketch.left_out += [
                UnplacedPod(pod, f"must wait for other pods: {never[pod.metadata.uid]}", is_for_now=True)
                for pod in taken
            ]


def _stuck(sketch: DraftPlan) -> dict[str, str]:
    mark = sketch.simulated.mark()
    sketch.enact()
    sketch.clear()
    never = stuck(sketch.simulated, sketch.placements())
    sketch.simulated.back_to(mark)
    return never


def _place_anew(sketch: DraftPlan, pods: Sequence[Pod]) -> None:
    """Where they fit beside all the others, on a stage that holds the sketch and nothing else."""
    by_uid = {pod.metadata.uid: pod for pod in pods}
    singles = [
        (number, [by_uid[uid] for uid in group.uids if uid in by_uid]) for number, group in enumerate(sketch.groups)
    ]
    place_singly(sketch, [(number, mine) for number, mine in singles if mine])


def _spent_limits(sketch: DraftPlan, mask: Bools) -> str:
    """The limits that stand in the way of every kind that would do, if they do."""
    use = sketch.table.limit_use[:, mask]
    over = use > sketch.limits[:, None] + 1e-9
    if not len(use) or not bool(over.any(axis=0).all()):
        return ""
    spent = [sketch.table.node_options.limits[at].what for at in np.flatnonzero(over.any(axis=1)).tolist()]
    return f"{'; '.join(spent)}, and that is used up"
