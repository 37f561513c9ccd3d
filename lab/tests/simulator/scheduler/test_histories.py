"""Random histories: what the scheduler keeps up by event is what a fresh look at the cluster shows."""

import random
from typing import Any

import msgspec
import pytest

from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import NODES as NODE_KIND
from growth.api.kinds import PODS as POD_KIND
from growth.decide.fit import SimulatedCluster, fit
from growth.observe.cache import ClusterCache
from growth_lab.simulator.served_kinds import NODES, PODS
from lab.tests.simulator.scheduler.scene import Scene, on_a_scene
from tests.decide.stages import NOW

pytestmark = pytest.mark.long

Json = dict[str, Any]
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
TAINT = {"key": "away", "effect": "NoSchedule"}


def _selector(app: str) -> Json:
    return {"matchLabels": {"app": app}}


def _affinity(kind: str, app: str, key: str) -> Json:
    term = {"topologyKey": key, "labelSelector": _selector(app)}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spec(chance: random.Random) -> Json:
    app = chance.choice("ab")
    return chance.choice(
        [
            {},
            {},
            {"nodeSelector": {ZONE: chance.choice("xy")}},
            {"tolerations": [{"key": "away", "operator": "Exists"}]},
            {"affinity": _affinity("podAntiAffinity", app, chance.choice([HOST, ZONE]))},
            {"affinity": _affinity("podAffinity", app, ZONE)},
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": chance.choice([HOST, ZONE]),
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": _selector(app),
                    }
                ]
            },
            {"priority": 5},
        ]
    )


class History:
    """Draws what happens next."""

    def __init__(self, scene: Scene, chance: random.Random) -> None:
        self._scene, self._chance, self._number = scene, chance, 0

    def happen(self) -> None:
        chance, store = self._chance, self._scene.store
        pods = [pod["metadata"]["name"] for pod in store.all(PODS)]
        nodes = [node["metadata"]["name"] for node in store.all(NODES)]
        what = chance.choice(["pod", "pod", "pod", "pod", "node", "gone", "done", "relabel", "leave", "taint", "drop"])
        self._number += 1
        if what == "pod":
            cpu = chance.choice(["1", "2", "3"])
            spec = _spec(chance)
            self._scene.pod(f"pod-{self._number}", cpu=cpu, labels={"app": chance.choice("ab")}, **spec)
        elif what == "node" and len(nodes) < 8:
            taints = [TAINT] if chance.random() < 0.2 else []
            self._scene.node(f"node-{self._number}", labels={ZONE: chance.choice("xy")}, taints=taints)
        elif what == "taint" and nodes:
            self._scene.change_node(chance.choice(nodes), {"spec": {"taints": chance.choice([[], [TAINT]])}})
        elif what == "drop" and len(nodes) > 2:
            store.delete(NODES, chance.choice(nodes))
        elif pods:
            self._happen_to(chance.choice(pods), what)

    def _happen_to(self, pod: str, what: str) -> None:
        scene = self._scene
        if what == "gone":
            scene.delete_pod(pod)
        elif what == "done" and scene.where(pod):
            scene.change_pod(pod, {"status": {"phase": "Succeeded"}})
        elif what == "relabel":
            scene.change_pod(pod, {"metadata": {"labels": {"app": self._chance.choice("ab")}}})
        elif what == "leave" and scene.where(pod):
            scene.store.delete(PODS, pod, "default", grace_seconds=30)


def fresh_world(scene: Scene) -> ClusterCache:
    world, sharing = ClusterCache(), InternTables()
    for resource, kind, hear in (
        (NODES, NODE_KIND, world.hear_of_nodes),
        (PODS, POD_KIND, world.hear_of_pods),
    ):
        reader: Reader[Any] = Reader(kind, sharing)
        things = [reader.object(msgspec.json.encode(thing)) for thing in scene.store.all(resource)]
        hear([Change(ChangeType.ADDED, thing, None) for thing in things])
    return world


# 102: pods that displaced others woke each other for ever.
@pytest.mark.parametrize("seed", [*range(10), 102])
def test_nobody_waits_who_would_fit_and_the_kept_stage_agrees_with_a_fresh_one(seed: int) -> None:
    async def play(scene: Scene) -> None:
        chance = random.Random(seed)  # noqa: S311 - a seed
        for number in range(3):
            scene.node(f"first-{number}", labels={ZONE: "xy"[number % 2]})
        history = History(scene, chance)
        for _ in range(60):
            for _ in range(chance.randrange(1, 4)):
                history.happen()
            await scene.pass_by(chance.choice([0.01, 1.0, 30.0]))
            world = fresh_world(scene)
            stage = SimulatedCluster.of(world.snapshot(NOW))
            kept = scene.scheduler.picture.stage
            for pod in world.waiting.values():
                ours = {name: getattr(fit(stage, pod, name), "filter", "") for name in world.nodes}
                known = scene.scheduler.picture.pods.get(pod.metadata.uid)
                assert known is not None
                theirs = {name: getattr(fit(kept, known, name), "filter", "") for name in world.nodes}
                assert ours == theirs, f"seed {seed}, pod {pod.metadata.name}"
        await scene.pass_by(400)
        world = fresh_world(scene)
        stage = SimulatedCluster.of(world.snapshot(NOW))
        for pod in world.waiting.values():
            if pod.metadata.deletion_timestamp is None:
                fitting = [name for name in world.nodes if fit(stage, pod, name) is None]
                assert not fitting, f"seed {seed}: {pod.metadata.name} fits {fitting} and waits"

    on_a_scene(play)


def test_a_pod_on_a_node_that_is_gone_may_still_change() -> None:
    async def play(scene: Scene) -> None:
        scene.node("one")
        scene.node("two")
        scene.pod("stays", node="one", labels={"app": "b"})
        scene.pod("lost", node="two", labels={"app": "a"})
        scene.pod("far", affinity=_affinity("podAntiAffinity", "a", HOST))
        await scene.pass_by()
        scene.store.delete(NODES, "two")
        scene.pod("farther", affinity=_affinity("podAntiAffinity", "c", HOST))
        await scene.pass_by()
        scene.change_pod("lost", {"metadata": {"labels": {"app": "b"}}})
        scene.pod("near", affinity=_affinity("podAffinity", "b", HOST))
        await scene.pass_by()
        assert scene.where("near") == "one"

    on_a_scene(play)
