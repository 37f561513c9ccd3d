"""What ``growth explain node`` says of room that is kept: the last word of Growth on the node's pool."""

from datetime import timedelta

import pytest

from growth.api.core import Event, EventSeries
from growth.api.growth_kinds import NODE_POOLS
from growth.api.meta import ObjectMeta
from growth.api.references import reference_to
from growth.cli.explain_disruption import MoveReport, RecordedReason, read_told, told_in
from growth.cli.explain_failover import FailoverPhase, NodeReport
from growth.decide.consolidation.savings_events import LESS_WANTED, ROOM_KEPT
from growth.kube.event_recorder import EventRecorder, EventType
from tests.cli.node_scene import DEAD, Desk, at_a_desk
from tests.cli.test_explain import explained, shown
from tests.decide.consolidation.seen import NOW

MINUTE = timedelta(minutes=1)
FREE = "nothing keeps it: it goes when a move of it pays"
ROOM = "room is kept for 6 pods that were there within the last hour: nodes stay that would be wanted back"
LESS = "6% less is wanted than an hour ago: moves that buy have to pay back sooner"


def an_event(note: str, age: timedelta, *, repeated: timedelta | None = None, reason: str = ROOM_KEPT) -> Event:
    series = EventSeries(2, NOW - repeated) if repeated is not None else None
    meta = ObjectMeta(name=note, creation_timestamp=NOW - age)
    return Event(meta, "Normal", reason, note, series=series)


def test_of_each_reason_the_last_word_counts() -> None:
    events = [
        an_event("old", 25 * MINUTE),
        an_event("older, and said again", 50 * MINUTE, repeated=2 * MINUTE),
        an_event("between", 12 * MINUTE),
        an_event("less", 3 * MINUTE, reason=LESS_WANTED),
        an_event("something else", MINUTE, reason="CouldSave"),
    ]
    expected = (
        RecordedReason(ROOM_KEPT, "older, and said again", NOW - 2 * MINUTE),
        RecordedReason(LESS_WANTED, "less", NOW - 3 * MINUTE),
    )
    assert told_in(events, NOW) == told_in(reversed(events), NOW) == expected


def test_what_was_said_long_ago_is_over() -> None:
    assert told_in([an_event("long ago", 31 * MINUTE)], NOW) == ()
    assert told_in([an_event("lately", 29 * MINUTE)], NOW)


SHOWN = {
    80: [
        "nothing keeps it: it goes when a move of it pays",
        "room is kept for 6 pods that were there within the last hour: nodes stay",
        "that would be wanted back (said 2m ago)",
        "6% less is wanted than an hour ago: moves that buy have to pay back",
        "sooner (said 4m ago)",
    ],
    120: [
        "nothing keeps it: it goes when a move of it pays",
        f"{ROOM} (said 2m ago)",
        "6% less is wanted than an hour ago: moves that buy have to pay back sooner (said 4m ago)",
    ],
}


@pytest.mark.parametrize("width", SHOWN)
def test_how_it_looks(width: int) -> None:
    told = (RecordedReason(ROOM_KEPT, ROOM, NOW - 2 * MINUTE), RecordedReason(LESS_WANTED, LESS, NOW - 4 * MINUTE))
    moving = MoveReport(stays=FREE, waits_for_money=True, told=told)
    lines = shown(NodeReport(node=DEAD, at=NOW, standing=FailoverPhase.IN_SERVICE, moving=moving), width)
    facts = lines[2 : lines.index("", 2)]
    assert [line[:7].strip() for line in facts] == ["stays", *[""] * (len(facts) - 1)]
    assert [line[7:] for line in facts] == SHOWN[width]


async def a_pool_with(desk: Desk, **disruption: str) -> None:
    """Growth says of this pool that room is kept."""
    spec = {"serverTypes": [{"name": "small"}], "disruption": {"mode": "act", "minNodeAge": "0s", **disruption}}
    await desk.client.create(NODE_POOLS, {"metadata": {"name": "default"}, "spec": spec})
    pool = await desk.client.get(NODE_POOLS, "default")
    recorder = EventRecorder(desk.client, "growth-1", now=desk.now)
    subject = reference_to(NODE_POOLS, pool.metadata)
    recorder.record(subject, EventType.NORMAL, ROOM_KEPT, "Optimising", ROOM)
    await recorder.drain(1)


def test_the_command_reads_what_was_said() -> None:
    async def tell(desk: Desk) -> None:
        await a_pool_with(desk)
        moving = (await explained(desk)).moving
        assert moving is not None
        assert moving.stays == FREE
        assert [(one.reason, one.words) for one in moving.told] == [(ROOM_KEPT, ROOM)]

    at_a_desk(tell)


def test_who_stays_for_another_reason_does_not_stay_for_room() -> None:
    async def tell(desk: Desk) -> None:
        await a_pool_with(desk, minNodeAge="1h")
        moving = (await explained(desk)).moving
        assert moving == MoveReport(stays="it is younger than 1h")

    at_a_desk(tell)


def test_who_may_not_see_events_is_told_all_the_rest() -> None:
    async def tell(desk: Desk) -> None:
        await a_pool_with(desk)
        assert await read_told(desk.client, "default", desk.now)
        assert await read_told(desk.cluster.client("a stranger"), "default", desk.now) == ()

    at_a_desk(tell)
