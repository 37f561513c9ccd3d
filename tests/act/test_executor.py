"""The executor: each thing once, one at a time per lane, rests after trouble, a clean end."""

import asyncio
import itertools
import logging

import msgspec
import pytest

from growth.act.effect_hooks import EffectHooks, EffectPoint
from growth.api.actions import CreateMachine
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import EVENTS
from growth.cloud.errors import OutOfStock
from growth.kube.errors import ServerTrouble
from growth.kube.transport import Method, Request
from tests.act.workshop import (
    MACHINE,
    REQUEST,
    Workshop,
    a_create,
    a_delete,
    a_patch,
    a_purchase,
    an_event,
    an_eviction,
)
from tests.kube.replica import virtual
from tests.virtual_time import wait_until


class Crash(BaseException):
    """The end of a process, as a point may play it."""


async def settle() -> None:
    await asyncio.sleep(0.1)


@virtual
async def test_the_same_wish_in_every_pass_is_one_write() -> None:
    workshop = Workshop()
    for _ in range(10):
        workshop.executor.want("grow", [a_create()])
        await settle()
    assert len(workshop.writes) == 1
    assert workshop.results == ["done"]


@virtual
async def test_what_was_done_and_is_still_wanted_is_looked_at_again_after_a_rest() -> None:
    workshop = Workshop()
    workshop.executor.want("grow", [a_create()])
    await settle()
    workshop.executor.want("grow", [a_create()])
    await asyncio.sleep(6)
    assert workshop.wakes == [pytest.approx(5, abs=0.1)]


@virtual
async def test_a_patch_decided_on_the_same_version_is_not_sent_again_though_an_instant_in_it_differs() -> None:
    workshop = Workshop()
    node, version = workshop.a_node(), workshop.version_of()
    for number in range(5):
        workshop.executor.want("grow", [a_patch(node, version=version, value=f"at-{number}")])
        await settle()
    assert len(workshop.writes) == 1
    workshop.executor.want("grow", [a_patch(node, version=workshop.version_of(), value="new")])
    await settle()
    assert workshop.results == ["done", "done"]


@virtual
async def test_a_lane_has_one_at_a_time_and_who_was_turned_away_is_asked_again() -> None:
    workshop = Workshop()
    workshop.shop.seconds = 3
    workshop.executor.want("grow", [a_purchase()])
    await settle()
    workshop.executor.want("grow", [a_purchase()])
    await settle()
    assert workshop.shop.calls == ["create default-1"]
    await wait_until(lambda: workshop.wakes)
    assert workshop.clock() == pytest.approx(3, abs=0.1)


@virtual
async def test_what_nobody_wants_any_more_is_not_begun() -> None:
    workshop = Workshop()
    gate = asyncio.Event()
    workshop.send.before = lambda _: _wait(gate)
    workshop.executor.want("grow", [a_create(f"default-{number}") for number in range(100)])
    await settle()
    assert workshop.loads[-1] == (36, 64)
    workshop.executor.want("grow", [])
    gate.set()
    await settle()
    assert len(workshop.writes) == 64
    assert workshop.loads[-1] == (0, 0)
    assert workshop.pulse.is_resting


@virtual
async def test_all_are_done_though_few_are_under_way_at_a_time() -> None:
    workshop = Workshop()
    workshop.send.before = lambda _: asyncio.sleep(0.01)
    workshop.executor.want("grow", [a_create(f"default-{number}") for number in range(1_000)])
    await wait_until(lambda: len(workshop.outcomes) == 1_000)
    assert max(under_way for _, under_way in workshop.loads) == 64


@virtual
async def test_a_provider_that_hangs_holds_up_nobody_else() -> None:
    workshop = Workshop()
    workshop.shop.seconds = 100
    machines = [
        CreateMachine(
            subject=REQUEST, why="", provider="kwok", request=msgspec.structs.replace(MACHINE, name=f"default-{number}")
        )
        for number in range(100)
    ]
    workshop.executor.want("provision", [*machines, a_create()])
    workshop.executor.want("memory", [a_create("default-2")])
    await settle()
    assert len(workshop.shop.calls) == 64
    assert workshop.results == ["done", "done"]
    assert workshop.loads[-1] == (36, 64)


@virtual
async def test_one_capability_does_not_erase_the_wishes_of_another() -> None:
    workshop = Workshop()
    workshop.executor.want("grow", [a_create("default-1")])
    workshop.executor.want("shrink", [])
    await settle()
    assert workshop.results == ["done"]


@virtual
async def test_failures_rest_for_longer_and_longer_and_are_told_as_events() -> None:
    workshop = Workshop()
    times: list[float] = []

    async def fail(request: Request) -> None:
        if EVENTS.plural not in request.path:
            times.append(workshop.clock())
            raise ServerTrouble("boom", status=500, reason="")

    workshop.send.before = fail
    telling = asyncio.create_task(workshop.recorder.run())
    while workshop.clock() < 300:
        workshop.executor.want("grow", [a_create()])
        await settle()
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert pauses == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60], abs=0.2)
    assert set(workshop.results) == {"failed"}
    events = [body for path, body in workshop.api.objects.items() if "/events/" in path]
    assert [(event["reason"], event["regarding"]["name"]) for event in events] == [("CreateObjectFailed", "default-1")]
    telling.cancel()


@virtual
async def test_a_failure_wakes_whoever_decides_so_that_it_is_tried_again() -> None:
    workshop = Workshop()
    workshop.lose_answers()
    workshop.executor.want("grow", [a_create()])
    await settle()
    assert len(workshop.wakes) == 1


@virtual
async def test_deciders_can_read_what_a_provider_said() -> None:
    workshop = Workshop()
    workshop.shop.trouble = OutOfStock("none left", offering="kwok-small-a")
    workshop.executor.want("provision", [a_purchase(), a_create()])
    await settle()
    outcome = workshop.executor.outcomes[CreateMachine.__name__, REQUEST]
    assert (outcome.result.value, outcome.error) == ("refused", "OutOfStock")
    assert len(workshop.wakes) == 1


@virtual
async def test_how_things_ended_is_forgotten_when_everybody_had_the_time_to_read_it() -> None:
    workshop = Workshop()
    workshop.executor.want("provision", [a_purchase(), a_create()])
    await settle()
    assert len(workshop.executor.outcomes) == 2
    await asyncio.sleep(181)
    workshop.executor.want("provision", [a_create("default-2")])
    await settle()
    assert [subject.name for _, subject in workshop.executor.outcomes] == ["default-2"]


@virtual
async def test_what_was_done_to_an_object_is_seen_on_it_and_what_failed_is_told() -> None:
    workshop = Workshop()
    node, way_back = workshop.a_node(), workshop.send.after
    workshop.lose_answers()
    workshop.executor.want("grow", [a_patch(node)])
    await settle()
    assert [outcome.result.value for outcome in workshop.executor.outcomes.values()] == ["failed"]
    workshop.send.after = way_back
    await asyncio.sleep(10)
    workshop.executor.want("grow", [a_patch(node)])
    await settle()
    assert workshop.results == ["failed", "done"]
    assert not workshop.executor.outcomes


@virtual
async def test_an_event_that_is_said_in_every_pass_is_told_once_until_it_ends() -> None:
    workshop = Workshop()
    for said in ([an_event()], [an_event()], [], [an_event()], [an_event("another")]):
        workshop.executor.want("grow", said)
        await settle()
    assert [point for when, point, _ in workshop.passed if when == "after"] == [EffectPoint.RECORD_EVENT] * 3


@virtual
async def test_an_event_of_two_capabilities_is_recorded_once_until_both_end_it() -> None:
    workshop = Workshop()
    for failover, shrink in ((True, False), (True, True), (False, True), (False, False), (False, True)):
        workshop.executor.want("failover", [an_event()] if failover else [])
        workshop.executor.want("shrink", [an_event()] if shrink else [])
        await settle()
    assert [point for when, point, _ in workshop.passed if when == "after"] == [EffectPoint.RECORD_EVENT] * 2


def test_a_mistake_in_one_action_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    @virtual
    async def story() -> None:
        workshop = Workshop()
        workshop.executor.want("grow", [a_delete(REQUEST), a_create("default-2")])
        await settle()
        assert sorted(workshop.results) == ["done", "failed"]

    story()
    assert "without its uid" in caplog.text


@virtual
async def test_whoever_says_nothing_is_given_up() -> None:
    workshop = Workshop()
    workshop.shop.seconds = 1e6
    workshop.executor.want("grow", [a_purchase()])
    await wait_until(lambda: workshop.outcomes)
    assert workshop.clock() == pytest.approx(180, abs=0.1)
    assert workshop.outcomes[0].message == "there was no answer within 180 s"


@virtual
async def test_at_the_end_nothing_begins_what_is_sent_ends_and_the_rest_is_cancelled() -> None:
    workshop = Workshop()
    workshop.send.before = lambda request: asyncio.sleep(2 if request.method is Method.POST else 1_000)
    node = workshop.a_node()
    workshop.executor.want("grow", [a_create(), a_patch(node)])
    await settle()
    await workshop.executor.close(5)
    assert workshop.clock() == pytest.approx(5, abs=0.2)
    assert workshop.results == ["done"]
    workshop.executor.want("grow", [a_create("default-2"), an_event()])
    await settle()
    assert len(workshop.writes) == 1


@virtual
async def test_an_executor_without_work_ends_at_once() -> None:
    workshop = Workshop()
    await workshop.executor.close(5)
    assert workshop.clock() == 0


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_point_that_plays_a_crash_stops_everything(moment: str) -> None:
    def crash(point: EffectPoint, subject: ObjectReference) -> None:
        raise Crash(point, subject)

    @virtual
    async def story() -> None:
        workshop = Workshop(points=EffectHooks(before=crash) if moment == "before" else EffectHooks(after=crash))
        workshop.executor.want("grow", [a_create()])
        await settle()
        with pytest.raises(Crash):
            workshop.executor.raise_crash()
        assert (NODE_REQUESTS.path("default-1") in workshop.api.objects) == (moment == "after")
        workshop.executor.want("grow", [a_create("default-2")])
        await settle()
        assert len(workshop.api.objects) == (moment == "after")

    story()


def test_an_action_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    @virtual
    async def story() -> None:
        workshop = Workshop()
        workshop.executor.want("grow", [a_create(), an_eviction()])
        await settle()

    with caplog.at_level(logging.INFO, "growth.act.executor"):
        story()
    assert [(line.getMessage(), line.__dict__["facts"]) for line in caplog.records] == [
        ("a pod waits", {"action": "CreateObject", "subject": "NodeRequest default-1", "result": "done"}),
        ("its node goes", {"action": "EvictPod", "subject": "Pod shop/web", "result": "done"}),
    ]


async def _wait(gate: asyncio.Event) -> None:
    await gate.wait()
