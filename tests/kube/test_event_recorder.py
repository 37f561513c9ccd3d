"""The recorder against a small server, on virtual time."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from growth.api.core import ObjectReference
from growth.kube.client import Client
from growth.kube.errors import Forbidden, ServerTrouble, Unreachable
from growth.kube.event_recorder import EventRecorder, EventType
from growth.kube.transport import Method, Request
from growth_lab.simulator.virtual_loop import run_virtually
from tests.kube.fake_api import FakeApi, FakeSend

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
POD = ObjectReference(kind="Pod", api_version="v1", namespace="shop", name="web-1", uid="uid-1")
NODE = ObjectReference(kind="Node", api_version="v1", name="node-1", uid="uid-2")


class Process:
    """One life of a recorder."""

    def __init__(self, api: FakeApi | None = None) -> None:
        self.api = api or FakeApi()
        self.clock = asyncio.get_running_loop().time
        self.send = FakeSend(self.api, self.clock)
        self.recorder = EventRecorder(Client(self.send), "growth-0", now=lambda: NOON + timedelta(seconds=self.clock()))
        self.task = asyncio.create_task(self.recorder.run())

    def record(self, regarding: ObjectReference = POD, reason: str = "Held", note: str = "a note") -> None:
        self.recorder.record(regarding, EventType.WARNING, reason, "Hold", note)

    def events(self) -> list[dict[str, Any]]:
        return list(self.api.objects.values())

    def counts(self) -> list[int]:
        return [event.get("series", {"count": 1})["count"] for event in self.events()]


def virtual(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        run_virtually(test())

    run.__name__ = test.__name__
    return run


@virtual
async def test_an_event_is_told_at_once_beside_its_object() -> None:
    process = Process()
    process.record()
    process.record(NODE)
    await asyncio.sleep(0.1)
    assert [event["metadata"]["namespace"] for event in process.events()] == ["shop", "default"]


@virtual
async def test_a_flood_is_one_event_and_a_few_patches() -> None:
    process = Process()
    for _ in range(3600):
        process.record(note=f"at {process.clock():g} s")
        await asyncio.sleep(1)
    await asyncio.sleep(300)
    assert process.counts() == [3600]
    assert len(process.send.sent) < 20
    assert process.recorder.dropped == 0


@virtual
async def test_a_restart_counts_on_instead_of_telling_again() -> None:
    first = Process()
    for _ in range(3):
        first.record()
        await asyncio.sleep(15)
    second = Process(first.api)
    second.record()
    await asyncio.sleep(1)
    assert second.counts() == [4]


@virtual
async def test_a_create_whose_answer_was_lost_is_not_counted_twice() -> None:
    process = Process()

    async def lose_the_first_answer(_: Request) -> None:
        if len(process.send.sent) == 1:
            raise Unreachable("reset", sent=True)

    process.send.after = lose_the_first_answer
    process.record()
    await asyncio.sleep(10)
    assert process.counts() == [1]


@virtual
async def test_an_event_that_the_server_forgot_is_made_anew() -> None:
    process = Process()
    process.record(note="1 of 3")
    await asyncio.sleep(1)
    process.api.objects.clear()
    process.record(note="2 of 3")
    await asyncio.sleep(10)
    assert process.counts() == [2]
    assert process.events()[0]["note"] == "2 of 3"


@virtual
async def test_each_flavor_has_an_event_of_its_own_at_once() -> None:
    process = Process()
    for flavor in ("one", "two", "two"):
        process.record(note=f"admitted by ClusterQueue main, on {flavor}")
        await asyncio.sleep(1)
    await asyncio.sleep(30)
    shown = {event["note"]: event.get("series", {"count": 1})["count"] for event in process.events()}
    assert shown == {
        "admitted by ClusterQueue main, on one": 1,
        "admitted by ClusterQueue main, on two": 2,
    }


@virtual
async def test_an_outage_delays_events_and_loses_none() -> None:
    process = Process()
    is_down = True

    async def fail(_: Request) -> None:
        if is_down:
            raise ServerTrouble("down", status=503, reason="")

    process.send.before = fail
    for number in range(100):
        process.record(NODE if number % 2 else POD, reason=f"Reason{number % 10}")
        await asyncio.sleep(6)
    assert process.events() == []
    is_down = False
    await asyncio.sleep(120)
    assert sorted(process.counts()) == [10] * 10
    assert process.recorder.dropped == 0


def test_what_the_server_refuses_is_dropped_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        process = Process()
        asked = 0

        async def refuse(_: Request) -> None:
            nonlocal asked
            asked += 1
            raise Forbidden("namespace shop is being terminated", status=403, reason="Forbidden")

        process.send.before = refuse
        for number in range(50):
            process.record(reason=f"Reason{number % 5}")
            await asyncio.sleep(1)
        assert asked == 5, "one attempt for each series"
        assert process.recorder.dropped == 50

    with caplog.at_level(logging.WARNING):
        run_virtually(story())
    assert len(caplog.records) == 1


@virtual
async def test_what_is_due_is_told_before_the_end() -> None:
    process = Process()
    await asyncio.sleep(1)
    process.task.cancel()
    process.record()
    await process.recorder.drain(1)
    assert process.counts() == [1]


@virtual
async def test_the_end_waits_for_a_hanging_server_no_longer_than_it_must() -> None:
    process = Process()

    async def hang(_: Request) -> None:
        await asyncio.Event().wait()

    process.send.before = hang
    process.record()
    await asyncio.sleep(1)
    process.task.cancel()
    await asyncio.wait({process.task})
    before = process.clock()
    await process.recorder.drain(2)
    assert process.clock() - before == pytest.approx(2)


def test_recording_never_raises(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        def broken() -> datetime:
            raise RuntimeError("no clock")

        recorder = EventRecorder(Client(Process().send), "growth-0", now=broken)
        recorder.record(POD, EventType.NORMAL, "Reason", "Act", "note")

    run_virtually(story())
    assert "could not be noted" in caplog.text


@virtual
async def test_only_the_verbs_create_and_patch_are_used() -> None:
    process = Process()
    for _ in range(20):
        process.record()
        await asyncio.sleep(5)
    Process(process.api).record()
    await asyncio.sleep(5)
    assert {request.method for request in process.send.sent} == {Method.POST, Method.PATCH}
