"""What people are told of pools and their machines, from objects alone."""

from datetime import timedelta
from typing import Any

import pytest

from bench.fleet_scene import NOW, Json, a_node, a_pod, a_pool, a_removal, a_request, afternoon, ago, world_of
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, PODS, Kind
from growth.api.node_removal_request import RETRY
from growth.api.taints import SCALE_DOWN, SCALE_DOWN_AT
from growth.cli.reports.cluster_summary import ResourceUse
from growth.cli.reports.machines import Fleet, LimitUsage, MachinePhase, MachineRow, PoolSummary, fleet_of

_GIB = 1 << 30
Objects = dict[Kind[Any], list[Json]]


def fleet(objects: Objects, pool: str = "") -> Fleet:
    return fleet_of(world_of(objects).snapshot(NOW), pool)


def machine(objects: Objects, name: str) -> MachineRow:
    (found,) = [one for one in fleet(objects).machines if one.name == name]
    return found


def the_pool(pool: Json, objects: Objects | None = None) -> PoolSummary:
    (found,) = fleet({NODE_POOLS: [pool], **(objects or {})}).pools
    return found


def test_what_somebody_should_look_at_comes_first() -> None:
    standings = [one.standing for one in fleet(afternoon()).machines]
    assert standings == [
        *(
            MachinePhase.FAILED,
            MachinePhase.UNREADY,
            MachinePhase.UNMET,
            MachinePhase.LEAVING,
            MachinePhase.COMING,
            MachinePhase.COMING,
        ),
        *(MachinePhase.STARTING, MachinePhase.EMPTY, MachinePhase.READY, MachinePhase.READY, MachinePhase.READY),
    ]


def test_of_those_that_are_empty_the_first_to_go_comes_first() -> None:
    late, soon = a_node("a-1", "cx33"), a_node("a-2", "cx33")
    for node, at in ((late, "2026-11-15T12:09:00Z"), (soon, "2026-11-15T12:01:00Z")):
        node["metadata"]["annotations"] = {SCALE_DOWN_AT: at}
        node["spec"] = {"taints": [{"key": SCALE_DOWN, "effect": "NoSchedule"}]}
    assert [one.name for one in fleet({NODES: [late, soon]}).machines] == ["a-2", "a-1"]


def test_a_taint_without_an_instant_is_no_mark() -> None:
    assert machine({NODES: [a_node("a-1", "cx33", taint=SCALE_DOWN)]}, "a-1").standing is MachinePhase.READY


def test_nodes_of_a_pool_that_is_deleted_are_not_called_empty() -> None:
    pool, node = a_pool("a", "cx33", status={}), a_node("a-1", "cx33", goes_in=timedelta(seconds=-9))
    pods = [a_pod("web", "a-1", "1", "1Gi")]
    assert machine({NODE_POOLS: [pool], NODES: [node], PODS: pods}, "a-1").standing is MachinePhase.EMPTY
    pool["metadata"]["deletionTimestamp"] = ago(seconds=9)
    drained = machine({NODE_POOLS: [pool], NODES: [node], PODS: pods}, "a-1")
    assert (drained.standing, drained.phase, drained.work) == (MachinePhase.LEAVING, "", 1)
    assert drained.since == NOW - timedelta(seconds=9)


def test_an_unready_node_says_when_it_goes() -> None:
    node = a_node("a-1", "cx33", ready=False, goes_in=timedelta(minutes=9))
    one = machine({NODES: [node]}, "a-1")
    assert (one.standing, one.goes_at) == (MachinePhase.UNREADY, NOW + timedelta(minutes=9))


def test_a_node_that_is_not_ready_yet_is_starting_as_long_as_its_request_lives() -> None:
    node = a_node("a-1", "cx33", ready=False)
    assert machine({NODES: [node]}, "a-1").standing is MachinePhase.UNREADY
    coming = a_request("a-1", "kwok-cx33-fsn1", "Provisioning", 9)
    assert machine({NODES: [node], NODE_REQUESTS: [coming]}, "a-1").standing is MachinePhase.STARTING


def test_a_machine_is_one_whatever_speaks_for_it() -> None:
    objects: Objects = {
        NODES: [a_node("a-1", "cx33")],
        NODE_REQUESTS: [a_request("a-1", "kwok-cx33-fsn1", "Ready", 9)],
        NODE_REMOVAL_REQUESTS: [a_removal("a-1", "Deprovisioning", 3, 2)],
    }
    one = machine(objects, "a-1")
    assert (one.standing, one.phase, one.attempts, one.offering) == (
        MachinePhase.LEAVING, "Deprovisioning", 2, "kwok-cx33-fsn1",
    )  # fmt: skip


def test_a_removal_without_a_node_is_shown_too() -> None:
    one = machine({NODE_REMOVAL_REQUESTS: [a_removal("a-1", "Pending", 1, 0)]}, "a-1")
    assert (one.standing, one.pool, one.cpu_millis) == (MachinePhase.LEAVING, "a", None)
    assert one.message == "it stood empty for 10m"


def test_a_removal_that_failed_says_what_its_provider_said() -> None:
    failed = a_removal("a-1", "RemovalFailed", 24, 5, wrong="Invalid: it is protected")
    assert machine({NODE_REMOVAL_REQUESTS: [failed]}, "a-1").message == "Invalid: it is protected"


def test_a_removal_that_failed_in_silence_says_what_we_know() -> None:
    failed = a_removal("a-1", "RemovalFailed", 24, 5)
    assert machine({NODE_REMOVAL_REQUESTS: [failed]}, "a-1").message == "its machine is still there after 5 attempts"


def test_that_a_removal_is_to_be_tried_again_is_told() -> None:
    failed = a_removal("a-1", "RemovalFailed", 24, 5)
    failed["metadata"]["annotations"] = {RETRY: ago()}
    assert machine({NODE_REMOVAL_REQUESTS: [failed]}, "a-1").is_to_be_retried


@pytest.mark.parametrize(
    ("request_", "why", "message"),
    [
        (a_request("a-1", "x", "Unmet", 9, wrong="OutOfStock: sold out"), "OutOfStock", "sold out"),
        (a_request("a-1", "x", "Pending", 9, wrong="RateLimited: 3600 an hour"), "RateLimited", "3600 an hour"),
        (a_request("a-1", "x", "Pending", 9), "", ""),
        (a_request("a-1", "x", "Pending", 9, wrong="no word: at all"), "", "no word: at all"),
    ],
    ids=["it could not be had", "its provider says not now", "nothing is wrong", "somebody else wrote it"],
)
def test_what_went_wrong_with_a_request_is_a_word_and_a_sentence(request_: Json, why: str, message: str) -> None:
    one = machine({NODE_REQUESTS: [request_]}, "a-1")
    assert (one.why, one.message) == (why, message)


def test_a_request_whose_node_has_gone_is_no_machine_that_comes() -> None:
    assert fleet({NODE_REQUESTS: [a_request("a-1", "x", "Ready", 9)]}).machines == ()


def test_only_work_counts_among_the_pods_of_a_node() -> None:
    pods = [a_pod("web", "a-1", "1", "1Gi"), a_pod("logs", "a-1", "500m", "1Gi", "DaemonSet")]
    one = machine({NODES: [a_node("a-1", "cx33")], PODS: pods}, "a-1")
    assert (one.work, one.cpu_millis, one.memory_bytes) == (1, ResourceUse(1500, 4000), ResourceUse(2 * _GIB, 8 * _GIB))


def test_a_pool_counts_its_machines_by_how_they_stand() -> None:
    default, gpu = fleet(afternoon()).pools
    assert default.machines == {
        MachinePhase.FAILED: 1, MachinePhase.UNREADY: 1, MachinePhase.UNMET: 1, MachinePhase.LEAVING: 1,
        MachinePhase.COMING: 2, MachinePhase.STARTING: 1, MachinePhase.EMPTY: 1, MachinePhase.READY: 2,
    }  # fmt: skip
    assert (gpu.machines, gpu.cpu_millis) == ({MachinePhase.READY: 1}, ResourceUse(5800, 20000))


def test_what_could_not_be_had_uses_up_no_limit() -> None:
    default, _ = fleet(afternoon()).pools
    assert default.limits == (LimitUsage("nodes", 9, 10), LimitUsage("cost", 0.1148, 0.25))


def test_what_a_machine_brings_is_known_when_its_node_is_there() -> None:
    pool = a_pool("a", "cx33", spec={"limits": {"cpu": 4, "memory": "64Gi"}}, status={})
    objects: Objects = {NODES: [a_node("a-1", "cx33")], NODE_REQUESTS: [a_request("a-2", "x", "Pending", 1)]}
    assert the_pool(pool, objects).limits == (
        LimitUsage("cpu", 4, 4, is_at_least=True), LimitUsage("memory", 8 * _GIB, 64 * _GIB, is_at_least=True),
    )  # fmt: skip


def test_the_cost_of_all_is_told_if_every_pool_tells_its_own() -> None:
    assert fleet(afternoon()).cost_per_hour == pytest.approx(0.4417)
    untold = a_pool("new", "cx33", status={})
    assert fleet({NODE_POOLS: [*afternoon()[NODE_POOLS], untold]}).cost_per_hour is None


def test_what_two_providers_charge_is_not_added_up() -> None:
    pools = [
        a_pool(name, "cx33", spec={"provider": name}, status={"costPerHour": "1.5"}) for name in ("kwok", "hetzner")
    ]
    told = fleet({NODE_POOLS: pools})
    assert ([pool.cost_per_hour for pool in told.pools], told.cost_per_hour) == ([1.5, 1.5], None)


@pytest.mark.parametrize(
    ("first", "second", "cost", "currency"),
    [
        (("kwok", "EUR"), ("hetzner", "EUR"), 3.0, "EUR"),
        (("kwok", "USD"), ("hetzner", "EUR"), None, ""),
        (("kwok", "USD"), ("kwok", "EUR"), None, ""),
        (("kwok", ""), ("hetzner", "EUR"), None, ""),
        (("kwok", ""), ("kwok", ""), 3.0, ""),
    ],
)
def test_what_is_charged_in_one_currency_is_added_up(
    first: tuple[str, str], second: tuple[str, str], cost: float | None, currency: str
) -> None:
    pools = [
        a_pool(f"pool-{number}", "cx33", spec={"provider": name}, status={"costPerHour": "1.5", "currency": of})
        for number, (name, of) in enumerate((first, second))
    ]
    told = fleet({NODE_POOLS: pools})
    assert [pool.currency for pool in told.pools] == [first[1], second[1]]
    assert (told.cost_per_hour, told.currency) == (cost, currency)


def test_a_pool_that_nobody_has_looked_at_says_so() -> None:
    pool = a_pool("a", "cx33", status={"conditions": []})
    assert the_pool(pool).problems == ("Growth has said nothing about it yet: is it running?",)


def test_what_a_person_should_mend_is_told() -> None:
    wrong = {"type": "Valid", "status": "False", "reason": "UnknownServerType", "message": "cx3 is not sold"}
    assert the_pool(a_pool("a", "cx3", status={"conditions": [wrong]})).problems == ("cx3 is not sold",)


def test_nodes_of_a_pool_that_does_not_exist_are_shown() -> None:
    (gone,) = fleet({NODES: [a_node("gone-1", "cx33")]}).pools
    assert (gone.name, gone.cost_per_hour) == ("gone", None)
    assert gone.problems == ("there is no NodePool of this name, so nobody looks after its nodes",)


def test_an_offering_is_left_alone_until_its_time_is_over_or_one_was_had() -> None:
    entry = {"offering": "kwok-cx33-fsn1", "level": 1, "reason": "OutOfStock"}
    soon, past = "2026-11-15T12:05:00Z", "2026-11-15T11:55:00Z"
    entries = [
        {**entry, "until": soon},
        {**entry, "until": past},
        {**entry, "until": soon, "availableSince": past},
        {**entry, "level": 0, "reason": "SmallerThanPromised", "surprises": 2},
    ]
    told = the_pool(a_pool("a", "cx33", status={"offerings": entries})).left_alone
    assert [(one.reason, one.until is not None) for one in told] == [
        ("OutOfStock", True), ("SmallerThanPromised", False),
    ]  # fmt: skip


def test_one_pool_can_be_looked_at_alone() -> None:
    gpu = fleet(afternoon(), "gpu")
    assert [pool.name for pool in gpu.pools] == ["gpu"]
    assert [one.name for one in gpu.machines] == ["gpu-b1946ac924"]
    assert gpu.cost_per_hour == 0.3269


def test_nodes_of_no_pool_are_counted() -> None:
    stranger = a_node("web-1", "cx33")
    del stranger["metadata"]["labels"]["growth.dev/pool"]
    told = fleet({NODES: [stranger, a_node("a-1", "cx33")]})
    assert (told.other_nodes, len(told.machines)) == (1, 1)
