"""A tree of cohorts by chance with workloads of several pod sets, which jobs never have: others make such workloads.

They have no jobs here. Who is sent back holds its quota for as long as chance will have it: the write that frees it is
lost now and then, so that some are gone and some are not.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from random import Random
from typing import Final

from growth.api.actions import Action, Hold, PatchObject
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import EVICTED, PREEMPTED, Workload
from growth.decide.queue.held_quota import usage_of
from tests.decide.queue.cohort_tree import Tree, Uses, Work
from tests.decide.queue.cohort_worlds import draw_tree, draw_work, put_tree, put_work
from tests.decide.queue.stage import Stage, settings

MOST_WORKS: Final = 14
MOST_PASSES: Final = 30
LATE: Final = 0.4
MOST_PASSES_WHEN_LATE: Final = 120
"""The same, and for each of a dozen who go one after the other some more: they go in two passes of three."""


class Sets:
    """``late``: how often who was sent back does not go yet."""

    def __init__(self, seed: int, *, late: float = 0.0, preemptors_first: bool = False) -> None:
        self.chance = Random(seed)  # noqa: S311 - no secret
        self.stage = Stage(settings(wait=False, preemptors_first=preemptors_first))
        self.nodes, self.queues = draw_tree(self.chance)
        put_tree(self.stage, self.nodes)
        self.works: dict[str, Work] = {}
        self.sent_back: list[tuple[str, str]] = []
        """Victims and for whom they had to go, in order."""
        self._tree, self._made, self._late = Tree(self.nodes), 0, late

    def come(self) -> None:
        """One more."""
        work = draw_work(self.chance, self._made, self.chance.choice(self.queues))
        work.since, work.was_sent_back = self.stage.now, False
        self._made += 1
        self.works[work.name] = work
        put_work(self.stage, work)

    def happen(self) -> None:
        """One ends and another one comes; or one comes in addition; or a priority changes."""
        running = sorted(one.metadata.name for one in self.stage.workloads() if one.is_reserving)
        chance = self.chance.random()
        if running and (chance < 0.6 or len(self.works) >= MOST_WORKS):
            name = self.chance.choice(running)
            del self.works[name]
            self.stage.drop(WORKLOADS, name)
            self.come()
        elif chance < 0.7 and self.works:
            name, priority = self.chance.choice(sorted(self.works)), self.chance.randint(0, 3)
            self.stage.change(WORKLOADS, name, {"spec": {"priority": priority}})
        elif len(self.works) < MOST_WORKS:
            self.come()

    def one_pass(self) -> None:
        """All that is said is done, but for some who do not go yet; a second goes by."""
        known = {one.metadata.name: one.holds(EVICTED) for one in self.stage.workloads()}
        for said in self.stage.look().said:
            if not (_frees(said) and self.chance.random() < self._late):
                self.stage.take(said)
        self._check()
        self.sent_back += [
            (one.metadata.name, _for_whom(one)) for one in self._preempted() if not known.get(one.metadata.name)
        ]
        self.stage.now += timedelta(seconds=1)

    def _check(self) -> None:
        held: Uses = [(_queue_of(one), usage_of(one)) for one in self.stage.workloads() if one.is_reserving]
        for slot in {slot for _, usage in held for slot in usage}:
            assert self._tree.is_right(slot, held), f"more is used of {slot} than there is"

    def come_to_rest(self) -> Counter[str]:
        """Passes until nothing changes any more; how often each was sent back on the way."""
        before, quiet = len(self.sent_back), 0
        for _ in range(MOST_PASSES_WHEN_LATE if self._late else MOST_PASSES):
            objects = self.stage.objects.copy()
            self.one_pass()
            # Where somebody does not go yet nothing changes, either.
            quiet = quiet + 1 if objects == self.stage.objects and not any(self._preempted(is_held=True)) else 0
            if quiet:
                return Counter(victim for victim, _ in self.sent_back[before:])
        raise AssertionError(f"it never comes to rest: {self.sent_back[before:]}")

    def _preempted(self, *, is_held: bool = False) -> Iterable[Workload]:
        for one in self.stage.workloads():
            evicted = one.condition(EVICTED)
            is_sent_back = evicted is not None and (evicted.status, evicted.reason) == ("True", PREEMPTED)
            if is_sent_back and (one.is_reserving or not is_held):
                yield one


def _frees(said: Action | Hold) -> bool:
    """Whether it takes the quota of a workload away."""
    if not isinstance(said, PatchObject) or said.subject.kind != "Workload":
        return False
    status = said.body.get("status", {})
    return "admission" in status and status["admission"] is None


def _queue_of(workload: Workload) -> str:
    admission = workload.status.admission
    return admission.cluster_queue if admission is not None else ""


def _for_whom(workload: Workload) -> str:
    said = workload.condition(EVICTED)
    return said.message.split()[0] if said is not None else ""
