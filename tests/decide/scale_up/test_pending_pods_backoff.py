"""Who waits, and how it stands with each: the six cases, and when each of them ends."""

from datetime import timedelta
from itertools import pairwise

import pytest

from growth.api.actions import Hold, PatchObject
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.out_of_service import SHUTDOWN
from growth.decide.writes.pod_wakeup import NUDGE
from tests.decide.marketplace import a_node, a_pool, an_entry
from tests.decide.scale_up.town import MS, NOW, REFUSED, SECOND, SMALL, Town, a_crowd, a_pod, for_pool

QUIET = 100 * MS
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "logs", "uid": "1", "controller": True}
UNBOUND = [{"name": "data", "persistentVolumeClaim": {"claimName": "nobody-made-it"}}]


def free_node(name: str = "own", cpu: str = "1") -> Node:
    return a_node(name, pool="", has={"cpu": cpu})


def a_ready_machine(town: Town) -> NodeRequest:
    """The only request becomes Ready, with its node."""
    town.move(town.requests[0], "Ready")
    town.add(a_node(town.requests[0].metadata.name))
    return town.requests[0]


# 1. It has a place on a machine that is coming


def test_who_has_a_place_on_a_machine_that_is_coming_is_not_demand() -> None:
    town = Town(*a_crowd(2))
    town.run()
    town.run(HOUR)
    assert len(town.plans) == 1


def test_who_did_not_get_there_during_the_hand_over_is_woken_after_it() -> None:
    town = Town(*a_crowd(2))
    town.run()
    a_ready_machine(town)
    town.run(59 * SECOND)
    assert len(town.plans) == 1
    town.run(2 * SECOND)
    assert [plan.expected for plan in town.plans[1:]] == [
        dict.fromkeys(town.requests[0].planned_for, town.requests[0].metadata.name)
    ]
    town.run(3 * SECOND)
    assert all(NUDGE in pod.metadata.labels for pod in town.world.waiting.values())
    assert len(town.launched) == 1


def test_who_finds_the_room_on_its_open_node_taken_is_demand_again() -> None:
    town = Town(*a_crowd(2))
    town.run()
    a_ready_machine(town)
    other = a_pod("other", "2")
    town.add(other)
    town.bind(other, town.requests[0].metadata.name)
    town.run(2 * MINUTE)
    assert town.launched == [("kwok-small-fsn1", ("web-0", "web-1"))] * 2


# 2. A node that stands has room


def test_free_room_is_not_bought_again_and_the_scheduler_is_made_to_look_after_three_seconds() -> None:
    web = a_pod("web")
    town = Town(web, free_node())
    town.run(2900 * MS)
    assert (town.launched, town.told, len(town.plans)) == ([], [], 1)
    assert NUDGE not in town.pod(web).metadata.labels
    town.run(SECOND)
    assert town.pod(web).metadata.labels[NUDGE] == "20260301-090000"
    nudges = [one for _, decision in town.passes for one in decision.said if isinstance(one, PatchObject)]
    assert [one.why for one in nudges] == ["node own has room for it, and nothing else wakes it"]


def test_what_is_expected_and_does_not_happen_is_asked_about_again() -> None:
    town = Town(a_pod("web"), free_node())
    town.run(MINUTE)
    assert [(plan.at - NOW) / SECOND for plan in town.plans] == pytest.approx([0.1, 15.2, 30.3, 45.4])
    assert town.launched == []


def test_room_that_one_pod_is_expected_to_take_is_promised_to_no_other() -> None:
    """Two pods, room for one: the second gets a machine, and neither is planned again and again."""
    town = Town(a_pod("first"), free_node())
    town.run(SECOND)
    town.add(a_pod("second"))
    town.run(5 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("second",))]
    assert len(town.plans) == 2


def test_who_was_expected_on_a_node_is_demand_at_once_when_others_took_the_room() -> None:
    other = a_pod("other")
    town = Town(a_pod("web"), free_node())
    town.run(SECOND)
    town.add(other)
    town.bind(other, "own")
    town.run(SECOND)
    assert town.launched == [("kwok-small-fsn1", ("web",))]


def test_who_was_expected_on_a_node_is_demand_at_once_when_it_has_gone() -> None:
    own = free_node()
    town = Town(a_pod("web"), own)
    town.run(SECOND)
    town.remove(own)
    town.run(SECOND)
    assert town.launched == [("kwok-small-fsn1", ("web",))]


def test_who_was_expected_on_a_node_is_demand_at_once_when_that_is_out_of_service() -> None:
    town = Town(a_pod("web"), free_node())
    town.run(SECOND)
    town.add(a_node("own", pool="", has={"cpu": "1"}, taints=[SHUTDOWN]))
    town.run(SECOND)
    assert town.launched == [("kwok-small-fsn1", ("web",))]


# 3. No machine helps it


def test_pods_that_no_machine_helps_lead_to_nothing() -> None:
    town = Town(
        a_pod("daemon", owner=DAEMON_SET),
        a_pod("gated", schedulingGates=[{"name": "wait"}]),
        a_pod("leaving", terminating=True),
        a_pod("claims", resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}]),
    )
    town.run(MINUTE)
    assert (town.launched, town.told, town.plans) == ([], [], [])


def test_a_pod_that_waits_for_a_claim_is_asked_about_every_half_minute_and_not_with_every_plan() -> None:
    town = Town(a_pod("database", volumes=UNBOUND))
    town.run(10 * SECOND)
    for number in range(3):
        town.add(a_pod(f"web-{number}", "1500m"))
        town.run(5 * SECOND)
    asked = [plan for plan in town.plans if plan.set_aside]
    assert (len(asked), len(town.plans)) == (1, 4)
    town.run(10 * SECOND)
    assert len([plan for plan in town.plans if plan.set_aside]) == 2
    assert town.told == []


# 4. Its pool is not there, or cannot buy


def test_who_asks_for_no_pool_is_told_that_there_is_no_default() -> None:
    """2.3"""
    town = Town(a_pool("gpu"), a_pod("web"))
    town.run(MINUTE)
    assert (town.launched, town.plans) == ([], [])
    assert [(event.subject.name, event.type, event.reason, event.why) for event in town.events] == [
        ("web", "Warning", "NoPool", "it asks for no pool, and there is none named 'default'; there is gpu")
    ]


def test_who_asks_for_a_pool_that_is_not_there_never_gets_the_default_and_is_planned_when_it_appears() -> None:
    """2.4"""
    town = Town(a_pod("trainer", **for_pool("gpu")))
    town.run(MINUTE)
    assert (town.launched, town.told) == ([], [("trainer", "NoSuchPool")])
    town.add(a_pool("gpu", types=("large",)))
    town.run(QUIET)
    assert town.launched == [("kwok-large-fsn1", ("trainer",))]
    assert town.requests[0].spec.pool == "gpu"


def test_who_asks_for_a_pool_that_cannot_buy_is_held_without_an_event_and_without_counting() -> None:
    web = a_pod("web")
    town = Town(a_pool(types=("small",), finalizers=()), web)
    town.run(HOUR)
    decision = town.look()
    assert [(one.subject.name, one.reason) for one in decision.said if isinstance(one, Hold)] == [
        ("web", "PoolUnusable")
    ]
    assert (town.told, town.record(web)) == ([], None)
    town.add(a_pool(types=("small",)))
    town.run(QUIET)
    assert town.launched == [("kwok-small-fsn1", ("web",))]


# 5. It found no place before


def test_who_found_no_place_is_tried_again_on_schedule_then_not_at_all() -> None:
    """6.4"""
    huge = a_pod("huge", "64")
    town = Town(huge)
    town.run(3 * HOUR)
    at = [(plan.at - NOW).total_seconds() for plan in town.plans]
    waits = [round(later - sooner) for sooner, later in pairwise(at)]
    assert waits == [10, 10, 30, 60, 120, 240, 480, 600]
    assert town.told == [("huge", "NoPlacement"), ("huge", "BackOff")]
    assert town.look().requeue_at is None


def test_who_is_in_back_off_is_not_part_of_plans_for_others() -> None:
    huge = a_pod("huge", "64")
    town = Town(huge)
    town.run(3 * HOUR)
    town.add(*a_crowd(2))
    town.run(MINUTE)
    assert town.plans[-1].left_out == {}
    assert town.launched == [("kwok-small-fsn1", ("web-0", "web-1"))]


def test_who_is_in_back_off_is_tried_at_once_when_its_pool_changes() -> None:
    town = Town(a_pool(types=("small",)), a_pod("big", "6"))
    town.run(3 * HOUR)
    town.add(a_pool(types=("small", "large")))
    town.run(QUIET)
    assert town.launched == [("kwok-large-fsn1", ("big",))]


def test_who_is_in_back_off_is_tried_once_when_a_node_appears_that_nobody_asked_for() -> None:
    huge = a_pod("huge", "64")
    town = Town(huge)
    town.run(3 * HOUR)
    plans = len(town.plans)
    town.add(free_node())
    town.run(HOUR)
    assert len(town.plans) == plans + 1
    record = town.record(huge)
    assert record is not None
    assert record.is_final


def test_nodes_that_were_bought_are_no_reason_to_try_again() -> None:
    town = Town(a_pod("huge", "64"))
    town.run(3 * HOUR)
    town.add(*a_crowd(2))
    town.run()
    plans = len(town.plans)
    a_ready_machine(town)
    town.run(SECOND)
    assert len(town.plans) == plans


def test_who_is_in_back_off_because_its_pool_is_full_is_tried_when_a_machine_leaves() -> None:
    full = a_pool(types=[{"name": "small", "max": 1}])
    first = a_pod("first", "1500m")
    town = Town(full, first)
    town.run()
    machine = a_ready_machine(town)
    town.bind(first, machine.metadata.name)
    town.add(a_pod("second", "1500m"))
    town.run(3 * HOUR)
    assert ("second", "BackOff") in town.told
    town.remove(first, machine, town.world.nodes[machine.metadata.name])
    town.run(QUIET)
    assert town.launched == [("kwok-small-fsn1", ("second",))]


def test_a_pool_that_grows_to_its_limit_is_planned_for_once() -> None:
    """What is left out knows of the machines that its own plan asked for."""
    town = Town(a_pool(types=[{"name": "small", "max": 2}]), *a_crowd(5, "1500m"))
    town.run(SECOND)
    assert (len(town.launched), len(town.plans)) == (2, 1)
    assert len({name for name, reason in town.told if reason == "NoPlacement"}) == 3


# 6. Else it is demand


def test_pods_that_no_scheduler_refused_are_not_demand() -> None:
    """Step 1: unschedulable pods."""
    fresh = {key: value for key, value in REFUSED.items() if key == "phase"}
    town = Town(a_pod("fresh", status=fresh))
    town.run(MINUTE)
    assert town.plans == []


# Those whom the scheduler has not tried yet

UNTRIED = {"phase": "Pending"}


def test_who_was_not_tried_yet_is_planned_for_beside_one_that_was_refused() -> None:
    town = Town(a_pod("tried"), *(a_pod(f"untried-{number}", status=UNTRIED) for number in range(3)))
    town.run()
    assert sum(len(request.planned_for) for request in town.requests) == 4
    assert len(town.plans) == 1


def test_nobody_is_planned_for_before_the_scheduler_has_refused_one() -> None:
    town = Town(*(a_pod(f"untried-{number}", status=UNTRIED) for number in range(3)))
    town.run(HOUR)
    assert town.plans == []


def test_who_was_not_tried_yet_hears_nothing() -> None:
    town = Town(a_pod("tried"), a_pod("lost", status=UNTRIED, **for_pool("nowhere")))
    town.run(HOUR)
    assert town.events == []


def test_room_that_was_planned_for_one_not_tried_yet_is_not_planned_for_another() -> None:
    town = Town(a_pod("tried"), a_pod("untried", status=UNTRIED))
    town.run()
    town.add(a_pod("later"))
    town.run(SECOND)
    assert len(town.launched) == 2


# A node that is smaller than was believed


def test_no_plan_is_made_before_it_is_noted_that_a_node_is_smaller() -> None:
    town = Town(*a_crowd(2))
    town.run()
    town.move(town.requests[0], "Ready")
    town.add(a_node(town.requests[0].metadata.name, has={"cpu": "1"}))
    town.run(5 * SECOND)
    assert len(town.plans) == 1
    surprised = an_entry(SMALL.id, lacks={"cpu": "1"}, surprises=1)
    town.add(a_pool(types=("small", "large"), learnt=[surprised]))
    town.run(SECOND)
    assert len(town.plans) == 2
