"""What the plans say of a cluster that is seen."""

import msgspec
import pytest

from growth.api.annotations import BACK_OFF, BackOff
from growth.api.node_request import PLANNED_FOR
from growth.api.settings.model import Settings
from growth.api.taints import LEAVES
from growth.cli.plan_consolidation import NO_MEMORY, OptimizationReport, optimising_report
from growth.cli.plan_inputs import taken_up
from growth.cli.plan_pending import PendingReport, waiting_report
from growth.decide.scale_up.carry import ScaleUpCarry
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.pending_pods import sort_out
from growth.observe.cache import ClusterCache
from tests.cli.plan_scene import REFUSED, a_crowd, a_node, a_shop, of
from tests.decide import marketplace as market
from tests.decide.consolidation.seen import NOW, a_cloud, a_pod, observed
from tests.decide.passes import Given
from tests.decide.stages import a_pod as a_waiting_pod

SETTINGS = Settings()


def optimised(world: ClusterCache, pool: str = "") -> OptimizationReport:
    return optimising_report(world.snapshot(NOW), SETTINGS, pool)


def planned(world: ClusterCache, pool: str = "") -> PendingReport:
    return waiting_report(world.snapshot(NOW), SETTINGS, pool)


# For those who wait


def test_every_pod_that_waits_is_told_of_once() -> None:
    report = planned(a_shop(*a_crowd()))
    told = [pod for one in (*report.machines, *report.places) for pod in one.pods]
    told += [one.pod for one in report.homeless]
    assert sorted(told) == sorted(f"shop/{pod.metadata.name}" for pod in a_crowd())
    assert report.waiting == len(told)


def test_what_is_bought_adds_up() -> None:
    report = planned(a_shop(*a_crowd()))
    assert [(one.server_type, one.pods) for one in report.machines] == [
        ("cx43", ("shop/batch-0",)),
        ("cx43", ("shop/batch-1",)),
    ]
    assert (report.per_hour, report.bound_per_hour) == pytest.approx((2 * 0.0256, 2 * 0.0256))
    assert [(one.node, one.is_coming, one.pods) for one in report.places] == [
        ("default-5b90", False, ("shop/batch-2",))
    ]


def test_who_has_a_place_on_a_machine_that_comes_is_not_bought_another_one() -> None:
    waits = a_waiting_pod("app", requests={"cpu": "2"}, status=REFUSED)
    request = market.a_request("default-new", "Provisioning")
    metadata = msgspec.structs.replace(request.metadata, annotations={PLANNED_FOR: waits.metadata.uid})
    world = observed(
        ClusterCache(), market.a_pool(), a_cloud(), waits, msgspec.structs.replace(request, metadata=metadata)
    )
    report = planned(world)
    assert (report.machines, report.homeless) == ((), ())
    assert [(one.node, one.is_coming) for one in report.places] == [("default-new", True)]


def test_who_was_not_tried_yet_is_left_to_the_scheduler() -> None:
    (one,) = planned(a_shop(a_waiting_pod("new"))).homeless
    assert one.why.startswith("no scheduler has tried it yet")


def test_who_found_no_place_before_and_is_left_alone_is_planned_for() -> None:
    """Growth would wait for a while; a person wants to know what comes of it then."""
    outlook = ScaleUpContext(Given().inputs(a_shop().snapshot(NOW), SETTINGS, ScaleUpCarry()))
    record = BackOff(9, NOW, saw=outlook.circumstances.text)
    marks = {BACK_OFF: record.encode()}
    held = a_waiting_pod("held", requests={"cpu": "7900m"}, status=REFUSED, annotations=marks)
    outlook = ScaleUpContext(Given().inputs((world := a_shop(held)).snapshot(NOW), SETTINGS, ScaleUpCarry()))
    assert sort_out(outlook, is_node_new=False).held == [(held, record)]
    assert len(planned(world).machines) == 1


def test_a_machine_that_a_pool_keeps_ready_is_bought_for_nobody() -> None:
    pool = market.a_pool(types=[{"name": "small", "min": 1}])
    (machine,) = planned(observed(ClusterCache(), pool, a_cloud())).machines
    assert (machine.pods, machine.why) == ((), "pool default keeps some of small ready")


def test_one_pool_is_told_of_alone() -> None:
    batch = market.a_pool("batch", types=["cx43"])
    work = a_waiting_pod("sum", requests={"cpu": "5"}, status=REFUSED, nodeSelector={"growth.dev/pool": "batch"})
    report = planned(a_shop(batch, work, *a_crowd()), "batch")
    assert (report.waiting, [one.pool for one in report.machines], report.homeless) == (1, ["batch"], ())
    assert report.bound_per_hour is None


def test_in_an_unhealthy_cluster_nothing_is_bought_and_that_is_said() -> None:
    sick = [market.a_node(f"sick-{number}", ready=False) for number in range(20)]
    names = [node.metadata.name for node in sick]
    waits = a_waiting_pod("app", requests={"cpu": "1"}, status=REFUSED)
    report = planned(observed(ClusterCache(), market.a_pool(), a_cloud(*names), *sick, waits))
    assert report.machines == ()
    assert report.homeless[0].why.startswith("nothing is launched in an unhealthy cluster")
    assert report.notices[0].startswith("the cluster is unhealthy, so Growth does nothing for now")


# The way to the cheapest


def test_the_money_is_that_of_all_machines() -> None:
    report = optimised(a_shop())
    assert report.now_per_hour == pytest.approx(0.1114 + 0.0569 + 2 * 0.0256 + 2 * 0.0136 + 2 * 0.0088)
    assert report.bound_per_hour <= report.best_per_hour <= report.after_per_hour < report.now_per_hour
    assert report.saves_per_hour == pytest.approx(sum(step.saves_per_hour for step in report.steps))
    assert (report.machines, report.machines_after) == (
        8,
        8 + sum(len(s.buying) - len(s.going) for s in report.steps),
    )


def test_every_node_goes_or_stays() -> None:
    world = a_shop()
    report = optimised(world)
    going = [one.name for step in report.steps for one in step.going]
    assert sorted([*going, *(one.name for one in report.staying)]) == sorted(world.nodes)
    assert "default-1f3a" in going


def test_what_is_risky_is_said() -> None:
    steps = optimised(a_shop()).steps
    risks = {one.going[0].name: one.risks for one in steps}
    before = {pod for one in steps[:2] for pod in one.moving}
    again = sorted(before & set(steps[2].moving))
    assert risks["default-1f3a"] == ("disruption budget shop/web allows 3 now, and the move needs 8",)
    assert risks["default-22c7"] == ()
    assert risks["default-5b90"] == (
        "1 pod with state: shop/orders-5b90-0",
        "1 pod that nobody stands in for meanwhile: shop/orders-5b90-0",
        f"3 pods that an earlier move has moved already: {', '.join(again)}",
    )


def test_reasons_that_differ_in_names_only_are_one_kind() -> None:
    bare = [a_pod(f"bare-{name}", node=name, owner=None, namespace="shop") for name in ("default-83d4", "default-c4f2")]
    kinds = [one.kind for one in optimised(a_shop(*bare)).staying if "no controller" in one.why]
    assert kinds == 2 * ["a pod on it must stay: it has no controller that would make it anew"]


def test_one_pool_alone_leaves_the_others_as_they_are() -> None:
    batch, node = market.a_pool("batch", types=["cx43"]), a_node("batch-1", "cpx42")
    labels = {**node.metadata.labels, "growth.dev/pool": "batch"}
    node = msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels))
    world = a_shop(batch, node)
    cloud = world.clouds["hetzner"]
    machine = market.a_machine("batch-1", pool="batch", offering="hetzner-cpx42-fsn1")
    world.hear_of_cloud(msgspec.structs.replace(cloud, machines=(*cloud.machines, machine)))
    report = optimised(world, "batch")
    assert [one.name for step in report.steps for one in step.going] == ["batch-1"]
    assert (report.machines, report.machines_after, report.staying) == (1, 0, ())
    assert (report.now_per_hour, report.after_per_hour) == pytest.approx((0.1114, 0.0))


def test_a_pool_that_lets_no_node_go_keeps_them() -> None:
    report = optimised(a_shop(max_unavailable="0"))
    assert report.steps == ()
    assert "disruption.maxUnavailable lets no node of pool default go" in {one.why for one in report.staying}


def test_whoever_waits_and_what_is_under_way_is_said() -> None:
    node = a_node("default-0", "cx23")
    leaving = msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=(LEAVES,)))
    waits = a_waiting_pod("app", requests={"cpu": "64"}, status=REFUSED)
    assert optimised(a_shop(leaving, waits, max_unavailable="1")).notices == (
        "1 pod finds no place and waits: free room is theirs first, and is not kept for them here (growth plan)",
        "pool default: 1 node is missing or on its way out, and disruption.maxUnavailable lets 1 go at a time",
        NO_MEMORY,
    )


def test_a_pool_near_its_limits_is_named() -> None:
    full = market.a_pool(types=["cx43"], limits={"nodes": 8})
    assert "pool default is near its limit: nodes 8 of 8" in optimised(observed(a_shop(), full)).notices


def test_machines_that_are_not_sold_any_more_are_missing_in_the_sum_and_that_is_said() -> None:
    old = market.a_node("default-old", offering="hetzner-cx11-fsn1")
    world = a_shop(old)
    cloud = world.clouds["hetzner"]
    machine = market.a_machine("default-old", offering="hetzner-cx11-fsn1")
    world.hear_of_cloud(msgspec.structs.replace(cloud, machines=(*cloud.machines, machine)))
    report = optimised(world)
    assert (report.machines, report.now_per_hour) == (9, pytest.approx(optimised(a_shop()).now_per_hour))
    assert report.notices[0].startswith("1 machine counts for nothing here: nobody sells this kind any more")


def test_without_a_pool_nothing_is_bought_and_that_is_said() -> None:
    assert planned(ClusterCache()).notices == (
        "there is no NodePool, so Growth buys nothing: docs/kinds.md shows how to write one",
    )


def test_several_currencies_are_admitted() -> None:
    other = market.a_cloud(market.an_offering("small"), provider="kwok")
    assert any("as if they were one currency" in one for one in optimised(a_shop(other)).notices)


def test_a_pool_that_growth_has_not_seen_yet_is_planned_for_as_if_it_had() -> None:
    waits = a_waiting_pod("app", requests={"cpu": "1"}, status=REFUSED)
    world = observed(ClusterCache(), market.a_pool(finalizers=()), a_cloud(), waits)
    assert planned(world).machines == ()
    assert taken_up(world) == ["default"]
    assert len(planned(world).machines) == 1
    assert taken_up(world) == []


def test_the_same_pods_have_the_same_plan() -> None:
    first, second = (optimised(a_shop(*of("more", "default-83d4"))) for _ in range(2))
    assert first == second
