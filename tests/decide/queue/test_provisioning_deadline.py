"""Who waits for a machine, and how long: on plain values."""

from datetime import datetime, timedelta
from typing import Final

import pytest

from growth.api.annotations import STARTED_AT
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES, PODS
from growth.api.node import Node
from growth.api.node_request import PLANNED_FOR, NodeRequest
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.api.settings.model import ProvisionSettings
from growth.decide.queue.provisioning_deadline import LaunchingNode, LaunchStatus, extended, reported, requests_by_pod
from growth.decide.queue.requeue import ReadinessDeadline
from tests.builders import Json, a_node, a_pod
from tests.decide.queue.stage import NOW, read

MINUTE: Final = timedelta(minutes=1)
TERM: Final = ReadinessDeadline(NOW, 5 * MINUTE)
SETTINGS: Final = ProvisionSettings(machine_within=10 * MINUTE, ready_within=4 * MINUTE)


def at(minutes: float) -> datetime:
    return NOW + minutes * MINUTE


def pod(name: str = "one", node: str = "") -> Pod:
    return read(PODS, a_pod(name, node=node, status={"phase": "Pending", "conditions": []}))


def request(phase: str = "Provisioning", since: float | None = 1, *, pods: str = "one", name: str = "m") -> NodeRequest:
    status: Json = {"phase": phase, **({} if since is None else {"phaseSince": at(since).isoformat()})}
    uids = ",".join(pod(one).metadata.uid for one in pods.split())
    meta = {"name": name, "creationTimestamp": at(0.5).isoformat(), "annotations": {PLANNED_FOR: uids}}
    return read(NODE_REQUESTS, {"metadata": meta, "spec": {"pool": "p", "targetOffering": "o"}, "status": status})


def node(name: str = "m", *, born: float = 3, opened: float | None = None, is_ours: bool = True) -> Node:
    made = a_node(name, ready=opened is not None, labels={POOL: "p"} if is_ours else {})
    made["metadata"]["creationTimestamp"] = at(born).isoformat()
    if opened is not None:
        made["metadata"]["annotations"] = {STARTED_AT: at(opened).isoformat()}
    return read(NODES, made)


def provisioning(minutes: float, *requests: NodeRequest, nodes: tuple[Node, ...] = ()) -> LaunchStatus:
    by_name = {one.metadata.name: one for one in nodes}
    return LaunchStatus(at(minutes), lambda when: when or NOW, SETTINGS, by_name, requests_by_pod(requests))


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(provisioning(6), None, id="nobody has asked for a machine"),
        pytest.param(provisioning(6, request(pods="other")), None, id="a machine was asked for, for somebody else"),
        pytest.param(
            provisioning(6, request("Pending", None)),
            LaunchingNode("m", at(10.5), is_there=False),
            id="asked for just now: its time counts from that",
        ),
        pytest.param(
            provisioning(6, request()), LaunchingNode("m", at(11), is_there=False), id="bought: until it registers"
        ),
        pytest.param(
            provisioning(6, request(), nodes=(node(),)),
            LaunchingNode("m", at(15), is_there=False),
            id="registered: until it is ready",
        ),
        pytest.param(provisioning(11, request()), None, id="a machine that is overdue is no excuse"),
        pytest.param(provisioning(6, request("Unmet")), None, id="nor is one that will not come"),
        pytest.param(provisioning(6, request("Deprovisioning")), None, id="nor one that is given up"),
        pytest.param(
            provisioning(6, request("Ready", 5), nodes=(node(opened=5),)),
            LaunchingNode("m", at(10), is_there=True),
            id="it is there, and the scheduler has not placed the pod yet",
        ),
        pytest.param(provisioning(6, request("Ready", 5)), None, id="it was there, and its node is gone"),
        pytest.param(
            provisioning(6, request("Unmet", name="a"), request(name="b")),
            LaunchingNode("b", at(11), is_there=False),
            id="the second attempt counts, as long as it is open",
        ),
    ],
)
def test_a_pod_without_a_node_waits_for_the_machine_that_was_asked_for(
    known: LaunchStatus, expected: LaunchingNode | None
) -> None:
    assert known.machine_for(pod(), TERM) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param(node(born=-60, opened=-59), None, id="a node that was there before is no excuse"),
        pytest.param(node(opened=6, is_ours=False), None, id="nor is one that Growth has not bought"),
        pytest.param(
            node(opened=6),
            LaunchingNode("m", at(11), is_there=True),
            id="a new one gives the whole time from its opening on",
        ),
        pytest.param(
            node(), LaunchingNode("m", at(12), is_there=True), id="and one that is not ready yet does not begin it"
        ),
    ],
)
def test_a_pod_on_a_node_that_has_joined_since_has_its_time_anew(where: Node, expected: LaunchingNode | None) -> None:
    assert provisioning(7, nodes=(where,)).machine_for(pod(node="m"), TERM) == expected


def test_a_hand_written_mark_of_the_opening_is_passed_over() -> None:
    made = a_node("m", labels={POOL: "p"})
    made["metadata"] |= {"creationTimestamp": at(3).isoformat(), "annotations": {STARTED_AT: "soon"}}
    found = provisioning(7, nodes=(read(NODES, made),)).machine_for(pod(node="m"), TERM)
    assert found is not None
    assert found.is_there


COMING: Final = LaunchingNode("m", at(11), is_there=False)
THERE: Final = LaunchingNode("n", at(9), is_there=True)


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        pytest.param([], at(5), id="no pod: the timeout"),
        pytest.param([None], at(5), id="a pod without an excuse: the timeout"),
        pytest.param([COMING], at(11), id="until the machine should be there"),
        pytest.param([COMING, THERE], at(9), id="the pod whose machine came first has no longer than others"),
        pytest.param([COMING, None], at(5), id="one pod without an excuse is enough"),
        pytest.param([LaunchingNode("m", at(2), is_there=True)], at(5), id="a machine never shortens the time"),
        pytest.param(
            [LaunchingNode("m", at(999), is_there=False)], at(5 + 10 + 4 + 5), id="nobody is waited for for ever"
        ),
    ],
)
def test_the_deadline_moves_with_the_machines(machines: list[LaunchingNode | None], expected: datetime) -> None:
    assert extended(TERM, machines, SETTINGS) == expected


def test_pods_that_are_ready_and_not_counted_yet_are_waited_for_but_not_for_ever() -> None:
    assert extended(TERM, [], SETTINGS, are_ready=True) == at(5 + 10 + 4 + 5)


def test_machines_are_told_once_each_with_the_latest_instant() -> None:
    second = LaunchingNode("z", at(20), is_there=False)
    assert reported([None, THERE]) == ""
    assert reported([COMING, COMING]) == "waits for a machine, expected by 09:11 UTC"
    assert reported([COMING, second, THERE, None]) == "waits for 2 machines, expected by 09:20 UTC"
