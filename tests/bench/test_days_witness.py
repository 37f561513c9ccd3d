"""Who looks on at a day counts what happens, and nothing else."""

import asyncio
import json
import random
from typing import Any

import pytest

from bench.days_load import HOUR, Shape
from bench.days_witness import MOVES, Witness
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.served_kinds import CONFIG_MAPS, DEPLOYMENTS, NODES, PODS
from growth_lab.simulator.store import Store
from growth_lab.simulator.virtual_loop import run_virtually

LABELS = {"app": "web"}
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


class Cluster:
    """A store that nothing lives in."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Store(self.clock, random.Random(1))  # noqa: S311 - a seed, no secret
        self.witness = Witness(self.store, self.clock)

    def launch(self, name: str) -> None:
        request = json.dumps({"offering": {"pricePerHour": 0.5, "resources": {"cpu": "16"}}})
        meta = {"name": name, "namespace": "growth-system", "labels": {"growth.dev/machine": "kwok"}}
        self.store.create(CONFIG_MAPS, {"metadata": meta, "data": {"request": request}})

    def give_back(self, name: str) -> None:
        self.store.delete(CONFIG_MAPS, name, "growth-system")

    def pod(self, name: str, **status: Any) -> None:  # noqa: ANN401
        container = {"name": "main", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}
        owner = {"kind": "ReplicaSet", "name": "web", "uid": "web"}
        meta = {"name": name, "namespace": "default", "labels": LABELS, "ownerReferences": [owner]}
        self.store.create(PODS, {"metadata": meta, "spec": {"containers": [container]}, "status": status or READY})

    def evict(self, name: str) -> None:
        target = {"type": "DisruptionTarget", "reason": "EvictionByEvictionAPI"}
        self.store.patch(PODS, name, "default", {"status": {"conditions": [*READY["conditions"], target]}})
        self.store.delete(PODS, name, "default", grace_seconds=30)

    def bind(self, name: str) -> None:
        self.store.patch(PODS, name, "default", {"spec": {"nodeName": "node"}})

    def deployment(self, replicas: int) -> None:
        self.store.create(
            DEPLOYMENTS, {"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": replicas}}
        )

    def node(self, name: str) -> None:
        self.store.create(NODES, {"metadata": {"name": name}, "spec": {}})

    def drain(self, *nodes: str) -> None:
        name = f"move-{nodes[0]}"
        self.store.create(
            MOVES, {"metadata": {"name": name}, "spec": {"nodes": [*nodes]}, "status": {"phase": "Buying"}}
        )
        self.store.patch(MOVES, name, patch={"status": {"phase": "Draining"}})


def test_machines_cost_what_they_cost_from_when_it_counts_to_when_they_are_given_back() -> None:
    async def play() -> float:
        cluster = Cluster()
        cluster.launch("a")
        await asyncio.sleep(HOUR)
        cluster.witness.begin()
        cluster.launch("b")
        await asyncio.sleep(HOUR)
        cluster.give_back("a")
        await asyncio.sleep(HOUR)
        return cluster.witness.spent()

    assert run_virtually(play()) == pytest.approx(0.5 + 1.0)


@pytest.mark.parametrize(("waits", "pending"), [(29, 0), (31, 1)])
def test_who_is_evicted_and_finds_no_place_for_long_is_pending_because_of_us(waits: float, pending: int) -> None:
    async def play() -> Witness:
        cluster = Cluster()
        cluster.witness.begin()
        cluster.pod("old")
        cluster.evict("old")
        await asyncio.sleep(1)
        cluster.pod("new", phase="Pending")
        cluster.pod("scaled-up", phase="Pending")
        await asyncio.sleep(waits)
        cluster.bind("new")
        await asyncio.sleep(HOUR)
        cluster.witness.close()
        return cluster.witness

    witness = run_virtually(play())
    assert (witness.evictions, len(witness.pending)) == (1, pending)


def test_an_eviction_below_what_a_service_may_miss_is_a_violation_and_so_are_too_many_nodes() -> None:
    async def play() -> Witness:
        cluster = Cluster()
        cluster.witness.begin()
        cluster.deployment(3)
        for name in ("a", "b", "c"):
            cluster.pod(name)
            cluster.node(name)
        cluster.evict("a")
        cluster.drain("a")
        assert not cluster.witness.violated
        cluster.evict("b")
        cluster.drain("b")
        return cluster.witness

    assert run_virtually(play()).violated == [
        "1 of 3 pods of web are left",
        "2 of 3 nodes are emptied",
    ]


@pytest.mark.parametrize(("fewer", "lives", "oscillations"), [(0, 1800, 1), (5, 1800, 0), (0, 2 * HOUR, 0)])
def test_a_machine_that_is_given_back_soon_although_as_much_is_wanted_is_an_oscillation(
    fewer: int, lives: float, oscillations: int
) -> None:
    async def play() -> int:
        cluster = Cluster()
        cluster.witness.begin()
        for number in range(8):
            cluster.pod(f"pod-{number}")
        assert cluster.witness.look() == {Shape(2000, 1024): 8}
        cluster.launch("a")
        await asyncio.sleep(lives)
        for number in range(fewer):
            cluster.store.delete(PODS, f"pod-{number}", "default")
        cluster.witness.look()
        cluster.give_back("a")
        return cluster.witness.oscillations()

    assert run_virtually(play()) == oscillations


def test_it_counts_who_is_there_and_not_who_leaves() -> None:
    async def play() -> Witness:
        cluster = Cluster()
        for name in ("a", "b"):
            cluster.pod(name)
            cluster.node(name)
        cluster.evict("a")
        cluster.store.delete(NODES, "a")
        return cluster.witness

    witness = run_virtually(play())
    assert (witness.nodes, witness.pods) == (1, 1)
