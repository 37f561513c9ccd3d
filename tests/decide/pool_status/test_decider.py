"""The status of pools, the finalizer that holds them, and nodes that only look like theirs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import Hold, PatchObject, RecordEvent
from growth.api.node import Node
from growth.api.node_pool import NodeCounts, NodePool, NodePoolStatus, OfferingStatus
from growth.api.offering import POOL, Offering
from growth.api.provider_state import NOT_ASKED, ProviderState
from growth.api.settings.model import Settings
from growth.api.status import StatusCondition, condition_of
from growth.api.taints import LEAVES, closed
from growth.decide.capacity.pool_validation import FINALIZER
from growth.decide.contract import Decision
from growth.decide.pool_status.carry import PoolStatusCarry
from growth.decide.pool_status.conditions import EXPANDING, HEALTHY, READY, VALID
from growth.decide.pool_status.decider import CAPABILITY
from tests.decide.marketplace import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    SMALL,
    Thing,
    a_cloud,
    a_failed_request,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_request,
    a_snapshot,
    an_entry,
    an_offering,
)
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)

USABLE = StatusCondition(VALID, "True", "Usable", "", NOW - HOUR)
WELL = (
    USABLE,
    StatusCondition(HEALTHY, "True", "Healthy", "", NOW - HOUR),
    StatusCondition(READY, "True", "Ready", "", NOW - HOUR),
    StatusCondition(EXPANDING, "False", "NothingComing", "", NOW - HOUR),
)
AT_REST = NodePoolStatus(nodes=NodeCounts(), cost_per_hour="0.0000", conditions=WELL)
EMPTY = a_pool(status=AT_REST)
SEEN = a_cloud(read_at=NOW - SECOND)
NAMES = ("default-1", "default-2", "default-3")
LATE = NOW - 2 * HOUR


def decided(*things: Thing, memory: object = None, now: datetime = NOW) -> Decision[Any]:
    return decide(a_snapshot(*things, now=now), Given(carry=memory), Settings())


def told(decision: Decision[Any]) -> list[str]:
    """What was said, in short."""
    return [_words(said) for said in decision.said]


def _words(said: object) -> str:
    match said:
        case PatchObject(subresource="status"):
            return f"status of {said.subject.name}"
        case PatchObject():
            return f"finalizers of {said.subject.name}: {said.body['metadata']['finalizers']}"
        case Hold():
            return f"hold {said.subject.name}: {said.reason}"
        case RecordEvent():
            return f"event on {said.subject.name}: {said.reason}"
        case _:
            raise AssertionError(said)


def status_after(*things: Thing, pool: NodePool = EMPTY, memory: PoolStatusCarry | None = None) -> NodePoolStatus:
    """The status of the pool once what was decided is written."""
    patches = [said for said in decided(pool, *things, memory=memory).said if isinstance(said, PatchObject)]
    written = next((patch.body["status"] for patch in patches if patch.subresource == "status"), None)
    return pool.status if written is None else msgspec.convert(written, NodePoolStatus)


def condition_after(
    kind: str, *things: Thing, pool: NodePool = EMPTY, memory: PoolStatusCarry | None = None
) -> StatusCondition:
    condition = condition_of(status_after(*things, pool=pool, memory=memory).conditions, kind)
    assert condition is not None
    return condition


# The finalizer


@pytest.mark.parametrize(
    ("pool", "things", "expected"),
    [
        pytest.param(a_pool(status=AT_REST, finalizers=[]), [SEEN], [f"finalizers of default: ['{FINALIZER}']"],
                     id="a new pool is held before anything is bought for it"),
        pytest.param(a_pool(status=AT_REST, finalizers=["other/one"]), [SEEN],
                     [f"finalizers of default: ['other/one', '{FINALIZER}']"], id="beside what others hold it for"),
        pytest.param(a_pool(status=AT_REST, finalizers=[]), [], ["hold default: NoProvider",
                     "event on default: NoProvider", "status of default"],
                     id="without a provider nothing is bought, and nothing must be held"),
        pytest.param(EMPTY, [SEEN], [], id="a pool that is held is left as it is"),
    ],
)  # fmt: skip
def test_a_pool_is_held(pool: NodePool, things: Sequence[Thing], expected: list[str]) -> None:
    assert told(decided(pool, *things)) == expected


GOING = a_pool(deleted_at=NOW - MINUTE, status=AT_REST)
LET_GO = "finalizers of default: []"
IS_COMING = "it is being deleted and stays until nothing is coming any more: nothing is bought for it"
HAS_MACHINES = "it is being deleted and stays until its machines are gone: nothing is bought for it any more"


def waits_for(who: str) -> str:
    return f"it is being deleted and stays until {who} says that no machine of it is left"


@pytest.mark.parametrize(
    ("things", "why"),
    [
        pytest.param([SEEN], "", id="nothing is left: it is let go"),
        pytest.param([a_cloud(machines=[a_machine()]), a_node()], HAS_MACHINES, id="a node"),
        pytest.param([SEEN, a_node()], "", id="a node that is no machine of ours"),
        pytest.param([SEEN, a_request()], IS_COMING, id="a request that is not answered"),
        pytest.param([SEEN, a_request(phase="Deprovisioning")], IS_COMING, id="a machine that is given up"),
        pytest.param([SEEN, a_request(phase="Ready")], "", id="a request that is Ready, and nothing is left of it"),
        pytest.param([SEEN, a_failed_request(reason="PoolGone")], "", id="a request that has no machine"),
        pytest.param([a_cloud(machines=[a_machine()])], HAS_MACHINES, id="a machine that only its provider knows"),
        pytest.param([a_cloud(machines=[a_machine("gpu-1", pool="gpu")])], "", id="another pool's machine"),
        pytest.param([a_cloud(problem="no answer")], waits_for("kwok"), id="its provider is silent"),
        pytest.param([a_cloud(read_at=None)], waits_for("kwok"), id="its provider has not answered yet"),
        pytest.param([SEEN, a_cloud(read_at=None, provider="hetzner")], waits_for("hetzner"), id="another one has not"),
        pytest.param([a_cloud(read_at=NOW - HOUR)], waits_for("kwok"), id="it was asked before the pool was deleted"),
        pytest.param([], waits_for("its provider, which is not enabled,"), id="its provider is not enabled any more"),
    ],
)
def test_a_deleted_pool_is_held_until_it_is_certain_that_no_machine_is_left(things: Sequence[Thing], why: str) -> None:
    memory = PoolStatusCarry(leaving={"pool-default": NOW - MINUTE})
    decision = decided(GOING, *things, memory=memory)
    holds = [one.why for one in decision.said if isinstance(one, Hold) and one.reason == "HasMachines"]
    assert holds == ([why] if why else [])
    assert (LET_GO in told(decision)) is (not why)
    condition = condition_after(VALID, *things, pool=GOING, memory=memory)
    words = why or "it is being deleted, and none of its machines is left"
    assert (condition.status, condition.reason, condition.message) == ("False", "Deleting", words)


LISTED = a_cloud(machines=[a_machine()])
MARKED = a_node(taints=[LEAVES])


@pytest.mark.parametrize(
    ("things", "why"),
    [
        pytest.param([LISTED, a_node()], "", id="machines and nodes are left as they are"),
        pytest.param([LISTED, a_request()], IS_COMING, id="something is coming"),
        pytest.param([LISTED, MARKED], "the mark of scale-down is off node default-1", id="a node is marked"),
        pytest.param([LISTED, MARKED, a_removal()], "", id="a node is being removed"),
        pytest.param([SEEN, MARKED], "", id="a marked node is not ours"),
        pytest.param([LISTED, a_node(taints=[closed("default-1")]), a_request(phase="Ready")],
                     "node default-1 is open", id="a node is still closed"),
        pytest.param([LISTED, a_node(taints=[closed("default-1")])], "", id="nobody would open it"),
    ],
)  # fmt: skip
def test_an_orphaned_pool_is_held_until_its_nodes_can_be_left_as_they_are(things: Sequence[Thing], why: str) -> None:
    decision = decided(a_pool(deleted_at=NOW, status=AT_REST, deletionPolicy="Orphan"), *things)
    holds = [one.why for one in decision.said if isinstance(one, Hold) and one.reason == "HasMachines"]
    assert len(holds) == bool(why)
    assert why in "".join(holds)
    assert (LET_GO in told(decision)) is (not why)


def test_a_provider_must_be_asked_after_the_deletion_was_seen_whatever_the_servers_clock_says() -> None:
    first = decided(GOING, SEEN)
    assert LET_GO not in told(first)
    later = decided(GOING, a_cloud(read_at=NOW + SECOND), memory=_memory(first), now=NOW + SECOND)
    assert LET_GO in told(later)


def test_a_clock_that_was_set_back_holds_no_pool_for_ever() -> None:
    first = decided(GOING, SEEN, now=NOW + HOUR)
    second = decided(GOING, SEEN, memory=_memory(first))
    third = decided(GOING, a_cloud(read_at=NOW + SECOND), memory=_memory(second), now=NOW + SECOND)
    assert [LET_GO in told(one) for one in (first, second, third)] == [False, False, True]


def _memory(decision: Decision[Any]) -> PoolStatusCarry:
    assert isinstance(decision.carry, PoolStatusCarry)
    return decision.carry


def test_a_pool_that_somebody_else_holds_is_not_touched() -> None:
    pool = a_pool(deleted_at=NOW - MINUTE, status=AT_REST, finalizers=["other/one"])
    assert told(decided(pool, SEEN)) == ["status of default"]


# Conditions


@pytest.mark.parametrize(
    ("types", "before", "expected"),
    [
        pytest.param(["small"], (), StatusCondition(VALID, "True", "Usable", "", NOW), id="a new pool that is right"),
        pytest.param(["small"], (USABLE,), USABLE, id="one that is still right: since it was"),
        pytest.param(["large"], (USABLE,), StatusCondition(VALID, "False", "UnknownServerType", "", NOW),
                     id="one that became wrong: since now"),
        pytest.param(["large"], (StatusCondition(VALID, "False", "UnknownLocation", "", NOW - HOUR),),
                     StatusCondition(VALID, "False", "UnknownServerType", "", NOW - HOUR),
                     id="one that is wrong in another way: since it was wrong"),
    ],
)  # fmt: skip
def test_a_condition_says_since_when_it_holds(
    types: list[str], before: tuple[StatusCondition, ...], expected: StatusCondition
) -> None:
    pool = a_pool(types=types, status=NodePoolStatus(conditions=before))
    condition = condition_after(VALID, SEEN, pool=pool)
    assert msgspec.structs.replace(condition, message="") == expected


def test_other_conditions_stay() -> None:
    other = StatusCondition("Admired", "True")
    pool = a_pool(status=NodePoolStatus(conditions=(USABLE, other, *WELL[1:])))
    assert status_after(SEEN, pool=pool).conditions == (other, *WELL)


def test_all_that_is_wrong_is_in_the_message_and_an_event_each() -> None:
    pool = a_pool(types=["large", "small"], status=AT_REST, locations=["mars", "fsn1"])
    decision = decided(pool, SEEN)
    assert told(decision) == [
        "event on default: UnknownServerType",
        "event on default: UnknownLocation",
        "status of default",
    ]
    condition = condition_after(VALID, SEEN, pool=pool)
    assert condition.message == (
        "spec.serverTypes[0].name is 'large', which kwok does not sell; it has small; "
        "spec.locations[0] is 'mars', which kwok does not have; it has fsn1"
    )


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param([SEEN], ("True", "Healthy", ""), id="nothing is amiss"),
        pytest.param([a_cloud(machines=[a_machine()]), a_node(ready=False)],
                     ("False", "ClusterUnhealthy", "1 of 1 nodes are unready without reason: default-1"),
                     id="no node works"),
        pytest.param([a_cloud(machines=[a_machine(name) for name in NAMES]), a_node("default-1"),
                      *(a_node(name, ready=False) for name in NAMES[1:])],
                     ("False", "OfferingUnhealthy", (f"2 of 3 machines of {SMALL} are unready, failed to start or "
                      "overdue")), id="too much of one offering is amiss"),
    ],
)  # fmt: skip
def test_the_condition_healthy_says_what_is_amiss(things: Sequence[Thing], expected: tuple[str, str, str]) -> None:
    condition = condition_after(HEALTHY, *things)
    assert (condition.status, condition.reason, condition.message) == expected


def test_what_is_unhealthy_stands_in_the_status_for_the_next_leader() -> None:
    things = [a_node("default-1"), *(a_node(name, ready=False) for name in NAMES[1:])]
    (unhealthy,) = status_after(*things, a_cloud(machines=[a_machine(name) for name in NAMES])).unhealthy
    assert (unhealthy.offering, unhealthy.since) == (SMALL, NOW)


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param([], ("False", "NothingComing", ""), id="nothing"),
        pytest.param([a_request()], ("True", "MachinesComing", "a machine is coming"), id="a request"),
        pytest.param([a_request(phase="Provisioning"), a_node(taints=[closed("default-1")], born=NOW),
                      a_request("default-2")],
                     ("True", "MachinesComing", "2 machines are coming"), id="one that boots, and a request"),
        pytest.param([a_failed_request()], ("False", "NothingComing", ""), id="one that could not be had"),
    ],
)  # fmt: skip
def test_the_condition_expanding_says_what_is_coming(things: Sequence[Thing], expected: tuple[str, str, str]) -> None:
    condition = condition_after(EXPANDING, *things, SEEN)
    assert (condition.status, condition.reason, condition.message) == expected


def test_since_when_something_is_missing_is_told() -> None:
    late = a_request(asked_at=NOW - HOUR)
    assert status_after(late, a_request("default-2"), SEEN).missing_since == NOW - HOUR


def test_one_that_is_overdue_is_missing_since_it_was_asked_for_and_not_since_it_is_overdue() -> None:
    never_came = a_request(phase="Provisioning", since=LATE, asked_at=LATE - HOUR)
    given_up = a_failed_request(since=NOW, asked_at=LATE)
    assert status_after(never_came, SEEN).missing_since == LATE - HOUR
    assert status_after(given_up, SEEN).missing_since == LATE


def test_a_provider_that_had_no_time_to_answer_changes_nothing_about_a_pool() -> None:
    status = NodePoolStatus(NodeCounts(ready=1), "1.0000", WELL)
    assert told(decided(a_pool(status=status), a_node(), ProviderState("kwok", problem=NOT_ASKED))) == []


def test_what_a_pool_cost_is_not_forgotten_while_its_provider_is_silent() -> None:
    pool = a_pool(status=NodePoolStatus(NodeCounts(ready=1), "1.0000", WELL))
    status = status_after(a_node(), a_cloud(read_at=None, problem="no answer"), pool=pool)
    assert (status.cost_per_hour, status.nodes) == ("1.0000", NodeCounts(ready=1))


# Counts and costs


@pytest.mark.parametrize(
    ("things", "counts", "cost"),
    [
        pytest.param([], {}, "0.0000", id="nothing"),
        pytest.param([a_request()], {"coming": 1}, "1.0000", id="a request"),
        pytest.param([a_failed_request()], {"missing": 1}, "0.0000", id="a request that could not be met"),
        pytest.param([a_request(phase="Provisioning"), a_node(taints=[closed("default-1")])], {"starting": 1}, "1.0000",
                     id="a request whose node is closed counts once"),
        pytest.param([a_request(phase="Ready"), a_node()], {"ready": 1}, "1.0000", id="and once when it is ready"),
        pytest.param([a_node(ready=False)], {"unready": 1}, "1.0000", id="a node that is not ready"),
        pytest.param([a_request(phase="Provisioning", since=LATE), a_node(ready=False, taints=[closed("default-1")])],
                     {"failed": 1}, "1.0000", id="a node that never became ready"),
        pytest.param([a_request(phase="Provisioning", since=LATE)], {"missing": 1}, "1.0000", id="one that never came"),
        pytest.param([a_node(), a_removal()], {"leaving": 1}, "1.0000", id="a node that is being removed"),
        pytest.param([a_request(phase="Deprovisioning"), a_node()], {"leaving": 1}, "1.0000",
                     id="a node that is to be removed"),
        pytest.param([a_node(), a_node("default-2"), a_request("default-3")], {"ready": 2, "coming": 1}, "3.0000",
                     id="several"),
        pytest.param([a_node("gpu-1", pool="gpu"), a_request("gpu-2", pool="gpu")], {}, "0.0000", id="another pool's"),
        pytest.param([a_node(offering="kwok-old-fsn1")], {"ready": 1}, "0.0000", id="a price that nobody knows"),
    ],
)  # fmt: skip
def test_each_machine_counts_once(things: Sequence[Thing], counts: dict[str, int], cost: str) -> None:
    nodes = [one.metadata for one in things if isinstance(one, Node)]
    machines = [a_machine(meta.name, pool=meta.labels[POOL]) for meta in nodes]
    status = status_after(*things, a_cloud(machines=machines))
    assert (status.nodes, status.cost_per_hour) == (NodeCounts(**counts), cost)


def charging(currency: str) -> Offering:
    return msgspec.structs.replace(an_offering(), currency=currency)


def test_a_cost_is_told_in_the_currency_of_its_provider() -> None:
    euros, dollars = (a_cloud(charging(one), machines=[a_machine()]) for one in ("EUR", "USD"))
    assert status_after(a_node(), SEEN).currency == ""
    assert (status_after(a_node(), euros).cost_per_hour, status_after(a_node(), euros).currency) == ("1.0000", "EUR")
    known = a_pool(status=msgspec.structs.replace(AT_REST, currency="EUR"))
    assert status_after(dollars, pool=known).currency == "USD"
    silent = status_after(a_node(), a_cloud(read_at=None, problem="no answer"), pool=known)
    assert (silent.nodes, silent.currency) == (NodeCounts(ready=1), "EUR")


def test_a_currency_that_is_no_currency_does_not_get_the_whole_status_refused() -> None:
    assert status_after(a_cloud(charging("x" * 99))).currency == "x" * 16


def test_a_status_that_is_equal_is_not_written() -> None:
    pool = a_pool(status=NodePoolStatus(NodeCounts(ready=1), "1.0000", WELL, (an_entry(reason=""),)))
    assert told(decided(pool, a_node(), a_cloud(machines=[a_machine()]))) == []


def test_what_was_written_is_what_is_decided_next_time() -> None:
    things = (a_node(has={"cpu": "1"}), a_request(phase="Ready"), a_failed_request("default-2"), SEEN)
    pool = a_pool(status=status_after(*things, pool=a_pool(types=["small", "large"])), types=["small", "large"])
    assert [one for one in told(decided(pool, *things)) if one.startswith("status")] == []


@pytest.mark.parametrize(
    ("written_at", "expected", "wake_at"),
    [
        pytest.param(None, ["status of default"], None, id="never written: at once"),
        pytest.param(NOW - SECOND, ["status of default"], None, id="a second ago: at once"),
        pytest.param(NOW - SECOND / 4, [], NOW + SECOND * 0.75, id="a moment ago: when the second is over"),
        pytest.param(NOW + HOUR, ["status of default"], None, id="in the future: a clock was set back"),
    ],
)
def test_counts_are_written_once_a_second(
    written_at: datetime | None, expected: list[str], wake_at: datetime | None
) -> None:
    memory = PoolStatusCarry({"pool-default": written_at}) if written_at else None
    decision = decided(EMPTY, a_request(), SEEN, memory=memory)
    assert (told(decision), decision.requeue_at) == (expected, wake_at)


def test_that_a_pool_is_unhealthy_is_written_at_once() -> None:
    memory = PoolStatusCarry({"pool-default": NOW})
    assert told(decided(EMPTY, LISTED, a_node(ready=False), memory=memory)) == ["status of default"]


def test_what_was_learnt_is_written_at_once() -> None:
    decision = decided(EMPTY, a_failed_request(), SEEN, memory=PoolStatusCarry({"pool-default": NOW}))
    assert told(decision) == ["event on default: OutOfStock", "status of default"]


def test_pools_that_are_gone_are_forgotten() -> None:
    memory = decided(EMPTY, SEEN, memory=PoolStatusCarry({"pool-default": NOW, "pool-gone": NOW})).carry
    assert isinstance(memory, PoolStatusCarry)
    assert memory.written == {"pool-default": NOW}


def test_pools_that_did_not_change_are_looked_at_twice_a_second_at_most() -> None:
    first = decided(EMPTY, SEEN)
    soon = decided(EMPTY, SEEN, a_failed_request(), memory=first.carry, now=NOW + timedelta(milliseconds=50))
    assert (soon.said, soon.requeue_at) == (first.said, NOW + timedelta(milliseconds=500))
    assert (
        decided(EMPTY, SEEN, a_failed_request(), memory=soon.carry, now=NOW + timedelta(milliseconds=500)).said
        != first.said
    )


# What was learnt


def test_a_failure_stands_in_the_status_with_its_level_and_on_the_pool() -> None:
    decision = decided(EMPTY, a_failed_request(), SEEN)
    (entry,) = status_after(a_failed_request(), SEEN).offerings
    assert entry == an_entry(since=NOW, until=NOW + 5 * MINUTE)
    (event,) = [said for said in decision.said if isinstance(said, RecordEvent)]
    assert (event.type, event.reason, event.why) == ("Warning", "OutOfStock", f"{SMALL}: it was OutOfStock")


def test_it_outlives_its_request() -> None:
    pool = a_pool(status=msgspec.structs.replace(AT_REST, offerings=(an_entry(),)))
    decision = decided(pool, SEEN)
    assert told(decision) == ["event on default: OutOfStock"]
    assert decision.requeue_at == NOW + 4 * MINUTE + 3 * HOUR  # when it is forgotten


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(an_entry(available_since=NOW), [], id="it can be had again: nothing to tell"),
        pytest.param(OfferingStatus(SMALL, lacks={"cpu": "1m"}), [], id="a little smaller: nothing to tell"),
        pytest.param(OfferingStatus(SMALL, since=NOW, reason="SmallerThanPromised", surprises=1),
                     ["event on default: SmallerThanPromised"], id="smaller than promised: told"),
    ],
)  # fmt: skip
def test_what_a_person_should_look_at_is_told(entry: OfferingStatus, expected: list[str]) -> None:
    pool = a_pool(status=msgspec.structs.replace(AT_REST, offerings=(entry,)))
    assert told(decided(pool, SEEN)) == expected


def test_what_one_pool_could_have_is_open_for_another() -> None:
    entry = an_entry("kwok", reason="QuotaExceeded", until=NOW - SECOND)
    pool = a_pool(status=msgspec.structs.replace(AT_REST, offerings=(entry,)))
    launched = a_request("gpu-1", "Provisioning", pool="gpu")
    assert status_after(launched, a_pool("gpu"), SEEN, pool=pool).offerings[0].available_since == NOW


# Strangers


@pytest.mark.parametrize(
    ("things", "is_stranger"),
    [
        pytest.param([SEEN], True, id="no provider has such a machine"),
        pytest.param([a_cloud(machines=[a_machine()])], False, id="it is a machine of ours"),
        pytest.param([a_cloud(machines=[a_machine("gpu-1", pool="gpu")])], True, id="its provider has others"),
        pytest.param([SEEN, a_request(phase="Ready")], False, id="a request speaks for it"),
        pytest.param([a_cloud(problem="no answer")], False, id="its provider is silent: nobody knows"),
        pytest.param([a_cloud(read_at=None)], False, id="its provider has not answered yet"),
        pytest.param([SEEN, a_cloud(read_at=None, provider="hetzner")], False, id="another one has not"),
        pytest.param([a_cloud(read_at=NOW - 2 * HOUR)], False, id="its provider was asked before it came"),
        pytest.param([], False, id="no provider is enabled: nobody knows"),
    ],
)
def test_a_node_that_is_no_machine_of_ours_is_reported_and_not_counted(
    things: Sequence[Thing], *, is_stranger: bool
) -> None:
    decision = decided(EMPTY, a_node(), *things)
    holds = [one for one in decision.said if isinstance(one, Hold) and one.subject.kind == "Node"]
    events = [one for one in decision.said if isinstance(one, RecordEvent) and one.subject.kind == "Node"]
    why = "it bears the label growth.dev/pool=default, but no provider has such a machine for us: it is left alone"
    expected = [(why, "NotOurs")] if is_stranger else []
    assert [(one.why, one.reason) for one in holds] == [(one.why, one.reason) for one in events] == expected
    assert [one for one in decision.said if isinstance(one, PatchObject) and one.subject.kind == "Node"] == []
    assert (status_after(a_node(), *things).nodes == NodeCounts()) is is_stranger


def test_a_node_without_a_pool_is_nobodys_business() -> None:
    assert told(decided(EMPTY, a_node("bare-metal", pool=""), SEEN)) == []


def test_a_cloud_that_is_cheaper_somewhere_counts_what_was_bought() -> None:
    cloud = a_cloud(an_offering(price=0.5), an_offering(location="nbg1", price=0.25), machines=[a_machine()])
    node = a_node(offering="kwok-small-nbg1")
    assert status_after(node, cloud).cost_per_hour == "0.2500"
