"""What holds for every life of a cluster: everybody is in one state, nothing is forgotten, and a halt is a halt."""

from collections import Counter
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.actions import CreateMachine, CreateObject, DeleteMachine, EvictPod
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.decide.facts.cluster_state import ClusterState, NodeState, Unit
from growth.decide.node_requests import decider as provision
from growth.decide.registry.step import step
from growth.decide.scale_down import decider as shrink
from growth.decide.scale_up import decider as grow
from tests.decide.registry.histories import NAMES, Event, a_waiting_pod, happen, histories, named
from tests.decide.registry.stage import Watch, a_cloud, a_node, a_pool, a_request
from tests.drawing import examples

FEW, MANY = settings(max_examples=examples(60)), settings(max_examples=400)
MOMENT = timedelta(microseconds=1)
DECIDERS = {"grow": grow.CAPABILITY, "provision": provision.CAPABILITY, "shrink": shrink.CAPABILITY}


def units_of(cluster: ClusterState) -> list[Unit]:
    return [unit for units in cluster.units.values() for unit in units]


# (a) Each exactly once


def is_partition(events: list[Event]) -> None:
    watch = Watch()
    for event in events:
        happen(watch, event)
        units = units_of(watch.look())
        world = watch.world
        assert sorted(unit.name for unit in units if unit.has_node) == sorted(world.nodes)
        requests = sorted(name for _, name in world.tables[NODE_REQUESTS])
        assert sorted(unit.name for unit in units if unit.has_request) == requests
        machines = sorted(one.provider_id for cloud in world.clouds.values() for one in cloud.machines)
        assert sorted(unit.provider_id for unit in units if unit.has_machine) == machines
        assert all(unit.has_node or unit.has_request or unit.has_machine for unit in units)


# (b) What is not looked at again would have come to the same


def is_as_if_everything_was_looked_at(events: list[Event]) -> None:
    watch = Watch()
    for event in events:
        happen(watch, event)
        previous = watch.cluster
        now = watch.look()
        forgetful = msgspec.structs.replace(previous, notes=None) if previous is not None else None
        full = step(forgetful, watch.snapshot(), watch.settings, watch.steady_since)
        assert comparable(now) == comparable(full)


def comparable(cluster: ClusterState) -> tuple[object, ...]:
    """All of it but when to look again: that may be too early, and then nothing is different."""
    return (
        {name: tuple(map(timeless, units)) for name, units in cluster.units.items()},
        {name: tuple(map(timeless, units)) for name, units in cluster.troubled.items()},
        cluster.ready,
        cluster.ready_of,
        cluster.health,
        cluster.groups,
    )


def timeless(unit: Unit) -> Unit:
    return msgspec.structs.replace(unit, changes_at=None)


def is_as_it_was_until_it_said_that_it_changes(events: list[Event]) -> None:
    watch = Watch()
    for event in events:
        happen(watch, event)
        now = watch.look()
        then = now.next_change - MOMENT if now.next_change is not None else now.at + timedelta(days=1)
        forgetful = msgspec.structs.replace(now, notes=None)
        full = step(forgetful, watch.world.snapshot(then), watch.settings, watch.steady_since)
        assert lasting(now) == lasting(full)


def lasting(cluster: ClusterState) -> tuple[object, ...]:
    """What may change by an event, or at an instant that was named before."""
    units = {name: tuple(map(timeless, units)) for name, units in cluster.units.items()}
    closed = cluster.closed_pools, cluster.closed_offerings
    return units, cluster.health.is_healthy, cluster.is_halted, closed


# (c) A halt is a halt


def is_still_while_halted(events: list[Event]) -> None:
    watch, memories = Watch(*map(a_waiting_pod, "abc")), dict[str, object]()
    for event in events:
        happen(watch, event)
        is_halted = watch.look().is_halted
        for name, decider in DECIDERS.items():
            decision = watch.decide(decider, memories.get(name))
            memories[name] = decision.carry
            if not is_halted:
                continue
            forbidden = [
                one
                for one in decision.said
                if isinstance(one, CreateMachine | DeleteMachine | EvictPod)
                or (
                    isinstance(one, CreateObject) and (name == "grow" or one.subject.kind == NODE_REMOVAL_REQUESTS.name)
                )
            ]
            assert not forbidden, named(forbidden)
            assert decision.compute is None


# (d) Nobody is counted who was not asked for


def is_never_more_than_was_asked_for(moves: list[tuple[int, bool]], spans: list[int]) -> None:
    """Machines are bought and their nodes come, in any order between them; the provider is asked now and then."""
    watch, launched = Watch(a_pool(), a_cloud()), dict[str, int]()
    for (which, is_asked), seconds in zip(moves, spans, strict=False):
        watch.now += timedelta(seconds=seconds)
        name = NAMES[which]
        stage = launched[name] = min(launched.get(name, -1) + 1, 3)
        if stage == 0:
            watch.add(a_request(name, "Pending", since=None, asked_at=watch.now))
        elif stage == 1:
            watch.add(a_request(name, since=watch.now, asked_at=watch.now))
        elif stage == 2:
            watch.add(a_node(name, ready=False, is_closed=True, born=watch.now))
        else:
            watch.add(a_node(name, born=watch.now), a_request(name, "Ready", since=watch.now))
        if is_asked:
            watch.add(a_cloud(*(one for one, how_far in launched.items() if how_far > 0), read_at=watch.now))
        counts = Counter(unit.state for unit in units_of(watch.look()))
        upcoming = counts[NodeState.REQUESTED] + counts[NodeState.BOOTING]
        assert upcoming + counts[NodeState.READY] <= len(launched)
        group = watch.look().groups.get(("default", ""))
        assert group is None or group.upcoming == upcoming


_MOVES = st.lists(st.tuples(st.integers(0, len(NAMES) - 1), st.booleans()), min_size=1, max_size=30)
_SPANS = st.lists(st.sampled_from([0, 1, 60, 300]), min_size=30, max_size=30)


@FEW
@given(histories(12))
def test_everything_is_in_exactly_one_state(events: list[Event]) -> None:
    is_partition(events)


@FEW
@given(histories(12))
def test_a_step_comes_to_what_a_look_at_everything_comes_to(events: list[Event]) -> None:
    is_as_if_everything_was_looked_at(events)


@FEW
@given(histories(12))
def test_time_alone_changes_nothing_before_the_instant_that_was_named(events: list[Event]) -> None:
    is_as_it_was_until_it_said_that_it_changes(events)


@settings(max_examples=examples(30))
@given(histories(8, share_ready=2))
def test_nothing_is_bought_or_removed_in_an_unhealthy_cluster(events: list[Event]) -> None:
    is_still_while_halted(events)


@FEW
@given(_MOVES, _SPANS)
def test_what_is_coming_and_what_is_there_is_never_more_than_was_asked_for(
    moves: list[tuple[int, bool]], spans: list[int]
) -> None:
    is_never_more_than_was_asked_for(moves, spans)


@pytest.mark.long
@MANY
@given(histories(40))
def test_everything_is_in_exactly_one_state_for_a_long_time(events: list[Event]) -> None:
    is_partition(events)


@pytest.mark.long
@MANY
@given(histories(40))
def test_steps_come_to_what_looks_at_everything_come_to_for_a_long_time(events: list[Event]) -> None:
    is_as_if_everything_was_looked_at(events)


@pytest.mark.long
@settings(max_examples=300)
@given(histories(30, share_ready=3))
def test_nothing_is_bought_or_removed_in_an_unhealthy_cluster_for_a_long_time(events: list[Event]) -> None:
    is_still_while_halted(events)


@pytest.mark.long
@MANY
@given(histories(40))
def test_time_alone_changes_nothing_before_the_instant_that_was_named_for_a_long_time(events: list[Event]) -> None:
    is_as_it_was_until_it_said_that_it_changes(events)
