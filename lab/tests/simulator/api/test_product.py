"""The product's own client, informer, lease and recorder on the virtual server, as they are."""

import asyncio
import random
from contextlib import suppress

import pytest

from growth.api.core import ObjectReference
from growth.api.kinds import CONFIG_MAPS, EVENTS, LEASES, NODES, PODS
from growth.api.pod import Pod
from growth.kube.client import PAGE_SIZE, Client
from growth.kube.errors import AlreadyExists, Conflict, Fenced, NotFound, TooManyRequests, Unreachable
from growth.kube.event_recorder import EventRecorder, EventType
from growth.kube.informer import Informer
from growth.kube.leader_election import LeaderLease, LeaseTerms
from growth.kube.patches import ApplyPatch, JsonPatch, MergePatch
from growth_lab.simulator import served_kinds
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.pod_deletion import delete_pod
from lab.tests.simulator.api.worlds import World, in_a_world
from tests.kube.witness import Witness
from tests.virtual_time import wait_until

CONTAINERS = [{"name": "main", "image": "example/app:1"}]


def add_pods(world: World, count: int) -> None:
    for number in range(count):
        meta = {"name": f"web-{number:05}", "namespace": "default"}
        world.store.create(served_kinds.PODS, {"metadata": meta, "spec": {"containers": CONTAINERS}})


def test_every_verb_of_the_client_finds_its_way() -> None:
    async def play(world: World) -> None:
        client = world.client()
        assert await client.server_version() == "v1.36.3"
        made = await client.create(CONFIG_MAPS, {"metadata": {"name": "notes"}, "data": {"a": "1"}}, "default")
        with pytest.raises(AlreadyExists):
            await client.create(CONFIG_MAPS, {"metadata": {"name": "notes"}}, "default")
        changed = await client.patch(CONFIG_MAPS, "notes", MergePatch({"data": {"b": "2"}}), "default")
        assert changed.metadata.resource_version > made.metadata.resource_version
        added = JsonPatch([{"op": "add", "path": "/data/c", "value": "3"}])
        await client.patch(CONFIG_MAPS, "notes", added, "default")
        applied = ApplyPatch(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"}, "data": {"d": "4"}}
        )
        shown = await client.patch(CONFIG_MAPS, "notes", applied, "default")
        assert shown.data == {"a": "1", "b": "2", "c": "3", "d": "4"}
        with pytest.raises(Conflict):
            await client.delete(CONFIG_MAPS, "notes", "default", resource_version=made.metadata.resource_version)
        await client.delete(CONFIG_MAPS, "notes", "default", uid=made.metadata.uid)
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAPS, "notes", "default")

    in_a_world(play)


def test_a_long_list_is_one_picture_whatever_happens_between_its_pages() -> None:
    async def play(world: World) -> None:
        add_pods(world, 3 * PAGE_SIZE + 1)
        listing = asyncio.create_task(world.client().list(PODS))
        await asyncio.sleep(1.5 * world.timings.api_latency)
        first = next(world.store.all(served_kinds.PODS))
        delete_pod(world.store, first)
        found = await listing
        names = [pod.metadata.name for pod in found.items]
        assert len(names) == 3 * PAGE_SIZE + 1
        assert names == sorted(names)
        assert int(found.resource_version) == world.store.version - 2  # a pod goes in two writes

    in_a_world(play)


def test_a_page_that_comes_too_late_begins_the_list_anew() -> None:
    async def play(world: World) -> None:
        add_pods(world, 2 * PAGE_SIZE)
        world.faults.order(Fault.SLOW, verb="list", seconds=59)
        world.faults.order(Fault.GONE, verb="list")
        assert len((await world.client().list(PODS)).items) == 2 * PAGE_SIZE
        assert [one.fault for one in world.faults.told] == [Fault.SLOW, Fault.GONE]

    in_a_world(play)


def test_an_informer_follows_through_everything_that_can_happen_to_a_watch() -> None:
    async def play(world: World) -> None:
        add_pods(world, 1_200)
        witness = Witness[Pod]()
        informer = Informer(world.client(), PODS, witness)
        task = asyncio.create_task(informer.run())
        await wait_until(informer.synced.is_set)
        chance = random.Random(3)  # noqa: S311 - a seed
        troubles = (Fault.CUT, Fault.SILENT, Fault.SLOW_WATCH, Fault.GONE, Fault.UNAVAILABLE, Fault.TOO_MANY)
        for fault in (*troubles, Fault.RESTART, Fault.REFUSED):
            world.faults.order(fault, verb="watch")
            for _ in range(30):
                pods = list(world.store.all(served_kinds.PODS))
                delete_pod(world.store, chance.choice(pods))
                name = chance.choice(pods)["metadata"]["name"]
                if world.store.get(served_kinds.PODS, name, "default"):
                    world.store.patch(served_kinds.PODS, name, "default", {"status": {"podIP": str(chance.random())}})
                await asyncio.sleep(chance.expovariate(0.1))
            world.server.restart(2)
        expected = {
            pod["metadata"]["uid"]: int(pod["metadata"]["resourceVersion"])
            for pod in world.store.all(served_kinds.PODS)
        }
        await wait_until(lambda: witness.picture == expected)
        assert {one.fault for one in world.faults.told} == {*troubles, Fault.RESTART, Fault.REFUSED}
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    in_a_world(play)


def test_one_leads_and_another_takes_over_when_it_is_gone() -> None:
    async def play(world: World) -> None:
        leaders: list[str] = []

        def contend(name: str) -> asyncio.Task[None]:
            async def lead(client: Client) -> None:
                leaders.append(name)
                while True:
                    with suppress(Unreachable):
                        await client.patch(NODES, "one", MergePatch({"metadata": {"annotations": {"by": name}}}))
                    await asyncio.sleep(1)

            client = world.client()
            terms = LeaseTerms()
            lease = LeaderLease(client, "growth", "default", name, work=client, terms=terms, now=world.clock.now)
            return asyncio.create_task(lease.run(lead))

        world.store.create(served_kinds.NODES, {"metadata": {"name": "one"}})
        first = contend("a")
        await asyncio.sleep(30)
        second = contend("b")
        await asyncio.sleep(60)
        assert leaders == ["a"]
        world.server.restart(60)
        await asyncio.sleep(120)
        assert len(leaders) == 2
        held = (await world.client().get(LEASES, "growth", "default")).spec.holder_identity
        assert held == leaders[-1]
        for task in (first, second):
            task.cancel()
            with suppress(asyncio.CancelledError, Fenced):
                await task

    in_a_world(play)


def test_what_happens_twice_is_one_event_that_counts() -> None:
    async def play(world: World) -> None:
        node = ObjectReference(kind="Node", name="one", uid="one", api_version="v1")
        for _ in range(2):
            recorder = EventRecorder(world.client(), "growth-0", now=world.clock.now)
            recorder.record(node, EventType.NORMAL, "Tested", "Testing", "it happened")
            await recorder.drain(10)
            assert recorder.dropped == 0
            await asyncio.sleep(1)
        (event,) = (await world.client().list(EVENTS, "default")).items
        assert event.series is not None
        assert event.series.count == 2

    in_a_world(play)


def test_a_budget_lets_one_go_and_not_two() -> None:
    async def play(world: World) -> None:
        for name in ("a", "b"):
            meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            spec = {"nodeName": "one", "containers": CONTAINERS}
            world.store.create(served_kinds.PODS, {"metadata": meta, "spec": spec, "status": status})
        selector = {"matchLabels": {"app": "web"}}
        world.store.create(
            served_kinds.BUDGETS,
            {
                "metadata": {"name": "web", "namespace": "default"},
                "spec": {"minAvailable": 1, "selector": selector},
                "status": {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1},
            },
        )
        client = world.client()
        await client.evict("a", "default")
        with pytest.raises(TooManyRequests, match="disruption budget"):
            await client.evict("b", "default")
        left = {
            pod["metadata"]["name"]: "deletionTimestamp" in pod["metadata"]
            for pod in world.store.all(served_kinds.PODS)
        }
        assert left == {"a": True, "b": False}

    in_a_world(play)


def test_the_same_seed_gives_the_same_answers_byte_for_byte() -> None:
    async def play(world: World) -> list[bytes]:
        add_pods(world, 20)
        world.faults.rates = {Fault.TOO_MANY: 0.2, Fault.LOST: 0.1}
        client = world.client()
        await client.list(PODS)
        world.faults.is_on = False
        for _ in range(5):
            await client.create(
                PODS, {"metadata": {"generateName": "x-"}, "spec": {"containers": CONTAINERS}}, "default"
            )
        return [str(sorted(pod["metadata"].items())).encode() for pod in world.store.all(served_kinds.PODS)]

    assert in_a_world(play, seed=7) == in_a_world(play, seed=7)
    assert in_a_world(play, seed=7) != in_a_world(play, seed=8)
