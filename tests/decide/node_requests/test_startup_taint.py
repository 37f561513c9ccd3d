"""Who gets a key, and when a new node is opened to all."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
import pytest

from growth.api.actions import EditObject
from growth.api.annotations import STARTED_AT, TEMPLATE
from growth.api.node_pool import OfferingStatus
from growth.api.node_request import PLANNED_FOR, NodeRequest
from growth.api.pod import Pod
from growth.api.taints import STARTING, closed
from growth.api.tolerations import NO_EXECUTE, Taint
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.node_requests.decider import CAPABILITY
from tests.decide.node_requests.stage import (
    ANOTHER,
    MINUTE,
    NAME,
    NO_SCHEDULE_BY_NETWORK,
    NOW,
    PROVISION,
    SETTINGS,
    SMALL,
    a_cloud,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    a_snapshot,
    decided,
    told,
)
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)

ONE, TWO = a_pod("one"), a_pod("two")
THERE = (a_cloud(a_machine()), a_node())
A_MOMENT_AGO = NOW - MINUTE / 60


def ready(pods: Sequence[Pod], *, hands_keys: bool = True, since: datetime = A_MOMENT_AGO) -> NodeRequest:
    return a_request("Ready", since=since, planned_for=pods, hands_keys=hands_keys)


HAS_ITS_KEY = a_pod("one", keys=[NAME])
IS_BOUND = a_pod("one", node=NAME)


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((ready([ONE], hands_keys=False), ONE), [f"open {NAME}"],
                     id="where nobody can spoil the plan it is opened at once"),
        pytest.param((ready([ONE, TWO]), ONE, TWO), [f"key one: {NAME}", f"key two: {NAME}"],
                     id="each pod that it was bought for gets its key, and nobody else comes in"),
        pytest.param((ready([ONE, TWO]), HAS_ITS_KEY, TWO), [f"key two: {NAME}"], id="a key is not given twice"),
        pytest.param((ready([ONE, TWO]), IS_BOUND, TWO), [f"key two: {NAME}"], id="nor to one that is there"),
        pytest.param((ready([ONE]), a_pod("one", keys=[ANOTHER])), [f"key one: {NAME}"],
                     id="a key to another node opens nothing here"),
        pytest.param((ready([ONE]), HAS_ITS_KEY), [], id="while one with a key is on its way, it stays closed"),
        pytest.param((ready([ONE]), IS_BOUND), [f"open {NAME}"], id="when all are there it is opened"),
        pytest.param((ready([ONE]),), [f"open {NAME}"], id="so it is when those that are missing are gone"),
        pytest.param((ready([ONE]), a_pod("one", node="elsewhere")), [f"open {NAME}"],
                     id="or went somewhere else"),
        pytest.param((ready([ONE], since=NOW - PROVISION.hand_over), HAS_ITS_KEY), [f"open {NAME}"],
                     id="or had their time"),
        pytest.param((ready([]),), [f"open {NAME}"], id="one that was bought for nobody is opened"),
        pytest.param((ready([ONE]), a_pod("one", tolerations=[{"key": "team", "operator": "Exists"}])),
                     [f"key one: {NAME}"], id="a key is added to what a pod tolerates already"),
        pytest.param((a_request("Pending", since=None, planned_for=[ONE]), ONE), [f"{NAME} -> Provisioning"],
                     id="before its machine is known nobody gets a key"),
        pytest.param((a_request("Unmet", failed="NoMachine", planned_for=[ONE]), ONE), [],
                     id="nor when it was given up"),
        pytest.param((ready([ONE]), ONE, a_removal()), [], id="a node that is being removed is left alone"),
        pytest.param((ready([ONE]), ONE, a_removal("by-hand", node=NAME)), [], id="whatever its removal is called"),
        pytest.param((), [f"open {NAME}"], id="a node for which nobody asks any more is opened"),
    ],
)  # fmt: skip
def test_who_is_let_in(things: tuple[object, ...], expected: list[str]) -> None:
    assert told(decided(a_pool(), *THERE, *things).said) == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_node(ready=False), [], id="one that is not ready is not opened for nobody"),
        pytest.param(a_node(lacks=["growth.dev/pool"]), [], id="one of no pool of ours is left alone"),
        pytest.param(a_node(labels={"growth.dev/pool": "other"}), [], id="so is one of a pool that does not exist"),
        pytest.param(a_node(is_closed=False, taints=[closed("elsewhere")]), [f"hold {NAME}: ClosedByOthers"],
                     id="a start-up taint that somebody copied is left alone, and told of"),
        pytest.param(a_node(is_closed=False), [], id="one that is open is open"),
    ],
)  # fmt: skip
def test_a_closed_node_without_a_request(node: object, expected: list[str]) -> None:
    assert told(decided(a_pool(), a_cloud(a_machine()), node).said) == expected


def test_keys_are_given_in_the_pass_in_which_the_node_turns_out_to_be_as_planned() -> None:
    request = a_request("Provisioning", planned_for=[ONE], hands_keys=True)
    assert told(decided(a_pool(), *THERE, request, ONE).said) == [f"{NAME} -> Ready", f"key one: {NAME}"]


def test_nobody_is_let_in_before_the_pools_own_taints_are_gone() -> None:
    request = a_request("Provisioning", planned_for=[ONE], hands_keys=True)
    pool, node = a_pool(startup_taints=[NO_SCHEDULE_BY_NETWORK]), a_node(taints=[NO_SCHEDULE_BY_NETWORK])
    assert told(decided(pool, a_cloud(a_machine()), node, request, ONE).said) == []


def test_only_our_own_taint_is_removed_and_only_if_it_is_still_there() -> None:
    others = [Taint("team", "shop", "NoSchedule"), Taint(STARTING, "elsewhere", NO_EXECUTE)]
    (action,) = decided(a_pool(), a_cloud(a_machine()), a_node(taints=others), ready([])).said
    assert isinstance(action, EditObject)
    assert action.subject.uid == f"node-{NAME}"
    assert action.operations == (
        {"op": "test", "path": "/spec/taints/2/key", "value": STARTING},
        {"op": "test", "path": "/spec/taints/2/value", "value": NAME},
        {"op": "remove", "path": "/spec/taints/2"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "0"},
        {"op": "add", "path": "/metadata/annotations", "value": {STARTED_AT: "2026-03-01T09:00:00Z"}},
    )


def test_that_it_was_ready_once_is_written_beside_what_others_have_written() -> None:
    """In the same edit: a node that is open and bears no record would look as if it had never started."""
    node = a_node(annotations={"team": "shop"})
    (action,) = decided(a_pool(), a_cloud(a_machine()), node, ready([])).said
    assert isinstance(action, EditObject)
    path = "/metadata/annotations/growth.dev~1started-at"
    assert action.operations[-1] == {"op": "add", "path": path, "value": "2026-03-01T09:00:00Z"}
    assert {"op": "remove", "path": "/spec/taints/0"} in action.operations


@pytest.mark.parametrize("annotations", [{}, {"team": "shop"}], ids=["alone", "beside others"])
def test_what_the_node_was_made_from_is_written_when_it_is_opened(annotations: dict[str, str]) -> None:
    request = ready([])
    marked = {**request.metadata.annotations, TEMPLATE: "abc"}
    request = msgspec.structs.replace(request, metadata=msgspec.structs.replace(request.metadata, annotations=marked))
    (action,) = decided(a_pool(), a_cloud(a_machine()), a_node(annotations=annotations), request).said
    assert isinstance(action, EditObject)
    last = action.operations[-1]
    if annotations:
        assert last == {"op": "add", "path": "/metadata/annotations/growth.dev~1template", "value": "abc"}
    else:
        assert last["value"] == {STARTED_AT: "2026-03-01T09:00:00Z", TEMPLATE: "abc"}


@pytest.mark.parametrize(
    ("pod", "path", "is_list"),
    [
        pytest.param(a_pod("one"), "/spec/tolerations", True, id="its first toleration"),
        pytest.param(a_pod("one", tolerations=[{"operator": "Exists"}]), "/spec/tolerations/-", False, id="one more"),
        pytest.param(a_pod("one", keys=[ANOTHER]), "/spec/tolerations/-", False, id="a second key"),
    ],
)
def test_a_key_takes_nothing_away(pod: Pod, path: str, is_list: bool) -> None:  # noqa: FBT001
    (action,) = decided(a_pool(), *THERE, ready([pod]), pod).said
    assert isinstance(action, EditObject)
    key = {"key": STARTING, "operator": "Equal", "value": NAME, "effect": "NoSchedule"}
    assert action.operations == ({"op": "add", "path": path, "value": [key] if is_list else key},)


def test_it_wakes_when_the_hand_over_is_over() -> None:
    decision = decided(a_pool(), *THERE, ready([ONE], since=NOW - MINUTE / 2), HAS_ITS_KEY)
    assert decision.requeue_at == NOW - MINUTE / 2 + PROVISION.hand_over


def test_the_hand_over_is_not_cut_short_by_a_clock_that_jumps() -> None:
    request = ready([ONE], since=NOW - 60 * MINUTE)
    assert told(decided(a_pool(), *THERE, request, HAS_ITS_KEY, steady_since=NOW).said) == []


def test_a_smaller_node_does_not_wait_for_those_that_it_has_no_room_for() -> None:
    pods = [a_pod(name, requests={"cpu": "900m"}) for name in ("one", "two")]
    pool = a_pool(learnt=[OfferingStatus(SMALL.id, lacks={"cpu": "1"}, surprises=1)])
    small = a_node(allocatable={"cpu": "1"})
    things = (pool, a_cloud(a_machine()), small, ready(pods))
    assert told(decided(*things, *pods).said) == [f"key one: {NAME}"]
    assert told(decided(*things, a_pod("one", node=NAME, requests={"cpu": "900m"}), pods[1]).said) == [f"open {NAME}"]


def test_it_stays_closed_for_the_successor_of_a_pod_that_loses_its_machine_and_the_pod_itself_gets_no_key() -> None:
    lost = a_pod("db", node=ANOTHER)
    for hands_keys, since, expected in (
        (True, A_MOMENT_AGO, []),
        (True, NOW - PROVISION.hand_over, [f"open {NAME}"]),
        (False, A_MOMENT_AGO, [f"open {NAME}"]),
    ):
        request = ready([lost], hands_keys=hands_keys, since=since)
        uids = {**request.metadata.annotations, PLANNED_FOR: f"successor-of-{lost.metadata.uid}"}
        request = msgspec.structs.replace(request, metadata=msgspec.structs.replace(request.metadata, annotations=uids))
        snapshot = a_snapshot(a_pool(), *THERE, request, lost)
        given = Given(facts=(ReplacementPods.of([lost]),))
        assert told(decide(snapshot, given, SETTINGS).said) == expected
