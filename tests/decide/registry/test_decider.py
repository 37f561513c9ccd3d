"""What people hear: an alarm once, its end, and ``growth-status`` as often as it is worth reading."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import CreateObject, Hold, PatchObject, RecordEvent
from growth.api.growth_status import GROWTH_STATUS, STATUS, SUMMARY, ClusterStatus, status_in
from growth.decide.contract import Decision
from growth.decide.registry.carry import RegistryCarry
from growth.decide.registry.decider import CAPABILITY
from growth.decide.registry.status_report import status_of
from tests.decide.registry.stage import (
    BORN,
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    SETTINGS,
    SMALL,
    Watch,
    a_cloud,
    a_foreign_node,
    a_node,
    a_pool,
    a_request,
    a_status_map,
    many,
    said,
    seen,
)

CHECK = SETTINGS.registry.check_every
BROKEN = {
    "nothing is there": "",
    "it is cut off": "{",
    "it is something else": "[]",
    "a field is of another type": '{"isHealthy": "perhaps"}',
    "an instant has no zone": '{"isHealthy": false, "unhealthySince": "2026-03-01T08:00:00"}',
}


class Speaker(Watch):
    """A watch that speaks, and whose words are written down."""

    memory: object = None

    def speak(self, after: timedelta = timedelta(0)) -> Decision[Any]:
        self.now += after
        decision = self.decide(CAPABILITY, self.memory)
        self.memory = decision.carry
        return decision

    def write(self, decision: Decision[Any]) -> ClusterStatus:
        """The object is written as it was said."""
        (one,) = said(decision, CreateObject, PatchObject)
        assert (one.subject.namespace, one.subject.name) == (SETTINGS.namespace, GROWTH_STATUS)
        data: Any = one.body["data"]
        self.add(a_status_map(data[STATUS]))
        return msgspec.json.decode(data[STATUS], type=ClusterStatus)


def a_speaker(count: int = 6, *, unready: int = 0) -> Speaker:
    nodes = many(count, unready=unready)
    cloud = a_cloud(*(node.metadata.name for node in nodes))
    return Speaker(a_pool(), a_pool("web"), *nodes, cloud)


def written(decision: Decision[Any]) -> bool:
    return bool(said(decision, CreateObject, PatchObject))


# The alarm


def test_the_alarm_is_told_on_every_pool_and_in_the_same_words_as_long_as_it_lasts() -> None:
    speaker = a_speaker(unready=4)
    first = speaker.speak()
    events = said(first, RecordEvent)
    assert [(one.subject.name, one.type, one.reason) for one in events] == [
        ("default", "Warning", "ClusterUnhealthy"),
        ("web", "Warning", "ClusterUnhealthy"),
    ]
    (hold,) = said(first, Hold)
    assert (hold.subject.name, hold.reason) == (GROWTH_STATUS, "ClusterUnhealthy")
    speaker.add(a_node("default-1", ready=False, since=NOW))
    later = speaker.speak(HOUR)
    assert said(later, RecordEvent) == events  # whoever tells events tells those once that do not change
    assert "default-3, default-4, default-5, default-6" in events[0].why


def test_the_recovery_is_announced_once_and_for_a_minute() -> None:
    speaker = a_speaker(unready=4)
    speaker.speak()
    speaker.add(*many(6))
    speaker.speak(SECOND)
    recovered = said(speaker.speak(CHECK), RecordEvent)
    assert [(one.subject.name, one.type, one.reason) for one in recovered] == [
        ("default", "Normal", "ClusterHealthy"),
        ("web", "Normal", "ClusterHealthy"),
    ]
    assert said(speaker.speak(MINUTE - SECOND), RecordEvent) == recovered
    assert said(speaker.speak(SECOND), RecordEvent) == []


def test_it_is_said_when_nodes_of_others_halt_us_no_longer_and_when_these_are_well_at_last() -> None:
    others = [a_foreign_node(f"other-{number}", ready=False, since=NOW - MINUTE) for number in range(1, 6)]
    speaker = Speaker(a_pool(), a_node(), a_cloud("default-1"), *others)
    (halted,) = said(speaker.speak(), RecordEvent)
    assert halted.why.endswith("; nothing is bought or removed until this is over")
    (going_on,) = said(speaker.speak(HOUR), RecordEvent)
    assert going_on.why.endswith("; only nodes of others are, and for long: Growth goes on with its own")
    speaker.add(*(a_foreign_node(node.metadata.name, since=NOW) for node in others))
    speaker.speak(SECOND)
    (well,) = said(speaker.speak(CHECK), RecordEvent)
    assert (well.type, well.reason) == ("Normal", "ClusterHealthy")


def test_a_healthy_cluster_is_no_news() -> None:
    decision = a_speaker().speak()
    assert said(decision, RecordEvent, Hold) == []


def test_it_asks_to_be_woken_when_time_alone_changes_something() -> None:
    assert a_speaker(unready=4).speak().requeue_at == NOW + CHECK
    assert a_speaker().speak().requeue_at is None


# growth-status


def test_the_object_is_created_and_then_left_alone_while_nothing_changes() -> None:
    speaker = a_speaker()
    first = speaker.speak()
    assert len(said(first, CreateObject)) == 1
    status = speaker.write(first)
    assert (status.is_healthy, status.ready, status.states) == (True, 6, {"Ready": 6})
    assert speaker.speak(HOUR).said == ()


def test_what_is_there_is_patched_as_it_was_seen() -> None:
    speaker = a_speaker()
    speaker.add(a_status_map(ClusterStatus(ready=5), version=17))
    (patch,) = said(speaker.speak(), PatchObject)
    assert patch.resource_version == 17


def test_numbers_are_written_every_five_seconds_at_most() -> None:
    speaker = a_speaker()
    speaker.write(speaker.speak())
    speaker.add(a_node("default-7"), a_cloud(*(f"default-{number}" for number in range(1, 8))))
    soon = speaker.speak(SECOND)
    assert not written(soon)
    assert soon.requeue_at == NOW + 5 * SECOND
    assert speaker.write(speaker.speak(4 * SECOND)).ready == 7


def test_a_turn_for_the_worse_or_the_better_is_written_at_once() -> None:
    speaker = a_speaker()
    speaker.write(speaker.speak())
    speaker.add(*many(6, unready=4))
    assert speaker.write(speaker.speak(SECOND)).is_halted
    speaker.add(*many(6))
    speaker.speak(SECOND)
    speaker.write(speaker.speak(CHECK - SECOND))
    better = speaker.write(speaker.speak(SECOND))
    assert (better.is_halted, better.healthy_since) == (False, NOW + 2 * SECOND + CHECK)


def test_a_pool_that_is_closed_is_written_at_once() -> None:
    speaker = a_speaker()
    speaker.add(*(a_foreign_node(f"other-{number}") for number in range(9)))
    speaker.write(speaker.speak())
    speaker.add(*many(6, unready=3))
    status = speaker.write(speaker.speak(SECOND))
    assert status.is_healthy
    assert [(one.pool, one.offering) for one in status.pools if not one.is_healthy] == [("default", SMALL.id)]


def test_a_new_process_does_not_wait_with_numbers_that_it_has_not_written() -> None:
    speaker = a_speaker()
    speaker.add(a_status_map(ClusterStatus(ready=5)))
    assert written(speaker.speak())
    assert speaker.memory == RegistryCarry(NOW)


def test_a_clock_that_is_set_back_silences_nobody() -> None:
    speaker = a_speaker()
    speaker.write(speaker.speak())
    speaker.add(a_node("default-1", ready=False, since=NOW))
    assert written(speaker.speak(-HOUR))


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_an_object_that_somebody_broke_is_read_as_nothing_and_mended(text: str) -> None:
    speaker = a_speaker()
    broken = a_status_map(text)
    speaker.add(broken)
    assert status_in(broken) is None
    assert speaker.look().health.is_healthy
    assert speaker.look().health.healthy_since is None
    assert speaker.write(speaker.speak()).ready == 6
    assert speaker.speak(HOUR).said == ()


def test_what_is_read_again_is_what_was_written() -> None:
    speaker = a_speaker(unready=4)
    speaker.now += timedelta(microseconds=123_456)
    status = speaker.write(speaker.speak())
    assert status == status_of(speaker.look())
    assert speaker.restart().health.unhealthy_since == NOW


# What stands in it


def test_every_unit_is_counted_in_one_state() -> None:
    booting = a_foreign_node("other-2", ready=False, born=NOW - MINUTE, since=NOW - MINUTE)
    watch = Watch(a_pool(), a_node(), a_request("default-2"), a_foreign_node(), booting, a_cloud("default-1"))
    cluster = watch.look()
    states = status_of(cluster).states
    assert states == {"Requested": 1, "Ready": 1, "Foreign": 2}
    assert sum(states.values()) == sum(map(len, cluster.units.values()))


def test_those_in_trouble_are_named_the_most_serious_first() -> None:
    cluster = seen(
        a_pool(),
        a_request("default-1"),
        a_node("default-2", ready=False, since=NOW),
        a_request("default-3", since=BORN),
        a_node("default-4"),
        a_foreign_node(),
        a_cloud("default-2", "default-4"),
    )
    status = status_of(cluster)
    assert [(one.name, one.state) for one in status.troubled] == [
        ("default-2", "Unready"),
        ("default-3", "NeverCreated"),
        ("default-1", "Requested"),
    ]
    assert status.troubled_in_all == 3


def test_a_long_list_of_them_is_cut_and_its_length_is_said() -> None:
    status = status_of(seen(a_pool(), *(a_request(f"default-{number}") for number in range(300)), a_cloud()))
    assert (len(status.troubled), status.troubled_in_all) == (200, 300)


def test_the_summary_says_it_in_a_few_sentences() -> None:
    speaker = a_speaker(unready=4)
    (creation,) = said(speaker.speak(), CreateObject)
    alarm = speaker.look().health.alarm
    assert creation.body["data"][SUMMARY].splitlines() == [
        f"THE CLUSTER IS UNHEALTHY: {alarm}. Growth neither buys nor removes anything.",
        "Nodes: 4 Unready, 2 Ready.",
        f"Pool default: 4 of 6 machines of {SMALL.id} are unready, failed to start or overdue.",
    ]
    (creation,) = said(Speaker().speak(), CreateObject)
    assert creation.body["data"][SUMMARY].splitlines() == ["The cluster is healthy.", "There are no nodes."]
