"""Pods that will be made are demand before they are there, and nothing is bought for them twice."""

from datetime import timedelta

from growth.api.node import Node
from growth.decide.facts.virtual_pods import announcements
from tests.decide.marketplace import a_cloud, a_node
from tests.decide.scale_up.town import LARGE, SMALL, Town, a_pod

COUNT = 4
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "sum", "uid": "uid-sum", "controller": True}


def a_town(*nodes: Node) -> Town:
    """Four pods of a job are announced."""
    town = Town(a_cloud(SMALL, LARGE), *nodes)
    town.announced = list(announcements(a_pod("sum", "1500m", owner=JOB), "workload", COUNT))
    return town


def offerings(town: Town) -> list[str]:
    return [offering for offering, _ in town.launched]


def test_machines_are_bought_for_all_of_them_together() -> None:
    """One after the other they would have been given small ones, which are dearer together."""
    town = a_town()
    town.run()
    assert offerings(town) == ["kwok-large-fsn1"]
    assert len(town.requests[0].planned_for) == COUNT


def test_the_pods_find_the_machine_that_was_bought_for_them() -> None:
    town = a_town()
    town.run()
    for number in range(COUNT):
        town.announced.pop(0)
        town.add(a_pod(f"sum-{number}", "1500m"))
        town.run()
    assert offerings(town) == ["kwok-large-fsn1"]
    assert len(town.requests[0].planned_for) == COUNT
    assert not any(uid.startswith("announced") for uid in town.requests[0].planned_for)


def test_half_of_them_are_made_and_no_scheduler_has_seen_these_yet() -> None:
    """They are planned for with those that are not made: else they would get machines of their own a moment later.
    Of others that no scheduler has seen nobody knows whether they need one."""
    town = a_town()
    for number in range(COUNT // 2):
        town.announced.pop(0)
        town.add(a_pod(f"sum-{number}", "1500m", owner=JOB, status={"phase": "Pending"}))
    town.add(a_pod("other", "1500m", status={"phase": "Pending"}))
    town.run()
    assert offerings(town) == ["kwok-large-fsn1"]
    assert len(town.requests[0].planned_for) == COUNT


def test_nothing_is_bought_if_there_is_room() -> None:
    town = a_town(a_node("own", has={"cpu": "8"}))
    town.run(timedelta(minutes=1))
    assert town.launched == []


def test_nothing_is_written_on_who_is_not_there() -> None:
    """Nothing that can be bought is large enough."""
    town = Town(a_cloud(SMALL))
    town.announced = list(announcements(a_pod("sum", "64"), "workload", COUNT))
    town.run(timedelta(minutes=5))
    assert [one for _, decision in town.passes for one in decision.said if one.subject.kind == "Pod"] == []
    assert town.launched == []


def test_who_is_not_announced_any_more_is_no_demand() -> None:
    town = a_town()
    town.look()
    town.announced = []
    town.run(timedelta(minutes=1))
    assert town.launched == []
