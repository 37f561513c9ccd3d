"""S1 to S4 of the seed: is the cluster healthy, is a pool, what is coming, and what is missing since when."""

from datetime import timedelta

import msgspec
import pytest

from growth.api.node import Node
from growth.api.node_pool import NodePoolStatus, Unhealthy
from growth.api.settings.model import Settings
from growth.decide.facts.cluster_state import ClusterState, NodeState, PoolGroup, ReadinessCensus
from growth.decide.registry.status_report import status_of
from tests.decide.registry.stage import (
    BORN,
    HOUR,
    LARGE,
    MACHINE_WITHIN,
    MINUTE,
    NOW,
    SECOND,
    SETTINGS,
    SMALL,
    Thing,
    Watch,
    a_cloud,
    a_foreign_node,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_request,
    a_status_map,
    many,
    seen,
)

CHECK, FOREIGN_HALT = SETTINGS.registry.check_every, SETTINGS.registry.foreign_halt_at_most
IMPROVES = SETTINGS.registry.improves_after


def machines_of(nodes: list[Node]) -> Thing:
    return a_cloud(*(node.metadata.name for node in nodes))


def a_watch(count: int, *, unready: int, settings: Settings = SETTINGS) -> Watch:
    nodes = many(count, unready=unready)
    return Watch(a_pool(), *nodes, machines_of(nodes), settings=settings)


def foreign(count: int, *, unready: int) -> list[Node]:
    return [
        a_foreign_node(f"other-{number}", ready=number > unready, since=NOW - MINUTE) for number in range(1, count + 1)
    ]


# S1


@pytest.mark.parametrize(
    ("count", "unready", "is_healthy"),
    [
        pytest.param(6, 3, True, id="three are fine, whatever share they are"),
        pytest.param(6, 4, False, id="four of six are too many"),
        pytest.param(20, 9, True, id="exactly 45% are fine"),
        pytest.param(20, 10, False, id="more than 45% are not"),
        pytest.param(1, 1, False, id="one is unready and none is ready"),
        pytest.param(3, 3, False, id="three are unready and none is ready"),
        pytest.param(2, 1, True, id="one is unready and one ready"),
        pytest.param(0, 0, True, id="there are no nodes at all"),
    ],
)
def test_s1_the_cluster_is_healthy_unless_too_many_nodes_are_unready_without_reason(
    *, count: int, unready: int, is_healthy: bool
) -> None:
    cluster = a_watch(count, unready=unready).look()
    assert (cluster.health.is_healthy, cluster.is_halted) == (is_healthy, not is_healthy)
    assert cluster.health.census == ReadinessCensus(ready=count - unready, unready=unready)


@pytest.mark.parametrize("is_leaving", [True, False])
def test_s1_a_cluster_in_which_nodes_only_come_or_only_go_is_healthy(*, is_leaving: bool) -> None:
    names = [f"default-{number}" for number in range(1, 6)]
    nodes = [a_node(name, ready=False, since=BORN if is_leaving else None, is_closed=not is_leaving) for name in names]
    reasons = [a_removal(name) if is_leaving else a_request(name) for name in names]
    cluster = seen(a_pool(), *nodes, *reasons, a_cloud(*names))
    assert cluster.health.is_healthy
    assert cluster.health.census == ReadinessCensus()


def test_s1_both_limits_are_settings() -> None:
    registry = msgspec.structs.replace(SETTINGS.registry, ok_unready=0, unready_percent=10)
    strict = msgspec.structs.replace(SETTINGS, registry=registry)
    assert a_watch(10, unready=1, settings=strict).look().health.is_healthy
    assert not a_watch(9, unready=1, settings=strict).look().health.is_healthy


def test_s1_it_turns_unhealthy_at_once_and_healthy_again_after_one_check_without_trouble() -> None:
    watch = a_watch(6, unready=4)
    sick = watch.look()
    assert (sick.health.unhealthy_since, sick.next_change) == (NOW, NOW + CHECK)
    watch.add(a_node("default-3", since=watch.now + SECOND))
    watch.look(SECOND)
    assert watch.look(CHECK - SECOND).is_halted
    well = watch.look(SECOND)
    assert well.health.is_healthy
    assert not well.is_halted
    assert well.health.healthy_since == NOW + SECOND + CHECK
    assert well.health.alarm == ""


def test_s1_whoever_falls_ill_again_within_the_check_is_not_healthy_meanwhile() -> None:
    watch = a_watch(6, unready=4)
    watch.look()
    for number in range(60):
        watch.add(a_node("default-3", ready=bool(number % 2), since=watch.now))
        cluster = watch.look(SECOND)
        assert cluster.is_halted
        assert cluster.health.unhealthy_since == NOW


def test_s1_it_is_looked_again_every_ten_seconds() -> None:
    assert timedelta(seconds=10) == CHECK
    watch = a_watch(6, unready=4)
    for number in range(1, 4):
        assert watch.look(CHECK).next_change == NOW + (number + 1) * CHECK


def test_s1_the_alarm_is_worded_once_and_names_those_that_began_it() -> None:
    watch = a_watch(6, unready=4)
    first = watch.look().health.alarm
    watch.add(a_node("default-1", ready=False, since=NOW))
    later = watch.look(SECOND).health
    assert later.alarm == first
    assert later.census == ReadinessCensus(ready=1, unready=5)
    assert "4 of 6 nodes" in first
    assert "default-1" not in first


def test_s1_a_long_list_of_names_is_cut() -> None:
    alarm = a_watch(30, unready=25).look().health.alarm
    assert alarm.endswith("and 5 more")


def test_s1_foreign_nodes_halt_us_for_half_an_hour_at_most_and_deadlines_count_from_then() -> None:
    watch = Watch(a_pool(), a_node(), a_cloud("default-1"), *foreign(6, unready=5))
    cluster = watch.look()
    assert cluster.is_halted
    assert cluster.health.census == ReadinessCensus(ready=2, unready=0, foreign_unready=5)
    assert "other-1 (not ours)" in cluster.health.alarm
    assert watch.look(FOREIGN_HALT - SECOND).is_halted
    resumed = watch.look(SECOND)
    assert not resumed.health.is_healthy
    assert not resumed.is_halted
    assert resumed.health.healthy_since == NOW + FOREIGN_HALT
    assert watch.look(HOUR).health.healthy_since == NOW + FOREIGN_HALT


def test_s1_when_ours_are_too_many_by_themselves_they_halt_us_for_as_long_as_it_takes() -> None:
    ours = many(6, unready=5)
    watch = Watch(a_pool(), *ours, machines_of(ours), *foreign(1, unready=1))
    watch.look()
    assert watch.look(24 * HOUR).is_halted


def test_s1_ours_that_fall_ill_after_foreign_ones_halted_us_for_long_halt_us_again() -> None:
    ours = many(6)
    watch = Watch(a_pool(), *ours, machines_of(ours), *foreign(8, unready=8))
    watch.look()
    assert not watch.look(FOREIGN_HALT).is_halted
    watch.add(*many(6, unready=5))
    assert watch.look(SECOND).is_halted
    watch.add(*ours)
    watch.look(SECOND)
    assert watch.look(CHECK - SECOND).is_halted
    resumed = watch.look(SECOND)
    assert (resumed.is_halted, resumed.health.is_healthy, resumed.health.healthy_since) == (False, False, watch.now)


def test_s1_what_was_amiss_at_one_look_lasts_until_the_next() -> None:
    watch = a_watch(6, unready=4)
    watch.look()
    watch.add(*many(6))
    assert watch.look(10 * CHECK).is_halted
    assert watch.look(CHECK).health.healthy_since == NOW + 11 * CHECK


def test_s1_no_deadline_passes_in_an_unhealthy_cluster_and_later_it_counts_from_the_recovery() -> None:
    nodes, late = many(6, unready=4), a_request("default-9", since=NOW - MINUTE)
    watch = Watch(a_pool(), *nodes, late, machines_of(nodes))
    watch.look()
    watch.add(a_cloud(*(node.metadata.name for node in nodes), read_at=NOW + HOUR))
    waiting = watch.look(HOUR).unit("default-9")
    assert waiting is not None
    assert (waiting.state, waiting.changes_at) == (NodeState.REQUESTED, None)
    watch.add(*many(6))
    watch.look(SECOND)
    recovered = watch.look(CHECK)
    assert recovered.health.is_healthy
    again = recovered.unit("default-9")
    assert again is not None
    assert (again.state, again.changes_at) == (NodeState.REQUESTED, watch.now + MACHINE_WITHIN)


def test_s1_a_clock_that_is_set_back_keeps_nobody_waiting_for_its_return() -> None:
    watch = a_watch(6, unready=4)
    watch.look()
    watch.add(*many(6))
    watch.look(SECOND)
    assert watch.look(CHECK).health.healthy_since == watch.now
    watch.now -= 10 * HOUR
    watch.steady_since = watch.now
    assert watch.look().health.healthy_since == watch.now
    watch.add(*many(6, unready=4))
    sick = watch.look(SECOND)
    watch.now -= 10 * HOUR
    watch.steady_since = watch.now
    watch.add(*many(6))
    assert sick.is_halted
    assert watch.look().is_halted
    assert not watch.look(CHECK).is_halted


def test_s1_a_new_process_goes_on_in_the_middle_of_an_outage() -> None:
    watch = a_watch(6, unready=4)
    sick = watch.look()
    watch.add(a_status_map(status_of(sick)))
    watch.now += HOUR
    again = watch.restart()
    assert again.is_halted
    assert (again.health.unhealthy_since, again.health.alarm) == (NOW, sick.health.alarm)


def test_s1_a_new_process_that_finds_all_well_waits_for_one_check_and_counts_deadlines_from_then() -> None:
    watch = a_watch(6, unready=4)
    watch.add(a_status_map(status_of(watch.look())), *many(6))
    watch.now += HOUR
    again = watch.restart()
    assert again.is_halted
    assert again.next_change == watch.now + CHECK
    well = watch.look(CHECK).health
    assert (well.is_healthy, well.is_halted, well.healthy_since) == (True, False, watch.now)


def test_s1_since_when_it_is_healthy_outlives_the_process() -> None:
    watch = a_watch(6, unready=4)
    watch.look()
    watch.add(*many(6))
    watch.look(SECOND)
    recovered = watch.look(CHECK)
    watch.add(a_status_map(status_of(recovered)), a_request("default-9", since=NOW - MACHINE_WITHIN + SECOND))
    again = watch.restart()
    assert again.health.healthy_since == recovered.health.healthy_since == NOW + CHECK + SECOND
    unit = again.unit("default-9")
    assert unit is not None
    assert unit.changes_at == NOW + CHECK + SECOND + MACHINE_WITHIN


# S2


def group(cluster: ClusterState, offering: str = "", pool: str = "default") -> PoolGroup:
    return cluster.groups[pool, offering]


def test_s2_too_much_amiss_of_one_offering_closes_that_and_not_its_pool() -> None:
    nodes = [*many(3, unready=2), a_node("large-1", offering=LARGE.id), a_foreign_node()]
    listed = a_cloud("default-1", "default-2", "default-3", a_machine("large-1", offering=LARGE.id))
    cluster = seen(a_pool(types=("small", "large")), *nodes, listed)
    assert cluster.closed_offerings == {("default", SMALL.id)}
    assert cluster.closed_pools == frozenset()
    assert group(cluster, SMALL.id).why == f"2 of 3 machines of {SMALL.id} are unready, failed to start or overdue"
    assert group(cluster, SMALL.id).unhealthy_since == NOW
    assert not group(cluster, LARGE.id).is_unhealthy


def test_s2_if_more_than_one_offering_is_to_blame_it_is_the_pool() -> None:
    small, large = a_node(ready=False, since=NOW), a_node("large-1", ready=False, since=NOW, offering=LARGE.id)
    listed = a_cloud("default-1", a_machine("large-1", offering=LARGE.id))
    cluster = seen(a_pool(types=("small", "large")), small, large, listed, a_foreign_node())
    assert cluster.closed_pools == {"default"}
    assert cluster.closed_offerings == frozenset()  # one of each is within the limits


def test_s2_a_broken_offering_and_one_that_has_a_single_bad_machine_do_not_close_the_pool() -> None:
    broken = many(5, unready=5)
    large = [a_node(f"large-{number}", ready=number > 1, since=NOW, offering=LARGE.id) for number in range(1, 5)]
    machines = [a_machine(node.metadata.name, offering=LARGE.id) for node in large]
    listed = a_cloud(*(node.metadata.name for node in broken), *machines)
    cluster = seen(a_pool(types=("small", "large")), *broken, *large, listed, *foreign(9, unready=0))
    assert (cluster.closed_offerings, cluster.closed_pools) == ({("default", SMALL.id)}, frozenset())


def test_s2_if_nobody_knows_what_was_bought_it_is_the_pool() -> None:
    unknown = [a_node(f"default-{number}", ready=False, since=NOW, offering="") for number in range(1, 4)]
    cluster = seen(a_pool(), *unknown, a_cloud(), a_foreign_node())
    assert cluster.closed_pools == {"default"}


def test_s2_offering_counts_unready_failed_and_overdue_machines_together() -> None:
    unready = a_node(ready=False, since=NOW)
    failed = a_node("default-2", ready=False, is_closed=True, born=BORN)
    unregistered = a_request("default-3", since=NOW - HOUR)
    uncreated = a_request("default-4", since=NOW - HOUR)
    listed = a_cloud("default-1", "default-2", "default-3")
    cluster = seen(a_pool(), unready, failed, unregistered, uncreated, listed, *foreign(3, unready=0))
    assert [group.amiss for key, group in cluster.groups.items() if key[1]] == [4]
    assert group(cluster).amiss == 1, "machines that never worked say nothing about their pool"
    assert group(cluster).counts == {
        NodeState.UNREADY: 1,
        NodeState.FAILED_TO_START: 1,
        NodeState.NEVER_REGISTERED: 1,
        NodeState.NEVER_CREATED: 1,
    }


@pytest.mark.parametrize(
    ("count", "unready", "is_closed"),
    [
        pytest.param(1, 1, False, id="one is fine, whatever share it is"),
        pytest.param(4, 2, True, id="two of four are too many"),
        pytest.param(20, 9, False, id="exactly 45% are fine"),
        pytest.param(20, 10, True, id="more than 45% are not"),
    ],
)
def test_s2_a_pool_and_an_offering_have_limits_of_their_own(*, count: int, unready: int, is_closed: bool) -> None:
    nodes = many(count, unready=unready)
    cluster = seen(a_pool(), *nodes, machines_of(nodes), *foreign(20, unready=0))
    assert bool(cluster.closed_offerings) == is_closed
    assert not cluster.is_halted


def test_s2_what_a_provider_refuses_to_sell_closes_nothing() -> None:
    refused = [a_request(f"default-{number}", "Unmet", reason="OutOfStock") for number in range(1, 9)]
    cluster = seen(a_pool(), *refused, a_cloud())
    assert cluster.closed_offerings == cluster.closed_pools == frozenset()
    overdue = [a_request(f"default-{number}", "Unmet", reason="NoMachine") for number in range(1, 9)]
    assert seen(a_pool(), *overdue, a_cloud()).closed_offerings == {("default", SMALL.id)}


def test_s2_it_improves_when_it_was_within_its_limits_for_a_while() -> None:
    nodes = many(3, unready=2)
    watch = Watch(a_pool(), *nodes, machines_of(nodes), *foreign(3, unready=0))
    watch.look()
    watch.add(*many(3))
    better = group(watch.look(MINUTE), SMALL.id)
    assert (better.is_unhealthy, better.unhealthy_since, better.improves_at) == (True, NOW, watch.now + IMPROVES)
    assert better.why.endswith("; it is better now, and must stay so for a while")
    assert watch.look(IMPROVES - SECOND).next_change == watch.now + SECOND
    assert watch.look(SECOND).closed_offerings == frozenset()


def test_s2_whoever_gets_worse_meanwhile_begins_anew() -> None:
    nodes = many(3, unready=2)
    watch = Watch(a_pool(), *nodes, machines_of(nodes), *foreign(3, unready=0))
    watch.look()
    for _ in range(30):
        watch.add(*many(3))
        watch.look(SECOND)
        assert watch.look(IMPROVES - SECOND).closed_offerings
        watch.add(*many(3, unready=2))
        assert group(watch.look(SECOND), SMALL.id).unhealthy_since == NOW


def test_s2_what_is_closed_stays_so_although_nothing_is_left_of_it() -> None:
    nodes = many(3, unready=3)
    watch = Watch(a_pool(), *nodes, machines_of(nodes), *foreign(4, unready=0))
    watch.look()
    watch.remove(*nodes)
    watch.add(a_cloud(read_at=NOW + SECOND))
    assert watch.look(SECOND).closed_offerings == {("default", SMALL.id)}
    assert watch.look(IMPROVES).groups == {}


def test_s2_a_clock_that_is_set_back_closes_nothing_for_longer() -> None:
    nodes = many(3, unready=2)
    watch = Watch(a_pool(), *nodes, machines_of(nodes), *foreign(3, unready=0))
    watch.look()
    watch.add(*many(3))
    watch.look(SECOND)
    watch.now -= 10 * HOUR
    watch.steady_since = watch.now
    watch.look()
    assert watch.look(IMPROVES).closed_offerings == frozenset()


def test_s2_what_is_closed_outlives_the_process_in_the_status_of_its_pool() -> None:
    since = NOW - HOUR
    status = NodePoolStatus(unhealthy=(Unhealthy(SMALL.id, since, "2 of 3 were unready"), Unhealthy("", since, "all")))
    watch = Watch(a_pool(status=status), a_node(), a_cloud("default-1"))
    cluster = watch.look()
    assert cluster.closed_offerings == {("default", SMALL.id)}
    assert cluster.closed_pools == {"default"}
    assert group(cluster, SMALL.id).unhealthy_since == since
    assert not watch.look(IMPROVES).closed_offerings
    assert not watch.look().closed_pools


# S3


def test_s3_what_is_asked_for_and_what_boots_is_upcoming_per_pool_and_offering() -> None:
    things = [
        a_request("default-1", "Pending", since=None),
        a_request("default-2"),
        a_request("large-1", offering=LARGE.id),
        a_node("large-1", ready=False, is_closed=True, offering=LARGE.id),
        a_request("default-3", "Unmet", reason="OutOfStock"),
        a_request("default-4", since=NOW - HOUR),
        a_node("default-5"),
        a_request("web-1", pool="web"),
    ]
    listed = a_cloud("default-2", "default-5", a_machine("large-1", offering=LARGE.id))
    cluster = seen(a_pool(types=("small", "large")), a_pool("web"), *things, listed)
    assert {key: one.upcoming for key, one in cluster.groups.items()} == {
        ("default", ""): 3,
        ("default", SMALL.id): 2,
        ("default", LARGE.id): 1,
        ("web", ""): 1,
        ("web", SMALL.id): 1,
    }


def test_s3_what_has_arrived_is_not_upcoming_any_more() -> None:
    watch = Watch(a_pool(), a_request(), a_cloud("default-1"))
    assert group(watch.look()).upcoming == 1
    watch.add(a_node(is_closed=True, born=NOW))
    assert group(watch.look(SECOND)).upcoming == 1
    watch.add(a_node(born=NOW), a_request(phase="Ready"))
    assert group(watch.look(SECOND)).counts == {NodeState.READY: 1}


# S4


def test_s4_what_was_asked_for_and_has_no_node_is_missing_since_the_oldest_was_asked_for() -> None:
    things = [
        a_request("default-1", since=NOW - MINUTE, asked_at=NOW - 3 * MINUTE),
        a_request("default-2", since=NOW - MINUTE, asked_at=NOW - 2 * MINUTE),
        a_request("large-1", offering=LARGE.id, asked_at=NOW - MINUTE),
    ]
    cluster = seen(a_pool(types=("small", "large")), *things, a_cloud())
    assert (group(cluster).missing, group(cluster).missing_since) == (3, NOW - 3 * MINUTE)
    assert (group(cluster, LARGE.id).missing, group(cluster, LARGE.id).missing_since) == (1, NOW - MINUTE)


def test_s4_nothing_is_missing_when_all_nodes_have_registered() -> None:
    cluster = seen(a_pool(), a_request(), a_node(ready=False, is_closed=True), a_cloud("default-1"))
    assert (group(cluster).missing, group(cluster).missing_since) == (0, None)


def test_s4_a_gap_that_lasts_gives_up_only_what_did_not_arrive() -> None:
    late, here = a_request("default-1", since=NOW - MACHINE_WITHIN), a_request("default-2", since=NOW - MACHINE_WITHIN)
    watch = Watch(a_pool(), late, here, a_node("default-2", ready=False, is_closed=True), a_cloud("default-2"))
    cluster = watch.look()
    assert cluster.gives_up
    assert [unit.name for unit in cluster.in_state(NodeState.NEVER_CREATED)] == ["default-1"]
    watch.add(a_request("default-1", "Unmet", reason="NoMachine", since=NOW))
    assert not watch.look(SECOND).gives_up
