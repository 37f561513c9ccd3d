"""The loop: woken by events and deadlines, never by polling; a burst is one pass; mistakes stay where they are."""

import asyncio
import logging
from datetime import timedelta
from typing import Any

import pytest

from growth.api.actions import Hold, RecordEvent
from growth.decide.contract import Decision, Inputs, Measurement, Metric
from growth.observe.snapshot import Snapshot
from growth_lab.simulator.clock import Clock
from tests.act.workshop import REQUEST, a_create, a_purchase
from tests.kube.replica import virtual
from tests.run.small_cluster import Replica, Scribe, SmallCluster, wall_clock
from tests.virtual_time import wait_until


async def a_leader(cluster: SmallCluster, *scribes: Scribe) -> Replica:
    names = [f"test-{number}" for number in range(len(scribes))]
    replica = Replica(cluster, "a", *(one.capability(name) for one, name in zip(scribes, names, strict=True)))
    replica.start()
    await wait_until(lambda: all(scribe.passes for scribe in scribes))
    return replica


@virtual
async def test_where_nothing_happens_nothing_is_decided() -> None:
    scribe = Scribe()
    replica = await a_leader(SmallCluster(), scribe)
    await asyncio.sleep(2 * 3600)
    assert len(scribe.passes) == 1
    assert replica.health.healthz().status == 200
    await replica.stop()


@virtual
async def test_a_burst_of_events_is_one_pass_that_sees_them_all() -> None:
    cluster, scribe = SmallCluster(), Scribe()
    replica = await a_leader(cluster, scribe)
    for number in range(500):
        cluster.add_pod(f"web-{number}")
    await asyncio.sleep(1)
    assert scribe.seen == [0, 500]
    await replica.stop()


@virtual
async def test_a_single_event_is_looked_at_at_once() -> None:
    cluster, scribe = SmallCluster(), Scribe()
    replica = await a_leader(cluster, scribe)
    await asyncio.sleep(100)
    happened = asyncio.get_running_loop().time()
    cluster.add_pod("web")
    await asyncio.sleep(1)
    assert scribe.times[-1] - happened == pytest.approx(0.01, abs=0.001)
    await replica.stop()


def waking_after(scribe: Scribe, *seconds: float) -> None:
    """Ask for these deadlines, one after the other, and then for none."""
    waits = list(seconds)

    def decide(snapshot: Snapshot, _: Inputs[Any, Any, Any]) -> Decision[Any]:
        return Decision(carry=None, requeue_at=snapshot.now + timedelta(seconds=waits.pop(0)) if waits else None)

    scribe.decide = decide


@virtual
async def test_the_earliest_deadline_of_all_wakes_everybody() -> None:
    patient, hasty = Scribe(), Scribe()
    waking_after(patient, 3_600)
    waking_after(hasty, 90.5)
    replica = await a_leader(SmallCluster(), patient, hasty)
    await asyncio.sleep(1_000)
    assert hasty.times[1] - hasty.times[0] == pytest.approx(90.5, abs=0.001)
    assert patient.passes == hasty.passes
    assert len(hasty.passes) == 2
    await replica.stop()


@virtual
async def test_a_deadline_that_has_passed_already_does_not_keep_the_loop_spinning() -> None:
    scribe = Scribe()
    waking_after(scribe, *[-5.0] * 1_000)
    replica = await a_leader(SmallCluster(), scribe)
    await asyncio.sleep(100)
    assert 90 < len(scribe.passes) < 110
    await replica.stop()


@virtual
async def test_a_wall_clock_that_is_set_forward_is_noticed() -> None:
    scribe, ahead, now = Scribe(), [timedelta(0)], wall_clock()
    waking_after(scribe, 3_600)
    replica = Replica(SmallCluster(), "a", scribe.capability(), now=lambda: now() + ahead[0])
    replica.start()
    await wait_until(lambda: scribe.passes)
    ahead[0] = timedelta(hours=2)
    await asyncio.sleep(11)
    assert len(scribe.passes) == 2
    await replica.stop()


@pytest.mark.parametrize("seconds", [7_200, -7_200], ids=["forward", "back"])
def test_a_jump_of_the_wall_clock_lets_everybody_look_again_and_tells_since_when_it_is_steady(seconds: float) -> None:
    @virtual
    async def story() -> None:
        cluster, scribe, clock = SmallCluster(), Scribe(), Clock()
        replica = Replica(cluster, "a", scribe.capability(), now=clock.now)
        replica.start()
        await wait_until(lambda: scribe.passes)
        await asyncio.sleep(100)
        clock.jump(seconds)
        seen_after = clock.now()
        await asyncio.sleep(11)
        cluster.add_pod("web")
        await asyncio.sleep(1)
        first, jumped, later = (state.clock.steady_since for state in scribe.states)
        assert first is None
        assert jumped == later
        assert jumped
        assert timedelta(0) <= jumped - seen_after <= timedelta(seconds=10.1)
        await replica.stop()

    story()


@virtual
async def test_a_decider_is_reminded_of_what_it_wanted_to_remember() -> None:
    cluster, counting, other = SmallCluster(), Scribe(), Scribe()

    def count(_: Snapshot, state: Inputs[Any, Any, Any]) -> Decision[Any]:
        return Decision(carry=1 if not isinstance(state.carry, int) else state.carry + 1)

    counting.decide = count
    replica = await a_leader(cluster, counting, other)
    for number in range(3):
        cluster.add_pod(f"web-{number}")
        await asyncio.sleep(1)
    assert [state.carry for state in counting.states] == [None, 1, 2, 3]
    assert [state.carry for state in other.states] == [None] * 4
    await replica.stop()


@virtual
async def test_what_a_capability_measures_is_shown_while_it_decides() -> None:
    gauge, counter = (
        Metric("growth_test_room", "Room.", "gauge", ("where",)),
        Metric("growth_test_moves", "M.", "counter"),
    )
    scribe = Scribe()
    measured = (Measurement(gauge, 2, ("here",)), Measurement(counter, 1))
    scribe.decide = lambda _, __: Decision(carry=None, measurements=measured)
    cluster = SmallCluster()
    replica = await a_leader(cluster, scribe)
    cluster.add_pod("web")
    await asyncio.sleep(1)
    text = replica.health.metrics.text().decode()
    assert 'growth_test_room{where="here"} 2.0' in text
    assert "growth_test_moves_total 2.0" in text
    await replica.stop()
    text = replica.health.metrics.text().decode()
    assert "growth_test_room{" not in text
    assert "growth_test_moves_total 2.0" in text


@virtual
async def test_a_decider_that_raises_remembers_what_it_knew_before() -> None:
    cluster, scribe = SmallCluster(), Scribe()

    def decide(_: Snapshot, __: Inputs[Any, Any, Any]) -> Decision[Any]:
        if len(scribe.passes) == 2:
            raise ZeroDivisionError
        return Decision(carry=len(scribe.passes))

    scribe.decide = decide
    replica = await a_leader(cluster, scribe)
    for number in range(2):
        cluster.add_pod(f"web-{number}")
        await asyncio.sleep(1)
    assert [state.carry for state in scribe.states] == [None, 1, 1]
    await replica.stop()


def test_a_decider_that_raises_is_told_once_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    @virtual
    async def story() -> None:
        cluster, broken, sound = SmallCluster(), Scribe(), Scribe()

        def fail(_: Snapshot, __: Inputs[Any, Any, Any]) -> Decision[Any]:
            raise ZeroDivisionError("mine")

        broken.decide = fail
        replica = await a_leader(cluster, broken, sound)
        cluster.add_pod("web")
        await asyncio.sleep(10)
        assert sound.seen == [0, 1]
        await asyncio.sleep(60)
        assert len(broken.passes) == 4  # twice for events, and every 30 s, in case it would have named a deadline
        assert 'growth_decider_failures_total{capability="test-0"} 4.0' in replica.health.metrics.text().decode()
        await replica.stop()

    with caplog.at_level(logging.ERROR):
        story()
    assert [record.getMessage() for record in caplog.records] == ["test-0 cannot decide, the other capabilities go on"]


def test_a_hold_is_recorded_told_once_and_never_executed(caplog: pytest.LogCaptureFixture) -> None:
    hold = Hold(subject=REQUEST, reason="ClusterUnhealthy", why="half of the nodes are silent")

    @virtual
    async def story() -> None:
        cluster, scribe = SmallCluster(), Scribe(hold)
        replica = await a_leader(cluster, scribe)
        line = 'growth_holds{capability="test-0",reason="ClusterUnhealthy"} '
        for number in range(3):
            cluster.add_pod(f"web-{number}")
            await asyncio.sleep(1)
        assert f"{line}1.0" in replica.health.metrics.text().decode()
        assert replica.writes == []
        scribe.decide = lambda _, __: Decision(carry=None)
        cluster.add_pod("another")
        await asyncio.sleep(1)
        assert f"{line}0.0" in replica.health.metrics.text().decode()
        await replica.stop()

    with caplog.at_level(logging.INFO, "growth.run.reconciler"):
        story()
    facts = {"capability": "test-0", "subject": "NodeRequest default-1", "hold": "ClusterUnhealthy"}
    assert [(line.getMessage(), line.__dict__["facts"]) for line in caplog.records] == [(hold.why, facts)]


@virtual
async def test_holds_are_zero_on_a_replica_that_no_longer_leads() -> None:
    replica = await a_leader(SmallCluster(), Scribe(Hold(subject=REQUEST, reason="TooMany", why="two at a time")))
    line = 'growth_holds{capability="test-0",reason="TooMany"} '
    assert f"{line}1.0" in replica.health.metrics.text().decode()
    await replica.stop()
    assert f"{line}0.0" in replica.health.metrics.text().decode()


@virtual
async def test_a_long_thought_comes_back_in_a_later_pass() -> None:
    cluster, scribe = SmallCluster(), Scribe()

    def decide(snapshot: Snapshot, state: Inputs[Any, Any, Any]) -> Decision[Any]:
        if state.result is None and not state.is_computing:
            waiting = len(snapshot.waiting)
            return Decision(carry=None, compute=lambda: waiting + 40)
        return Decision(carry=None)

    scribe.decide = decide
    cluster.add_pod("one")
    cluster.add_pod("two")
    replica = await a_leader(cluster, scribe)
    await asyncio.sleep(1)
    assert [state.result for state in scribe.states] == [None, 42]
    await replica.stop()


def test_a_thought_that_fails_is_told_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    @virtual
    async def story() -> None:
        scribe = Scribe()

        def decide(_: Snapshot, __: Inputs[Any, Any, Any]) -> Decision[Any]:
            return Decision(carry=None, compute=lambda: 1 / 0) if len(scribe.passes) == 1 else Decision(carry=None)

        scribe.decide = decide
        replica = await a_leader(SmallCluster(), scribe)
        await asyncio.sleep(1)
        assert len(scribe.passes) == 2
        await replica.stop()

    story()
    assert "a thought failed" in caplog.text


@virtual
async def test_deciders_hear_how_their_actions_ended() -> None:
    scribe = Scribe(a_purchase())  # nobody opened a provider, so it fails
    replica = await a_leader(SmallCluster(), scribe)
    await asyncio.sleep(0.5)
    outcome = scribe.states[-1].outcomes.latest(type(a_purchase()), REQUEST)
    assert outcome
    assert (outcome.result.value, outcome.error) == ("failed", "Unavailable")
    assert scribe.states[-1].outcomes.latest(RecordEvent, REQUEST) is None
    await replica.stop()


@virtual
async def test_what_a_broken_decider_wanted_before_is_not_begun() -> None:
    cluster = SmallCluster()
    scribe = Scribe(*(a_create(f"default-{number}") for number in range(100)))
    replica = Replica(cluster, "a", scribe.capability())
    gate = asyncio.Event()

    async def wait(request: object) -> None:
        if getattr(request, "writes", False):
            await gate.wait()

    replica.way.before = wait
    replica.start()
    await wait_until(lambda: scribe.passes)

    def fail(_: Snapshot, __: Inputs[Any, Any, Any]) -> Decision[Any]:
        raise ZeroDivisionError

    scribe.decide = fail
    cluster.add_pod("web")
    await asyncio.sleep(1)
    gate.set()
    await asyncio.sleep(1)
    assert sum("noderequests" in path for path in cluster.objects) == 64
    await replica.stop()
