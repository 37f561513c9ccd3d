"""Gangs: pods that start together get machines for all of them, or none."""

from typing import Any

import msgspec

from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.decide.capacity.pool_inventory import Shortage
from growth.decide.facts.gangs import Gang
from growth.decide.facts.virtual_pods import announcements
from growth.decide.scale_up.plan import ScaleUpPlan, answer
from tests.decide.marketplace import a_cloud, a_node, a_pool
from tests.decide.scale_up.test_plan import a_coming, ask, launched, uids
from tests.decide.scale_up.town import LARGE, NOW, SMALL, Town, a_pod

FULL = "1500m"
"""One such pod fills a small machine."""


def stocked(offering: Offering = SMALL, stock: int | None = 1) -> Offering:
    return msgspec.structs.replace(offering, stock=stock)


def job(name: str, count: int = 2, cpu: str = FULL, **fields: Any) -> tuple[Pod, ...]:  # noqa: ANN401 - of a pod
    return tuple(a_pod(f"{name}-{number}", cpu, **fields) for number in range(count))


def gang(name: str, *pods: Pod) -> Gang:
    return Gang(("default", name), name, NOW, ("any",), frozenset(uids(*pods)))


def unplaced(plan: ScaleUpPlan) -> dict[str, str]:
    return {one.gang.workload: one.why for one in plan.unplaced}


def test_no_machine_is_launched_for_one_of_two_pods() -> None:
    pods = job("sum")
    plan = answer(ask(*pods, offerings=(stocked(),), gangs=(gang("sum", *pods),)))
    assert (plan.outcome, plan.wanted, set(plan.left_out)) == ("IncompletePlacement", (), set(uids(*pods)))
    assert unplaced(plan) == {
        "sum": "there is no place for 1 of its 2 pods: kwok-small-fsn1 has 1 in stock, and that is used up"
    }


def test_machines_are_launched_for_all_pods_where_there_are_enough() -> None:
    pods = job("sum")
    plan = answer(ask(*pods, offerings=(stocked(stock=2),), gangs=(gang("sum", *pods),)))
    assert (plan.outcome, launched(plan), plan.unplaced) == ("AllPlaced", [("kwok-small-fsn1", 1)] * 2, ())


def test_machine_that_a_gang_cannot_use_serves_another_pod() -> None:
    pods, other = job("sum"), a_pod("other", FULL)
    plan = answer(ask(*pods, other, offerings=(stocked(),), gangs=(gang("sum", *pods),)))
    assert [one.pods for one in plan.wanted] == [uids(other)]
    assert list(unplaced(plan)) == ["sum"]


def test_machines_that_one_gang_cannot_use_serve_a_smaller_gang() -> None:
    large, small = job("large", 3), job("small", 2)
    gangs = (gang("large", *large), gang("small", *small))
    plan = answer(ask(*large, *small, offerings=(stocked(stock=2),), gangs=gangs))
    assert sorted(uid for one in plan.wanted for uid in one.pods) == sorted(uids(*small))
    assert list(unplaced(plan)) == ["large"]


def test_gangs_are_placed_one_by_one_as_far_as_stock_goes() -> None:
    jobs = {name: job(name) for name in ("a", "b", "c")}
    pods = [pod for own in jobs.values() for pod in own]
    gangs = tuple(gang(name, *own) for name, own in jobs.items())
    plan = answer(ask(*pods, offerings=(stocked(stock=5),), gangs=gangs))
    assert len(plan.wanted) == 4
    assert len(unplaced(plan)) == 1


def test_important_gang_comes_first() -> None:
    jobs = {"modest": job("modest"), "important": job("important", priority=10)}
    pods = [pod for own in jobs.values() for pod in own]
    gangs = tuple(gang(name, *own) for name, own in jobs.items())
    plan = answer(ask(*pods, offerings=(stocked(stock=3),), gangs=gangs))
    assert list(unplaced(plan)) == ["modest"]
    assert len(plan.wanted) == 2


def test_another_pod_does_not_lose_its_machine_to_a_gang() -> None:
    pods, other = job("sum"), a_pod("other", FULL, priority=1)
    plan = answer(ask(*pods, other, offerings=(stocked(stock=2),), gangs=(gang("sum", *pods),)))
    assert [one.pods for one in plan.wanted] == [uids(other)]


def test_free_capacity_counts_for_a_gang() -> None:
    pods = job("sum")
    town = Town(a_node("own", pool="", has={"cpu": "2"}))
    plan = answer(ask(*pods, town=town, offerings=(stocked(),), gangs=(gang("sum", *pods),)))
    assert (len(plan.wanted), len(plan.expected), plan.unplaced) == (1, 1, ())


def test_free_capacity_is_not_reserved_for_part_of_a_gang() -> None:
    pods = job("sum", 3)
    town = Town(a_node("own", pool="", has={"cpu": "2"}))
    plan = answer(ask(*pods, town=town, offerings=(stocked(),), gangs=(gang("sum", *pods),)))
    assert (plan.wanted, plan.expected, list(unplaced(plan))) == ((), {}, ["sum"])


def test_pods_with_a_place_on_a_coming_machine_count_for_their_gang() -> None:
    first, second = job("sum")
    gangs = (gang("sum", first, second),)
    plan = answer(ask(second, seated=(first,), coming=(a_coming(first),), offerings=(stocked(),), gangs=gangs))
    assert (launched(plan), plan.unplaced) == ([("kwok-small-fsn1", 1)], ())
    plan = answer(ask(second, seated=(first,), coming=(a_coming(first),), offerings=(stocked(stock=0),), gangs=gangs))
    assert (plan.wanted, unplaced(plan)) == (
        (),
        {"sum": "there is no place for 1 of its 2 pods: kwok-small-fsn1 has 0 in stock, and that is used up"},
    )


def test_gang_of_a_pod_that_no_machine_helps_is_set_aside() -> None:
    claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "nobody-made-it"}}]
    first, second = a_pod("sum-0", FULL), a_pod("sum-1", FULL, volumes=claim)
    plan = answer(ask(first, second, gangs=(gang("sum", first, second),)))
    assert (plan.wanted, plan.left_out, set(plan.set_aside)) == ((), {}, set(uids(first, second)))
    assert "nobody-made-it" in plan.set_aside[first.metadata.uid].reason
    assert plan.unplaced == ()


def test_offering_on_trial_is_tried_for_a_gang() -> None:
    """Otherwise it would not be known whether there are more."""
    pods = job("sum")
    one, many = (stocked(),), (stocked(stock=None),)
    plan = answer(ask(*pods, offerings=one, if_tried=many, gangs=(gang("sum", *pods),)))
    assert (launched(plan), plan.unplaced, len(plan.left_out)) == ([("kwok-small-fsn1", 1)], (), 1)


def test_offering_on_trial_is_not_tried_where_too_few_are_listed() -> None:
    pods = job("sum")
    plan = answer(ask(*pods, offerings=(stocked(),), if_tried=(stocked(),), gangs=(gang("sum", *pods),)))
    assert (plan.wanted, list(unplaced(plan))) == ((), ["sum"])


def test_limit_of_a_pool_counts_as_stock_does() -> None:
    pods = job("sum")
    limited = a_pool(types=[{"name": "small", "max": 1}])
    plan = answer(ask(*pods, pools=(limited,), gangs=(gang("sum", *pods),)))
    assert plan.wanted == ()
    assert "may have 1 of small" in unplaced(plan)["sum"]


def test_machine_kept_ready_is_launched_whether_or_not_a_gang_fits() -> None:
    pods, shortage = job("sum"), Shortage("default", "small", 1)
    plan = answer(ask(*pods, offerings=(stocked(),), shortages=(shortage,), gangs=(gang("sum", *pods),)))
    assert launched(plan) == [("kwok-small-fsn1", 0)]
    assert list(unplaced(plan)) == ["sum"]


def test_gangs_beyond_the_tries_of_one_plan_are_left_to_the_next() -> None:
    """They differ, so that none speaks for another."""
    jobs = {f"job-{n:02}": job(f"job-{n:02}", 2, f"{1100 + 10 * n}m") for n in range(30)}
    pods = [pod for own in jobs.values() for pod in own]
    gangs = tuple(gang(name, *own) for name, own in jobs.items())
    plan = answer(ask(*pods, offerings=(stocked(stock=1),), gangs=gangs))
    assert plan.wanted == ()
    assert 0 < len(plan.unplaced) < len(jobs)
    named = {uid for one in plan.unplaced for uid in one.gang.pods}
    assert set(plan.left_out) == named


# In the town


def a_town(*offerings: Offering, count: int = 2) -> Town:
    """A job of so many pods is announced."""
    town = Town(a_cloud(*offerings))
    town.announced = list(announcements(a_pod("sum", FULL), "workload", count))
    town.gangs = [gang("workload", *town.announced)]
    return town


def test_nothing_is_launched_for_virtual_pods_that_have_no_place_together() -> None:
    town = a_town(stocked())
    town.run()
    assert town.launched == []
    assert [one.gang.workload for one in town.plans[-1].unplaced] == ["workload"]


def test_nothing_is_planned_for_part_of_a_gang() -> None:
    """One of its pods waits for a pool that is not there."""
    town = Town(a_cloud(SMALL, LARGE))
    first, second = a_pod("sum-0", FULL), a_pod("sum-1", FULL, nodeSelector={"growth.dev/pool": "unknown"})
    town.add(first, second)
    town.gangs = [gang("workload", first, second)]
    town.run()
    assert (town.launched, town.plans) == ([], [])
    assert ("sum-0", "NoPlacement") in town.told
    assert ("sum-1", "NoSuchPool") in town.told


def test_plan_is_made_again_when_a_gang_is_whole() -> None:
    town = a_town(SMALL)
    waiting = a_pod("sum-x", FULL, schedulingGates=[{"name": "example.com/licence"}])
    town.add(waiting)
    town.gangs = [gang("workload", *town.announced, waiting)]
    town.run()
    assert town.launched == []
    town.gangs = [gang("workload", *town.announced)]
    town.run()
    assert len(town.launched) == 2


def test_every_gang_is_decided_on_in_the_end() -> None:
    """In several plans, each of which decides on some."""
    town = Town(a_cloud(stocked(stock=3)))
    jobs = {f"job-{n:02}": job(f"job-{n:02}", 2, f"{1100 + 10 * n}m") for n in range(30)}
    town.add(*(pod for own in jobs.values() for pod in own))
    town.gangs = [gang(name, *own) for name, own in jobs.items()]
    town.run()
    refused = {one.gang.workload for plan in town.plans for one in plan.unplaced}
    assert (len(town.launched), len(refused)) == (2, 29)
    assert len(town.plans) < len(jobs)
