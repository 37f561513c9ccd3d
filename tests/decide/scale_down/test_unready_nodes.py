"""Nodes that do not work: when they go, what keeps them, and what is not believed (UC6)."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec
import pytest

from growth.api.actions import CreateObject, Hold, RecordEvent
from growth.api.annotations import STARTED_AT
from growth.api.machine import Machine, Power
from growth.api.node import Node
from growth.api.node_removal_request import IF_UNREADY
from growth.api.offering import OFFERING
from growth.api.provider_state import ProviderState
from growth.api.settings.model import RemovalSettings, Settings
from growth.api.timestamp import format_time
from growth.decide.writes.unreachable_event import unreachable_event
from tests.decide.scale_down.stage import (
    ANOTHER,
    EVERYTHING,
    HOUR,
    MINUTE,
    NAME,
    NOW,
    SECOND,
    a_cloud,
    a_daemon,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    decided,
    told,
)

LONG_AGO = NOW - 20 * MINUTE
STARTED = {STARTED_AT: format_time(NOW - HOUR)}


def a_silent_node(
    name: str = NAME,
    *,
    since: datetime = LONG_AGO,
    annotations: Mapping[str, str] | None = None,
    is_closed: bool = False,
    born: datetime = NOW - HOUR,
) -> Node:
    """One that worked, and does not since then."""
    notes = {**({} if is_closed else STARTED), **(annotations or {})}
    return a_node(name, ready=False, unready_since=since, annotations=notes, is_closed=is_closed, born=born)


def with_power(power: Power, *, is_changing: bool = False, name: str = NAME) -> Machine:
    return msgspec.structs.replace(a_machine(name), power=power, is_changing=is_changing)


# In a cluster in which no node works nothing is removed.
WORKING = a_node(ANOTHER, annotations=STARTED)
WORK = a_pod("other", node=ANOTHER)


def seen(cloud: ProviderState | None = None, *things: object) -> tuple[object, ...]:
    """A cluster in which the other node works; its provider lists both machines unless told."""
    return (cloud or a_cloud(a_machine(), a_machine(ANOTHER)), WORKING, WORK, *things)


ON = a_cloud(a_machine(), a_machine(ANOTHER))
OFF = a_cloud(with_power(Power.OFF), a_machine(ANOTHER))
GONE = a_cloud(a_machine(ANOTHER))
REMOVED = [f"remove {NAME}"]
UNREACHABLE = [f"hold {NAME}: Unreachable"]
UNSAID = [f"hold {NAME}: ProviderSilent"]


# When


def test_an_unready_node_goes_after_its_own_patience() -> None:
    nearly = a_silent_node(since=LONG_AGO + SECOND)
    assert told(decided(a_pool(), *seen(), nearly)) == []
    assert told(decided(a_pool(), *seen(), a_silent_node())) == REMOVED


def test_a_pool_says_how_long_that_is() -> None:
    node = a_silent_node(since=NOW - 5 * MINUTE)
    assert told(decided(a_pool(scaleDown={"unreadyAfter": "5m"}), *seen(), node)) == REMOVED
    assert told(decided(a_pool(scaleDown={"unreadyAfter": "5m1s"}), *seen(), node)) == []


def test_it_is_not_marked_and_says_that_it_stays_if_it_comes_back() -> None:
    decision = decided(a_pool(), *seen(), a_silent_node())
    (action,) = [one for one in decision.said if isinstance(one, CreateObject)]
    assert action.body["metadata"]["annotations"] == {IF_UNREADY: "true"}
    assert action.body["spec"] == {
        "pool": "default",
        "nodeName": NAME,
        "providerID": f"kwok://{NAME}",
        "reason": "it was unready for 20m: its Ready condition is False; its machine is on",
    }
    assert told(decision, events=True) == [f"event Node {NAME}: ScaleDown", *REMOVED]


def test_after_a_jump_of_the_clock_patience_begins_anew() -> None:
    assert told(decided(a_pool(), *seen(), a_silent_node(), steady_since=NOW - MINUTE)) == []
    later = NOW + 19 * MINUTE
    cloud = a_cloud(a_machine(), a_machine(ANOTHER), read_at=later)
    assert told(decided(a_pool(), *seen(cloud), a_silent_node(), steady_since=NOW - MINUTE, now=later)) == REMOVED


def test_after_a_scale_up_nothing_goes_for_a_while() -> None:
    newcomer = a_node("default-3", born=NOW - 9 * MINUTE, annotations=STARTED)
    cloud = a_cloud(a_machine(), a_machine(ANOTHER), a_machine("default-3"))
    busy = a_pod("busy", node="default-3")
    decision = decided(a_pool(), *seen(cloud), newcomer, busy, a_silent_node())
    assert (told(decision), decision.requeue_at) == ([f"hold {NAME}: RecentScaleUp"], NOW + MINUTE)
    hasty = a_pool(scaleDown={"delayAfterScaleUp": "0s"})
    assert told(decided(hasty, *seen(cloud), newcomer, busy, a_silent_node())) == REMOVED


def test_what_was_just_asked_for_is_a_scale_up_too() -> None:
    assert told(decided(a_pool(), *seen(), a_silent_node(), a_request("default-9"))) == [f"hold {NAME}: RecentScaleUp"]


def test_scale_up_of_another_pool_delays_the_removal_of_an_unready_node_unless_the_scope_is_the_pool() -> None:
    grown = (a_pool("web"), a_request("web-9", pool="web"))
    assert told(decided(a_pool(), *seen(), a_silent_node(), *grown)) == [f"hold {NAME}: RecentScaleUp"]
    by_pool = Settings(removal=RemovalSettings(delay_after_scale_up_scope="pool"))
    assert told(decided(a_pool(), *seen(), a_silent_node(), *grown, settings=by_pool)) == REMOVED


def test_what_is_being_removed_is_not_asked_for_again() -> None:
    removal = a_removal(phase="Deprovisioning", attempt=1, asked_at=NOW - SECOND, if_unready=True)
    assert told(decided(a_pool(), *seen(), a_silent_node(), removal)) == []


def test_several_go_at_once_in_the_order_of_their_names() -> None:
    third = a_silent_node("default-3")
    cloud = a_cloud(a_machine(), a_machine(ANOTHER), a_machine("default-3"))
    assert told(decided(a_pool(), *seen(cloud), third, a_silent_node())) == [*REMOVED, "remove default-3"]


# Who says no


def test_a_pool_that_does_not_shrink_keeps_it_and_says_so() -> None:
    decision = decided(a_pool(scaleDown={"enabled": False}), *seen(), a_silent_node())
    assert told(decision) == [f"hold {NAME}: Unready"]


@pytest.mark.parametrize(
    "things",
    [
        pytest.param((a_silent_node(annotations={"growth.dev/do-not-disrupt": "true"}),), id="a person on the node"),
        pytest.param((a_silent_node(annotations={"karpenter.sh/do-not-disrupt": "true"}),), id="a peer on the node"),
        pytest.param(
            (a_silent_node(), a_daemon(annotations={"growth.dev/do-not-disrupt": "true"})), id="a person on a pod there"
        ),
    ],
)
@pytest.mark.parametrize("cloud", [ON, OFF, GONE], ids=["on", "off", "gone"])
def test_whoever_must_not_be_disturbed_stays(things: tuple[object, ...], cloud: ProviderState) -> None:
    assert told(decided(a_pool(), *seen(cloud), *things)) == [f"hold {NAME}: DoNotDisrupt"]


def test_a_node_of_another_pool_or_of_none_is_not_this_pools_business() -> None:
    foreign = a_node(ready=False, unready_since=LONG_AGO, pool="")
    assert told(decided(a_pool(), *seen(GONE), foreign)) == []
    nobodys = a_node(ready=False, unready_since=LONG_AGO, pool="gone", annotations=STARTED)
    assert told(decided(a_pool(), *seen(GONE), nobodys)) == []


# Pods on it


@pytest.mark.parametrize(
    ("machine", "is_kept"),
    [
        pytest.param(with_power(Power.ON), True, id="on"),
        pytest.param(with_power(Power.STARTING), True, id="starting"),
        pytest.param(with_power(Power.STOPPING), True, id="stopping"),
        pytest.param(with_power(Power.UNKNOWN), True, id="unknown"),
        pytest.param(with_power(Power.OFF, is_changing=True), True, id="off, and something is done to it"),
        pytest.param(with_power(Power.OFF), False, id="off"),
        pytest.param(None, False, id="gone"),
    ],
)
def test_with_pods_it_goes_only_if_nothing_runs_there_any_more(machine: Machine | None, *, is_kept: bool) -> None:
    cloud = a_cloud(a_machine(ANOTHER), *([machine] if machine is not None else []))
    expected = UNREACHABLE if is_kept else REMOVED
    assert told(decided(a_pool(), *seen(cloud), a_silent_node(), a_pod())) == expected


def test_people_are_told_of_pods_that_nobody_can_reach() -> None:
    decision = decided(a_pool(), *seen(), a_silent_node(), a_pod(), a_pod("second"))
    assert told(decision, events=True) == [*UNREACHABLE, f"event Node {NAME}: Unreachable"]
    (hold,) = [one for one in decision.said if isinstance(one, Hold)]
    assert "2 pods work on it" in hold.why
    assert "removeUnreachable is false in pool default" in hold.why
    (event,) = [one for one in decision.said if isinstance(one, RecordEvent)]
    assert event == unreachable_event(a_silent_node(), a_pool())


def test_a_pool_may_say_that_they_go_with_it() -> None:
    bold = a_pool(scaleDown={"removeUnreachable": True})
    assert told(decided(bold, *seen(), a_silent_node(), a_pod())) == REMOVED
    assert told(decided(bold, *seen(), a_silent_node(since=LONG_AGO + SECOND), a_pod())) == []


def test_pods_that_are_no_work_keep_nothing() -> None:
    finished = a_pod("done", status={"phase": "Succeeded"})
    assert told(decided(a_pool(), *seen(), a_silent_node(), a_daemon(), finished)) == REMOVED


# What is not believed


@pytest.mark.parametrize("pods", [(), (a_pod(),)], ids=["empty", "with pods"])
@pytest.mark.parametrize(
    "cloud",
    [
        pytest.param(a_cloud(a_machine(), a_machine(ANOTHER), problem="no answer"), id="it was on when last seen"),
        pytest.param(a_cloud(with_power(Power.OFF), a_machine(ANOTHER), problem="no answer"), id="it was off"),
        pytest.param(a_cloud(a_machine(ANOTHER), problem="no answer"), id="it was gone"),
        pytest.param(a_cloud(read_at=None, problem="no answer"), id="it never answered"),
    ],
)
def test_nothing_is_concluded_from_silence(cloud: ProviderState, pods: tuple[object, ...]) -> None:
    bold = a_pool(scaleDown={"removeUnreachable": True})
    assert told(decided(bold, *seen(cloud), a_silent_node(), *pods)) == UNSAID


def test_a_list_without_the_machines_of_nodes_that_work_is_not_believed() -> None:
    empty = a_cloud()
    assert told(decided(a_pool(), *seen(empty), a_silent_node(), a_pod())) == UNSAID
    assert told(decided(a_pool(), *seen(empty), a_silent_node())) == UNSAID
    (hold,) = [one for one in decided(a_pool(), *seen(empty), a_silent_node()).said if isinstance(one, Hold)]
    assert f"that of {ANOTHER}, which works" in hold.why


def test_a_list_of_another_provider_says_nothing_about_it() -> None:
    """Whose machine it is says its offering: its pool may have been moved to another provider."""
    moved = a_pool(provider="hetzner")
    hetzner = a_cloud(a_machine(ANOTHER), provider="hetzner")
    assert told(decided(moved, *seen(hetzner), a_silent_node(), a_pod())) == UNSAID
    kwok = a_cloud(a_machine(ANOTHER), problem="no answer")
    assert told(decided(moved, *seen(hetzner), kwok, a_silent_node(), a_pod())) == UNSAID


def test_without_its_offering_the_pools_provider_is_asked() -> None:
    node = a_silent_node()
    labels = {key: value for key, value in node.metadata.labels.items() if key != OFFERING}
    bare = msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels))
    assert told(decided(a_pool(), *seen(GONE), bare, a_pod())) == REMOVED


# Those that never started


def test_a_node_that_never_started_and_nobody_waits_for_goes() -> None:
    never = a_silent_node(is_closed=True, since=NOW - HOUR)
    decision = decided(a_pool(), *seen(), never)
    assert told(decision) == REMOVED
    (action,) = [one for one in decision.said if isinstance(one, CreateObject)]
    assert action.why == "its node registered, and did not become ready in time"


def test_what_is_bound_to_it_never_ran_unless_it_says_so() -> None:
    never = a_silent_node(is_closed=True, since=NOW - HOUR)
    bound = a_pod(tolerations=[EVERYTHING], status={"phase": "Pending"})
    assert told(decided(a_pool(), *seen(), never, bound)) == REMOVED
    ran = a_pod(tolerations=[EVERYTHING], status={"phase": "Running"})
    assert told(decided(a_pool(), *seen(), never, ran)) == UNREACHABLE


def test_as_long_as_it_has_time_or_a_request_it_is_provisions_business() -> None:
    young = a_silent_node(is_closed=True, born=NOW - timedelta(minutes=5), since=NOW - timedelta(minutes=5))
    assert told(decided(a_pool(), *seen(), young)) == []
    never = a_silent_node(is_closed=True, since=NOW - HOUR)
    request = a_request(NAME, "Provisioning", since=NOW - HOUR)
    assert told(decided(a_pool(), *seen(), never, request)) == []
