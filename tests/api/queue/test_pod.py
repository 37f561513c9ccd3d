"""Plain pods that wait in a queue, and how they look as jobs of one pod."""

from typing import Any

import msgspec
import pytest

from growth.api.queue.pod import GATE, MANAGED, TERMINATION_TARGET, QueuedPod
from tests.builders import Json

_DECODER = msgspec.json.Decoder(QueuedPod, strict=False)
READY = {"type": "Ready", "status": "True"}


def a_pod(phase: str = "Pending", *conditions: Json, gates: tuple[str, ...] = (GATE,), **labels: str) -> QueuedPod:
    spec: Json = {"containers": [{"name": "main"}], "unknown": 1, "schedulingGates": [{"name": one} for one in gates]}
    status = {"phase": phase, "conditions": conditions}
    return _DECODER.decode(
        msgspec.json.encode({"metadata": {"name": "one", "labels": labels}, "spec": spec, "status": status})
    )


def spec_of(pod: QueuedPod) -> Any:  # noqa: ANN401 - any JSON
    return msgspec.json.decode(pod.as_job.spec.template)["spec"]


def test_a_pod_is_held_while_it_is_gated_and_once_it_was_let_go() -> None:
    assert a_pod().is_gated
    assert a_pod().is_held
    assert a_pod(gates=(), **{MANAGED: "true"}).is_held
    assert not a_pod(gates=(), **{MANAGED: "true"}).is_gated
    assert not a_pod(gates=("other.dev/gate",)).is_held


def test_the_template_is_the_pod_without_our_gate_and_with_all_that_we_do_not_read() -> None:
    plain = {"containers": [{"name": "main"}], "unknown": 1}
    assert spec_of(a_pod()) == plain
    assert spec_of(a_pod(gates=("other.dev/gate", GATE))) == {**plain, "schedulingGates": [{"name": "other.dev/gate"}]}


@pytest.mark.parametrize(
    ("pod", "suspended", "active", "ready", "ended"),
    [
        pytest.param(a_pod(), True, 0, False, None, id="a gated pod is a suspended job"),
        pytest.param(a_pod(gates=()), False, 1, False, None, id="one that was let go is active"),
        pytest.param(a_pod("Running", gates=()), False, 1, False, None, id="one that runs is not ready by that"),
        pytest.param(a_pod("Running", READY, gates=()), False, 1, True, None, id="one that is ready is"),
        pytest.param(a_pod("Succeeded", gates=()), False, 0, True, "Complete", id="one that succeeded is complete"),
        pytest.param(a_pod("Failed", READY, gates=()), False, 0, False, "Failed", id="one that failed has failed"),
    ],
)
def test_as_a_job_of_one_pod(pod: QueuedPod, *, suspended: bool, active: int, ready: bool, ended: str | None) -> None:
    job = pod.as_job
    assert (job.spec.suspend, job.status.active, job.are_pods_ready) == (suspended, active, ready)
    assert (job.ended.type if job.ended is not None else None) == ended
    assert job.spec.pods == job.pods_to_come == 1


def test_what_is_said_of_a_pod() -> None:
    said = a_pod("Running", {"type": TERMINATION_TARGET, "status": "True"})
    assert said.holds(TERMINATION_TARGET)
    assert not said.holds("Ready")
    assert not a_pod("Running", {"type": "Ready", "status": "False"}).holds("Ready")
