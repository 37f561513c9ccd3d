"""Which flavor serves which part of a workload."""

from typing import Any

import pytest

from growth.api.queue.kinds import CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.decide.queue.flavor_assignment import Assignment, AssignmentMode, AssignmentRefusal, assign, needs_of
from growth.decide.queue.quota_tree import QuotaNode, quotas_of
from tests.builders import Json
from tests.decide.queue.stage import read

Quotas = dict[str, dict[str, str]]


def a_flavor(name: str, **spec: Any) -> Json:  # noqa: ANN401
    return {"metadata": {"name": name}, "spec": spec}


def a_set(name: str = "main", count: int = 1, requests: dict[str, str] | None = None, **spec: Any) -> Json:  # noqa: ANN401
    container = {"name": "main", "resources": {"requests": {"cpu": "1"} if requests is None else requests}}
    return {"name": name, "count": count, "template": {"spec": {"containers": [container], **spec}}}


def outcome(
    groups: list[Quotas],
    sets: list[Json],
    flavors: list[Json] | None = None,
    used: dict[tuple[str, str], int] | None = None,
) -> Assignment | AssignmentRefusal:
    """Groups are quota by flavor and resource."""
    spec = {
        "resourceGroups": [
            {
                "coveredResources": list(next(iter(group.values()))),
                "flavors": [
                    {"name": name, "resources": [{"name": each, "nominalQuota": much} for each, much in quota.items()]}
                    for name, quota in group.items()
                ],
            }
            for group in groups
        ]
    }
    queue = read(CLUSTER_QUEUES, {"metadata": {"name": "all"}, "spec": spec})
    known = {
        one["metadata"]["name"]: read(RESOURCE_FLAVORS, one)
        for one in flavors or [a_flavor(name) for group in groups for name in group]
    }
    member = QuotaNode("all", quotas_of(queue.spec.resource_groups))
    for slot, amount in (used or {}).items():
        member.use(slot, amount)
    workload = read(WORKLOADS, {"metadata": {"name": "one"}, "spec": {"podSets": sets}})
    return assign(queue, member, known, needs_of(workload))


def chosen(found: Assignment | AssignmentRefusal) -> list[dict[str, str]]:
    assert isinstance(found, Assignment), found
    return [dict(one.flavors) for one in found.sets]


def refused(found: Assignment | AssignmentRefusal) -> tuple[str, str]:
    if isinstance(found, Assignment):
        assert found.price.way is AssignmentMode.NOBODY_TO_GO, found
        return "WaitingForQuota", found.why
    return found.reason, found.why


TWO: list[Quotas] = [{"first": {"cpu": "2"}, "second": {"cpu": "8"}}]


def test_the_first_flavor_with_enough_left_is_taken() -> None:
    assert chosen(outcome(TWO, [a_set(count=2)])) == [{"cpu": "first"}]
    assert chosen(outcome(TWO, [a_set(count=3)])) == [{"cpu": "second"}]
    assert chosen(outcome(TWO, [a_set()], used={("first", "cpu"): 1500})) == [{"cpu": "second"}]


def test_pod_sets_count_together() -> None:
    assert chosen(outcome(TWO, [a_set("a", 2), a_set("b", 1)])) == [{"cpu": "first"}, {"cpu": "second"}]
    assert refused(outcome([{"one": {"cpu": "2"}}], [a_set("a", 2), a_set("b", 1)]))[0] == "ExceedsMaxQuota"


def test_all_resources_of_a_group_come_from_one_flavor() -> None:
    groups: list[Quotas] = [{"first": {"cpu": "8", "memory": "1Gi"}, "second": {"cpu": "8", "memory": "8Gi"}}]
    sets = [a_set(requests={"cpu": "1", "memory": "2Gi"})]
    assert chosen(outcome(groups, sets)) == [{"cpu": "second", "memory": "second"}]


def test_each_group_has_a_flavor_of_its_own() -> None:
    groups: list[Quotas] = [{"plain": {"cpu": "8"}}, {"a100": {"gpu": "1"}, "t4": {"gpu": "4"}}]
    sets = [a_set(requests={"cpu": "1", "gpu": "2"})]
    assert chosen(outcome(groups, sets)) == [{"cpu": "plain", "gpu": "t4"}]


def test_flavors_of_two_groups_must_be_on_the_same_nodes() -> None:
    groups: list[Quotas] = [{"west": {"cpu": "8"}}, {"a100": {"gpu": "4"}, "t4": {"gpu": "4"}}]
    flavors = [
        a_flavor("west", nodeLabels={"zone": "west"}),
        a_flavor("a100", nodeLabels={"zone": "east"}),
        a_flavor("t4", nodeLabels={"zone": "west", "gpu": "t4"}),
    ]
    sets = [a_set(requests={"cpu": "1", "gpu": "2"})]
    assert chosen(outcome(groups, sets, flavors)) == [{"cpu": "west", "gpu": "t4"}]


LABELLED = [a_flavor("first", nodeLabels={"zone": "west"}), a_flavor("second", nodeLabels={"zone": "east"})]


def affinity(*expressions: Json) -> Json:
    terms = [{"matchExpressions": [one]} for one in expressions]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize(
    ("spec", "flavor"),
    [
        pytest.param({"nodeSelector": {"zone": "east"}}, "second", id="a selector chooses"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, "first", id="a label of which no flavor says anything is free"),
        pytest.param(
            {"affinity": affinity({"key": "zone", "operator": "NotIn", "values": ["west"]})},
            "second",
            id="a required affinity chooses",
        ),
        pytest.param(
            {
                "affinity": affinity(
                    {"key": "zone", "operator": "In", "values": ["north"]}, {"key": "disk", "operator": "Exists"}
                )
            },
            "first",
            id="one term that may hold is enough",
        ),
    ],
)
def test_pods_go_where_their_wishes_allow(spec: Json, flavor: str) -> None:
    assert chosen(outcome(TWO, [a_set(**spec)], LABELLED)) == [{"cpu": flavor}]


def test_a_flavor_without_a_label_does_not_contradict_it() -> None:
    flavors = [a_flavor("first"), a_flavor("second", nodeLabels={"zone": "east"})]
    assert chosen(outcome(TWO, [a_set(nodeSelector={"zone": "east"})], flavors)) == [{"cpu": "first"}]


def test_nobody_goes_where_no_label_fits() -> None:
    reason, why = refused(outcome(TWO, [a_set(nodeSelector={"zone": "north"})], LABELLED))
    assert reason == "NoMatchingFlavor"
    assert "zone=north" in why


TAINT = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
TOLERATION = {"key": "spot", "operator": "Exists"}


def test_a_taint_is_tolerated_by_the_pods_or_by_the_flavor_or_not() -> None:
    tainted, plain = a_flavor("first", nodeTaints=[TAINT]), a_flavor("second")
    helped = a_flavor("first", nodeTaints=[TAINT], tolerations=[TOLERATION])
    mild = a_flavor("first", nodeTaints=[{**TAINT, "effect": "PreferNoSchedule"}])
    assert chosen(outcome(TWO, [a_set()], [tainted, plain])) == [{"cpu": "second"}]
    assert chosen(outcome(TWO, [a_set(tolerations=[TOLERATION])], [tainted, plain])) == [{"cpu": "first"}]
    assert chosen(outcome(TWO, [a_set()], [helped, plain])) == [{"cpu": "first"}]
    assert chosen(outcome(TWO, [a_set()], [mild, plain])) == [{"cpu": "first"}]
    reason, why = refused(outcome([{"first": {"cpu": "2"}}], [a_set()], [tainted]))
    assert (reason, "spot=yes:NoSchedule" in why) == ("NoMatchingFlavor", True)


def test_who_waits_is_told_what_is_missing_where() -> None:
    used = {("first", "cpu"): 1500, ("second", "cpu"): 8000}
    first = "1 cpu are asked for, and of flavor first are left 0.5 cpu"
    second = "1 cpu are asked for, and of flavor second are left 0 cpu"
    assert refused(outcome(TWO, [a_set()], used=used)) == ("WaitingForQuota", f"main: {first}; {second}")


def test_what_can_never_be_is_said_as_such_only_if_no_flavor_could_do() -> None:
    reason, why = refused(outcome(TWO, [a_set(count=9)]))
    assert reason == "ExceedsMaxQuota"
    assert "flavor second never has more than 8 cpu" in why
    assert refused(outcome(TWO, [a_set(count=5)], used={("second", "cpu"): 8000}))[0] == "WaitingForQuota"


def test_what_the_queue_does_not_cover_is_refused_unless_nothing_is_asked() -> None:
    reason, why = refused(outcome(TWO, [a_set(requests={"cpu": "1", "gpu": "1"})]))
    assert (reason, "ask for gpu" in why) == ("NoMatchingFlavor", True)
    assert chosen(outcome(TWO, [a_set(requests={"cpu": "1", "gpu": "0"})])) == [{"cpu": "first"}]


def test_pods_are_counted_where_they_are_covered() -> None:
    groups: list[Quotas] = [{"one": {"cpu": "8", "pods": "2"}}]
    assert chosen(outcome(groups, [a_set(count=2)])) == [{"cpu": "one", "pods": "one"}]
    assert refused(outcome(groups, [a_set(count=3)]))[0] == "ExceedsMaxQuota"


def test_a_limit_is_a_request_where_there_is_none() -> None:
    pod_set = a_set(containers=[{"name": "main", "resources": {"limits": {"cpu": "3"}}}])
    assert chosen(outcome(TWO, [pod_set])) == [{"cpu": "second"}]


def test_a_flavor_that_is_gone_is_left_out() -> None:
    assert chosen(outcome(TWO, [a_set()], [a_flavor("second")])) == [{"cpu": "second"}]


def test_who_asks_for_nothing_gets_nothing_and_is_not_held_up() -> None:
    assert chosen(outcome(TWO, [a_set(count=0)])) == [{"cpu": "first"}]
    assert chosen(outcome(TWO, [a_set(requests={})], used={("first", "cpu"): 9000, ("second", "cpu"): 9000})) == [{}]
