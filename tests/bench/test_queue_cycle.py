"""The decider alone is fed right: what it says is done, and everybody has a turn."""

from bench.queue_cycle import Cell, measure


def test_everybody_is_admitted_once_and_nobody_is_left() -> None:
    told = measure(Cell(2, 2, 200))
    assert (told["queues"], told["cohorts"], told["pending"]) == (4, 2, 200)
    assert told["admissions"] == 200
    assert not told["is_cut"]
    assert told["admissions_per_second"] > 0


def test_it_is_cut_after_the_least_passes_if_there_is_no_time() -> None:
    told = measure(Cell(2, 2, 200), seconds=0)
    assert (told["passes"], told["is_cut"]) == (3, True)
    assert told["admissions"] < 200
