"""The load of ``bench.queue`` is the one that was asked for."""

from collections import Counter

from bench.queue_load import LARGE, MEDIUM, SMALL, a_queue, a_workload, lines_of, load_of

LINES = lines_of()


def test_fifteen_thousand_workloads_are_350_small_100_medium_and_50_large_for_each_of_thirty_queues() -> None:
    load = load_of(15_000, LINES)
    assert len(load) == len({one.name for one in load}) == 15_000
    counts = Counter((one.line.name, one.size) for one in load)
    assert counts == {
        (line.name, size): count for line in LINES for size, count in ((SMALL, 350), (MEDIUM, 100), (LARGE, 50))
    }
    assert Counter(line.cohort for line in LINES) == dict.fromkeys(("c0", "c1", "c2", "c3", "c4"), 6)


def test_all_of_it_needs_39600_cpu_seconds() -> None:
    assert round(sum(one.cpu_seconds for one in load_of(15_000, LINES))) == 39_600


def test_a_queue_gets_a_small_one_every_100_ms_a_medium_one_every_500_and_a_large_one_every_1200() -> None:
    load = load_of(15_000, LINES)
    assert [one.at_seconds for one in load] == sorted(one.at_seconds for one in load)
    for size, every in ((SMALL, 0.1), (MEDIUM, 0.5), (LARGE, 1.2)):
        times = [one.at_seconds for one in load if one.size is size and one.line == LINES[7]]
        assert [round(time, 6) for time in times] == [round(number * every, 6) for number in range(size.count)]


def test_fewer_workloads_are_fewer_of_each_size_in_each_queue_at_the_same_pace() -> None:
    load = load_of(1500, LINES)
    counts = Counter((one.line.name, one.size) for one in load)
    assert set(counts.values()) == {35, 10, 5}
    assert max(one.at_seconds for one in load) == 4.8


def test_a_number_that_cannot_be_dealt_evenly_is_dealt_nearly_so() -> None:
    load = load_of(47, LINES)
    assert Counter(one.size.name for one in load) == {"small": 34, "medium": 9, "large": 4}
    by_line = Counter(one.line.name for one in load)
    assert max(by_line.values()) - min(by_line.values(), default=0) <= 3


def test_a_queue_has_twenty_cpu_may_borrow_a_hundred_and_takes_back_what_is_its_own() -> None:
    spec = a_queue(LINES[0])["spec"]
    assert spec["cohortName"] == "c0"
    assert spec["preemption"] == {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    assert spec["resourceGroups"][0]["flavors"][0]["resources"] == [
        {"name": "cpu", "nominalQuota": "20", "borrowingLimit": "100"}
    ]


def test_a_workload_asks_for_what_its_size_says() -> None:
    large = next(one for one in load_of(300, LINES) if one.size is LARGE)
    spec = a_workload(large)["spec"]
    (pod_set,) = spec["podSets"]
    assert spec["priority"] == 200
    assert pod_set["template"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "20"}
