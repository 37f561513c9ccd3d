"""Whose pods still have their places on a machine that was asked for."""

from datetime import timedelta

import pytest

from growth.api.node import Node
from growth.api.node_memory import MARKER
from growth.api.node_request import NodeRequest
from growth.api.out_of_service import SHUTDOWN
from growth.api.phases import RequestPhase
from growth.api.settings.model import Settings
from growth.api.taints import closed
from growth.decide.scale_up.carry import ScaleUpCarry
from growth.decide.scale_up.context import ScaleUpContext
from tests.decide.marketplace import (
    HOUR,
    NOW,
    Thing,
    a_cloud,
    a_failed_request,
    a_machine,
    a_node,
    a_pool,
    a_request,
    a_snapshot,
)
from tests.decide.passes import Given

LATE = a_request(phase="Provisioning", since=NOW - 2 * HOUR)
SILENT = a_node(ready=False, taints=[closed("default-1")], born=NOW - 2 * HOUR)
LISTED = a_cloud(machines=[a_machine()])
WORKS = a_node("other", pool="")


def has_places(request: NodeRequest, *things: Thing) -> bool:
    snapshot = a_snapshot(a_pool(), LISTED, WORKS, request, *things)
    return ScaleUpContext(Given().inputs(snapshot, Settings(), ScaleUpCarry())).has_places(request)


def test_on_a_machine_that_is_coming_there_are_places() -> None:
    assert has_places(a_request(phase="Provisioning"))


@pytest.mark.parametrize(
    "nodes", [pytest.param([], id="it never registered"), pytest.param([SILENT], id="it never became ready")]
)
def test_where_nothing_came_there_are_none_as_soon_as_that_is_a_lesson(nodes: list[Node]) -> None:
    """Before that the same offering would be bought for its pods, which is no better."""
    assert has_places(LATE, *nodes)
    assert not has_places(LATE, *nodes, a_failed_request("default-2", reason="NoNode"))


def test_two_that_came_to_nothing_are_a_lesson() -> None:
    """Too much of the offering is amiss: it is closed for the pool (S2)."""
    assert not has_places(LATE, a_request("default-2", "Provisioning", since=NOW - 2 * HOUR))


@pytest.mark.parametrize("phase", ["Provisioning", "Ready"])
def test_a_node_that_is_out_of_service_has_none(phase: RequestPhase) -> None:
    """Whoever would be planned there does not tolerate the taint."""
    request = a_request(phase=phase)
    assert has_places(request, a_node())
    assert not has_places(request, a_node(taints=[SHUTDOWN]))


@pytest.mark.parametrize(
    ("seconds", "labels", "companions", "expected"),
    [
        pytest.param(1, {}, {"memory"}, True, id="it may come any moment"),
        pytest.param(3600, {}, {"memory"}, False, id="it did not come in time"),
        pytest.param(3600, {MARKER: "0"}, {"memory"}, True, id="it is back, and the node about to be opened"),
        pytest.param(3600, {}, set[str](), True, id="nobody waits for it"),
    ],
)
def test_pods_wait_for_the_memory_of_a_node_as_long_as_they_would_for_a_way_in(
    seconds: int, labels: dict[str, str], companions: set[str], *, expected: bool
) -> None:
    request = a_request(phase="Ready", since=NOW - timedelta(seconds=seconds))
    node = a_node(labels=labels, taints=[closed("default-1")])
    snapshot = a_snapshot(a_pool(), LISTED, WORKS, request, node)
    outlook = ScaleUpContext(Given(enabled=frozenset(companions)).inputs(snapshot, Settings(), ScaleUpCarry()))
    assert outlook.has_places(request) is expected
