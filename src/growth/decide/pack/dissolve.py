"""Machines that nobody needs: those whose pods would find room beside the others are not bought.

Packing is stricter than the scheduler where that keeps it simple: it plans a spread over nodes as if an empty node were
always coming, fills free room before it knows what is bought beside it, and takes odd pods last. So a machine may be
left whose pods all fit elsewhere. Here each is taken away in turn, those of the last tier and the dearest first, and
its pods are asked for one by one, with Fit, beside all the others.
"""

from collections.abc import Callable, Collection
from typing import Final

import numpy as np

from growth.api.pod import Pod
from growth.decide.fit.verdict import fit
from growth.decide.pack.problem import Ints
from growth.decide.pack.sketch import Sketch
from growth.decide.pack.standing import Standing

# So many machines are tried, and each of their pods is asked about on so many nodes.
_TRIED: Final = 40
_REFUSALS: Final = 32
# Where giving up all of them at once leads to a plan that cannot be reached, so many are given up one by one.
_CAREFUL: Final = 6


def dissolve(sketch: Sketch, can_be_reached: Callable[[Sketch], bool]) -> bool:
    """Take machines out of the sketch that it can spare, if there are any; the stage is brought up to the sketch."""
    sketch.enact()
    before, mark = sketch.state(), sketch.stage.mark()
    if not _Dissolving(sketch).run(_TRIED):
        return False
    if can_be_reached(sketch):
        return True
    sketch.stage.back_to(mark)
    sketch.return_to(before)
    kept: set[str] = set()
    is_changed = False
    for _ in range(_CAREFUL):
        before, mark = sketch.state(), sketch.stage.mark()
        given_up = _Dissolving(sketch).run(1, kept)
        if not given_up:
            break
        if can_be_reached(sketch):
            is_changed = True
        else:
            sketch.stage.back_to(mark)
            sketch.return_to(before)
            kept |= given_up
    return is_changed


class _Dissolving:
    """Tries to give up machines one after the other, on nodes as columns that follow what happens on the stage."""

    def __init__(self, sketch: Sketch) -> None:
        self._sketch, self._stage = sketch, sketch.stage
        self._standing = Standing(sketch.stage, sketch.table.resources)
        self._at = {name: at for at, name in enumerate(self._standing.names)}
        self._need: dict[int, Ints] = {}

    def run(self, most: int, kept: Collection[str] = ()) -> set[str]:
        """Give up at most so many; returned are the names of those that are gone."""
        bought, table = self._sketch.bought, self._sketch.table
        ranks = [(-int(tier), -float(price)) for tier, price in zip(table.tier_rank, table.price, strict=True)]
        order = sorted(bought, key=lambda name: (ranks[bought[name][0]], len(bought[name][1])))
        gone: set[str] = set()
        for name in [name for name in order if name not in kept][:_TRIED]:
            if len(gone) < most and self._give_up(name):
                gone.add(name)
        return gone

    def _give_up(self, name: str) -> bool:
        sketch, stage, standing = self._sketch, self._stage, self._standing
        kind, pods = sketch.bought[name]
        mark, free = stage.mark(), standing.free[self._at[name]].copy()
        for pod in pods:
            stage.remove(pod.metadata.uid, name)
        stage.remove_node(name)
        standing.free[self._at[name]] = 0
        homes: list[tuple[Pod, str]] = []
        for pod in pods:
            home = self._home(pod)
            if not home:
                stage.back_to(mark)
                for guest, host in homes:
                    standing.take(self._at[host], self._need_of(guest), -1)
                standing.free[self._at[name]] = free
                return False
            homes.append((pod, home))
        del sketch.bought[name]
        sketch.limits += sketch.table.limit_use[:, kind]
        for pod, home in homes:
            sketch.put(pod, home)
        return True

    def _home(self, pod: Pod) -> str:
        need = self._need_of(pod)
        room = self._standing.roomy(need)
        order: list[int] = room[np.argsort(self._standing.slack(room), kind="stable")][:_REFUSALS].tolist()
        for at in order:
            name = self._standing.names[at]
            if fit(self._stage, pod, name) is None:
                self._stage.place(pod, name)
                self._standing.take(at, need)
                return name
        return ""

    def _need_of(self, pod: Pod) -> Ints:
        known = self._need.get(id(pod.spec))
        if known is None:
            asked = self._stage.requests(pod)
            amounts = [asked.get(name, 0) for name in self._sketch.table.resources]
            known = self._need[id(pod.spec)] = np.array(amounts, dtype=np.int64)
        return known
