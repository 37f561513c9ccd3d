"""Step 3: machines that are on their way, and who has a place on one."""

from datetime import datetime

import msgspec
import pytest

from growth.api.node import Node
from growth.api.node_request import PLANNED_FOR, NodeRequest
from growth.api.offering import ZONE
from growth.api.phases import RequestPhase
from growth.api.taints import closed
from growth.decide.capacity.upcoming_nodes import UpcomingNode, enter, hand_over_ends, has_places, seat, still_fitting
from growth.decide.contract import ClockTrust
from growth.decide.fit import SimulatedCluster
from growth.decide.fit.template_node import TemplateNodes
from tests.decide.marketplace import HOUR, MINUTE, NOW, PROVISION, SECOND, a_node, a_pool, a_request, a_snapshot
from tests.decide.scale_up.town import SMALL, Town, a_pod

CLOSED = closed("default-1")


def planned(*uids: str, phase: RequestPhase = "Provisioning", since: datetime = NOW) -> NodeRequest:
    request = a_request(phase=phase, since=since)
    meta = msgspec.structs.replace(request.metadata, annotations={PLANNED_FOR: ",".join(uids)})
    return msgspec.structs.replace(request, metadata=meta)


@pytest.mark.parametrize(
    ("phase", "node", "age", "expected"),
    [
        pytest.param("Pending", None, 0, True, id="it is asked for"),
        pytest.param("Provisioning", None, 0, True, id="it is coming"),
        pytest.param("Provisioning", a_node(ready=False), 0, True, id="its node is not ready yet"),
        pytest.param("Ready", a_node(taints=(CLOSED,)), 3600, True, id="its node is still closed, however long"),
        pytest.param("Ready", a_node(), 0, True, id="its node is open, and its pods are on their way"),
        pytest.param("Ready", a_node(), 59, True, id="through the whole hand-over"),
        pytest.param("Ready", a_node(), 60, False, id="the hand-over is over"),
        pytest.param("Ready", None, 0, False, id="its node has gone again"),
        pytest.param("Unmet", None, 0, False, id="it could not be had"),
        pytest.param("Deprovisioning", a_node(ready=False), 0, False, id="it is given back"),
    ],
)
def test_pods_have_their_places_until_they_had_the_time_to_get_there(
    phase: RequestPhase, node: Node | None, age: int, *, expected: bool
) -> None:
    assert PROVISION.hand_over == MINUTE
    request = planned(phase=phase, since=NOW - age * SECOND)
    snapshot = a_snapshot(request, *([node] if node else []))
    assert has_places(request, snapshot, ClockTrust(NOW), PROVISION) is expected


def test_a_hand_over_counts_from_the_jump_of_a_clock() -> None:
    request = planned(phase="Ready", since=NOW - HOUR)
    assert has_places(request, a_snapshot(request, a_node()), ClockTrust(NOW, NOW - SECOND), PROVISION)
    assert hand_over_ends(request, ClockTrust(NOW, NOW - SECOND), PROVISION) == NOW - SECOND + MINUTE


def test_of_those_that_wait_as_many_are_counted_as_its_node_has_room_for() -> None:
    """A node of one CPU where two were promised takes the first that fit, and nobody who has gone."""
    first, second, third = a_pod("first", "600m"), a_pod("second", "600m"), a_pod("third", "300m")
    town = Town(first, second, third, a_node("default-1", has={"cpu": "1"}))
    request = planned(*(pod.metadata.uid for pod in (first, second, third)), "gone", phase="Ready")
    fitting = still_fitting(request, town.world.snapshot(NOW), town.world.waiting)
    assert town.names(fitting) == ("first", "third")


def a_coming(name: str = "default-1", *uids: str) -> UpcomingNode:
    return UpcomingNode(name, a_pool(), SMALL, uids, hands_keys=False)


def test_a_machine_stands_on_the_stage_as_the_node_that_it_will_be() -> None:
    stage = SimulatedCluster.copy_of(a_snapshot())
    enter(stage, [a_coming()], TemplateNodes(stage))
    node = stage.nodes["default-1"]
    assert (node.metadata.labels["growth.dev/pool"], node.metadata.labels[ZONE]) == ("default", "fsn1")
    assert node.spec.taints == (), "who plans looks beyond the start-up taint"


def test_a_node_that_is_not_ready_is_taken_for_what_was_promised() -> None:
    stage = SimulatedCluster.copy_of(a_snapshot(a_node(ready=False, has={"cpu": "0"}, taints=(CLOSED,))))
    enter(stage, [a_coming()], TemplateNodes(stage))
    assert stage.nodes["default-1"].status.allocatable["cpu"] == "2"


def test_a_node_that_is_ready_is_taken_for_what_it_is() -> None:
    stage = SimulatedCluster.copy_of(a_snapshot(a_node(has={"cpu": "1"}, taints=(CLOSED,))))
    enter(stage, [a_coming()], TemplateNodes(stage))
    assert stage.nodes["default-1"].status.allocatable["cpu"] == "1"
    assert stage.nodes["default-1"].spec.taints == ()


def test_seats_are_given_to_those_who_still_fit() -> None:
    first, second, third = a_pod("first", "1500m"), a_pod("second", "1500m"), a_pod("third")
    town = Town(first, second, third)
    stage = SimulatedCluster.copy_of(town.world.snapshot(NOW))
    enter(stage, [a_coming()], TemplateNodes(stage))
    places = {first.metadata.uid: ["default-1"], second.metadata.uid: ["default-1"], third.metadata.uid: ["elsewhere"]}
    seated, lost = seat(stage, (first, second, third), places)
    assert seated == {first.metadata.uid: "default-1"}
    assert lost == [second, third]


def test_a_pod_whose_first_place_was_taken_has_the_one_that_was_planned_since() -> None:
    faster, slower = a_pod("faster", "1500m"), a_pod("slower", "1500m")
    stage = SimulatedCluster.copy_of(Town(faster, slower).world.snapshot(NOW))
    enter(stage, [a_coming("default-1"), a_coming("default-2")], TemplateNodes(stage))
    stage.place(faster, "default-1")
    seated, lost = seat(stage, (slower,), {slower.metadata.uid: ["default-1", "default-2"]})
    assert (seated, lost) == ({slower.metadata.uid: "default-2"}, [])
