"""A line, by shapes: nobody is passed over, and everybody stands where it should."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from growth.decide.queue.pending_queue import PendingQueue, QueueIterator, QueuePosition, Waiter

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
WAITERS = st.dictionaries(st.integers(0, 40), st.sampled_from("abc"), max_size=20)


def waiter(number: int) -> Waiter:
    order = (-(number % 3), NOW + timedelta(seconds=number % 5), str(number))
    return (QueuePosition(order[0], number % 7 > 0, order), ("default", str(number)))


def a_line(shapes: dict[int, str], gone: set[int] | None = None) -> PendingQueue:
    line = PendingQueue()
    for number, shape in shapes.items():
        line.add(waiter(number), shape)
    for number in (gone or set()) & shapes.keys():
        line.remove(waiter(number), shapes[number])
    return line


@given(WAITERS, st.sets(st.integers(0, 40)))
def test_all_stand_in_order_whoever_came_and_went_before(shapes: dict[int, str], gone: set[int]) -> None:
    line = a_line(shapes, gone)
    there = sorted(waiter(number) for number in shapes if number not in gone)
    assert list(line) == there
    assert line.preemptors == [one for one in there if not one[0].is_behind_preemptors]
    assert [one.waiters[0] for one in line.fronts] == sorted(
        min(waiter(number) for number, known in shapes.items() if known == shape and number not in gone)
        for shape in {shapes[number] for number in shapes if number not in gone}
    )


@given(WAITERS, st.sets(st.integers(0, 40)))
def test_a_walk_passes_over_a_shape_from_whom_it_is_told_on_and_nobody_else(
    shapes: dict[int, str], refused: set[int]
) -> None:
    reported: set[str] = set()
    expected: list[Waiter] = []
    for number in sorted(shapes, key=waiter):
        if shapes[number] not in reported:
            expected.append(waiter(number))
            reported |= {shapes[number]} if number in refused else set()
    walk, met = QueueIterator(a_line(shapes)), list[Waiter]()
    while walk.head is not None:
        met.append(walk.head[0])
        if int(walk.head[0][1][1]) in refused:
            walk.skip()
        else:
            walk.step()
    assert met == expected


def test_a_shape_is_kept_once() -> None:
    line = PendingQueue()
    first, second = ("a", b"template"), ("a", bytes(bytearray(b"template")))
    assert line.add(waiter(1), first) is first
    assert line.add(waiter(2), second) is first
