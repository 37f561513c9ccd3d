"""Pods whose places are ready and that nothing wakes: called once for each place, and not too many at a time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from growth.api.actions import PatchObject
from growth.api.node_request import NodeRequest
from growth.api.pod import Pod
from growth.decide.contract import Decision
from tests.decide.node_requests.stage import (
    ANOTHER,
    NAME,
    NOW,
    PROVISION,
    a_cloud,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    decided,
)

SECOND = timedelta(seconds=1)
LATE = NOW - 10 * SECOND
APP = a_pod()


def ready(
    pods: Sequence[Pod],
    *,
    since: datetime = LATE,
    name: str = NAME,
    wakes: Sequence[Pod] = (),
    hands_keys: bool = False,
) -> NodeRequest:
    return a_request("Ready", name=name, since=since, planned_for=pods, wakes=wakes, hands_keys=hands_keys)


def seen(*things: object, is_closed: bool = False, now: datetime = NOW) -> Decision[Any]:
    nodes = [a_node(name, is_closed=is_closed) for name in (NAME, ANOTHER)]
    return decided(a_pool(), a_cloud(a_machine(), a_machine(ANOTHER)), *nodes, *things, now=now)


def called(decision: Decision[Any]) -> list[tuple[str, str]]:
    """Who is called, and for which place."""
    patches = [one for one in decision.said if isinstance(one, PatchObject) and one.subject.kind == "Pod"]
    return [(one.subject.name, one.body["metadata"]["labels"]["growth.dev/nudge"]) for one in patches]


@pytest.mark.parametrize(
    ("request_", "pod", "expected"),
    [
        pytest.param(ready([APP]), APP, [("app", NAME)], id="one that is late is called"),
        pytest.param(ready([APP], since=NOW - 9 * SECOND), APP, [], id="one that is not late yet is not"),
        pytest.param(ready([APP]), a_pod(refused=False), [], id="one that nobody has tried yet needs no call"),
        pytest.param(ready([APP]), a_pod(called=NAME), [], id="one that was called is not called again"),
        pytest.param(ready([APP]), a_pod(called=ANOTHER), [("app", NAME)], id="but for another place it is"),
        pytest.param(ready([APP]), a_pod(node=NAME), [], id="one that is there is not called"),
        pytest.param(ready([APP], wakes=[APP], since=NOW), APP, [("app", NAME)],
                     id="one that no new node wakes is called at once"),
        pytest.param(ready([APP], wakes=[APP], since=NOW), a_pod(called=NAME), [], id="once"),
        pytest.param(ready([APP], since=NOW - PROVISION.hand_over), APP, [],
                     id="when its time is over it has no place, and nothing is called"),
    ],
)  # fmt: skip
def test_who_is_called_to_a_node_that_is_open(request_: NodeRequest, pod: Pod, expected: list[tuple[str, str]]) -> None:
    assert called(seen(request_, pod)) == expected


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param([], [], id="without a key there is nothing to call for"),
        pytest.param([NAME], [("app", NAME)], id="with one there is"),
        pytest.param([ANOTHER], [], id="the key of another node does not help"),
    ],
)
def test_who_is_called_to_a_node_that_is_closed(keys: list[str], expected: list[tuple[str, str]]) -> None:
    pod = a_pod(keys=keys)
    assert called(seen(ready([pod], wakes=[pod], hands_keys=True), pod, is_closed=True)) == expected


def test_nobody_is_called_to_a_node_that_is_gone() -> None:
    assert called(decided(a_pool(), a_cloud(), ready([APP]), APP)) == []


def test_nobody_is_called_to_a_node_that_is_being_removed() -> None:
    assert called(seen(ready([APP]), APP, a_removal())) == []


def test_nobody_is_called_for_a_request_that_was_given_up() -> None:
    request = a_request("Deprovisioning", failed="NoNode", planned_for=[APP], wakes=[APP])
    assert called(seen(request, APP, a_removal())) == []


def test_a_pod_with_two_places_listens_to_the_newer_one_and_not_to_both_in_turn() -> None:
    """Each call changes the label, is seen and leads to another pass: two that answer each other would never end."""
    older, newer = ready([APP], since=LATE - SECOND), ready([APP], since=LATE, name=ANOTHER)
    assert called(seen(older, newer, APP)) == [("app", ANOTHER)]
    assert called(seen(older, newer, a_pod(called=NAME))) == [("app", ANOTHER)]
    assert called(seen(older, newer, a_pod(called=ANOTHER))) == []


def test_not_too_many_that_are_late_are_called_before_the_first_of_them_are_there() -> None:
    pods = [a_pod(f"app-{number}") for number in range(60)]
    first = called(seen(ready(pods), *pods))
    assert len(first) == 50
    answered = {name for name, _ in first}
    after = [a_pod(pod.metadata.name, called=NAME if pod.metadata.name in answered else "") for pod in pods]
    assert called(seen(ready(pods), *after)) == []
    bound = [a_pod(pod.metadata.name, node=NAME if pod.metadata.name in answered else "") for pod in pods]
    assert len(called(seen(ready(pods), *bound))) == 10


def test_it_wakes_when_pods_are_late() -> None:
    assert seen(ready([APP], since=NOW - SECOND), APP).requeue_at == NOW + 9 * SECOND
