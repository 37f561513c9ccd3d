"""Counts are kept up per event; after any history they are what a fresh look would count."""

import random

import pytest

from growth_lab.simulator.disruption import Budgets
from growth_lab.simulator.garbage import Garbage
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import (
    BUDGETS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PODS,
    STATEFUL_SETS,
    Resource,
)
from growth_lab.simulator.store import Event
from growth_lab.simulator.workloads import Workloads
from growth_lab.simulator.workloads.pod_state import controller_of, state_of
from lab.tests.simulator.rehearsal import Hands, Rehearsal, a_template, a_workload, rehearse

STEPS = 80
KINDS = ((DEPLOYMENTS, "web"), (STATEFUL_SETS, "db"), (DAEMON_SETS, "agent"))


class Turmoil:
    """Random happenings to workloads, pods and nodes."""

    def __init__(self, scene: Rehearsal, chance: random.Random) -> None:
        self.scene, self.chance = scene, chance

    def happen(self) -> None:
        self.chance.choice((self.kill, self.end, self.unready, self.scale, self.update, self.node))()

    def a_pod(self) -> Json | None:
        pods = list(self.scene.store.all(PODS))
        return self.chance.choice(pods) if pods else None

    def kill(self) -> None:
        if pod := self.a_pod():
            self.scene.delete(pod, self.chance.choice([None, 0]))

    def end(self) -> None:
        if pod := self.a_pod():
            self.scene.set_phase(pod, self.chance.choice(["Succeeded", "Failed"]))

    def unready(self) -> None:
        if (pod := self.a_pod()) and pod["status"]["phase"] == "Running":
            self.scene.set_phase(pod, "Running", ready=self.chance.random() < 0.5)

    def scale(self) -> None:
        resource, name = self.chance.choice(KINDS[:2])
        self.patch(resource, name, {"replicas": self.chance.randrange(6)})

    def update(self) -> None:
        resource, name = self.chance.choice(KINDS)
        self.patch(resource, name, {"template": a_template(name, hostIPC=self.chance.random() < 0.5)})

    def patch(self, resource: Resource, name: str, spec: Json) -> None:
        self.scene.store.patch(resource, name, "default", {"spec": spec})

    def node(self) -> None:
        name = f"node-{self.chance.randrange(4)}"
        if self.scene.store.get(NODES, name) is None:
            self.scene.add_node(name)
        else:
            taints = [{"key": "mine", "effect": self.chance.choice(["NoSchedule", "NoExecute"])}]
            self.scene.store.patch(NODES, name, patch={"spec": {"taints": self.chance.choice([None, taints])}})


@pytest.mark.parametrize("seed", range(15))
def test_after_any_history_the_figures_are_true(seed: int) -> None:
    async def play(scene: Rehearsal) -> None:
        chance = random.Random(seed)  # noqa: S311 - a seed
        workloads = Workloads(scene.clock, scene.store, scene.timings)
        Budgets(scene.clock, scene.store, scene.timings)
        Garbage(scene.clock, scene.store, scene.timings)
        Hands(scene)
        scene.add_node("node-0")
        for resource, name in KINDS:
            scene.store.create(resource, a_workload(name, replicas=3))
        budget = {"selector": {"matchLabels": {"app": "db"}}, "minAvailable": 2}
        scene.store.create(BUDGETS, {"metadata": {"name": "db", "namespace": "default"}, "spec": budget})
        job = {"template": a_template("batch"), "parallelism": 2, "completions": 9, "backoffLimit": 99}
        scene.store.create(JOBS, {"metadata": {"name": "batch", "namespace": "default"}, "spec": job})
        doubles: list[str] = []
        scene.store.listen(PODS, lambda event: _note_doubles(scene, event, doubles))
        turmoil = Turmoil(scene, chance)
        for _ in range(STEPS):
            turmoil.happen()
            await scene.wait(chance.choice([0.0, 0.01, 0.5, 5.0]))
        assert doubles == [], f"seed {seed}"
        for pod in list(scene.store.all(PODS)):
            if pod["status"]["phase"] == "Running":
                scene.set_phase(pod, "Running", ready=True)
        await scene.wait(3600)
        _check(scene, workloads, seed)

    rehearse(play)


def _note_doubles(scene: Rehearsal, event: Event, doubles: list[str]) -> None:
    """Never two pods of one ordinal."""
    ordinals = [pod["metadata"]["labels"].get("apps.kubernetes.io/pod-index") for pod in scene.pods(app="db")]
    if len(set(ordinals)) != len(ordinals):
        doubles.append(event.key[1])


def _check(scene: Rehearsal, workloads: Workloads, seed: int) -> None:
    told = f"seed {seed}"
    by_owner: dict[str, list[Json]] = {}
    for pod in scene.store.all(PODS):
        owner = controller_of(pod)
        assert owner is not None, told
        by_owner.setdefault(owner["uid"], []).append(pod)
    for uid, pods in by_owner.items():
        family = workloads.families.of(uid)
        states = [state_of(pod) for pod in pods]
        assert family.active == sum(state.is_active for state in states), told
        assert family.ready == sum(state.is_active and state.is_ready for state in states), told
        assert [pod["metadata"]["name"] for pod in family.pods.values()] == [p["metadata"]["name"] for p in pods], told
    for resource, name in KINDS[:2]:
        wanted = scene.store.get(resource, name, "default")
        assert wanted is not None
        status = wanted["status"]
        assert status.get("replicas", 0) == wanted["spec"]["replicas"], told
        active = [pod for pod in scene.pods(app=name) if state_of(pod).is_active]
        assert len(active) == wanted["spec"]["replicas"], told
        assert status.get("readyReplicas", 0) == sum(state_of(pod).is_ready for pod in active), told
    db = scene.pods(app="db")
    assert scene.status(BUDGETS, "db")["currentHealthy"] == sum(state_of(pod).is_ready for pod in db), told
    assert scene.status(BUDGETS, "db")["expectedPods"] == len(db), told
    agents = [pod for pod in scene.pods(app="agent") if state_of(pod).is_active]
    figures = scene.status(DAEMON_SETS, "agent")
    assert figures["currentNumberScheduled"] + figures["numberMisscheduled"] == len(agents), told
    assert figures["desiredNumberScheduled"] == figures["currentNumberScheduled"], told
