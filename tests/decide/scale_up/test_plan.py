"""One plan: what is not demand, what is bought for the rest, and who is told what. Steps 3 to 6 of the seed."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.decide.capacity.pool_inventory import Shortage
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.capacity.retry_fingerprint import RetryFingerprint
from growth.decide.capacity.upcoming_nodes import UpcomingNode
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.scale_up.plan import ScaleUpPlan, ScaleUpProblem, UpcomingPlacements, answer
from tests.decide.marketplace import a_node, a_pool
from tests.decide.scale_up.town import LARGE, NOW, SMALL, Town, a_crowd, a_pod

POOL = a_pool(types=("small", "large"))
HERE = RetryFingerprint("here")


def with_(offering: Offering = SMALL, **fields: object) -> Offering:
    return msgspec.structs.replace(offering, **fields)


def ask(
    *pods: Pod,
    town: Town | None = None,
    pools: tuple[NodePool, ...] = (POOL,),
    offerings: tuple[Offering, ...] = (SMALL, LARGE),
    seated: tuple[Pod, ...] = (),
    **fields: Any,  # noqa: ANN401 - of Question
) -> ScaleUpProblem:
    town = town or Town()
    town.add(*pods, *seated)
    whole: Mapping[str, Any] = {
        "launched": (), "coming": (), "shortages": (), "taken": frozenset(), "at": NOW, "circumstances": HERE, **fields,
    }  # fmt: skip
    stage = SimulatedCluster.copy_of(town.world.snapshot(NOW))
    return ScaleUpProblem(simulated=stage, pools=pools, offerings=offerings, pods=pods, seated=seated, **whole)


def launched(plan: ScaleUpPlan) -> list[tuple[str, int]]:
    """What is wanted, and for how many pods."""
    return sorted((one.offering.id, len(one.pods)) for one in plan.wanted)


def uids(*pods: Pod) -> tuple[str, ...]:
    return tuple(pod.metadata.uid for pod in pods)


def a_coming(*pods: Pod, offering: Offering = SMALL, hands_keys: bool = False) -> UpcomingNode:
    return UpcomingNode("default-1", POOL, offering, uids(*pods), hands_keys)


# 6.1 to 6.3


def test_all_placed_asks_for_each_machine_of_the_cheapest_plan() -> None:
    plan = answer(ask(*a_crowd(6)))
    assert (plan.outcome, launched(plan), plan.cost_per_hour) == ("AllPlaced", [("kwok-large-fsn1", 6)], 3.0)


def test_no_demands_asks_for_nothing() -> None:
    plan = answer(ask())
    assert (plan.outcome, plan.wanted, plan.joining, plan.left_out) == ("NoDemands", (), (), {})


def test_incomplete_placement_buys_what_it_can_and_says_why_not_the_rest() -> None:
    web, huge = a_pod("web"), a_pod("huge", "64")
    plan = answer(ask(web, huge))
    assert (plan.outcome, launched(plan)) == ("IncompletePlacement", [("kwok-small-fsn1", 1)])
    assert list(plan.left_out) == [huge.metadata.uid]
    assert "cpu" in plan.left_out[huge.metadata.uid].lower()


def test_the_same_question_has_the_same_answer() -> None:
    pods = (*a_crowd(20, "700m"), a_pod("huge", "64"))
    assert answer(ask(*pods)) == answer(ask(*pods))


# What is not demand


def test_free_room_is_not_bought_again() -> None:
    web = a_pod("web")
    plan = answer(ask(web, town=Town(a_node("own", pool=""))))
    assert (plan.wanted, plan.expected) == ((), {web.metadata.uid: "own"})


def test_who_is_expected_on_a_node_keeps_the_room_there() -> None:
    first, second = a_pod("first"), a_pod("second")
    town = Town(a_node("own", pool="", has={"cpu": "1"}))
    plan = answer(ask(second, town=town, seated=(first,), expected={first.metadata.uid: "own"}))
    assert (launched(plan), plan.expected) == ([("kwok-small-fsn1", 1)], {})


def test_who_was_expected_where_there_is_no_room_is_planned_with_the_others() -> None:
    first, second = a_pod("first"), a_pod("second")
    town = Town(a_node("own", pool="", has={"cpu": "500m"}))
    plan = answer(ask(second, town=town, seated=(first,), expected={first.metadata.uid: "own"}))
    assert [sorted(one.pods) for one in plan.wanted] == [sorted(uids(first, second))]


def test_pods_that_fit_a_machine_that_is_coming_join_it() -> None:
    first, second = a_pod("first"), a_pod("second")
    plan = answer(ask(second, seated=(first,), coming=(a_coming(first),)))
    assert (plan.wanted, plan.expected) == ((), {})
    assert plan.joining == (UpcomingPlacements("default-1", uids(second), hands_keys=False),)
    assert plan.places == {second.metadata.uid: "default-1"}


def test_places_on_a_machine_that_is_coming_are_left_to_those_who_have_them() -> None:
    first, second = a_pod("first", "1500m"), a_pod("second", "1500m")
    plan = answer(ask(second, seated=(first,), coming=(a_coming(first),)))
    assert (launched(plan), plan.joining) == ([("kwok-small-fsn1", 1)], ())


def test_who_lost_its_place_is_planned_with_the_others() -> None:
    """The node came smaller than promised, and is ready."""
    first, second = a_pod("first"), a_pod("second")
    town = Town(a_node("default-1", has={"cpu": "1"}))
    plan = answer(ask(town=town, seated=(first, second), coming=(a_coming(first, second),)))
    assert [one.pods for one in plan.wanted] == [uids(second)]


def test_a_pod_that_waits_for_a_claim_is_set_aside() -> None:
    claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "nobody-made-it"}}]
    database = a_pod("database", volumes=claim)
    plan = answer(ask(database))
    assert (plan.wanted, plan.left_out, list(plan.set_aside)) == ((), {}, list(uids(database)))


def test_a_pod_that_is_nominated_is_expected_there() -> None:
    status = {"phase": "Pending", "nominatedNodeName": "own"}
    town, pod = Town(a_node("own", pool="")), a_pod("preemptor", status=status)
    plan = answer(ask(pod, a_pod("other", "1500m"), town=town))
    assert plan.expected == {pod.metadata.uid: "own"}
    assert (plan.set_aside, launched(plan)) == ({}, [("kwok-small-fsn1", 1)])


# Limits, stock and probes


def test_what_pools_have_counts_against_their_limits() -> None:
    limited = a_pool(types=[{"name": "small", "max": 2}])
    plan = answer(ask(*a_crowd(2, "1500m"), pools=(limited,), launched=(PoolUsage.of("default", SMALL),)))
    assert (launched(plan), len(plan.left_out)) == ([("kwok-small-fsn1", 1)], 1)
    assert "may have 2 of small" in next(iter(plan.left_out.values()))


def test_who_is_left_out_knows_of_the_machines_that_the_plan_itself_asks_for() -> None:
    limited = a_pool(types=[{"name": "small", "max": 2}])
    now = RetryFingerprint("here", {"default/small": 1})
    plan = answer(
        ask(*a_crowd(2, "1500m"), pools=(limited,), launched=(PoolUsage.of("default", SMALL),), circumstances=now)
    )
    assert plan.circumstances == "here default/small=2"


def test_an_offering_on_trial_is_probed_with_one_machine() -> None:
    """The shop says that one may be asked for."""
    plan = answer(ask(*a_crowd(3, "1500m"), offerings=(with_(stock=1),)))
    assert (launched(plan), len(plan.left_out)) == ([("kwok-small-fsn1", 1)], 2)


def test_a_provider_on_trial_is_probed_with_one_machine_whatever_it_is() -> None:
    plan = answer(ask(*a_crowd(3, "1500m"), offerings=(with_(stock=1), with_(LARGE, stock=1)), trials=("kwok",)))
    assert len(plan.wanted) == 1


@pytest.mark.parametrize(("pool", "count"), [("default", 1), ("another", 3)])
def test_an_offering_on_trial_in_one_pool_is_probed_there_with_one_machine(pool: str, count: int) -> None:
    plan = answer(ask(*a_crowd(3, "1500m"), offerings=(with_(),), trials=(f"{pool}/kwok-small-fsn1",)))
    assert launched(plan) == [("kwok-small-fsn1", 1)] * count


def test_what_is_unmet_is_planned_around() -> None:
    """Step 4: the offering that could not be had is not among those that may be bought."""
    assert launched(answer(ask(a_pod("web"), offerings=(LARGE,)))) == [("kwok-large-fsn1", 1)]


# Names, keys and wakes


def test_names_that_are_taken_are_not_given_again() -> None:
    web = a_pod("web")
    first = answer(ask(web)).wanted[0].name
    again = answer(ask(web)).wanted[0].name
    other = answer(ask(web, taken=frozenset({first}))).wanted[0].name
    assert (again, other == first) == (first, False)


def test_machines_of_one_plan_have_names_of_their_own() -> None:
    plan = answer(ask(*a_crowd(10, "1500m"), offerings=(SMALL,)))
    assert len({one.name for one in plan.wanted}) == 10


def test_keys_are_given_where_the_scheduler_could_spoil_the_plan() -> None:
    """A small and a large pod: the small one must not take the room on the machine that only the large one fits."""
    pods = [*a_crowd(4, "1900m", "big"), *a_crowd(5, "1100m", "middle"), *a_crowd(6, "600m", "little")]
    plan = answer(ask(*pods))
    alone = answer(ask(a_pod("web")))
    assert any(one.hands_keys for one in plan.wanted)
    assert [one.hands_keys for one in alone.wanted] == [False]


def test_keys_go_on_being_given_on_a_machine_that_hands_them() -> None:
    first, second = a_pod("first"), a_pod("second")
    plan = answer(ask(second, seated=(first,), coming=(a_coming(first, hands_keys=True),)))
    assert plan.joining == (UpcomingPlacements("default-1", uids(second), hands_keys=True),)


def test_pods_that_others_repel_are_woken() -> None:
    """No new node wakes a pod that only others' anti-affinity kept away (facts of the scheduler)."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "shy"}}}
    repelling = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    guard = a_pod("guard", affinity=repelling, labels={"app": "guard"}, node="own")
    shy, bold = a_pod("shy", labels={"app": "shy"}), a_pod("bold", "1800m", labels={"app": "bold"})
    town = Town(a_node("own", pool="", labels={"kubernetes.io/hostname": "own"}), guard)
    plan = answer(ask(shy, bold, town=town))
    assert [uid for one in plan.wanted for uid in one.wakes] == list(uids(shy))


# Machines that a pool wants even without load


def test_machines_that_are_kept_warm_are_used_by_those_that_wait() -> None:
    shortage = Shortage("default", "small", 1)
    plan = answer(ask(a_pod("web"), shortages=(shortage,)))
    assert launched(plan) == [("kwok-small-fsn1", 1)]
    assert [one.shortage for one in plan.wanted] == [shortage.name]


def test_machines_that_are_kept_warm_are_bought_for_nobody_too() -> None:
    plan = answer(ask(shortages=(Shortage("default", "small", 2),)))
    assert (launched(plan), plan.cost_per_hour) == ([("kwok-small-fsn1", 0), ("kwok-small-fsn1", 0)], 2.0)
    assert len({one.name for one in plan.wanted}) == 2


def test_a_shortage_that_cannot_be_ended_is_left_out_by_its_name() -> None:
    plan = answer(ask(shortages=(Shortage("default", "small", 2),), offerings=(with_(stock=1),)))
    assert launched(plan) == [("kwok-small-fsn1", 0)]
    assert plan.left_out == {"default/small/2": "kwok-small-fsn1 has 1 in stock"}
