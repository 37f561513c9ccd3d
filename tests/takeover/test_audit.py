"""The audit finds what it is there to find. The journeys themselves are in tests/cluster and ``make upgrade``."""

import time
from collections import Counter

from bench.failover_witness import Death, Home, Witness
from tests.takeover.__main__ import table
from tests.takeover.audit import complaints, machine_problems, pod_problems, taint_problems
from tests.takeover.journey import Takeover
from tests.takeover.moments import Moment
from tests.takeover.trip import Trip, alternating
from tests.takeover.version import Version

VOLUME = "volume-of-db-0-0"


def witness(*deaths: tuple[str, float, set[str]]) -> Witness:
    """Of nodes that died, each with the instant and the successors of its pod."""
    seen = Witness({"db-0-0": VOLUME})
    for node, cut_at, successors in deaths:
        seen.deaths[node] = Death(Home("db-0-0", "first", node, VOLUME), cut_at, heirs=successors)
        seen.tainted[node] = cut_at + 20
    return seen


def test_second_launch_for_one_machine_is_found() -> None:
    assert list(machine_problems({"POST /servers": 6}, 6, 6)) == []
    assert list(machine_problems({"POST /servers": 7}, 7, 6)) == [
        "7 machines were launched; expected 6",
        "7 NodeRequests were created; expected 6",
    ]


def test_termination_is_found() -> None:
    calls = {"POST /servers": 5, "DELETE /servers/{id}": 1}
    assert list(machine_problems(calls, 5, 5)) == ["1 machines were terminated; expected none"]


def test_second_taint_for_one_death_is_found() -> None:
    seen = witness(("n1", 1000.0, {"second"}))
    assert list(taint_problems(seen, Counter(n1=1))) == []
    assert list(taint_problems(seen, Counter(n1=2))) == ["node n1 went out of service 2 times; expected once"]


def test_taint_of_a_machine_with_power_is_found() -> None:
    seen = witness()
    seen.tainted["n2"] = time.time()
    assert list(taint_problems(seen, Counter(n2=1))) == ["node n2 went out of service and its machine had power"]


def test_successor_of_a_later_death_is_no_problem() -> None:
    seen = witness(("n1", 1000.0, {"second", "third"}), ("n2", 1100.0, {"third"}))
    assert list(pod_problems(seen, 3)) == []


def test_successor_that_was_ended_is_found() -> None:
    seen = witness(("n1", 1000.0, {"second", "third"}))
    assert list(pod_problems(seen, 3)) == [
        "db-0-0 had 2 successors since n1 died; expected 1",
        "the Deployment had 3 pods, one after the other; expected at most 2",
    ]


def test_volume_on_two_nodes_is_found() -> None:
    seen = witness()
    seen.attached_twice.add(VOLUME)
    assert list(pod_problems(seen, 1)) == [f"volume {VOLUME} was attached to two nodes at one time"]


def test_errors_in_a_log_are_found() -> None:
    log = """{"level": "info", "message": "the cluster is read"}
{"level": "error", "message": "failover cannot decide"}
{"level": "warning", "message": "the provider does not answer", "traceback": "..."}
msgspec.ValidationError: Expected `int`, got `str`
"""
    assert list(complaints(log)) == [
        "failover cannot decide",
        "the provider does not answer",
        "expected a line of JSON: msgspec.ValidationError: Expected `int`, got `str`",
    ]


def test_versions_alternate_from_either_side() -> None:
    older = Version("old")
    assert [one.name for one in alternating(older, "old", 3)] == ["old", "new", "old", "new"]
    assert [one.name for one in alternating(older, "new")] == ["new", "old", "new", "old", "new"]


def test_table_shows_every_takeover_and_problem() -> None:
    takeovers = [
        Takeover(moment=Moment.TAINTED, before="old", after="new", leads_s=15.04, finished_s=16.0, running_s=37.3),
        Takeover(moment=Moment.RETURNING, before="new", after="old", leads_s=14.0, finished_s=45.0),
    ]
    assert table([Trip(takeovers, ["7 machines were launched; expected 6"])]).splitlines() == [
        "MOMENT     FROM  TO   LEADS   FINISHED  RUNNING",
        "tainted    old   new  15.0 s  16.0 s    37.3 s",
        "returning  new   old  14.0 s  45.0 s    -",
        "7 machines were launched; expected 6",
    ]
