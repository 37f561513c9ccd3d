"""What became of the moves of one run: how they ended, whether they paid, and whether anybody was moved twice."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Self

from growth.api.growth_kinds import NODE_MOVES
from growth.api.kinds import NODES, PODS
from growth.api.offering import OFFERING
from growth_lab.scenarios.replica import CATALOGUE
from tests.trust.chaos.replicas import read
from tests.trust.deeds import Deeds
from tests.trust.moving import is_marked
from tests.trust.picture import Step


@dataclass(frozen=True)
class Moves:
    """How many there were, by how they ended."""

    done: int = 0
    undone: int = 0
    deleted: int = 0
    """By somebody, before their end."""

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Self:
        """Those of one run."""
        mine = [step for step in steps if step.kind is NODE_MOVES]
        ends = {step.meta.uid: step.now.status.phase for step in mine}
        phases = list(ends.values())
        done, undone = phases.count("Done"), phases.count("Undone")
        return cls(done, undone, deleted=len(phases) - done - undone)


def unpaid(steps: Sequence[Step]) -> Iterator[str]:
    """A move that is made for money buys for less than what its nodes cost."""
    offering_of: dict[str, str] = {}
    for step in steps:
        if step.kind is NODES:
            offering_of[step.meta.name] = step.now.metadata.labels.get(OFFERING, "")
        if step.kind is not NODE_MOVES or not step.is_new or step.now.spec.reason != "Cheaper":
            continue
        spec, prices = step.now.spec, _prices()
        before = sum(prices[offering_of[name]] for name in spec.nodes)
        after = sum(prices[one.offering] for one in spec.buys)
        if after >= before:
            yield f"the move {step.meta.name} was made for money, and buys for {after:g} what costs {before:g}"


def moved_twice(steps: Sequence[Step], deeds: Deeds) -> Iterator[str]:
    """Nobody is evicted twice, and nobody who came in the place of somebody evicted is evicted by the same move.

    Whoever takes a mark off by hand lets them come.
    """
    evictions = [deed for deed in deeds.all if deed.name == "evict pods" and 200 <= deed.status < 300]
    asked = Counter(deed.uid for deed in evictions)
    born: dict[str, int] = {}
    begun: dict[str, int] = {}
    emptied: dict[str, str] = {}
    opened: set[str] = set()
    for step in steps:
        if step.kind is NODE_MOVES:
            is_at_it = not step.is_end and step.now.status.phase == "Draining"
            for node in step.now.spec.nodes:
                if is_at_it:
                    emptied[node] = step.meta.uid
                else:
                    emptied.pop(node, None)
        elif step.kind is NODES and step.version in deeds.by_people and not is_marked(step.now):
            opened.add(step.meta.name)
        elif step.kind is PODS:
            came = born.setdefault(step.meta.uid, step.version)
            move = emptied.get(step.now.node_name)
            if move is None or step.meta.uid not in asked or not _begins_to_leave(step):
                continue
            if came > begun.setdefault(move, step.version) and step.now.node_name not in opened:
                yield f"the pod {step.meta.name} came when a move had begun, and the same move evicted it"
    for uid, times in asked.items():
        if times > 1 and uid:
            yield f"a pod ({uid}) was evicted {times} times"


def _begins_to_leave(step: Step) -> bool:
    is_leaving = step.is_end or step.meta.deletion_timestamp is not None
    return is_leaving and (step.before is None or step.before.metadata.deletion_timestamp is None)


@cache
def _prices() -> dict[str, float]:
    return {one.id: float(one.price_per_hour) for one in read(CATALOGUE).offerings}
