"""Whole replicas on virtual time: who leads, what wakes them, how they end."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from growth.api.actions import CreateObject
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import EVENTS, NODES, PODS
from growth.cloud.provider import Provider
from growth.decide.contract import Decision, Inputs
from growth.kube.client import Client
from growth.kube.errors import Forbidden, Unreachable
from growth.kube.transport import Request
from growth.observe.snapshot import Snapshot
from tests.act.workshop import Shop, a_create
from tests.kube.replica import virtual
from tests.kube.scripted import ScriptedStream
from tests.run.small_cluster import LEASE, Replica, Scribe, SmallCluster
from tests.virtual_time import wait_until

WANTED = NODE_REQUESTS.path("default-1")


@virtual
async def test_a_replica_without_capabilities_reads_leads_and_stops() -> None:
    cluster = SmallCluster()
    replica = Replica(cluster, "a")
    assert replica.health.readyz().body == b"reading the cluster\n"
    replica.start()
    # A lease that nobody has seen before is given a full duration first.
    await wait_until(lambda: replica.health.is_leader)
    assert replica.health.readyz().body == b"ok: leader\n"
    assert replica.health.healthz().status == 200
    await replica.stop()
    assert replica.task
    assert replica.task.cancelled()
    assert cluster.leader == ""
    assert replica.health.readyz().status == 503


@virtual
async def test_one_leads_the_other_follows_and_takes_over_at_once_when_it_stops() -> None:
    cluster = SmallCluster()
    first, second = Replica(cluster, "a"), Replica(cluster, "b")
    first.start()
    await wait_until(lambda: first.health.is_leader)
    second.start()
    await asyncio.sleep(60)
    assert not second.health.is_leader
    assert second.health.readyz().body == b"ok: follower of a\n"
    await first.stop()
    stopped = asyncio.get_running_loop().time()
    await wait_until(lambda: second.health.is_leader)
    assert asyncio.get_running_loop().time() - stopped < 3
    await second.stop()


@virtual
async def test_who_begins_to_lead_first_reads_what_the_last_leader_wrote() -> None:
    cluster, requested = SmallCluster(), list[set[str]]()

    def look(snapshot: Snapshot, _: Inputs[Any, Any, Any]) -> Decision[Any]:
        requested.append({name for _, name in snapshot.table(NODE_REQUESTS)})
        return Decision(carry=None)

    scribe = Scribe()
    scribe.decide = look
    first, second = Replica(cluster, "a"), Replica(cluster, "b", scribe.capability(watches=(NODE_REQUESTS,)))
    first.start()
    await wait_until(lambda: first.health.is_leader)
    second.start()
    await wait_until(lambda: second.health.is_synced)
    cluster.fall_silent()
    cluster.put(WANTED, {"metadata": {"name": "default-1"}, **a_create().body})
    await first.stop()
    await wait_until(lambda: bool(requested))
    assert requested[0] == {"default-1"}
    await second.stop()


@virtual
async def test_only_the_leader_does_what_one_does_for_all_and_each_does_what_each_does() -> None:
    cluster = SmallCluster()
    scribes = {name: (Scribe(), Scribe()) for name in ("a", "b")}
    replicas = [
        Replica(cluster, name, alone.capability("alone"), each.capability("each", is_for_leader=False))
        for name, (alone, each) in scribes.items()
    ]
    for replica in replicas:
        replica.start()
    await wait_until(lambda: any(replica.health.is_leader for replica in replicas))
    await asyncio.sleep(30)
    leader, follower = ("a", "b") if replicas[0].health.is_leader else ("b", "a")
    assert scribes[leader][0].passes
    assert not scribes[follower][0].passes
    assert scribes[leader][1].passes
    assert scribes[follower][1].passes
    for replica in replicas:
        await replica.stop()


@virtual
async def test_what_the_leader_decides_is_done_and_carries_the_fence() -> None:
    cluster = SmallCluster()
    replica = Replica(cluster, "a", Scribe(a_create()).capability())
    replica.start()
    await wait_until(lambda: WANTED in cluster.objects)
    (write,) = replica.writes
    assert write.not_after is not None
    await replica.stop()


@virtual
async def test_a_leader_that_cannot_renew_stops_deciding_and_its_writes_do_not_leave() -> None:
    cluster = SmallCluster()
    scribe = Scribe()
    replica = Replica(cluster, "a", scribe.capability())
    replica.start()
    await wait_until(lambda: replica.health.is_leader)

    async def cut(_: Request) -> None:
        raise Unreachable("the network is gone", sent=False)

    replica.lease_way.before = cut
    await wait_until(lambda: not replica.health.is_leader)
    passes = len(scribe.passes)
    cluster.add_pod("web")
    await asyncio.sleep(60)
    assert len(scribe.passes) == passes
    assert replica.health.healthz().status == 200
    await replica.stop()


@virtual
async def test_what_providers_say_is_known_during_a_term_of_leadership_and_not_after_it() -> None:
    cluster, scribe, seen = SmallCluster(), Scribe(), list[list[str]]()

    def look(snapshot: Snapshot, _: Inputs[Any, Any, Any]) -> Decision[Any]:
        seen.append([cloud.provider for cloud in snapshot.clouds.values() if cloud.offerings])
        return Decision(carry=None)

    @asynccontextmanager
    async def open_shop(_: Client) -> AsyncGenerator[Provider]:
        yield Shop()

    async def cut(_: Request) -> None:
        raise Unreachable("the cable is cut", sent=False)

    scribe.decide = look
    replica = Replica(cluster, "a", scribe.capability(is_for_leader=False), Scribe().capability("leads"))
    replica.plant = msgspec.structs.replace(replica.plant, providers={"kwok": open_shop})
    replica.start()
    await wait_until(lambda: replica.health.is_leader)
    await asyncio.sleep(1)
    assert seen[-1] == ["kwok"]
    replica.lease_way.before = cut
    await wait_until(lambda: not replica.health.is_leader)
    cluster.add_pod("web")
    await asyncio.sleep(1)
    assert seen[-1] == []
    await replica.stop()


@virtual
async def test_where_every_replica_acts_nobody_leads_and_the_lease_is_not_touched() -> None:
    cluster, scribe = SmallCluster(), Scribe(a_create())
    replica = Replica(cluster, "a", scribe.capability(is_for_leader=False))
    replica.start()
    await wait_until(lambda: WANTED in cluster.objects)
    await asyncio.sleep(60)
    assert replica.lease_way.sent == []
    assert LEASE not in cluster.objects
    assert replica.health.readyz().body == b"ok: every replica acts\n"
    assert b"growth_leader 0.0" in replica.health.metrics_page().body
    await replica.stop()
    assert replica.health.readyz().status == 503


@virtual
async def test_last_wishes_are_carried_out_when_a_replica_stops_and_only_then() -> None:
    cluster, last = SmallCluster(), Scribe(a_create())
    capability = msgspec.structs.replace(Scribe().capability(is_for_leader=False), on_shutdown=last)
    replica = Replica(cluster, "a", capability)
    replica.start()
    await wait_until(lambda: replica.health.is_synced)
    await asyncio.sleep(10)
    assert WANTED not in cluster.objects
    await replica.stop()
    assert WANTED in cluster.objects
    assert [state.replica.identity for state in last.states] == ["a"]


@virtual
async def test_only_what_a_capability_needs_is_watched() -> None:
    cluster = SmallCluster()
    replica = Replica(cluster, "a", Scribe().capability())
    asked: list[str] = []
    stream = replica.way.stream
    replica.way.stream = lambda request: asked.append(request.path) or stream(request)
    replica.start()
    await wait_until(lambda: replica.health.is_synced)
    assert sorted(asked) == [NODES.collection(), PODS.collection()]
    await replica.stop()


@virtual
async def test_a_kind_that_the_world_does_not_keep_is_a_mistake_with_a_name() -> None:
    replica = Replica(SmallCluster(), "a", Scribe().capability(watches=(PODS, EVENTS)))
    with pytest.raises(LookupError, match="the World keeps no events"):
        await replica.start()


@virtual
async def test_whoever_is_stopped_while_it_still_reads_ends_at_once() -> None:
    replica = Replica(SmallCluster(), "a")

    stream = replica.way.stream
    replica.way.stream = lambda request: _slowly(stream(request))
    replica.start()
    await asyncio.sleep(100)
    assert replica.health.readyz().status == 503
    await replica.stop()
    assert asyncio.get_running_loop().time() == 100


@asynccontextmanager
async def _slowly(stream: AbstractAsyncContextManager[ScriptedStream]) -> AsyncGenerator[ScriptedStream]:
    await asyncio.sleep(1e6)
    async with stream as opened:
        yield opened


@virtual
async def test_a_lease_that_may_not_be_read_ends_the_start_with_that_error() -> None:
    replica = Replica(SmallCluster(), "a")

    async def forbid(_: Request) -> None:
        raise Forbidden("no", status=403, reason="Forbidden")

    replica.lease_way.before = forbid
    with pytest.raises(Forbidden):
        await replica.start()


@virtual
async def test_at_the_end_what_was_sent_is_answered_and_nothing_begins() -> None:
    cluster = SmallCluster()
    many = [a_create(f"default-{number}") for number in range(100)]
    replica = Replica(cluster, "a", Scribe(*many).capability())

    async def slow(request: Request) -> None:
        if request.writes:
            await asyncio.sleep(2)

    replica.way.before = slow
    replica.start()
    await wait_until(lambda: replica.health.is_leader)
    await asyncio.sleep(1)
    begun = asyncio.get_running_loop().time()
    await replica.stop()
    assert asyncio.get_running_loop().time() - begun < 3
    assert sum(NODE_REQUESTS.plural in path for path in cluster.objects) == 64
    assert cluster.leader == ""
    assert LEASE in cluster.objects


@virtual
async def test_at_the_end_a_server_that_does_not_answer_is_not_waited_for_for_long() -> None:
    cluster = SmallCluster()
    replica = Replica(cluster, "a", Scribe(a_create()).capability())
    replica.start()
    await wait_until(lambda: replica.health.is_leader)
    silent = asyncio.Event()

    async def never(_: Request) -> None:
        await silent.wait()

    replica.way.before = replica.lease_way.before = never
    begun = asyncio.get_running_loop().time()
    await replica.stop()
    assert asyncio.get_running_loop().time() - begun < 25


@virtual
async def test_killed_anywhere_the_next_one_finishes_and_nothing_is_done_twice() -> None:
    cluster = SmallCluster()
    action: CreateObject = a_create()
    first = Replica(cluster, "a", Scribe(action).capability())

    async def die_before_the_answer(request: Request) -> None:
        if request.writes:
            await asyncio.Event().wait()

    first.way.after = die_before_the_answer
    first.start()
    await wait_until(lambda: WANTED in cluster.objects)
    version = cluster.objects[WANTED]["metadata"]["resourceVersion"]
    first.lease_way.before = die_before_the_answer  # it neither renews nor releases
    second = Replica(cluster, "b", Scribe(action).capability())
    second.start()
    await wait_until(lambda: second.health.is_leader)
    await asyncio.sleep(10)
    assert cluster.objects[WANTED]["metadata"]["resourceVersion"] == version
    assert "done" in second.health.metrics.text().decode()
    await second.stop()
    await first.stop()
