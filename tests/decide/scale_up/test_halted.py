"""Too many nodes are unready, or requests are being given up: nothing is planned or asked for (S1, steps 2 and 4)."""

from datetime import timedelta
from typing import Any

import msgspec

from growth.api.actions import CreateObject, Hold
from growth.api.node_request import NodeRequest
from growth.decide.contract import Decision
from tests.decide.marketplace import a_cloud, a_machine, a_node, a_request
from tests.decide.scale_up.town import LARGE, NOW, SECOND, SMALL, Town, a_crowd, a_pod

NAMES = tuple(f"default-{number}" for number in range(1, 6))
CLOUD = a_cloud(SMALL, LARGE, machines=[a_machine(name) for name in NAMES])
FULL = {"cpu": "0"}
CHECK = timedelta(seconds=10)


def a_town(*things: object, unready: int) -> Town:
    """Five full nodes, of which some are unready."""
    town = Town(CLOUD)
    break_down(town, unready)
    town.add(*things)  # type: ignore[arg-type]
    return town


def break_down(town: Town, count: int) -> None:
    """From now on so many of its nodes are unready, and the others work."""
    for number, name in enumerate(NAMES):
        town.add(a_node(name, ready=number >= count, has=FULL))


def holds(decision: Decision[Any]) -> list[tuple[str, str]]:
    return [(one.subject.name, one.reason) for one in decision.said if isinstance(one, Hold)]


def creations(town: Town) -> list[str]:
    """The names of all that was ever asked for."""
    return [one.subject.name for _, pass_ in town.passes for one in pass_.said if isinstance(one, CreateObject)]


# Halted


def test_nothing_is_planned_and_every_pool_says_why() -> None:
    town = a_town(a_pod("web"), unready=4)
    town.run(10 * CHECK)
    assert (town.plans, creations(town)) == ([], [])
    (_, decision) = town.passes[-1]
    assert holds(decision) == [("default", "ClusterUnhealthy"), ("web", "ClusterUnhealthy")]
    assert [(event.subject.name, event.reason) for event in town.events] == [("web", "ClusterUnhealthy")]
    assert "4 of 5 nodes are unready without reason" in decision.said[0].why


def test_three_unready_nodes_are_no_outage() -> None:
    town = a_town(a_pod("web"), unready=3)
    town.run()
    assert town.launched == [("kwok-large-fsn1", ("web",))], "of what is unready no more is bought"


def test_when_it_is_over_for_a_check_those_that_wait_are_planned_for() -> None:
    town = a_town(a_pod("web"), unready=4)
    town.run()
    over_at = town.now
    break_down(town, 0)
    town.run(CHECK - 2 * SECOND)
    assert creations(town) == []
    town.run(4 * SECOND)
    assert town.launched == [("kwok-large-fsn1", ("web",))], "of what was unready nothing is bought for a while longer"
    assert over_at + CHECK - SECOND <= town.plans[0].at <= over_at + CHECK + SECOND


def test_a_relapse_begins_it_anew() -> None:
    town = a_town(a_pod("web"), unready=4)
    town.run()
    break_down(town, 0)
    town.run(CHECK - 2 * SECOND)
    break_down(town, 4)
    town.run()
    break_down(town, 0)
    town.run(CHECK - 2 * SECOND)
    assert creations(town) == []


def test_a_plan_that_was_being_thought_of_is_forgotten() -> None:
    town = a_town(a_pod("web"), unready=0)
    town.look()
    town.now += SECOND
    assert town.look().compute is not None
    break_down(town, 4)
    town.think()
    assert holds(town.look()) == [("default", "ClusterUnhealthy"), ("web", "ClusterUnhealthy")]
    town.run(2 * CHECK)
    assert creations(town) == []
    assert town.remembered.unseen == frozenset()


def test_what_was_asked_for_and_is_not_seen_yet_is_not_forgotten_before_it_must_be_there() -> None:
    town = a_town(*a_crowd(2), unready=0)
    town.is_blind = True
    town.look()
    town.now += SECOND
    town.look()
    town.think()
    town.look()
    (name,) = creations(town)
    break_down(town, 4)
    town.now += SECOND
    town.look()
    assert town.remembered.unseen == {name}
    town.now += 2 * CHECK
    town.look()
    assert town.remembered.unseen == frozenset()
    assert creations(town) == [name]


def test_a_restart_in_the_middle_changes_nothing() -> None:
    town = a_town(a_pod("web"), unready=4)
    town.run()
    town.restart()
    town.run(CHECK)
    assert (town.plans, creations(town)) == ([], [])


# Requests that are given up


def an_overdue_request() -> NodeRequest:
    """Its machine never came, and its provider says so."""
    return a_request("default-9", "Provisioning", since=NOW - timedelta(hours=1))


def test_while_requests_are_given_up_nothing_is_planned() -> None:
    town = a_town(a_pod("web"), an_overdue_request(), unready=0)
    town.run(10 * SECOND)
    assert holds(town.passes[-1][1]) == [("default", "GivingUp")]
    assert (town.plans, creations(town)) == ([], [])


def test_when_they_are_given_up_it_goes_on() -> None:
    town = a_town(a_pod("web"), an_overdue_request(), unready=0)
    town.run()
    town.move(town.requests[0], "Unmet", "NoMachine")
    town.run()
    assert [pods for _, pods in town.launched if pods] == [("web",)]


def test_what_was_planned_just_before_is_carried_out_after_it() -> None:
    """It may be on its way already: whoever forgets that buys twice."""
    town = a_town(a_pod("web"), unready=0)
    town.look()
    town.now += SECOND
    town.look()
    town.think()
    overdue = an_overdue_request()
    town.add(overdue)
    assert holds(town.look()) == [("default", "GivingUp")]
    assert len(town.remembered.unseen) == 1
    town.add(msgspec.structs.replace(overdue, status=msgspec.structs.replace(overdue.status, phase="Unmet")))
    town.run()
    assert [pods for _, pods in town.launched if pods] == [("web",)]
    assert len(town.plans) == 1
