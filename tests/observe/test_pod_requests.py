"""What a pod asks for, against the scheduler's rules (component-helpers' resource helpers, v1.36)."""

import json
from typing import Any

import pytest

from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import PODS
from growth.api.pod import Pod
from growth.observe.pod_requests import amounts_from, requests_of, requests_on_node
from tests.builders import a_pod

Json = dict[str, Any]


def container(name: str, *, sidecar: bool = False, **requests: str) -> Json:
    return {
        "name": name,
        "resources": {"requests": requests},
        **({"restartPolicy": "Always"} if sidecar else {}),
    }


def read(body: Json) -> Pod:
    return Reader(PODS, InternTables()).object(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        pytest.param(
            {"containers": [container("a", cpu="250m", memory="1Gi"), container("b", cpu="1", memory="1Gi")]},
            {"cpu": 1250, "memory": 2 << 30, "pods": 1},
            id="containers run together, so they add up",
        ),
        pytest.param(
            {"containers": [container("a", cpu="1")], "initContainers": [container("i", cpu="3")]},
            {"cpu": 3000, "pods": 1},
            id="an init container runs alone, so the larger one counts",
        ),
        pytest.param(
            {
                "containers": [container("a", cpu="1")],
                "initContainers": [container("s", sidecar=True, cpu="2"), container("i", cpu="2")],
            },
            {"cpu": 4000, "pods": 1},
            id="an init container runs beside the sidecars before it",
        ),
        pytest.param(
            {
                "containers": [container("a", cpu="1")],
                "initContainers": [container("i", cpu="2"), container("s", sidecar=True, cpu="2")],
            },
            {"cpu": 3000, "pods": 1},
            id="a sidecar after it does not count for an init container",
        ),
        pytest.param(
            {
                "containers": [container("a", cpu="1", memory="1Gi")],
                "resources": {"requests": {"cpu": "500m", "example.com/gpu": "3"}},
            },
            {"cpu": 500, "memory": 1 << 30, "pods": 1},
            id="requests of the pod replace cpu and memory, and nothing else",
        ),
        pytest.param(
            {"containers": [container("a", cpu="1")], "overhead": {"cpu": "100m", "memory": "64Mi"}},
            {"cpu": 1100, "memory": 64 << 20, "pods": 1},
            id="overhead comes on top",
        ),
        pytest.param(
            {"containers": [container("a", cpu="100500u"), container("b", cpu="100500u")]},
            {"cpu": 201, "pods": 1},
            id="the sum is exact and only then rounded up",
        ),
        pytest.param({"containers": [container("a", cpu="0")]}, {"pods": 1}, id="zero is nothing"),
        pytest.param(
            {"containers": [{"name": "a", "resources": {"requests": {"nvidia.com/gpu": "2"}}}]},
            {"nvidia.com/gpu": 2, "pods": 1},
            id="any resource is counted",
        ),
    ],
)
def test_a_pod_asks_for_what_the_scheduler_counts(spec: Json, asked: dict[str, int]) -> None:
    assert requests_of(read(a_pod(spec=spec)).spec) == asked


@pytest.mark.parametrize(
    ("held", "allocated", "reason", "cpu"),
    [
        pytest.param("250m", "250m", "", 250, id="what it asks for, as nearly always"),
        pytest.param("2", "2", "", 2000, id="more than it asks for, while it is made smaller"),
        pytest.param("100m", "100m", "", 250, id="less than it asks for, while it is made larger"),
        pytest.param("100m", "150m", "Infeasible", 150, id="what it has, if the node can never give it more"),
    ],
)
def test_a_pod_that_is_being_resized_holds_the_larger_amount(held: str, allocated: str, reason: str, cpu: int) -> None:
    status = {
        "containerStatuses": [
            {"name": "app", "resources": {"requests": {"cpu": held}}, "allocatedResources": {"cpu": allocated}}
        ],
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else [],
    }
    pod = read(a_pod(requests={"cpu": "250m"}, status=status))
    assert requests_on_node(pod, requests_of(pod.spec))["cpu"] == cpu


def test_a_pod_that_is_not_being_resized_costs_no_new_mapping() -> None:
    pod = read(a_pod())
    asked = requests_of(pod.spec)
    assert requests_on_node(pod, asked) is asked


def test_a_pod_level_resize_holds_the_larger_amount() -> None:
    pod = read(
        a_pod(
            spec={"resources": {"requests": {"cpu": "1"}}},
            status={"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}},
        )
    )
    assert requests_on_node(pod, requests_of(pod.spec))["cpu"] == 3000


def test_a_node_offers_whole_units_and_thousandths_of_a_cpu() -> None:
    assert amounts_from({"cpu": "3920m", "memory": "15Gi", "pods": "110"}) == {
        "cpu": 3920,
        "memory": 15 << 30,
        "pods": 110,
    }
