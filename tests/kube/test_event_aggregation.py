"""Aggregation without a clock or a server: what is to be written, and when."""

import re
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.core import ObjectReference
from growth.kube.event_aggregation import (
    BURST,
    FINISH_SECONDS,
    KEPT,
    KIND_BURST,
    REFILL_SECONDS,
    WAITING,
    EventBook,
    EventType,
    Occurrence,
    Series,
    begun,
    change,
    continued,
    forgotten,
    manifest,
    occurrence,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def an_object(name: str = "node-1", **fields: str) -> ObjectReference:
    return ObjectReference(**{"kind": "Node", "api_version": "v1", "uid": f"uid-{name}", "name": name, **fields})


def it_happened(
    to: ObjectReference | None = None, *, reason: str = "Bought", note: str = "a note", at: float = 0
) -> Occurrence:
    instant = NOON + timedelta(seconds=at)
    return occurrence(to or an_object(), EventType.NORMAL, reason, "Buy", note, at=instant)


def write(book: EventBook, clock: float) -> Series | None:
    """Take what is due and say that it was written."""
    series = book.take(clock)
    if series is not None:
        book.wrote(series, series, clock)
    return series


def test_a_first_occurrence_is_due_at_once_and_only_once() -> None:
    book = EventBook()
    assert book.note(it_happened(), 5)
    assert book.next_at() == 5
    series = write(book, 5)
    assert series is not None
    assert (series.count, series.stored) == (1, 0)
    assert book.next_at() is None


def test_repeats_are_summed_and_written_ever_more_rarely() -> None:
    book = EventBook()
    written: list[tuple[int, int]] = []
    for second in range(1500):
        book.note(it_happened(note=f"the {second}th time", at=second), second)
        if series := write(book, second):
            written.append((second, series.count))
    assert written == [
        (0, 1),
        (10, 11),
        (30, 31),
        (70, 71),
        (150, 151),
        (310, 311),
        (610, 611),
        (910, 911),
        (1210, 1211),
    ]


def test_other_figures_are_the_same_series_and_other_names_reasons_or_objects_are_not() -> None:
    book = EventBook()
    assert book.note(it_happened(note="on flavor one, after 5 s"), 0)
    assert not book.note(it_happened(note="on flavor one, after 6 s"), 0)
    assert book.note(it_happened(note="on flavor two, after 6 s"), 0)
    assert book.note(it_happened(reason="Sold"), 0)
    assert book.note(it_happened(an_object("node-2")), 0)
    assert book.note(it_happened(an_object(uid="another life of node-1")), 0)


def test_what_happens_after_a_long_silence_is_a_new_event_if_it_is_told_in_other_words() -> None:
    book = EventBook()
    book.note(it_happened(note="old"), 0)
    old = write(book, 0)
    book.note(it_happened(note="new"), FINISH_SECONDS + 1)
    new = write(book, FINISH_SECONDS + 1)
    assert old is not None
    assert new is not None
    assert (new.count, new.latest.note) == (1, "new")
    assert new.name != old.name


def test_a_restart_finds_the_event_of_before_by_its_name() -> None:
    assert begun(it_happened(at=0), 0).name == begun(it_happened(at=1000), 77).name


def test_repeats_during_a_write_are_not_lost() -> None:
    book = EventBook()
    book.note(it_happened(), 0)
    taken = book.take(0)
    assert taken is not None
    assert not book.note(it_happened(at=1), 1)
    assert book.next_at() is None, "one write at a time"
    book.wrote(taken, taken, 2)
    assert book.next_at() == 12
    second = book.take(12)
    assert second is not None
    assert (second.count, second.stored) == (2, 1)


def test_a_failed_write_is_due_again_and_costs_the_object_nothing() -> None:
    book = EventBook()
    book.note(it_happened(), 0)
    for attempt in range(BURST * 4):
        taken = book.take(attempt)
        assert taken is not None
        book.failed(taken, attempt + 1, attempt)
    assert write(book, BURST * 4) is not None


def test_a_refused_series_is_left_alone_until_it_is_over() -> None:
    book = EventBook()
    book.note(it_happened(), 0)
    taken = book.take(0)
    assert taken is not None
    book.refused(taken)
    assert not book.note(it_happened(), 60)
    assert book.next_at() is None
    assert book.dropped == 2
    assert book.note(it_happened(), 61 + FINISH_SECONDS)


def test_each_of_two_alternating_notes_is_one_series() -> None:
    book = EventBook()
    writes = 0
    for second in range(1200):
        book.note(it_happened(note="on one" if second % 2 else "on two", at=second), second)
        while write(book, second):
            writes += 1
    assert writes <= 2 * 8
    assert len(book) == 2


def test_a_note_that_changes_each_second_is_written_within_the_allowance_and_never_outdated() -> None:
    book = EventBook()
    ages: list[float] = []
    for second in range(3600):
        book.note(it_happened(note=f"on node-{second}", at=second), second)
        while series := write(book, second):
            ages.append(second - series.seen_at)
    written = len(ages)
    assert max(ages) <= 1
    assert written <= KIND_BURST + 3600 / REFILL_SECONDS
    assert written + book.dropped == 3600 - 1, "one waits"


def test_a_kind_with_ever_other_notes_leaves_writes_to_the_other_kinds() -> None:
    book = EventBook()
    for number in range(BURST):
        book.note(it_happened(note=f"machine m-{number} is orphaned"), number)
        write(book, number)
    book.note(it_happened(reason="ClusterUnhealthy", note="three nodes are unready"), BURST)
    series = write(book, BURST)
    assert series is not None
    assert series.latest.note == "three nodes are unready"


def test_repeats_leave_one_write_to_what_is_new() -> None:
    book = EventBook()
    for second in range(7200):
        for number in range(12):
            book.note(it_happened(reason=f"Reason{number}", at=second), second)
        while write(book, second):
            pass
    book.note(it_happened(reason="New", at=7200), 7200)
    reasons: list[str] = []
    while series := write(book, 7200):
        reasons.append(series.first.key.kind.reason)
    assert "New" in reasons


def test_an_overtaken_event_that_a_full_book_dropped_is_not_looked_for_again() -> None:
    book = EventBook()
    for number in range(KIND_BURST + 1):
        book.note(it_happened(note=f"on node-{number}"), 0)
        write(book, 0)
    for number in range(WAITING):
        book.note(it_happened(an_object(f"late-{number}")), 1)
    book.note(it_happened(note="on node-x"), 1)
    names = [series.first.key.regarding.name for _ in range(WAITING) if (series := write(book, 1))]
    assert len(names) == len(set(names)) == WAITING - 1
    assert book.dropped == 2, "the one that waited longest, and one of the others"


def test_an_object_has_a_burst_and_then_one_write_in_five_minutes() -> None:
    book = EventBook()
    for number in range(BURST + 10):
        book.note(it_happened(reason=f"Reason{number}"), 0)
    assert sum(write(book, 0) is not None for _ in range(BURST + 10)) == BURST
    assert book.next_at() == pytest.approx(REFILL_SECONDS)
    book.note(it_happened(an_object("node-2")), 0)
    assert write(book, 0) is not None, "another object is not concerned"
    day = [write(book, second) is not None for second in range(86_400)]
    assert sum(day) == 10
    assert book.dropped == 0


def test_a_full_book_drops_the_oldest_repeats_first_and_counts_them() -> None:
    book = EventBook()
    for number in range(2):
        book.note(it_happened(an_object(f"early-{number}")), 0)
        write(book, 0)
        for _ in range(3):
            book.note(it_happened(an_object(f"early-{number}")), 1)
    for number in range(WAITING):
        book.note(it_happened(an_object(f"late-{number}")), 2)
    assert book.dropped == 6, "three repeats each; not one event"
    book.note(it_happened(an_object("one too many")), 2)
    assert book.dropped == 7, "now an event had to go, the oldest"
    names = {series.first.key.regarding.name for _ in range(WAITING + 9) if (series := write(book, 20))}
    assert "one too many" in names
    assert "late-0" not in names
    assert len(names) == WAITING


def test_a_book_remembers_so_many_series_and_no_more() -> None:
    book = EventBook()
    for number in range(KEPT + 100):
        book.note(it_happened(an_object(f"node-{number}")), 0)
        write(book, 0)
    assert len(book) == KEPT


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 400), st.sampled_from(["ok", "fail", "refuse"]))))
def test_every_occurrence_is_told_or_counted_as_dropped(story: list[tuple[str, float, str]]) -> None:
    book, clock, told = EventBook(), 0.0, 0
    for name, pause, fate in story:
        clock += pause
        book.note(it_happened(an_object(name)), clock)
        if taken := book.take(clock):
            if fate == "ok":
                told += taken.untold
                book.wrote(taken, taken, clock)
            elif fate == "fail":
                book.failed(taken, clock + 1, clock)
            else:
                book.refused(taken)
    while (due_at := book.next_at()) is not None:
        if taken := book.take(due_at):
            told += taken.untold
            book.wrote(taken, taken, due_at)
    assert told + book.dropped == len(story)


def test_a_manifest_has_all_that_the_server_demands() -> None:
    series = msgspec.structs.replace(begun(it_happened(), 0), count=3)
    assert manifest(series, "growth.dev/growth", "pod-1") == {
        "metadata": {"name": series.name, "namespace": "default"},
        "eventTime": "2026-01-01T12:00:00.000000Z",
        "type": "Normal",
        "reason": "Bought",
        "action": "Buy",
        "note": "a note",
        "regarding": {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "uid-node-1"},
        "reportingController": "growth.dev/growth",
        "reportingInstance": "pod-1",
        "series": {"count": 3, "lastObservedTime": "2026-01-01T12:00:00.000000Z"},
    }


def test_an_event_of_an_earlier_life_is_counted_on() -> None:
    series = continued(begun(it_happened(), 0), 41)
    assert (series.count, series.stored) == (42, 41)
    assert change(series)["series"]["count"] == 42


def test_a_forgotten_event_is_made_again_with_the_newest_figures() -> None:
    book = EventBook()
    book.note(it_happened(note="1 node"), 0)
    write(book, 0)
    book.note(it_happened(note="2 node", at=9), 9)
    taken = book.take(10)
    assert taken is not None
    again = forgotten(taken)
    assert again.stored == 0
    assert manifest(again, "c", "i")["note"] == "2 node"
    assert again.name == begun(it_happened(note="2 node"), 0).name


@pytest.mark.parametrize(
    ("text", "size"), [("x" * 1024, 1024), ("x" * 1025, 1024), ("ä" * 600, 1023), ("\ud800", 1), ("", 0)]
)
def test_notes_are_cut_to_what_the_server_accepts(text: str, size: int) -> None:
    assert len(it_happened(note=text).note.encode()) == size


@pytest.mark.parametrize("name", ["node-1", "x" * 300, "system:node:UPPER", "...", "a." * 126])
def test_names_of_events_are_names_whatever_the_objects_are_called(name: str) -> None:
    event = begun(it_happened(an_object(name)), 0).name
    assert len(event) <= 253
    assert all(re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", part) for part in event.split("."))
