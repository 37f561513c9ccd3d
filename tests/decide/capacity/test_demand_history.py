"""What was wanted lately and is not there now."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.pod import Pod
from growth.decide.capacity.demand_history import LOOKS_WITHIN, NOBODY, DemandHistory, noted
from tests.decide.consolidation.seen import DAEMON, HOUR, MINUTE, NOW, a_pod, a_snapshot
from tests.drawing import examples

MANY = 1_000


def pods_of(cpu: str, count: int, **fields: Any) -> list[Pod]:  # noqa: ANN401
    return [a_pod(f"{cpu}-{number}", requests={"cpu": cpu}, **fields) for number in range(count)]


def after(known: DemandHistory | None, at: timedelta, pods: Sequence[Pod], window: timedelta = HOUR) -> DemandHistory:
    return noted(known, a_snapshot(*pods, now=NOW + at), window)


def seen(*looks: tuple[float, Sequence[Pod]]) -> DemandHistory:
    """After looks at these minutes; between them nothing changes."""
    known: DemandHistory | None = None
    before: Sequence[Pod] = ()
    clock = looks[0][0]
    for minute, pods in looks:
        while clock + 1 < minute:
            clock += 1
            known = after(known, clock * MINUTE, before)
        clock, before = minute, pods
        known = after(known, minute * MINUTE, pods)
    assert known is not None
    return known


def missing(known: DemandHistory, at_most: int = MANY) -> Counter[str]:
    return Counter(pod.spec.containers[0].resources.requests["cpu"] for pod in known.ghosts(at_most))


def test_who_came_and_went_is_a_ghost_for_an_hour() -> None:
    five, two = pods_of("1", 5), pods_of("1", 2)
    came = (0, two), (6, five), (11, two)
    assert missing(seen(*came)) == {"1": 3}
    assert missing(seen(*came, (59, two))) == {"1": 3}
    assert missing(seen(*came, (76, two))) == {}
    assert seen((0, five), (1, []), (66, [])).samples == {}, "it forgets"


def test_who_only_went_is_a_ghost_for_a_moment() -> None:
    five, two = pods_of("1", 5), pods_of("1", 2)
    assert missing(seen((0, five), (61, two))) == {"1": 3}
    assert missing(seen((0, five), (61, two), (70, two))) == {"1": 3}
    assert missing(seen((0, five), (61, two), (76, two))) == {}


def test_of_those_who_went_as_many_are_kept_room_for_as_came() -> None:
    ten, four, six, three = (pods_of("1", count) for count in (10, 4, 6, 3))
    known = seen((0, ten), (61, four), (80, six), (90, three), (102, three))
    assert missing(known) == {"1": 2}, "six of them only went, two came and went"


def test_who_ends_by_itself_is_missed_for_a_moment_only() -> None:
    job = {"kind": "Job", "name": "once", "uid": "job", "controller": True, "apiVersion": "batch/v1"}
    came = (0, list[Pod]()), (10, pods_of("1", 5, owner=job)), (20, list[Pod]())
    assert missing(seen(*came, (29, []))) == {"1": 5}
    assert missing(seen(*came, (36, []))) == {}


def test_who_came_back_is_none() -> None:
    assert missing(seen((0, pods_of("1", 5)), (1, []), (20, pods_of("1", 4)))) == {"1": 1}


def test_who_waits_and_who_leaves_is_not_there() -> None:
    waiting = [a_pod("1-0", node="", requests={"cpu": "1"}), a_pod("1-1", requests={"cpu": "1"}, terminating=True)]
    assert missing(seen((0, pods_of("1", 2)), (1, waiting))) == {"1": 2}


def test_who_has_ended_is_not_there() -> None:
    ended = pods_of("1", 2, status={"phase": "Succeeded"})
    assert missing(seen((0, pods_of("1", 2)), (1, ended))) == {"1": 2}


def test_a_new_replica_set_takes_the_place_of_the_old_one() -> None:
    old, new = (pods_of("1", 3, labels={"pod-template-hash": text}) for text in ("a", "b"))
    assert missing(seen((0, old), (1, new))) == {}


def test_ghosts_are_like_those_who_were_there() -> None:
    (was,) = pods_of("1", 1, labels={"app": "web"}, namespace="shop")
    (ghost,) = seen((0, [was]), (1, [])).ghosts(MANY)
    assert ghost.spec is was.spec
    assert ghost.metadata.namespace == "shop"
    assert ghost.metadata.labels == {"app": "web"}
    assert ghost.metadata.controller == was.metadata.controller
    assert ghost.metadata.uid != was.metadata.uid
    assert (ghost.node_name, ghost.status.phase) == ("", "Pending")


def test_what_goes_with_its_node_does_not_come_back() -> None:
    pin = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [pin]}}
    pinned = a_pod("agent", owner=DAEMON, affinity={"nodeAffinity": required})
    static = a_pod("proxy", owner=None, annotations={"kubernetes.io/config.mirror": "x"})
    known = seen((0, [pinned, static]), (1, []))
    assert known.ghosts(MANY) == ()
    assert [sample.metadata.name for sample in known.samples.values()] == ["proxy"], "each daemon is a shape of its own"


def test_after_a_restart_it_says_how_little_it_knows() -> None:
    known = seen((0, []))
    assert (known.since, known.knows()) == (NOW, False)
    assert not seen((0, []), (59, [])).knows()
    assert seen((0, []), (60, [])).knows()


@pytest.mark.parametrize(
    ("at", "window"),
    [(LOOKS_WITHIN + MINUTE, HOUR), (-LOOKS_WITHIN - MINUTE, HOUR), (MINUTE, 2 * HOUR)],
    ids=["nobody looked for long", "the clock was set back", "it is to remember something else"],
)
def test_what_was_missed_is_not_made_up(at: timedelta, window: timedelta) -> None:
    known = after(after(None, timedelta(0), pods_of("1", 2)), at, [], window)
    assert (known.since, known.ghosts(MANY)) == (NOW + at, ())


def test_a_clock_that_is_set_back_a_little_loses_nothing() -> None:
    known = after(after(None, timedelta(0), pods_of("1", 2)), timedelta(seconds=-30), [])
    known = after(known, timedelta(0), [])
    assert missing(known) == {"1": 2}
    assert len(known.slots) == 1


def test_who_remembers_nothing_keeps_no_room() -> None:
    known = after(after(None, timedelta(0), pods_of("1", 2), timedelta(0)), MINUTE, [], timedelta(0))
    assert (known.knows(), known.ghosts(MANY)) == (True, ())


def test_it_does_not_look_at_every_moment() -> None:
    known = after(None, timedelta(0), pods_of("1", 2))
    assert after(known, timedelta(seconds=9), []) is known
    assert missing(after(known, timedelta(seconds=10), [])) == {"1": 2}


def coming(known: DemandHistory, at_most: int = MANY) -> list[str]:
    return [pod.spec.containers[0].resources.requests["cpu"] for pod in known.expected(at_most).pods]


def test_as_many_are_expected_as_came_within_the_hour() -> None:
    known = seen((0, pods_of("1", 2)), (30, pods_of("1", 4)), (60, pods_of("1", 6)))
    assert (coming(known), known.expected(MANY).per_hour) == (["1"] * 4, 4.0)
    expected = known.expected(2)
    assert (len(expected.pods), expected.per_hour) == (2, 4.0), "how many are looked at does not change their pace"
    assert len({pod.metadata.uid for pod in (*known.expected(MANY).pods, *known.ghosts(MANY))}) == 4


def test_those_who_are_expected_come_evenly() -> None:
    known = seen((0, []), (30, [*pods_of("1", 2), *pods_of("2", 1)]), (60, [*pods_of("1", 4), *pods_of("2", 2)]))
    assert Counter(coming(known)) == {"1": 4, "2": 2}
    assert Counter(coming(known)[:3]) == {"1": 2, "2": 1}


def test_if_others_went_fewer_are_expected() -> None:
    between = (30, [*pods_of("1", 2), *pods_of("2", 2)])
    known = seen((0, pods_of("2", 2)), between, (60, [*pods_of("1", 6), *pods_of("2", 1)]))
    assert coming(known) == ["1"] * 4, "six cores came, and two went"


@pytest.mark.parametrize("minute", [10, 29, 31, 60])
def test_nothing_follows_from_what_came_or_went_all_at_once(minute: float) -> None:
    few, many = pods_of("1", 3), pods_of("1", 9)
    came = seen((0, few), (minute, many), (61, many))
    assert (came.expected(MANY), came.fades_per_hour()) == (NOBODY, 0)
    went = seen((0, many), (minute, few), (61, few))
    assert (went.expected(MANY), went.fades_per_hour()) == (NOBODY, 0)


def test_of_what_came_almost_at_once_little_is_expected() -> None:
    known = seen((0, pods_of("1", 1)), (20, pods_of("1", 2)), (60, pods_of("1", 9)))
    assert len(coming(known)) == 4, "eight came, and only one of them in the first half"


@pytest.mark.parametrize("now", [pods_of("1", 3), pods_of("1", 2), []], ids=["as before", "less", "nothing"])
def test_where_no_more_is_wanted_nobody_is_expected(now: list[Pod]) -> None:
    known = seen((0, pods_of("1", 3)), (60, now))
    assert known.expected(MANY) == NOBODY


def test_jobs_are_not_expected_and_do_not_fade() -> None:
    job = {"kind": "Job", "name": "once", "uid": "job", "controller": True, "apiVersion": "batch/v1"}
    jobs = pods_of("1", 5, owner=job)
    assert seen((0, []), (60, jobs)).expected(MANY) == NOBODY
    assert seen((0, jobs), (60, [])).fades_per_hour() == 0


def test_how_fast_less_is_wanted() -> None:
    ten, nine, eight = (pods_of("1", count) for count in (10, 9, 8))
    assert seen((0, ten), (25, nine), (60, eight)).fades_per_hour() == pytest.approx(0.2)
    assert seen((0, eight), (25, nine), (60, ten)).fades_per_hour() == 0
    assert DemandHistory(HOUR, NOW, NOW).fades_per_hour() == 0, "who has seen nothing knows nothing"


def test_where_cores_and_memory_become_less_the_smaller_share_counts() -> None:
    one, other, rest = (
        a_pod(name, requests={"cpu": cpu, "memory": "1Gi"}) for name, cpu in zip("abc", "441", strict=True)
    )
    most = a_pod("d", requests={"cpu": "1", "memory": "5Gi"})
    fading = seen((0, [one, other, rest, most]), (25, [other, rest, most]), (60, [rest, most]))
    assert fading.fades_per_hour() == pytest.approx(0.25), "of ten cores eight went, of eight gibibytes two"


def test_no_more_ghosts_than_asked_for() -> None:
    known = seen((0, pods_of("1", 5)), (10, pods_of("2", 5)), (11, []))
    assert missing(known, 7) == {"2": 5, "1": 2}, "those seen last come first"


def test_the_5000_shapes_seen_last_are_remembered() -> None:
    (pod,) = pods_of("1", 1)
    crowd = [_of_shape(pod, number) for number in range(5_000)]
    known = seen((0, pods_of("8", 1)), (1, crowd[:-1]), (2, []))
    assert (len(known.samples), missing(known, 9_999)["8"]) == (5_000, 1)
    known = after(known, 3 * MINUTE, crowd[-1:])
    assert (len(known.samples), missing(known, 9_999)["8"]) == (5_000, 0)
    assert all(set(counts) <= set(known.samples) for _, counts in known.slots)


def _of_shape(pod: Pod, number: int) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, name=f"{number}", uid=f"{number}")
    spec = msgspec.structs.replace(pod.spec, priority=number)
    return msgspec.structs.replace(pod, metadata=metadata, spec=spec, node_name=f"node-{number % 100}")


def test_specs_are_held_as_long_as_they_are_remembered() -> None:
    """Else another spec could get the identity of one that is gone."""
    known = seen((0, pods_of("1", 1)), (30, pods_of("2", 1)), (40, []))
    identities = {identity for _, counts in known.slots for identity in counts}
    assert {id(sample.spec) for sample in known.samples.values()} == identities


STEPS = st.lists(
    st.tuples(st.integers(10, 280), st.lists(st.sampled_from(["1", "2", "3"]), max_size=4)), min_size=1, max_size=30
)


@settings(max_examples=examples(60))
@given(steps=STEPS, minutes=st.integers(2, 60))
def test_it_agrees_with_one_who_writes_everything_down(steps: list[tuple[int, list[str]]], minutes: int) -> None:
    """At least who was there a moment ago, and never more than came and went within the window, up to a slot longer."""
    window, now = minutes * MINUTE, NOW
    written: list[tuple[datetime, Counter[str]]] = []
    known: DemandHistory | None = None
    for seconds, cpus in steps:
        now += timedelta(seconds=seconds)
        pods = [a_pod(f"{number}", requests={"cpu": cpu}) for number, cpu in enumerate(cpus)]
        known = noted(known, a_snapshot(*pods, now=now), window)
        written.append((now, Counter(cpus)))
        missed = missing(known)
        for cpu in ("1", "2", "3"):
            there = written[-1][1][cpu]
            least = max(_counts(written, cpu, now - window / 6)) - there
            lately = max(_counts(written, cpu, now - window / 4)) - there
            within = _counts(written, cpu, now - window * 13 / 12)
            rises = [later - count for at, count in enumerate(within) for later in within[at:]]
            assert least <= missed[cpu] <= max(lately, min(max(within) - there, max(rises)))


def _counts(written: list[tuple[datetime, Counter[str]]], cpu: str, since: datetime) -> list[int]:
    return [counts[cpu] for when, counts in written if when >= since]
