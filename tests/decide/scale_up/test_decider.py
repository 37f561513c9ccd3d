"""Passes in a row: when a plan is made, that there is one at a time, and what happens when things go wrong."""

from datetime import timedelta

import msgspec

from growth.api.actions import CreateObject
from growth.api.annotations import BACK_OFF, BackOff
from growth.api.node_request import NodeRequest
from tests.decide.marketplace import a_node, a_pool
from tests.decide.scale_up.town import LARGE, MS, NOW, SECOND, SMALL, Town, a_crowd, a_pod, for_pool

QUIET, AT_MOST = 100 * MS, SECOND
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def creations(town: Town) -> list[str]:
    """The names of all that was ever asked for, in order, each once."""
    said = (one for _, decision in town.passes for one in decision.said)
    return list(dict.fromkeys(one.subject.name for one in said if isinstance(one, CreateObject)))


# When a plan is made


def test_a_plan_is_made_when_no_pod_has_come_for_a_moment() -> None:
    town = Town(a_pod("first"))
    assert town.look().requeue_at == NOW + QUIET
    town.now += 60 * MS
    town.add(a_pod("second"))
    assert town.look().requeue_at == NOW + 60 * MS + QUIET
    town.run()
    assert [plan.at for plan in town.plans] == [NOW + 160 * MS]
    assert town.launched == [("kwok-small-fsn1", ("first", "second"))]


def test_a_plan_is_made_after_a_second_even_if_pods_keep_coming() -> None:
    town = Town()
    for number in range(30):
        town.add(a_pod(f"web-{number}", "100m"))
        if town.look().compute is not None:
            break
        town.now += 50 * MS
    assert town.now == NOW + AT_MOST
    town.think()
    assert len(town.plans[0].places) == 21


def test_pods_that_came_long_ago_do_not_hurry_the_next_plan() -> None:
    """Somebody came and found a node at once. Half an hour later a burst comes, in two parts: it is one plan."""
    early = a_pod("early")
    town = Town(a_node("own", pool="", has={"cpu": "1"}))
    town.add(early)
    town.bind(early, "own")
    town.run(30 * MINUTE)
    town.add(*a_crowd(3))
    town.look()
    town.now += 50 * MS
    town.add(*a_crowd(3, prefix="more"))
    town.run()
    assert len(town.plans) == 1
    assert [offering for offering, _ in town.launched] == ["kwok-large-fsn1"]


def test_pods_that_machines_cannot_help_do_not_hold_up_others() -> None:
    """Somebody who asks for a pool that does not exist comes every 50 ms; the next plan is not put off by it."""
    town = Town(a_pod("web"))
    town.look()
    town.now += QUIET
    assert town.look().compute is not None
    town.think()
    town.look()
    for number in range(5):
        town.add(a_pod(f"lost-{number}", **for_pool("nowhere")))
        town.look()
        town.now += 50 * MS
    town.add(a_pod("late"))
    town.run()
    assert town.launched == [("kwok-small-fsn1", ("late", "web"))]
    assert town.plans[-1].at <= NOW + QUIET + 250 * MS + QUIET


def test_where_nobody_waits_nothing_is_thought_or_asked_for() -> None:
    """6.2: NoDemands."""
    town = Town()
    decision = town.look()
    assert (decision.said, decision.requeue_at, decision.compute) == ((), None, None)


# One plan at a time


def test_a_plan_that_is_not_seen_yet_is_not_planned_again_although_new_pods_come() -> None:
    town = Town(*a_crowd(2))
    town.is_blind = True
    town.run(5 * SECOND)
    town.add(a_pod("late"))
    town.run(3 * SECOND)
    assert len(town.plans) == 1
    assert len(creations(town)) == 1
    town.is_blind = False
    town.run(20 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("late",)), ("kwok-small-fsn1", ("web-0", "web-1"))]


def test_pods_that_come_while_a_plan_is_thought_of_are_in_the_next_one() -> None:
    town = Town(*a_crowd(2))
    town.look()
    town.now += QUIET
    assert town.look().compute is not None
    town.add(a_pod("late"))
    town.now += 300 * MS
    assert town.look().compute is None
    town.think()
    town.run()
    assert town.launched == [("kwok-small-fsn1", ("late",)), ("kwok-small-fsn1", ("web-0", "web-1"))]
    assert len(town.plans) == 2


def test_a_machine_that_nobody_wants_any_more_is_waited_for_until_it_is_seen() -> None:
    pods = a_crowd(2)
    town = Town(*pods)
    town.is_blind = True
    town.run(2 * SECOND)
    town.remove(*pods)
    town.add(a_pod("late"))
    town.run(3 * SECOND)
    assert (len(town.plans), len(creations(town))) == (1, 1)
    town.run(20 * SECOND)
    assert len(town.plans) > 1, "it has gone again: nobody waits for it for ever"


def test_a_request_that_was_deleted_before_it_was_seen_is_asked_for_again_by_the_same_name() -> None:
    town = Town(*a_crowd(2))
    town.is_blind = True
    town.run(MINUTE)
    town.is_blind = False
    town.run(20 * SECOND)
    assert [one.metadata.name for one in town.requests] == creations(town)
    assert town.launched == [("kwok-small-fsn1", ("web-0", "web-1"))]


def test_a_machine_is_not_asked_for_when_all_of_its_pods_have_gone_meanwhile() -> None:
    pods = a_crowd(2)
    town = Town(*pods)
    town.look()
    town.now += QUIET
    town.look()
    town.remove(*pods)
    town.think()
    town.run()
    assert creations(town) == []


def test_a_machine_is_not_asked_for_when_its_pool_is_being_deleted_meanwhile() -> None:
    town = Town(*a_crowd(2))
    town.look()
    town.now += QUIET
    town.look()
    town.add(a_pool(types=("small", "large"), deleted_at=NOW))
    town.think()
    town.run()
    assert creations(town) == []


def test_pods_that_join_a_machine_keep_their_place_before_that_is_seen() -> None:
    first, second = a_pod("first"), a_pod("second", "500m")
    town = Town(first)
    town.run()
    town.is_blind = True
    town.add(second)
    town.run(SECOND)
    town.add(a_pod("third", "800m"))
    town.run(SECOND)
    # The small machine has room for the first two only; the third gets its own, and the second is not planned again.
    town.is_blind = False
    town.run(20 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("first", "second")), ("kwok-small-fsn1", ("third",))]


# What goes wrong


def test_a_refused_request_is_said_on_its_pods_and_holds_up_nobody_else() -> None:
    town = Town(a_pool(types=("small", "large")), a_pool("gpu", types=("small",)), a_pod("web"))
    town.refuses = lambda action: "quota" if action.body["spec"]["pool"] == "default" else ""
    town.run(2 * SECOND)
    town.add(a_pod("trainer", **for_pool("gpu")))
    town.run(5 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("trainer",))]
    assert {(event.subject.name, event.reason, event.why) for event in town.events} == {
        ("web", "NoPlacement", "its NodeRequest was refused: quota")
    }
    assert len(town.plans) == 2, "what was refused is not planned again with every plan"


def test_a_refused_request_is_no_failure_of_its_pods_and_is_asked_for_again_for_ever() -> None:
    web = a_pod("web")
    town = Town(web)
    town.refuses = lambda _: "quota"
    town.run(2 * HOUR)
    assert 220 <= len(town.plans) <= 2 * 60 * 2, "once in half a minute"
    assert town.record(web) is None
    town.refuses = lambda _: ""
    town.run(MINUTE)
    assert town.launched == [("kwok-small-fsn1", ("web",))]


def test_a_thought_that_failed_is_tried_again_after_ten_seconds() -> None:
    town = Town(a_pod("web"))
    town.look()
    town.now += QUIET
    assert town.look().compute is not None
    town.lose_thought()
    assert town.look().requeue_at == NOW + QUIET + 10 * SECOND
    town.add(a_pod("another"))
    town.run(9 * SECOND)
    assert town.plans == []
    town.run(2 * SECOND)
    assert [plan.at for plan in town.plans] == [NOW + QUIET + 10 * SECOND]


def test_what_was_asked_for_and_could_not_be_had_is_planned_around_at_once() -> None:
    """Existing NodeRequests 1.3: pods linked to this demand get new nodes on the next loop."""
    town = Town(*a_crowd(2))
    town.run()
    town.move(town.requests[0], "Unmet")
    town.run(500 * MS)
    assert [one.spec.target_offering for one in town.requests if one.status.phase == "Pending"] == ["kwok-large-fsn1"]


def test_an_offering_that_nobody_sells_any_more_costs_no_pod_its_place() -> None:
    """The machine was bought, the type was dropped from the catalogue, and others come: nothing is bought twice."""
    town = Town(*a_crowd(2))
    town.run()
    town.move(town.requests[0], "Provisioning")
    town.sell(LARGE)
    town.add(a_pod("late", "6"))
    town.run()
    assert town.launched == [("kwok-large-fsn1", ("late",)), ("kwok-small-fsn1", ("web-0", "web-1"))]


# Clocks that jump


def test_a_clock_that_is_set_back_stops_nobody() -> None:
    town = Town(a_pod("web"), a_pod("huge", "64"))
    town.run(5 * SECOND)
    town.add(a_pod("late", "1500m"))
    town.look()
    town.jump(-HOUR)
    town.run(SECOND)
    assert ("kwok-small-fsn1", ("late",)) in town.launched


def test_a_clock_that_is_set_back_makes_nobody_run_in_circles() -> None:
    huge = a_pod("huge", "64")
    town = Town(huge)
    town.run(5 * SECOND)
    town.jump(-HOUR)
    plans = len(town.plans)
    town.run(5 * SECOND)
    assert len(town.plans) == plans + 1
    record = town.record(huge)
    assert record is not None
    assert record.at <= town.now


def test_a_clock_that_is_set_back_after_a_failed_thought_does_not_put_off_the_next_for_an_hour() -> None:
    town = Town(a_pod("web"))
    town.look()
    town.now += QUIET
    town.look()
    town.lose_thought()
    town.jump(-HOUR)
    town.run(SECOND)
    assert len(town.plans) == 1


def test_a_clock_that_is_set_ahead_buys_nothing_twice() -> None:
    town = Town(*a_crowd(2), a_pod("huge", "64"))
    town.run(5 * SECOND)
    town.jump(HOUR)
    town.run(5 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("web-0", "web-1"))]


def test_a_request_that_was_deleted_is_asked_for_again_although_the_clock_was_set_back() -> None:
    """That it was made lies ahead now, and says nothing about the plan that wants it again."""
    town = Town(*a_crowd(2))
    town.run()
    town.remove(town.requests[0])
    town.jump(-HOUR)
    town.run(5 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("web-0", "web-1"))]


# Saying


def test_nothing_is_said_differently_in_equal_passes() -> None:
    town = Town(a_pod("web"), a_pod("huge", "64"), a_pod("lost", **for_pool("nowhere")))
    town.run(3 * SECOND)
    first, second = town.look(), town.look()
    assert first.said == second.said
    assert first.requeue_at == second.requeue_at


def test_an_event_is_told_once_as_long_as_it_holds() -> None:
    town = Town(a_pod("lost", **for_pool("nowhere")), a_pod("huge", "64"))
    town.run(5 * SECOND)
    town.add(*a_crowd(3))
    town.run(5 * SECOND)
    assert sorted((event.subject.name, event.reason) for event in town.events) == [
        ("huge", "NoPlacement"),
        ("lost", "NoSuchPool"),
    ]


def test_what_is_written_on_a_pod_is_cleared_when_it_is_bound() -> None:
    huge = a_pod("huge", "64")
    town = Town(huge)
    town.run(5 * SECOND)
    assert BACK_OFF in town.pod(huge).metadata.annotations
    town.add(a_node("own", pool="", has={"cpu": "96"}))
    town.bind(huge, "own")
    town.run(SECOND)
    assert BACK_OFF not in town.pod(huge).metadata.annotations


def test_a_new_process_begins_with_what_is_written_in_the_cluster() -> None:
    huge = a_pod("huge", "64")
    town = Town(huge, *a_crowd(2))
    town.run(2 * HOUR)
    before, plans = town.record(huge), len(town.plans)
    assert before is not None
    assert before.is_final
    town.restart()
    town.run(HOUR)
    assert town.record(huge) == before
    assert len(town.plans) == plans, "BackOff survives a restart, and so do places"


def test_a_record_that_a_person_wrote_makes_nobody_run_in_circles() -> None:
    record = BackOff(1, NOW - SECOND, NOW - 2 * SECOND, "anything")
    huge = a_pod("huge", "64", annotations={BACK_OFF: record.encode()})
    town = Town(huge)
    town.run(8 * SECOND)
    assert len(town.plans) == 1


def test_requests_that_people_wrote_by_hand_are_machines_that_are_coming() -> None:
    """A seed's manifest may leave the location out."""
    town = Town()
    town.add(msgspec.convert({"metadata": {"name": "mine", "uid": "1"},
                              "spec": {"pool": "default", "targetOffering": "kwok-small"}}, NodeRequest))  # fmt: skip
    town.add(*a_crowd(2))
    town.run()
    assert town.launched == [("kwok-small", ("web-0", "web-1"))]
    assert SMALL.id == "kwok-small-fsn1"


def test_failures_count_anew_after_a_plan_that_placed_the_pod() -> None:
    """Six failures, then a place on a machine that does not come: the next failure is the first one in a row."""
    sold_out = [msgspec.structs.replace(one, stock=0) for one in (SMALL, LARGE)]
    pod = a_pod("web", annotations={BACK_OFF: BackOff(6, NOW - 60 * SECOND, NOW - SECOND, "before").encode()})
    town = Town(pod)
    town.run()
    (request,) = town.requests
    assert request.planned_for == (pod.metadata.uid,)
    assert town.record(pod) is None, "a plan has a place for it"
    town.sell(*sold_out)
    town.move(request, "Unmet")
    town.run(SECOND)
    record = town.record(pod)
    assert record is not None
    assert record.failures == 1
    assert record.until is not None
    assert record.until - record.at == 10 * SECOND
