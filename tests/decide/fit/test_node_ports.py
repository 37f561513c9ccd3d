"""NodePorts: address, protocol and number decide who collides."""

from typing import Any

import pytest

from growth.api.pod import Pod
from growth.decide.fit.node_ports import ANY_ADDRESS
from tests.decide.fit.asking import why
from tests.decide.stages import a_node, a_pod, a_stage

TAKEN = "NodePorts: needs host port {}; another pod of the node has it"


def listening(port: int, protocol: str = "TCP", address: str = "", *, node: str = "") -> Pod:
    entry = {"containerPort": 80, "hostPort": port, "protocol": protocol, **({"hostIP": address} if address else {})}
    return a_pod(node=node, containers=[{"name": "main", "ports": [entry]}])


@pytest.mark.parametrize(
    ("there", "wanted", "expected"),
    [
        pytest.param((80,), (80,), TAKEN.format("80/TCP"), id="the same port"),
        pytest.param((80,), (81,), "", id="another port"),
        pytest.param((80, "UDP"), (80,), "", id="another protocol"),
        pytest.param((80, "TCP", "10.0.0.1"), (80, "TCP", "10.0.0.2"), "", id="two addresses"),
        pytest.param(
            (80, "TCP", "10.0.0.1"), (80, "TCP", "10.0.0.1"), TAKEN.format("80/TCP on 10.0.0.1"), id="one address"
        ),
        pytest.param((80, "TCP", "10.0.0.1"), (80,), TAKEN.format("80/TCP"), id="all addresses include that one"),
        pytest.param(
            (80, "TCP", ANY_ADDRESS), (80, "TCP", "10.0.0.1"), TAKEN.format("80/TCP on 10.0.0.1"), id="and it them"
        ),
        pytest.param((80, "TCP", "::"), (80, "TCP", "10.0.0.1"), "", id="two colons are an address like any other"),
        pytest.param((80, "TCP", "::"), (80,), TAKEN.format("80/TCP"), id="which all addresses include"),
    ],
)
def test_ports_collide(there: tuple[Any, ...], wanted: tuple[Any, ...], expected: str) -> None:
    stage = a_stage([a_node()], [listening(*there, node="node-1")])
    assert why(stage, listening(*wanted)) == expected


def test_a_port_that_is_not_on_the_host_concerns_nobody() -> None:
    stage = a_stage([a_node()], [listening(0, node="node-1")])
    assert why(stage, listening(0)) == ""


@pytest.mark.parametrize(
    ("policy", "is_blocking"), [("Always", True), (None, False)], ids=["sidecar", "init container"]
)
def test_sidecars_hold_their_ports_and_init_containers_do_not(policy: str | None, is_blocking: bool) -> None:  # noqa: FBT001
    container = {"name": "i", "ports": [{"hostPort": 80}], **({"restartPolicy": policy} if policy else {})}
    stage = a_stage([a_node()], [listening(80, node="node-1")])
    assert bool(why(stage, a_pod(initContainers=[container]))) is is_blocking


def test_ports_come_and_go_with_pods() -> None:
    stage = a_stage([a_node()])
    first, second = listening(80), listening(80)
    assert why(stage, second) == ""
    stage.place(first, "node-1")
    assert why(stage, second) == TAKEN.format("80/TCP")
    stage.remove(first.metadata.uid)
    assert why(stage, second) == ""
