"""NodeResourcesFit: what a pod asks for must be free."""

from typing import Any

import pytest

from tests.decide.fit.asking import why
from tests.decide.stages import a_node, a_pod, a_stage

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param({}, "", id="nothing is always free"),
        pytest.param({"cpu": "3"}, "", id="exactly what is free"),
        pytest.param(
            {"cpu": "3001m"}, "NodeResourcesFit: needs 3.001 CPU; node has 3 free of 4", id="a thousandth too much"
        ),
        pytest.param({"cpu": "0.0001"}, "", id="less than a thousandth counts as one"),
        pytest.param(
            {"cpu": "96"}, "NodeResourcesFit!: needs 96 CPU; node has 3 free of 4", id="more than the node ever has"
        ),
        pytest.param({"memory": "16Gi"}, "", id="all of the memory"),
        pytest.param(
            {"memory": "17179869185"},
            "NodeResourcesFit!: needs 17179869185 memory; node has 17179869184 free of 16Gi",
            id="one byte more than there is",
        ),
        pytest.param(
            {"ephemeral-storage": "1"},
            "NodeResourcesFit!: needs 1 ephemeral storage; node has none",
            id="disk on a node that lists none",
        ),
        pytest.param({GPU: "2"}, "", id="both devices"),
        pytest.param({GPU: "3"}, f"NodeResourcesFit!: needs 3 {GPU}; node has 2 free of 2", id="a device too many"),
        pytest.param({"example.com/nobody-has-it": "0"}, "", id="zero of an unknown resource"),
        pytest.param(
            {"example.com/nobody-has-it": "1"},
            "NodeResourcesFit!: needs 1 example.com/nobody-has-it; node has none",
            id="one of an unknown resource",
        ),
        pytest.param({"storage": "1Ti"}, "", id="a bare name that the scheduler does not count"),
        pytest.param(
            {"cpu": "3500m", "memory": "20Gi"},
            "NodeResourcesFit!: needs 3.5 CPU; node has 3 free of 4, needs 20Gi memory; node has 16Gi free of 16Gi",
            id="all that is missing is told, and one permanent lack makes it permanent",
        ),
    ],
)
def test_a_pod_fits_if_what_it_asks_for_is_free(requests: dict[str, str], expected: str) -> None:
    stage = a_stage([a_node(allocatable={GPU: "2"})], [a_pod(node="node-1", requests={"cpu": "1"})])
    assert why(stage, a_pod(requests=requests)) == expected


def test_every_pod_needs_a_slot() -> None:
    stage = a_stage([a_node(pods="1")], [a_pod(node="node-1")])
    assert why(stage, a_pod()) == "NodeResourcesFit: needs a pod slot; node has 0 free of 1"


def test_a_node_without_slots_takes_nobody_and_the_scheduler_still_thinks_of_eviction() -> None:
    assert why(a_stage([a_node(pods="0")]), a_pod()) == "NodeResourcesFit: needs a pod slot; node has 0 free of 0"


def test_an_overbooked_node_takes_pods_that_do_not_ask_for_what_is_missing() -> None:
    stage = a_stage([a_node()], [a_pod(node="node-1", requests={"cpu": "9"})])
    assert why(stage, a_pod(requests={"memory": "1Gi", "cpu": "0"})) == ""
    assert why(stage, a_pod(requests={"cpu": "1m"})).startswith("NodeResourcesFit: needs 0.001 CPU; node has -5 free")


def _sidecar(cpu: str) -> dict[str, Any]:
    return {"name": f"s{cpu}", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}}


def _init(cpu: str) -> dict[str, Any]:
    return {"name": f"i{cpu}", "resources": {"requests": {"cpu": cpu}}}


@pytest.mark.parametrize(
    ("spec", "cpu_millis"),
    [
        pytest.param({"initContainers": [_init("3")]}, 3000, id="an init container larger than all that runs"),
        pytest.param({"initContainers": [_init("500m")]}, 1000, id="an init container smaller than it"),
        pytest.param({"initContainers": [_sidecar("2")]}, 3000, id="a sidecar runs beside the containers"),
        pytest.param({"initContainers": [_sidecar("2"), _init("2")]}, 4000, id="a sidecar before an init container"),
        pytest.param({"initContainers": [_init("2"), _sidecar("2")]}, 3000, id="a sidecar behind an init container"),
        pytest.param({"resources": {"requests": {"cpu": "2"}}}, 2000, id="the pod's own request replaces them"),
        pytest.param({"overhead": {"cpu": "250m"}}, 1250, id="overhead comes on top"),
    ],
)
def test_containers_count_as_the_scheduler_counts_them(spec: dict[str, Any], cpu_millis: int) -> None:
    pod = a_pod(requests={"cpu": "1"}, **spec)
    assert why(a_stage([a_node(cpu=f"{cpu_millis}m")]), pod) == ""
    assert why(a_stage([a_node(cpu=f"{cpu_millis - 1}m")]), pod).startswith("NodeResourcesFit!")


def test_finished_pods_hold_nothing_and_terminating_ones_everything() -> None:
    done = a_pod(node="node-1", requests={"cpu": "4"}, status={"phase": "Succeeded"})
    going = a_pod(node="node-1", requests={"cpu": "4"}, terminating=True)
    assert why(a_stage([a_node()], [done]), a_pod(requests={"cpu": "1"})) == ""
    assert why(a_stage([a_node()], [going]), a_pod(requests={"cpu": "1"})).startswith("NodeResourcesFit:")
