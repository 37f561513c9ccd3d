"""What is told of the room that is kept, and when."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from growth.api.actions import RecordEvent
from growth.api.settings.model import Settings
from growth.decide.consolidation.savings_events import LESS_WANTED, ROOM_KEPT, TOLD_EVERY, EventDamping
from tests.decide.consolidation.seen import a_pod
from tests.decide.consolidation.town import HOUR, MINUTE, NOW, Town, a_node, acting, events_of
from tests.decide.marketplace import a_pool

EVERY = Settings().consolidate.every
NOBODY_GOES = acting(budgets=[{"nodes": 0}])
LAST_HOUR = "within the last hour"
STAYS = "nodes stay that would be wanted back"
SOONER = "moves that buy have to pay back sooner"


def a_town(*counts: int) -> Town:
    """So many equal pods were there, one count for each four minutes of the last hour. It has not thought yet."""
    town, there = Town(*(a_node(name) for name in "abcdefgh"), pool=NOBODY_GOES), 0
    for minutes, count in enumerate((*([counts[0]] * (15 - len(counts))), *counts)):
        town.add(*(a_pod(f"web-{one}", node="abcdefgh"[one % 8]) for one in range(there, count)))
        town.remove(*(one for one in town.pods if int(one.metadata.name.removeprefix("web-")) >= count))
        there, town.now = count, NOW + minutes * 4 * MINUTE
        town.look()
        assert town.thought is None, "it does not know the hour yet"
    town.now += 4 * MINUTE
    return town


def told(town: Town) -> list[tuple[str, str]]:
    """What is told in a pass that begins a thought."""
    decision = town.look()
    assert decision.compute is not None
    return [(one.reason, one.why) for one in decision.said if isinstance(one, RecordEvent)]


LATELY: dict[str, tuple[Sequence[int], list[tuple[str, str]]]] = {
    "as many as ever": ([4], []),
    "one came all at once": ([4, 5], []),
    "one came, and another": (
        [4, *[5] * 12, 6],
        [(ROOM_KEPT, f"room is kept for 2 pods that are expected: {STAYS}")],
    ),
    "two came, and went": (
        [4, 6, 4],
        [(ROOM_KEPT, f"room is kept for 2 pods that were there {LAST_HOUR}: {STAYS}")],
    ),
    "more came than went": (
        [4, *[6] * 11, 8, 7],
        [(ROOM_KEPT, f"room is kept for a pod that was there {LAST_HOUR}, and for 3 pods that are expected: {STAYS}")],
    ),
    "less and less is wanted": (
        [8, *[7] * 8, *[6] * 4],
        [(LESS_WANTED, f"25% less is wanted than an hour ago: {SOONER}")],
    ),
    "somebody went a moment ago": (
        [8, *[7] * 12, 6],
        [
            (ROOM_KEPT, f"room is kept for a pod that was there {LAST_HOUR}: {STAYS}"),
            (LESS_WANTED, f"25% less is wanted than an hour ago: {SOONER}"),
        ],
    ),
}


@pytest.mark.parametrize(("counts", "expected"), LATELY.values(), ids=LATELY.keys())
def test_what_is_minded_is_told_on_the_pool(counts: Sequence[int], expected: list[tuple[str, str]]) -> None:
    assert told(a_town(*counts)) == expected


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (19, "19 pods"),
        (24, "about 20 pods"),
        (26, "about 30 pods"),
        (144, "about 140 pods"),
        (4_960, "about 5,000 pods"),
    ],
)
def test_many_are_not_counted_one_by_one(count: int, words: str) -> None:
    """Other words each time would be another event each time."""
    assert next(why for _, why in EventDamping(HOUR, gone=count).words()).startswith(
        f"room is kept for {words} that were"
    )


def test_another_time_to_remember_is_named() -> None:
    half = EventDamping(timedelta(minutes=30), gone=2, fades_per_hour=0.12)
    assert [why for _, why in half.words()] == [
        f"room is kept for 2 pods that were there within the last 30m: {STAYS}",
        f"6% less is wanted than 30m ago: {SOONER}",
    ]


def test_it_is_told_with_a_thought_and_again_after_a_while_as_long_as_it_is_so() -> None:
    """Sooner an event would keep the words with which it began; not again, and the server would forget it."""
    town = a_town(4, 8, 4)
    begun, at = town.now, list[timedelta]()
    while town.now - begun < 2 * HOUR:
        if events_of(town.look().said, ROOM_KEPT):
            assert town.thought is not None
            at.append(town.now - begun)
        if town.thought is not None:
            town.think()
        town.now += MINUTE
    assert at == [number * TOLD_EVERY for number in range(len(at))]
    assert 5 <= len(at) <= 6, "what was there an hour ago is over"


def test_each_pool_that_is_thought_about_is_told() -> None:
    town = a_town(4, 6, 4)
    town.add(a_pool("other", types=["small"], disruption={"mode": "observe"}), a_node("x", pool="other"))
    subjects: list[str] = []
    for _ in range(2):
        subjects += [
            one.subject.name for one in town.look().said if isinstance(one, RecordEvent) and one.reason == ROOM_KEPT
        ]
        town.think()
        town.look()
        town.now += EVERY
    assert subjects == ["default", "other"]
