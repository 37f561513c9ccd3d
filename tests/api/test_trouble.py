import msgspec
import pytest

from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import PODS
from growth.api.pod import Pod
from tests.builders import Json, a_pod


def trouble_of(manifest: Json) -> str:
    return Reader[Pod](PODS, InternTables()).object(msgspec.json.encode(manifest)).status.trouble


def waiting(reason: str, message: str = "") -> Json:
    return {"name": "app", "image": "example.com/app:1", "state": {"waiting": {"reason": reason, "message": message}}}


@pytest.mark.parametrize(
    ("container", "trouble"),
    [
        pytest.param({"name": "app", "state": {"running": {}}}, "", id="a container that runs is no trouble"),
        pytest.param(waiting("ContainerCreating"), "", id="nor is one that is being made"),
        pytest.param(
            waiting("ErrImagePull"),
            "container app: ImagePullBackOff, image example.com/app:1",
            id="an image that was just tried is told as one that will be tried again",
        ),
        pytest.param(
            waiting("ImagePullBackOff", "Back-off pulling image"),
            "container app: ImagePullBackOff, image example.com/app:1",
            id="an image that will be tried again",
        ),
        pytest.param(
            waiting("InvalidImageName"),
            "container app: InvalidImageName, image example.com/app:1",
            id="no name for an image",
        ),
        pytest.param(
            waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
            "container app: CrashLoopBackOff, image example.com/app:1",
            id="how long a kubelet waits before it tries again is left out",
        ),
        pytest.param(
            waiting("CreateContainerConfigError", 'secret "token" not found'),
            'container app: CreateContainerConfigError, secret "token" not found',
            id="the message names the secret that is missing",
        ),
    ],
)
@pytest.mark.parametrize("field", ["containerStatuses", "initContainerStatuses"])
def test_a_container_that_waits_says_for_what(field: str, container: Json, trouble: str) -> None:
    assert trouble_of(a_pod(status={"containerStatuses": [], field: [container]})) == trouble


def test_a_pod_without_a_node_says_what_its_scheduler_said_and_alike_words_exist_once() -> None:
    said = "0/3 nodes are available: 3 Insufficient cpu."
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    first, second = (trouble_of(a_pod(node="", status={"conditions": [refused]})) for _ in range(2))
    assert first == said
    assert first is second


def test_a_long_complaint_is_cut() -> None:
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "x" * 5000}
    assert len(trouble_of(a_pod(node="", status={"conditions": [refused]}))) == 400
