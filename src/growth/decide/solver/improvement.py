"""Machines that nobody needs: those whose pods would find room beside the others are not bought.

Packing is stricter than the scheduler where that keeps it simple: it plans a spread over nodes as if an empty node were
always coming, fills free room before it knows what is bought beside it, and takes odd pods last. So a machine may be
left whose pods all fit elsewhere. Here each is taken away in turn, those of the last tier and the dearest first, and
its pods are asked for one by one, with Fit, beside all the others.

Two machines into one, wherever that costs no more: fewer machines are better, and rounding leaves some over.
"""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Final

import numpy as np

from growth.api.pod import Pod
from growth.decide.fit.predicates import fit
from growth.decide.solver.draft_plan import DraftPlan
from growth.decide.solver.existing_nodes import ExistingNodes
from growth.decide.solver.problem import NO_CLIQUE, Bin, Bools, Ints, Packing, PackingProblem, packing_of

# So many machines are tried, and each of their pods is asked about on so many nodes.
_TRIED: Final = 40
_REFUSALS: Final = 32
# Where giving up all of them at once leads to a plan that cannot be reached, so many are given up one by one.
_CAREFUL: Final = 6


def dissolve(sketch: DraftPlan, can_be_reached: Callable[[DraftPlan], bool]) -> bool:
    """Take machines out of the sketch that it can spare, if there are any; the stage is brought up to the sketch."""
    sketch.enact()
    before, mark = sketch.state(), sketch.simulated.mark()
    if not _Dissolving(sketch).run(_TRIED):
        return False
    if can_be_reached(sketch):
        return True
    sketch.simulated.back_to(mark)
    sketch.return_to(before)
    kept: set[str] = set()
    is_changed = False
    for _ in range(_CAREFUL):
        before, mark = sketch.state(), sketch.simulated.mark()
        given_up = _Dissolving(sketch).run(1, kept)
        if not given_up:
            break
        if can_be_reached(sketch):
            is_changed = True
        else:
            sketch.simulated.back_to(mark)
            sketch.return_to(before)
            kept |= given_up
    return is_changed


class _Dissolving:
    """Tries to give up machines one after the other, on nodes as columns that follow what happens on the stage."""

    def __init__(self, sketch: DraftPlan) -> None:
        self._sketch, self._simulated = sketch, sketch.simulated
        self._standing = ExistingNodes(sketch.simulated, sketch.table.resources)
        self._at = {name: at for at, name in enumerate(self._standing.names)}
        self._need: dict[int, Ints] = {}

    def run(self, most: int, kept: Collection[str] = ()) -> set[str]:
        """Give up at most so many; returned are the names of those that are gone."""
        launched, table = self._sketch.launched, self._sketch.table
        ranks = [(-int(tier), -float(price)) for tier, price in zip(table.tier_rank, table.price, strict=True)]
        order = sorted(launched, key=lambda name: (ranks[launched[name][0]], len(launched[name][1])))
        gone: set[str] = set()
        for name in [name for name in order if name not in kept][:_TRIED]:
            if len(gone) < most and self._give_up(name):
                gone.add(name)
        return gone

    def _give_up(self, name: str) -> bool:
        sketch, simulated, existing = self._sketch, self._simulated, self._standing
        option, pods = sketch.launched[name]
        mark, free = simulated.mark(), existing.free[self._at[name]].copy()
        for pod in pods:
            simulated.remove(pod.metadata.uid, name)
        simulated.remove_node(name)
        existing.free[self._at[name]] = 0
        homes: list[tuple[Pod, str]] = []
        for pod in pods:
            home = self._home(pod)
            if not home:
                simulated.back_to(mark)
                for guest, host in homes:
                    existing.take(self._at[host], self._need_of(guest), -1)
                existing.free[self._at[name]] = free
                return False
            homes.append((pod, home))
        del sketch.launched[name]
        sketch.limits += sketch.table.limit_use[:, option]
        for pod, home in homes:
            sketch.put(pod, home)
        return True

    def _home(self, pod: Pod) -> str:
        need = self._need_of(pod)
        room = self._standing.roomy(need)
        order: list[int] = room[np.argsort(self._standing.slack(room), kind="stable")][:_REFUSALS].tolist()
        for at in order:
            name = self._standing.names[at]
            if fit(self._simulated, pod, name) is None:
                self._simulated.place(pod, name)
                self._standing.take(at, need)
                return name
        return ""

    def _need_of(self, pod: Pod) -> Ints:
        known = self._need.get(id(pod.spec))
        if known is None:
            asked = self._simulated.requests(pod)
            amounts = [asked.get(name, 0) for name in self._sketch.table.resources]
            known = self._need[id(pod.spec)] = np.array(amounts, dtype=np.int64)
        return known


# So many are tried, the emptiest first, and so many united; beyond that there is little to gain.
_MOVERS = 40
_MERGES = 100


def merged(problem: PackingProblem, packing: Packing) -> Packing:
    """The same packing, with machines united where one machine holds both contents for no more money."""
    bins: list[Bin] = list(packing.bins)
    if packing.nodes < 2:
        return packing
    total = np.array([_total(problem, one) for one in bins])
    options = np.array([one.option for one in bins])
    times = np.array([one.times for one in bins])
    room = problem.room[options]
    slack = (1 - total / np.maximum(room, 1)).min(axis=1, where=room > 0, initial=1.0)
    visible = problem.visible()
    order: list[int] = np.lexsort((np.arange(len(bins)), -slack)).tolist()
    # A machine that holds a clique's pod is wanted as it is.
    movers = [at for at in order if all(problem.clique[row] == NO_CLIQUE for row, _ in bins[at].content)]
    for mover in movers[:_MOVERS]:
        while times[mover] and len(bins) - len(packing.bins) < _MERGES:
            times[mover] -= 1
            found = _home(problem, visible, bins, (total, options, times), mover)
            if found is None:
                times[mover] += 1
                break
            target, option = found
            times[target] -= 1
            bins.append(Bin(option, _united(bins[mover], bins[target]), 1))
            total = np.vstack([total, total[mover] + total[target]])
            options, times = np.append(options, option), np.append(times, 1)
    kept = [replace(one, times=int(number)) for one, number in zip(bins, times.tolist(), strict=True) if number]
    return packing_of(problem, kept)


def _home(
    problem: PackingProblem, visible: Bools, bins: list[Bin], arrays: tuple[Ints, Ints, Ints], mover: int
) -> tuple[int, int] | None:
    """A machine of the same zone, and the kind that holds what both hold for no more than both cost."""
    total, options, times = arrays
    price = problem.price[options] + problem.price[bins[mover].option] + 1e-9
    zone = problem.kind_zone[bins[mover].option]
    here = (times > 0) & (problem.kind_zone[options] == zone)
    rows = [row for row, _ in bins[mover].content]
    usable = (problem.kind_zone == zone) & (problem.price <= price.max()) & visible[rows].all(axis=0)
    together = total + total[mover]
    for option in np.flatnonzero(usable)[np.argsort(problem.price[usable], kind="stable")].tolist():
        # A machine of another kind uses up other limits, which would have to be counted anew.
        fits = here & (price >= problem.price[option]) & (together <= problem.room[option]).all(axis=1)
        for target in np.flatnonzero(fits).tolist():
            same = (problem.limit_use[:, option] <= problem.limit_use[:, options[target]]).all()
            if same and visible[[row for row, _ in bins[target].content], option].all():
                return target, option
    return None


def _total(problem: PackingProblem, one: Bin) -> Ints:
    return sum((pods * problem.need[row] for row, pods in one.content), np.zeros(problem.need.shape[1], dtype=np.int64))


def _united(one: Bin, other: Bin) -> tuple[tuple[int, int], ...]:
    content = dict(one.content)
    for row, pods in other.content:
        content[row] = content.get(row, 0) + pods
    return tuple(sorted(content.items()))
