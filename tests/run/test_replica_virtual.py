"""Whole replicas on the virtual API server, under the role that the chart ships, with every fault it knows."""

import asyncio
import random
from typing import Any

import pytest

from growth.act.effect_hooks import EffectHooks, EffectPoint
from growth.api.actions import CreateObject, PatchObject
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import EVENTS, LEASES, NAMESPACES, NODES
from growth.api.references import reference_by_name, reference_to
from growth.api.settings.model import Settings
from growth.decide.contract import AnyCapability, Decision, Inputs
from growth.kube.client import Client
from growth.observe.snapshot import Snapshot
from growth.run.health import ProcessHealth
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import played
from growth.run.shipped_manifests import shipped_roles
from growth_lab.simulator import served_kinds
from growth_lab.simulator.api.rbac import ADMIN, service_account
from growth_lab.simulator.api.server import VirtualApiServer
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.store import Store
from tests.act.workshop import a_create
from tests.kube.replica import virtual
from tests.run.small_cluster import Scribe
from tests.virtual_time import wait_until

GROWTH = service_account("growth-system", "growth")
# For capabilities that the shipped role knows nothing about.
ALMIGHTY = service_account("growth-system", "almighty")
EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
ALMIGHTY_ROLE: list[Any] = [
    {"kind": "ClusterRole", "metadata": {"name": "almighty"}, "rules": [EVERYTHING]},
    {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "almighty"},
        "roleRef": {"kind": "ClusterRole", "name": "almighty"},
        "subjects": [{"kind": "ServiceAccount", "name": "almighty", "namespace": "growth-system"}],
    },
]


class Town:
    """A virtual API server and the replicas that live by it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Store(self.clock, random.Random(7))  # noqa: S311 - no secret
        self.server = VirtualApiServer(self.clock, self.store, roles=[*shipped_roles(), *ALMIGHTY_ROLE])
        self.admin = Client(self.server.connect(ADMIN))
        self.tasks: list[asyncio.Task[None]] = []

    async def found(self) -> None:
        await self.admin.create(NAMESPACES, {"metadata": {"name": "growth-system"}})

    def replica(
        self, name: str, *capabilities: AnyCapability, user: str = GROWTH, points: EffectHooks | None = None
    ) -> tuple[asyncio.Task[None], ProcessHealth]:
        health = new_health()
        plant = ReplicaConfig(
            client=Client(self.server.connect(user), jitter=random.Random(1)),  # noqa: S311
            lease_client=Client(self.server.connect(user), jitter=random.Random(2)),  # noqa: S311
            settings=Settings(),
            capabilities=capabilities,
            host=played(name, self.clock.now),
            points=points or EffectHooks(),
        )
        task = asyncio.create_task(control(plant, health))
        self.tasks.append(task)
        return task, health

    async def leader(self) -> str:
        return (await self.admin.get(LEASES, "growth", "growth-system")).spec.holder_identity

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)


class Crash(BaseException):
    """The end of a process."""


async def a_town() -> Town:
    town = Town()
    await town.found()
    return town


def label_all(snapshot: Snapshot, _: Inputs[Any, Any, Any]) -> Decision[Any]:
    """A capability that wants every node labelled: decided on the version it saw, as all are."""
    return Decision(
        carry=None,
        said=tuple(
            PatchObject(
                subject=reference_to(NODES, node.metadata),
                why="every node is ours",
                body={"metadata": {"labels": {"growth.dev/pool": "default"}}},
                resource_version=node.metadata.resource_version,
            )
            for node in snapshot.nodes.values()
            if node.metadata.labels.get("growth.dev/pool") != "default"
        ),
    )


def a_labeller() -> AnyCapability:
    scribe = Scribe()
    scribe.decide = label_all
    return scribe.capability("label")


@virtual
async def test_under_the_shipped_role_one_leads_and_both_follow_the_cluster() -> None:
    town = await a_town()
    _, first = town.replica("a")
    _, second = town.replica("b")
    await wait_until(lambda: first.is_leader or second.is_leader)
    await town.admin.create(NODES, {"metadata": {"name": "n"}})
    await asyncio.sleep(1)
    assert all("growth_nodes 1.0" in health.metrics.text().decode() for health in (first, second))
    assert first.is_leader != second.is_leader
    await town.close()
    assert await town.leader() == ""


@virtual
async def test_a_server_that_restarts_costs_nobody_his_health() -> None:
    town = await a_town()
    _, health = town.replica("a", a_labeller(), user=ALMIGHTY)
    await wait_until(lambda: health.is_leader)
    town.server.restart(8)
    await asyncio.sleep(30)
    await town.admin.create(NODES, {"metadata": {"name": "n"}})
    await asyncio.sleep(60)
    assert health.healthz().status == 200
    assert (await town.admin.get(NODES, "n")).metadata.labels["growth.dev/pool"] == "default"
    await town.close()


@virtual
async def test_what_the_role_does_not_allow_is_refused_counted_and_told_on_the_object() -> None:
    town = await a_town()
    pool = reference_by_name(NODE_POOLS, "default")
    wish = CreateObject(subject=pool, why="Growth never makes pools", body={"spec": {}})
    _, health = town.replica("a", Scribe(wish).capability())
    await wait_until(lambda: health.is_leader)
    await asyncio.sleep(5)
    counted = 'growth_actions_total{action="CreateObject",error="Forbidden",result="refused"}'
    assert counted in health.metrics.text().decode()
    (event,) = [
        event for event in (await town.admin.list(EVENTS, "default")).items if event.reason == "CreateObjectRefused"
    ]
    assert "the role lacks the verb 'create' on nodepools" in event.note
    await town.close()


@pytest.mark.parametrize("seed", range(5))
def test_whatever_goes_wrong_on_the_way_everything_is_done_in_the_end(seed: int) -> None:
    @virtual
    async def story() -> None:
        town = await a_town()
        chance = random.Random(seed)  # noqa: S311 - a seed
        _, first = town.replica("a", a_labeller(), user=ALMIGHTY)
        _, second = town.replica("b", a_labeller(), user=ALMIGHTY)
        await wait_until(lambda: first.is_leader or second.is_leader)
        for number in range(30):
            town.store.create(served_kinds.NODES, {"metadata": {"name": f"n-{number}"}})
            fault = chance.choice(list(Fault))
            verb = chance.choice(["patch", "watch", ""])
            order = town.server.faults.order(fault, verb=verb, user=ALMIGHTY, times=2)
            await asyncio.sleep(chance.uniform(0, 3))
            order.times = 0
        await asyncio.sleep(400)
        nodes = (await town.admin.list(NODES)).items
        assert [node.metadata.name for node in nodes if node.metadata.labels.get("growth.dev/pool") != "default"] == []
        assert first.healthz().status == second.healthz().status == 200
        await town.close()

    story()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_stopped_at_a_point_the_next_replica_finishes_and_nothing_is_there_twice(moment: str) -> None:
    def crash(_: EffectPoint, __: ObjectReference) -> None:
        raise Crash

    @virtual
    async def story() -> None:
        town = await a_town()
        points = EffectHooks(before=crash) if moment == "before" else EffectHooks(after=crash)
        task, _ = town.replica("a", Scribe(a_create()).capability(), user=ALMIGHTY, points=points)
        await asyncio.wait({task})
        assert isinstance(task.exception(), Crash)
        made = len((await town.admin.list(NODE_REQUESTS)).items)
        assert made == (moment == "after")
        _, second = town.replica("b", Scribe(a_create()).capability(), user=ALMIGHTY)
        await wait_until(lambda: second.is_leader)
        await asyncio.sleep(20)
        (request,) = (await town.admin.list(NODE_REQUESTS)).items
        assert request.metadata.name == "default-1"
        await town.close()

    story()
