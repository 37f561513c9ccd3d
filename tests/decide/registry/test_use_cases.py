"""UC1 to UC8 of the seed: in which state a node, a machine or a request is, since when, and why."""

from datetime import datetime, timedelta

import pytest

from growth.api.machine import Power
from growth.api.phases import RequestPhase
from growth.decide.facts.cluster_state import NodeState, Unit
from tests.decide.registry.stage import (
    ANOTHER,
    BORN,
    HOUR,
    LARGE,
    MACHINE_WITHIN,
    MINUTE,
    NAME,
    NOW,
    READY_WITHIN,
    SECOND,
    SMALL,
    UNREADY_AFTER,
    Thing,
    Watch,
    a_cloud,
    a_foreign_node,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_request,
    many,
    seen,
    unit_of,
)

STARTS_WITHIN = MACHINE_WITHIN + READY_WITHIN
EDGES = ("a second before", "at the instant")


def states(*things: Thing, now: datetime = NOW) -> dict[str, list[NodeState]]:
    return {name: [unit.state for unit in units] for name, units in seen(*things, now=now).units.items()}


# UC1


@pytest.mark.parametrize(
    ("request_seen", "machines"),
    [
        pytest.param(a_request(phase="Pending", since=None), (), id="nobody has looked at it yet"),
        pytest.param(a_request(phase="Pending"), (), id="its provider was asked"),
        pytest.param(a_request(), (), id="its provider does not list it yet"),
        pytest.param(a_request(), (NAME,), id="its machine boots"),
    ],
)
def test_uc1_what_was_just_asked_for_is_requested(request_seen: Thing, machines: tuple[str, ...]) -> None:
    unit = unit_of(a_pool(), request_seen, a_cloud(*machines))
    assert (unit.state, unit.pool, unit.offering) == (NodeState.REQUESTED, "default", SMALL.id)
    assert unit.has_live_request
    assert not unit.is_amiss
    assert not unit.is_unjustified


def test_uc1_it_is_requested_since_it_was_asked_for_and_until_its_time_is_over() -> None:
    unit = unit_of(a_pool(), a_request(since=NOW - MINUTE, asked_at=NOW - 2 * MINUTE), a_cloud())
    assert (unit.since, unit.changes_at) == (NOW - 2 * MINUTE, NOW - MINUTE + MACHINE_WITHIN)


def test_uc1_what_a_clock_ahead_of_ours_wrote_is_looked_at_again_when_ours_comes_near() -> None:
    far = unit_of(a_pool(), a_request(since=NOW + 5 * MINUTE, asked_at=NOW), a_cloud())
    near = unit_of(a_pool(), a_request(since=NOW + SECOND, asked_at=NOW), a_cloud())
    assert far.changes_at == NOW + 4 * MINUTE + timedelta(microseconds=1)
    assert near.changes_at == NOW + SECOND


def test_uc1_the_time_of_one_that_nobody_has_looked_at_has_not_begun() -> None:
    old = a_request(phase="Pending", since=None, asked_at=NOW - HOUR)
    assert unit_of(a_pool(), old, a_cloud()).state is NodeState.REQUESTED


def test_uc1_a_machine_without_request_has_the_same_time_to_register() -> None:
    young = a_machine(created_at=NOW - MACHINE_WITHIN + SECOND)
    unit = unit_of(a_pool(), a_cloud(young))
    assert (unit.state, unit.since, unit.changes_at) == (NodeState.REQUESTED, young.created_at, NOW + SECOND)
    assert not unit.has_live_request


# UC2


def test_uc2_a_closed_node_that_was_never_ready_boots() -> None:
    born = NOW - MINUTE
    node = a_node(ready=False, is_closed=True, born=born)
    unit = unit_of(a_pool(), a_request(since=born), node, a_cloud(NAME))
    assert (unit.state, unit.since, unit.changes_at) == (NodeState.BOOTING, born, born + STARTS_WITHIN)
    assert not unit.is_unjustified
    assert not unit.is_ready


def test_uc2_a_node_that_is_ready_and_still_closed_is_being_prepared_for_as_long_as_it_takes() -> None:
    node = a_node(is_closed=True, born=NOW - HOUR)
    unit = unit_of(a_pool(), a_request(since=NOW - HOUR), node, a_cloud(NAME))
    assert (unit.state, unit.why, unit.is_ready) == (NodeState.BOOTING, "it is being prepared", True)
    assert unit.changes_at is None


def test_uc2_an_open_node_whose_request_is_not_done_with_it_boots_unless_it_was_started() -> None:
    young = a_node(started=False, ready=False)
    assert unit_of(a_pool(), a_request(), young, a_cloud(NAME)).state is NodeState.BOOTING
    assert unit_of(a_pool(), a_request(), a_node(ready=False), a_cloud(NAME)).state is NodeState.UNREADY
    assert unit_of(a_pool(), a_request(), a_node(), a_cloud(NAME)).state is NodeState.READY


def test_uc2_a_foreign_node_that_boots_is_no_reason_for_alarm_until_its_time_is_over() -> None:
    booting = a_foreign_node(ready=False, born=NOW - READY_WITHIN + SECOND, since=NOW - READY_WITHIN + 5 * SECOND)
    watch = Watch(booting, a_foreign_node("other-2"))
    unit = watch.look().unit("other-1")
    assert unit is not None
    assert (unit.state, unit.why, unit.is_unjustified) == (NodeState.FOREIGN, "it boots", False)
    assert unit.changes_at == NOW + SECOND
    assert watch.look().next_change == NOW + SECOND
    late = watch.look(SECOND).unit("other-1")
    assert late is not None
    assert late.is_unjustified


# UC3


@pytest.mark.parametrize(
    ("over", "state"), [(-SECOND, NodeState.BOOTING), (timedelta(0), NodeState.FAILED_TO_START)], ids=EDGES
)
def test_uc3_a_node_that_is_not_ready_in_time_failed_to_start(over: timedelta, state: NodeState) -> None:
    asked = NOW - STARTS_WITHIN - over
    node = a_node(ready=False, is_closed=True, born=asked + MINUTE)
    unit = unit_of(a_pool(), a_request(since=asked), node, a_cloud(NAME))
    assert (unit.state, unit.is_amiss) == (state, state is NodeState.FAILED_TO_START)
    assert not unit.is_unjustified  # it belongs to a scale-up


def test_uc3_one_without_request_has_its_time_from_its_birth() -> None:
    node = a_node(ready=False, is_closed=True, born=NOW - STARTS_WITHIN)
    unit = unit_of(a_pool(), node, a_cloud(NAME))
    assert (unit.state, unit.since, unit.has_request) == (NodeState.FAILED_TO_START, NOW, False)


def test_uc3_whether_it_was_ever_ready_is_what_we_recorded_and_not_a_time_that_looks_like_its_birth() -> None:
    """kwok writes the node's creation as the transition when a node comes back."""
    came_back = a_node(ready=False, since=BORN, born=BORN)
    assert unit_of(a_pool(), came_back, a_cloud(NAME)).state is NodeState.UNREADY
    assert unit_of(a_pool(), a_node(since=BORN, born=BORN), a_cloud(NAME)).state is NodeState.READY


# UC4


@pytest.mark.parametrize("phase", ["Pending", "Provisioning"])
@pytest.mark.parametrize(
    ("over", "state"), [(-SECOND, NodeState.REQUESTED), (timedelta(0), NodeState.NEVER_CREATED)], ids=EDGES
)
def test_uc4_what_its_provider_does_not_have_in_time_was_never_created(
    phase: RequestPhase, over: timedelta, state: NodeState
) -> None:
    unit = unit_of(a_pool(), a_request(phase=phase, since=NOW - MACHINE_WITHIN - over), a_cloud())
    assert (unit.state, unit.is_amiss) == (state, state is NodeState.NEVER_CREATED)
    if state is NodeState.NEVER_CREATED:
        assert unit.since == NOW


def test_uc4_a_provider_that_does_not_answer_proves_nothing() -> None:
    overdue = a_request(since=NOW - 2 * MACHINE_WITHIN)
    for silent in (
        a_cloud(problem="no answer"),
        a_cloud(read_at=None),
        a_cloud(read_at=NOW - MACHINE_WITHIN - SECOND),  # it was asked before the time was over
        a_cloud(read_at=NOW + SECOND),  # a clock was set back
        a_cloud(provider="another"),
    ):
        unit = unit_of(a_pool(), overdue, silent)
        assert unit.state is NodeState.REQUESTED
        assert unit.why == "its time is over, but its provider does not say whether there is a machine"
    assert unit_of(a_pool(), overdue).state is NodeState.REQUESTED
    last = a_cloud(read_at=NOW - MACHINE_WITHIN)
    assert unit_of(a_pool(), overdue, last).state is NodeState.NEVER_CREATED


def test_uc4_what_was_given_up_stays_so_and_only_what_was_overdue_speaks_against_its_pool() -> None:
    since = NOW - MINUTE
    refused = unit_of(a_pool(), a_request(phase="Unmet", reason="OutOfStock"), a_cloud())
    assert (refused.state, refused.since, refused.why) == (NodeState.NEVER_CREATED, since, "it was OutOfStock")
    assert not refused.is_amiss
    overdue = unit_of(a_pool(), a_request(phase="Unmet", reason="NoMachine"), a_cloud())
    assert (overdue.state, overdue.is_amiss) == (NodeState.NEVER_CREATED, True)
    assert not overdue.has_live_request


# UC5


@pytest.mark.parametrize(
    ("over", "state"), [(-SECOND, NodeState.REQUESTED), (timedelta(0), NodeState.NEVER_REGISTERED)], ids=EDGES
)
def test_uc5_a_machine_whose_node_does_not_come_in_time_never_registered(over: timedelta, state: NodeState) -> None:
    request = a_request(since=NOW - MACHINE_WITHIN - over)
    unit = unit_of(a_pool(), request, a_cloud(NAME))
    assert (unit.state, unit.has_machine, unit.is_amiss) == (state, True, state is NodeState.NEVER_REGISTERED)


def test_uc5_a_machine_that_comes_late_for_a_pending_request_has_its_time_before_it() -> None:
    request = a_request(phase="Pending", since=NOW - 2 * MACHINE_WITHIN)
    assert unit_of(a_pool(), request, a_cloud(NAME)).state is NodeState.REQUESTED


def test_uc5_a_machine_that_has_neither_request_nor_node_never_registered() -> None:
    unit = unit_of(a_pool(), a_cloud(a_machine(created_at=NOW - MACHINE_WITHIN)))
    assert (unit.state, unit.since) == (NodeState.NEVER_REGISTERED, NOW)
    assert (unit.why, unit.has_request) == ("its machine has neither request nor node", False)


def test_uc5_a_provider_that_does_not_answer_proves_nothing() -> None:
    overdue = a_request(since=NOW - 2 * MACHINE_WITHIN)
    silent = a_cloud(NAME, problem="no answer")
    assert unit_of(a_pool(), overdue, silent).state is NodeState.REQUESTED


# UC6


@pytest.mark.parametrize("over", [-SECOND, timedelta(0)], ids=EDGES)
def test_uc6_a_node_that_worked_and_does_not_now_is_unready_and_for_long_after_its_time(over: timedelta) -> None:
    since = NOW - UNREADY_AFTER - over
    unit = unit_of(a_pool(), a_node(ready=False, since=since), a_cloud(NAME))
    assert (unit.state, unit.since, unit.is_long) == (NodeState.UNREADY, since, not over)
    assert unit.is_unjustified
    assert unit.is_amiss
    assert unit.changes_at == (NOW + SECOND if over else None)


def test_uc6_one_that_recovers_in_the_last_second_has_a_clean_record() -> None:
    since = NOW - UNREADY_AFTER + SECOND
    watch = Watch(a_pool(), a_node(ready=False, since=since), a_node(ANOTHER), a_cloud(NAME, ANOTHER))
    watch.look()
    watch.add(a_node(since=NOW))
    assert watch.look(SECOND).unit(NAME) == unit_of(a_pool(), a_node(since=NOW), a_cloud(NAME), now=NOW + SECOND)
    watch.add(a_node(ready=False, since=watch.now))
    again = watch.look(UNREADY_AFTER - SECOND).unit(NAME)
    assert again is not None
    assert not again.is_long


def test_uc6_the_pool_says_what_long_is_and_without_a_pool_nobody_does() -> None:
    node, cloud = a_node(ready=False, since=NOW - MINUTE), a_cloud(NAME)
    assert unit_of(a_pool(scaleDown={"unreadyAfter": "1m"}), node, cloud).is_long
    assert not unit_of(a_pool(), node, cloud).is_long
    assert not unit_of(a_pool("another"), a_node(ready=False, since=BORN), cloud).is_long


def test_uc6_it_is_said_how_the_node_and_its_machine_are() -> None:
    node = a_node(ready=False, since=NOW - MINUTE)
    for cloud, machine in (
        (a_cloud(NAME), "its machine is on"),
        (a_cloud(a_machine(power=Power.OFF)), "its machine is off"),
        (a_cloud(), "its provider has no such machine any more"),
        (a_cloud(problem="no answer"), "its provider does not answer"),
    ):
        assert unit_of(a_pool(), node, cloud).why == f"its Ready condition is Unknown; {machine}"


def test_uc6_a_transition_before_its_birth_is_no_transition() -> None:
    born = NOW - MINUTE
    unit = unit_of(a_pool(), a_node(ready=False, since=NOW - 9 * HOUR, born=born, started=True), a_cloud(NAME))
    assert (unit.since, unit.is_long) == (born, False)


# UC7


def test_uc7_what_a_removal_speaks_of_is_being_removed_whatever_else_is_true() -> None:
    for node in (a_node(), a_node(ready=False, since=BORN), a_node(is_closed=True, ready=False)):
        unit = unit_of(a_pool(), node, a_removal(), a_cloud(NAME))
        assert (unit.state, unit.since) == (NodeState.BEING_REMOVED, NOW - MINUTE)
        assert unit.why == "nobody needed it"
        assert not unit.is_unjustified
        assert not unit.is_amiss
    assert unit_of(a_pool(), a_removal(), a_cloud(NAME)).state is NodeState.BEING_REMOVED


def test_uc7_a_request_that_is_taken_back_is_being_removed_and_so_is_one_whose_node_is_gone() -> None:
    back = unit_of(a_pool(), a_request(phase="Deprovisioning", reason="NoNode"), a_cloud(NAME))
    assert (back.state, back.since, back.why) == (NodeState.BEING_REMOVED, NOW - MINUTE, "it was NoNode")
    gone = unit_of(a_pool(), a_request(phase="Ready"), a_cloud())
    assert gone.state is NodeState.BEING_REMOVED


def test_uc7_a_removal_that_failed_is_a_state_of_its_own() -> None:
    unit = unit_of(a_pool(), a_node(), a_removal(phase="RemovalFailed", reason="it is locked"), a_cloud(NAME))
    assert (unit.state, unit.why) == (NodeState.REMOVAL_FAILED, "it is locked")


def test_uc7_a_removal_without_machine_node_and_request_is_nothing_any_more() -> None:
    assert states(a_pool(), a_removal(), a_cloud()) == {}


# UC8


def test_uc8_too_many_nodes_that_are_unready_without_reason_halt_everything() -> None:
    nodes, cloud = many(8, unready=4), a_cloud(*(f"default-{number}" for number in range(1, 9)))
    cluster = seen(a_pool(), *nodes, cloud)
    assert not cluster.health.is_healthy
    assert cluster.is_halted
    assert cluster.health.alarm.startswith("4 of 8 nodes are unready without reason: default-5, default-6, default-7")


def test_uc8_those_that_come_and_go_have_their_reasons() -> None:
    coming = [
        thing
        for number in range(1, 4)
        for thing in (a_request(f"default-{number}"), a_node(f"default-{number}", ready=False, is_closed=True))
    ]
    going = [
        thing
        for number in range(4, 7)
        for thing in (a_removal(f"default-{number}"), a_node(f"default-{number}", ready=False, since=BORN))
    ]
    machines = [f"default-{number}" for number in range(1, 8)]
    cluster = seen(a_pool(), *coming, *going, a_node("default-7"), a_cloud(*machines))
    assert cluster.health.is_healthy
    assert (cluster.health.census.ready, cluster.health.census.unready) == (1, 0)


# Ready, and who belongs to whom


def test_a_node_that_works_is_ready_and_nothing_changes_that_but_an_event() -> None:
    unit = unit_of(a_pool(), a_node(), a_cloud(NAME))
    assert unit == Unit(
        NAME, NodeState.READY, BORN, pool="default", offering=SMALL.id, has_node=True, is_ready=True,
        provider_id=f"kwok://{NAME}", has_machine=True,
    )  # fmt: skip
    assert seen(a_pool(), a_node(), a_cloud(NAME)).troubled == {}


def test_a_node_whose_machine_is_not_listed_is_ready_all_the_same_and_it_is_said() -> None:
    gone = unit_of(a_pool(), a_node(), a_cloud())
    assert (gone.state, gone.why) == (NodeState.READY, "its provider has no such machine any more")
    for unknown in (a_cloud(problem="no answer"), a_cloud(read_at=None)):
        assert unit_of(a_pool(), a_node(), unknown).why == ""


def test_a_node_and_its_machine_belong_together_by_provider_id_whatever_they_are_called() -> None:
    renamed = a_machine("another-name", provider_id="kwok://7", offering=LARGE.id)
    cluster = seen(a_pool(), a_node(provider_id="kwok://7"), a_cloud(renamed))
    assert list(cluster.units) == [NAME]
    (unit,) = cluster.units[NAME]
    assert (unit.state, unit.has_machine, unit.offering) == (NodeState.READY, True, LARGE.id)


def test_a_node_without_provider_id_belongs_to_the_machine_of_its_name() -> None:
    unit = unit_of(a_pool(), a_node(provider_id=""), a_cloud(NAME))
    assert (unit.has_machine, unit.provider_id) == (True, f"kwok://{NAME}")


def test_a_node_without_provider_id_does_not_get_a_machine_that_another_node_runs_on() -> None:
    found = states(a_pool(), a_node(provider_id=""), a_node(ANOTHER, provider_id=f"kwok://{NAME}"), a_cloud(NAME))
    assert found == {NAME: [NodeState.READY], ANOTHER: [NodeState.READY]}
    cluster = seen(a_pool(), a_node(provider_id=""), a_node(ANOTHER, provider_id=f"kwok://{NAME}"), a_cloud(NAME))
    assert [cluster.units[name][0].has_machine for name in (NAME, ANOTHER)] == [False, True]


def test_of_two_nodes_on_one_machine_the_first_by_name_has_it() -> None:
    cluster = seen(a_pool(), a_node(), a_node(ANOTHER, provider_id=f"kwok://{NAME}"), a_cloud(NAME))
    assert [cluster.units[name][0].has_machine for name in (NAME, ANOTHER)] == [True, False]


def test_a_node_of_that_name_on_another_machine_is_not_the_requests() -> None:
    request, stranger = a_request(), a_foreign_node(NAME, provider_id="elsewhere://1")
    cluster = seen(a_pool(), request, stranger, a_cloud(NAME))
    assert [unit.state for unit in cluster.units[NAME]] == [NodeState.FOREIGN, NodeState.REQUESTED]
    mine = cluster.request_unit(NAME)
    assert mine is not None
    assert (mine.state, mine.has_machine, mine.has_node) == (NodeState.REQUESTED, True, False)


def test_a_machine_of_that_name_that_was_bought_as_something_else_is_not_the_requests() -> None:
    request, other = a_request(provider_id=""), a_machine(offering=LARGE.id)
    found = seen(a_pool(), request, a_cloud(other)).units[NAME]
    assert [(unit.has_request, unit.has_machine) for unit in found] == [(True, False), (False, True)]


def test_a_removal_of_a_machine_says_nothing_about_a_node_that_came_since_under_its_name() -> None:
    found = seen(a_pool(), a_node(provider_id="kwok://new"), a_removal(), a_cloud(NAME)).units[NAME]
    assert [unit.state for unit in found] == [NodeState.READY, NodeState.BEING_REMOVED]


# Foreign


def test_a_node_without_our_label_is_foreign() -> None:
    unit = unit_of(a_pool(), a_foreign_node(), a_cloud(), name="other-1")
    assert (unit.state, unit.pool, unit.is_ready) == (NodeState.FOREIGN, "", True)


def test_a_node_that_bears_our_label_and_is_no_machine_of_ours_is_foreign_when_its_provider_has_said_so() -> None:
    pretender = a_node(started=False, provider_id="elsewhere://1")
    assert unit_of(a_pool(), pretender, a_cloud()).state is NodeState.FOREIGN
    assert unit_of(a_pool(), pretender, a_cloud(problem="no answer")).state is NodeState.READY
    assert unit_of(a_pool(), pretender, a_cloud(read_at=BORN)).state is NodeState.READY
    assert unit_of(a_pool(), pretender, a_cloud(read_at=BORN + SECOND)).state is NodeState.FOREIGN


def test_a_node_that_we_started_stays_ours_when_its_machine_is_gone() -> None:
    unit = unit_of(a_pool(), a_node(ready=False, since=NOW - MINUTE), a_cloud())
    assert (unit.state, unit.pool, unit.offering) == (NodeState.UNREADY, "default", SMALL.id)


# Clocks


def test_after_a_jump_of_the_clock_every_patience_begins_anew() -> None:
    late = NOW - 10 * HOUR
    watch = Watch(
        a_pool(),
        a_request(since=late),
        a_node(ANOTHER, ready=False, since=late),
        a_node("default-3"),
        a_cloud(ANOTHER, "default-3"),
    )
    watch.steady_since = NOW
    cluster = watch.look()
    one, other = cluster.unit(NAME), cluster.unit(ANOTHER)
    assert one is not None
    assert other is not None
    assert (one.state, one.changes_at) == (NodeState.REQUESTED, NOW + MACHINE_WITHIN)
    assert (other.is_long, other.changes_at) == (False, NOW + UNREADY_AFTER)


def test_a_phase_that_was_written_by_a_clock_far_ahead_counts_from_when_the_request_was_made() -> None:
    wrong = a_request(since=NOW + HOUR, asked_at=NOW - MACHINE_WITHIN)
    assert unit_of(a_pool(), wrong, a_cloud()).state is NodeState.NEVER_CREATED
