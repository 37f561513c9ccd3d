"""Health: it answers while the event loop cannot, and says who is silent."""

import asyncio
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.machine import Machine, MachineRequest
from growth.api.meta import ObjectMeta
from growth.api.node_removal_request import NodeRemovalRequest, NodeRemovalRequestStatus
from growth.api.settings.model import Settings
from growth.cloud.errors import Unavailable
from growth.cloud.provider import Provider
from growth.decide.contract import Decision, Inputs
from growth.decide.failover import metrics as failover_metrics
from growth.decide.failover.carry import FailoverCarry
from growth.decide.registry import metrics as registry_metrics
from growth.decide.registry import step as stepping
from growth.kube.client import Client
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from growth.run.health import ProcessHealth, serving
from growth.run.metrics import Metrics
from growth.run.provider_poller import OpenProvider
from growth.run.watchdog import Heartbeats
from tests.act.workshop import Shop, Workshop, a_purchase
from tests.kube.replica import virtual
from tests.repository import ROOT
from tests.run.small_cluster import Replica, Scribe, SmallCluster
from tests.virtual_time import wait_until

PAGE = ROOT / "docs" / "running.md"


@contextmanager
def served(health: ProcessHealth | None = None, address: str = "127.0.0.1") -> Generator[str]:
    with serving(health or ProcessHealth(Heartbeats(time.monotonic), Metrics()), address, 0) as port:
        yield f"http://{address or 'localhost'}:{port}"


def asked(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own address
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def test_the_three_questions_are_answered_and_no_others() -> None:
    with served() as url:
        assert asked(f"{url}/healthz") == (200, "ok\n")
        assert asked(f"{url}/readyz") == (503, "reading the cluster\n")
        assert asked(f"{url}/readyz?verbose") == (503, "reading the cluster\n")
        status, text = asked(f"{url}/metrics")
        assert status == 200
        assert "# TYPE growth_leader gauge" in text
        assert asked(f"{url}/") == (404, "there is only /healthz, /readyz, /metrics\n")


@pytest.mark.parametrize("address", ["", "127.0.0.1"])
def test_it_listens_on_all_addresses_or_on_the_one_that_is_named(address: str) -> None:
    with served(address=address) as url:
        assert asked(f"{url}/healthz")[0] == 200


def test_a_port_that_is_taken_is_an_error() -> None:
    health = ProcessHealth(Heartbeats(time.monotonic), Metrics())
    with socket.create_server(("127.0.0.1", 0)) as taken:
        second = serving(health, "127.0.0.1", int(taken.getsockname()[1]))
        with pytest.raises(OSError, match="in use"):
            second.__enter__()


def test_a_frozen_event_loop_fails_healthz_and_is_healthy_again_when_it_goes_on() -> None:
    """The loop beats every 10 ms and may be silent for 100; a step that takes until we let it go freezes it."""
    heartbeats, release, frozen = Heartbeats(time.monotonic), threading.Event(), threading.Event()
    answers: list[tuple[int, str]] = []

    def freeze() -> None:
        frozen.set()
        release.wait(30)

    async def beating() -> None:
        heartbeat = heartbeats.register("the loop", 0.1)
        for step in range(100):
            heartbeat.beat()
            await asyncio.sleep(0.01)
            if step == 5:
                freeze()
        assert heartbeats.silences() == []

    with served(ProcessHealth(heartbeats, Metrics())) as url:

        def probe() -> None:
            frozen.wait(30)
            while (answer := asked(f"{url}/healthz"))[0] == 200:
                pass
            answers.append(answer)
            release.set()

        thread = threading.Thread(target=probe)
        thread.start()
        asyncio.run(beating())
        thread.join()
        assert answers[0][0] == 503
        assert answers[0][1].startswith("the loop has made no progress for")


@virtual
async def test_a_decider_that_does_not_return_is_noticed_from_outside_of_the_loop() -> None:
    clock = asyncio.get_running_loop().time
    heartbeats, told = Heartbeats(lambda: clock() + ahead[0]), list[bytes]()
    ahead, scribe = [0.0], Scribe()
    replica = Replica(SmallCluster(), "a", scribe.capability())
    replica.health = ProcessHealth(heartbeats, Metrics())

    def block(_: Snapshot, __: Inputs[Any, Any, Any]) -> Decision[Any]:
        ahead[0] = 61.0  # so long does this step take already when the other thread looks
        told.append(replica.health.healthz().body)
        return Decision(carry=None)

    scribe.decide = block
    replica.start()
    await wait_until(lambda: told)
    assert told[0].startswith(b"the loop of the replica has made no progress for 6")
    assert b"the loop of the leader has made no progress for 61 s (60 s are allowed)" in told[0]
    await replica.stop()


class Deaf(Shop):
    """A provider whose purchase survives being given up, until ``released``."""

    def __init__(self) -> None:
        super().__init__()
        self.released = asyncio.Event()

    async def create(self, request: MachineRequest) -> Machine:
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue
        return await super().create(request)


@virtual
async def test_a_stuck_executor_is_named() -> None:
    shop = Deaf()

    @asynccontextmanager
    async def open_shop(_: Client) -> AsyncGenerator[Provider]:
        yield shop

    replica = Replica(SmallCluster(), "a", Scribe(a_purchase()).capability())
    replica.plant = msgspec.structs.replace(replica.plant, providers={"kwok": open_shop})
    replica.start()
    await wait_until(lambda: replica.health.is_leader)
    await asyncio.sleep(350)
    assert replica.health.healthz().status == 200
    await asyncio.sleep(30)
    answer = replica.health.healthz()
    assert answer.status == 503
    assert answer.body.startswith(b"the executor of the leader has made no progress")
    shop.released.set()
    await asyncio.sleep(1)
    assert replica.health.healthz().status == 200
    await replica.stop()


@virtual
async def test_the_leader_shows_who_answers() -> None:
    class Shut(Shop):
        async def list(self) -> Sequence[Machine]:
            raise Unavailable("no answer", may_have_acted=False)

    def opening(shop: Provider) -> OpenProvider:
        @asynccontextmanager
        async def open_shop(_: Client) -> AsyncGenerator[Provider]:
            yield shop

        return open_shop

    scribe = Scribe()
    replica = Replica(SmallCluster(), "a", scribe.capability())
    providers = {"kwok": opening(Shop()), "attic": opening(Shut())}
    replica.plant = msgspec.structs.replace(replica.plant, providers=providers)
    replica.start()
    await wait_until(lambda: scribe.passes)
    await asyncio.sleep(1)
    text = replica.health.metrics.text().decode()
    assert 'growth_provider_up{provider="kwok"} 1.0' in text
    assert 'growth_provider_up{provider="attic"} 0.0' in text
    await replica.stop()
    assert "growth_provider_up{" not in replica.health.metrics.text().decode()


@virtual
async def test_removals_are_counted_by_phase_and_a_phase_without_any_is_zero() -> None:
    workshop, world, metrics = Workshop(), ClusterCache(), Metrics()
    metrics.follow(world, workshop.recorder)
    failed = NodeRemovalRequest(ObjectMeta(name="a", uid="a"), status=NodeRemovalRequestStatus("RemovalFailed", 5))
    world.listeners()[NODE_REMOVAL_REQUESTS]([Change(ChangeType.ADDED, failed, None)])
    text = metrics.text().decode()
    for phase, count in (("Pending", 0), ("Deprovisioning", 0), ("RemovalFailed", 1)):
        assert f'growth_node_removals{{phase="{phase}"}} {count}.0' in text


def test_every_metric_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = [metric.name for metric in Metrics().registry.collect() if metric.name.startswith("growth_")]
    names += ["growth_nodes", "growth_pods_waiting", "growth_changes", "growth_events_dropped", "growth_node_removals"]
    assert len(names) > 12
    assert [name for name in names if name not in page] == []


def test_who_leads_no_longer_says_nothing_of_the_cluster() -> None:
    metrics, world = Metrics(), ClusterCache()
    cluster = stepping.step(None, world.snapshot(datetime(2026, 3, 1, tzinfo=UTC)), Settings())
    metrics.apply("registry", registry_metrics.measured(cluster))
    assert b"growth_cluster_healthy 1.0" in metrics.text()
    metrics.clear("registry")
    assert b"growth_cluster_healthy 0.0" in metrics.text()


def test_every_state_of_failover_is_there_and_gone_when_leadership_ends() -> None:
    metrics = Metrics()
    carry = FailoverCarry(findings={"Dead": 2, "OutOfService": 1}, stuck=3, recovered=(28.5, 61.0))
    metrics.apply("failover", failover_metrics.measured(carry))
    text = metrics.text().decode()
    counts = {"Silent": 0, "Running": 0, "Changing": 0, "Off": 0, "Dead": 2, "Unknowable": 0, "OutOfService": 1}
    assert [f'growth_failover_nodes{{state="{one}"}} {count}.0' in text for one, count in counts.items()] == [True] * 7
    assert "growth_failover_stuck_detachments 3.0" in text
    assert 'growth_failover_seconds_bucket{le="30.0"} 1.0' in text
    assert "growth_failover_seconds_count 2.0" in text
    metrics.clear("failover")
    text = metrics.text().decode()
    assert "growth_failover_nodes{" not in text
    assert "growth_failover_stuck_detachments 0.0" in text
    assert "growth_failover_seconds_count 2.0" in text
