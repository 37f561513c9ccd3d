"""Whoever is let in for the nodes that stand fits there, and nobody goes back and forth, whatever happens.

Jobs come and end, strangers take room and leave, nodes come, go and are cordoned, machines are sold out and can be had
again, and a scheduler places pods late, or not at all. Then all becomes calm, and nobody waits beside room.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from growth.api.kinds import NODES, PODS
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.workload import ON_STANDING_NODES, Workload
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.failed_flavors import NO_ROOM, failures_of
from tests.decide.queue.stage import settings
from tests.decide.queue.test_existing_capacity import SMALL, a_place, a_stage, a_stranger, make_pods, unmake_pods
from tests.decide.queue.test_flavor_migration import in_stock

SEEDS = st.integers(0, 2**32)
NODE_NAMES, STRANGERS = ("n1", "n2", "n3"), ("s1", "s2", "s3")
NODE_CPU, MOST_JOBS = 4, 6
HAPPENINGS = (
    "job",
    "pass",
    "pass",
    "pass",
    "schedule",
    "schedule",
    "stranger",
    "node",
    "stock",
    "wait",
    "end",
    "restart",
)


class Life:
    """A cluster of few nodes. What is let in is compared with what is free in that very instant."""

    def __init__(self, seed: int, *, waits: bool) -> None:
        self.chance = Random(seed)  # noqa: S311 - no secret
        self.stage = a_stage()
        self.stage.settings = settings(wait=waits)
        self.sizes: dict[str, tuple[int, int]] = {}
        self.lodged: Counter[str] = Counter()
        """How often each was let in for nodes since the machines were sold out; who ran, and lost its node, may be once
        more."""
        self.is_sold_out = True

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.happen(self.chance.choice(HAPPENINGS))

    def happen(self, word: str) -> None:
        match word:
            case "job" if len(self.sizes) < MOST_JOBS:
                self._job()
            case "pass":
                self.look(self.chance.random())
            case "schedule":
                self.schedule(self.chance.random())
            case "stranger":
                self._stranger()
            case "node":
                self._node()
            case "stock" if self.chance.random() < 1 / 3:
                self.sell(is_sold_out=not self.is_sold_out)
            case "wait":
                self.stage.now += timedelta(seconds=self.chance.choice([1, 20, 61]))
            case "end":
                self._end()
            case "restart":
                self.stage.memory = None
            case _:
                pass

    def _job(self) -> None:
        name, cpu, pods = f"job{len(self.sizes)}", self.chance.randint(1, NODE_CPU + 1), self.chance.randint(1, 3)
        self.sizes[name] = (cpu, pods)
        self.stage.a_job(name, cpu=str(cpu), parallelism=pods, completions=pods)

    def sell(self, *, is_sold_out: bool) -> None:
        self.is_sold_out = is_sold_out
        in_stock(self.stage, **({"small": 0} if is_sold_out else {}))
        self.lodged.clear()

    def _stranger(self) -> None:
        name = self.chance.choice(STRANGERS)
        if self.is_there(PODS, name):
            self.stage.drop(PODS, name)
            return
        cpu, free = self.chance.randint(1, NODE_CPU), self.free()
        nodes = ["", *(node for node in free if free[node] >= cpu)]
        a_stranger(self.stage, name, str(cpu), node=self.chance.choice(nodes), nodeSelector=SMALL)

    def _node(self) -> None:
        name = self.chance.choice(NODE_NAMES)
        if not self.is_there(NODES, name):
            a_place(self.stage, name, cpu=str(NODE_CPU))
        elif self.chance.random() < 1 / 2:
            self.stage.change(NODES, name, {"spec": {"unschedulable": self.chance.choice([True, None])}})
        else:
            for _, _, pod in [one for one in self._pods() if self._node_of(one[2]) == name]:
                self.stage.drop(PODS, pod)
            self.stage.drop(NODES, name)
            for job in self.stage.running():
                if not self._has_all_pods(job) and self.stage.job(job).ended is None:
                    # Its controller counts them anew when it has made others.
                    unmake_pods(self.stage, job)
                    self.stage.change(QUEUED_JOBS, job, {"status": {"active": 0, "ready": 0}})

    def _end(self) -> None:
        if running := [job for job in self.stage.running() if self._has_all_pods(job)]:
            job = self.chance.choice(running)
            unmake_pods(self.stage, job)
            self.stage.end(job)

    def look(self, done: float = 1) -> None:
        """One pass, of which about so much comes true; whoever is let in for nodes must fit there now."""
        before, known, free, waiting = self._lodging(), self._given(), self.free(), self._waiting_strangers()
        for said in self.stage.look().said:
            if self.chance.random() <= done:
                self.stage.take(said)
        for job in self._lodging() - before:
            self.lodged[job] += 1
        # What was given before and is not seen yet is given again, whatever has changed since.
        new = [self.sizes[job][0] for job in self._given() - known - before for _ in range(self.sizes[job][1])]
        assert can_be_packed(new, list(free.values())), (new, free)
        if waiting and new:
            assert sum(new) + min(waiting) <= sum(free.values()) or min(waiting) > max(free.values())
        self._check_circles()
        self._control_jobs()

    def _control_jobs(self) -> None:
        """Do as the Job controller."""
        for job in self.stage.running():
            unmade = not any(name.startswith(f"{job}-") for _, _, name in self._pods())
            if unmade and self.stage.job(job).ended is None:
                make_pods(self.stage, job, *[""] * self.sizes[job][1])
        for job in self.sizes:
            if self.stage.job(job).spec.suspend:
                unmake_pods(self.stage, job)
        ready = [job for job in self.stage.running() if self._has_all_pods(job)]
        for job in ready:
            self.lodged.pop(job, None)
        self.stage.play_jobs(ready=ready)

    def _check_circles(self) -> None:
        """Once for each time that the machines are sold out: who is moved is not let in there again."""
        if self.stage.settings.queue.wait_for_pods_ready.enable:
            return
        assert all(count == 1 for count in self.lodged.values()), self.lodged

    def schedule(self, luck: float = 1) -> None:
        """A scheduler places about so many of the pods that wait, each where most is free."""
        for _, _, pod in [one for one in self._pods() if not self._node_of(one[2])]:
            free = self.free()
            node = max(free, key=lambda name: free[name], default="")
            if node and free[node] >= self._cpu_of(pod) and self.chance.random() <= luck:
                self._bind(pod, node)
        self._control_jobs()

    def _bind(self, pod: str, node: str) -> None:
        self.stage.change(PODS, pod, {"spec": {"nodeName": node}, "status": {"phase": "Running", "conditions": READY}})

    def free(self) -> dict[str, int]:
        """Cpus that are free on the nodes that pods may go to."""
        nodes = {name: one for (kind, _, name), one in self.stage.objects.items() if kind is NODES}
        usable = [name for name, one in nodes.items() if not one["spec"].get("unschedulable")]
        used = Counter[str]()
        for _, _, pod in self._pods():
            used[self._node_of(pod)] += self._cpu_of(pod)
        return {name: NODE_CPU - used[name] for name in usable}

    def waiting(self) -> list[str]:
        """Jobs that wait and may be let in for nodes."""
        workloads = {job: self.stage.workload(job) for job in self.sizes if self.stage.job(job).ended is None}
        return [
            job for job, one in workloads.items() if not one.is_reserving and NO_ROOM not in failures_of(one).values()
        ]

    def _given(self) -> set[str]:
        """Who is let in for nodes and is not seen to be."""
        memory = self.stage.memory if isinstance(self.stage.memory, QueueCarry) else QueueCarry()
        given = memory.assumed.given
        jobs = {one.metadata.name: _job_of(one) for one in self.stage.workloads()}
        return {jobs[name] for (_, name), one in given.items() if one.shut}

    def _lodging(self) -> set[str]:
        return {_job_of(one) for one in self.stage.workloads() if one.is_reserving and one.holds(ON_STANDING_NODES)}

    def _waiting_strangers(self) -> list[int]:
        return [self._cpu_of(name) for _, _, name in self._pods() if name in STRANGERS and not self._node_of(name)]

    def _has_all_pods(self, job: str) -> bool:
        mine = [name for _, _, name in self._pods() if name.startswith(f"{job}-")]
        return len(mine) == self.sizes[job][1] and all(map(self._node_of, mine))

    def _pods(self) -> list[tuple[object, str, str]]:
        return [key for key in self.stage.objects if key[0] is PODS]

    def is_there(self, kind: object, name: str) -> bool:
        return any(key[0] is kind and key[2] == name for key in self.stage.objects)

    def _node_of(self, pod: str) -> str:
        return self.stage.objects[PODS, "default", pod]["spec"].get("nodeName", "")

    def _cpu_of(self, pod: str) -> int:
        (container,) = self.stage.objects[PODS, "default", pod]["spec"]["containers"]
        return int(container["resources"]["requests"]["cpu"])


READY = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready")]


def _job_of(workload: Workload) -> str:
    owner = workload.metadata.controller
    assert owner is not None
    return owner.name


def can_be_packed(pods: Sequence[int], free: list[int]) -> bool:
    """Whether all pods find a place, tried in every way."""
    if not pods:
        return True
    largest, *others = sorted(pods, reverse=True)
    return any(
        can_be_packed(others, [room - largest * (place == index) for index, room in enumerate(free)])
        for place in range(len(free))
        if free[place] >= largest
    )


@given(SEEDS, st.booleans())
@profile(max_examples=6)
def test_who_is_let_in_fits_and_nobody_goes_back_and_forth(seed: int, waits: bool) -> None:  # noqa: FBT001
    Life(seed, waits=waits).live(60)


@pytest.mark.long
@given(SEEDS, st.booleans())
@profile(max_examples=100)
def test_who_is_let_in_fits_and_nobody_goes_back_and_forth_in_long_lives(seed: int, waits: bool) -> None:  # noqa: FBT001
    Life(seed, waits=waits).live(200)


@given(SEEDS)
@profile(max_examples=4)
def test_nobody_waits_beside_room(seed: int) -> None:
    life = Life(seed, waits=False)
    life.live(50)
    life.sell(is_sold_out=True)
    for name in STRANGERS:
        if life.is_there(PODS, name):
            life.stage.drop(PODS, name)
    for _ in range(12):
        life.look()
        life.schedule()
        life.stage.now += timedelta(seconds=20)
    free = life.free()
    for job in life.waiting():
        cpu, pods = life.sizes[job]
        assert sum(room // cpu for room in free.values()) < pods, (job, free, life.stage.workload(job).status)
