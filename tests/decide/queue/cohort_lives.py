"""A tree of cohorts by chance, in which jobs come, end, are sent back, and change their priority."""

from collections.abc import Collection
from datetime import datetime, timedelta
from random import Random
from typing import Final

from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from growth.api.queue.workload import EVICTED, PREEMPTED, PRIORITY_CLASS, Workload
from growth.decide.queue.held_quota import usage_of
from tests.decide.queue.cohort_tree import Amounts, Queue, Quota, Slot, Tree, Uses
from tests.decide.queue.cohort_worlds import GROUPS, draw_tree, put_tree, queue_spec
from tests.decide.queue.lives import Life
from tests.decide.queue.stage import Stage, settings

MOST_JOBS: Final = 12
MOST_PASSES: Final = 30
PRIORITIES: Final = range(4)
ONE_RESOURCE: Final = GROUPS[:2]
HAPPENINGS: Final = {
    "job": 4,
    "pass": 12,
    "play": 5,
    "leave": 5,
    "restart": 1,
    "wait": 2,
    "prefer": 2,
    "more": 1,
    "less": 1,
}


class Cohorts(Life):
    """``is_shrinking``: quota is taken away, too. ``is_modest``: nobody asks for more than it can ever have."""

    def __init__(
        self,
        seed: int,
        timestamp: str,
        *,
        is_shrinking: bool = False,
        is_modest: bool = False,
        waits: bool = True,
        preemptors_first: bool = False,
        most: int = MOST_JOBS,
    ) -> None:
        stage = Stage(settings(timestamp=timestamp, wait=waits, preemptors_first=preemptors_first))
        self.nodes, self.queues = draw_tree(Random(seed), ONE_RESOURCE)  # noqa: S311 - no secret
        put_tree(stage, self.nodes)
        for value in PRIORITIES:
            stage.put(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": f"p{value}"}, "value": value})
        super().__init__(seed, stage, tuple(f"j{number}" for number in range(most)), HAPPENINGS)
        self.tree, self._is_shrinking, self._is_modest = Tree(self.nodes), is_shrinking, is_modest
        self.gone: set[str] = set()
        self._held: dict[str, tuple[str, Amounts]] = {}

    @property
    def slots(self) -> set[Slot]:
        return {slot for node in self.nodes for slot in node.quotas}

    def happen(self, word: str) -> None:
        match word:
            case "job":
                self.come()
            case "wait":
                self.stage.now += timedelta(seconds=self.chance.choice([1, 30, 61, 300]))
            case "prefer":
                self.prefer()
            case "more":
                self._requota(+3)
            case "less":
                if self._is_shrinking:
                    self._requota(-3)
            case _:
                super().happen(word)

    def _priority(self) -> str:
        return f"p{self.chance.choice(PRIORITIES)}"

    def come(self) -> None:
        """One more job, if there are any left."""
        if self.made < len(self.names):
            queue, amount = self.chance.choice(self.queues), self.chance.randint(1, 5)
            if not self._is_modest or self._could_have(queue, amount):
                labels = {PRIORITY_CLASS: self._priority()}
                self.stage.a_job(self.names[self.made], cpu=f"{amount}m", local_queue=queue.name, labels=labels)
                self.made += 1

    def _could_have(self, queue: Queue, amount: int) -> bool:
        """If nobody else were there."""
        return any(self.tree.fits(queue, slot, amount, []) for slot in queue.quotas)

    def prefer(self) -> None:
        """The priority of one of them changes."""
        if self.jobs:
            label = {PRIORITY_CLASS: self._priority()}
            self.stage.change(QUEUED_JOBS, self.chance.choice(self.jobs), {"metadata": {"labels": label}})

    def _requota(self, amount: int) -> None:
        queue = self.chance.choice(self.queues)
        slot = self.chance.choice(sorted(queue.quotas))
        before = queue.quotas[slot]
        nominal = max(before.lend or 0, before.nominal + amount, 0)
        queue.quotas = {**queue.quotas, slot: Quota(nominal, before.borrow, before.lend)}
        self.tree = Tree(self.nodes)
        self.stage.change(CLUSTER_QUEUES, queue.name, {"spec": queue_spec(queue)})
        if amount < 0:
            # What was decided before that may still be done after it, and be too much: nobody can help that.
            self.restart()

    def check(self) -> None:
        """Whoever is admitted fits, at this very instant, whatever was seen late; and all is right, if it was."""
        before: Uses = list(self._held.values())
        now = {one.metadata.name: _held_by(one) for one in self.stage.workloads() if one.is_reserving}
        for name, (queue, usage) in now.items():
            if name not in self._held:
                (node,) = [one for one in self.queues if one.name == queue]
                for slot, amount in usage.items():
                    assert self.tree.fits(node, slot, amount, before), f"{name} does not fit into {queue}"
        if not self._is_shrinking:
            for slot in self.slots:
                assert self.tree.is_right(slot, list(now.values())), f"more is used of {slot} than there is"
        self._held = now

    def one_pass(self, late: Collection[str] = ()) -> None:
        """All is seen and done at once, and a second goes by; pods of ``late`` jobs do not go."""
        for said in self.stage.look().said:
            self.stage.take(said)
            self.remember()
        self.stage.play_jobs(ready=self.jobs, only=[name for name in self.jobs if name not in late])
        self.remember()
        self.stage.now += timedelta(seconds=1)

    def come_to_rest(self) -> list[tuple[str, str]]:
        """Passes until nothing changes any more; who was sent back for whom on the way, as victim and preemptor."""
        found: list[tuple[str, str]] = []
        for _ in range(MOST_PASSES):
            before, known = self.stage.objects.copy(), self._sent_back()
            self.one_pass()
            found += [one for one, since in self._sent_back().items() if known.get(one) != since]
            if before == self.stage.objects:
                return found
        raise AssertionError(f"it never comes to rest: {found}")

    def _sent_back(self) -> dict[tuple[str, str], datetime | None]:
        """Who is sent back, for whom, and since when."""
        found = {one.metadata.name: one.condition(EVICTED) for one in self.stage.workloads()}
        return {
            (name, said.message.split()[0].split("/")[1]): said.last_transition_time
            for name, said in found.items()
            if said is not None and (said.status, said.reason) == ("True", PREEMPTED)
        }

    def own_left(self, queue: Queue) -> dict[Slot, int]:
        """How much of what is a queue's own it does not use."""
        held = [usage for name, usage in self._held.values() if name == queue.name]
        return {slot: one.nominal - sum(usage.get(slot, 0) for usage in held) for slot, one in queue.quotas.items()}

    def replace(self, job: str) -> None:
        """It has ended and is deleted; another one comes."""
        workload = self.stage.workload(job).metadata.name
        self.stage.drop(QUEUED_JOBS, job)
        self.stage.drop(WORKLOADS, workload)
        self.gone.add(job)
        self.come()
        self.remember()

    @property
    def jobs(self) -> tuple[str, ...]:
        return tuple(name for name in super().jobs if name not in self.gone)


def _held_by(workload: Workload) -> tuple[str, Amounts]:
    admission = workload.status.admission
    return admission.cluster_queue if admission is not None else "", usage_of(workload)
