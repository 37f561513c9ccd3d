"""What is work, and who must not be disturbed."""

import pytest

from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.pod_classification import forbids, is_daemon, is_static, is_work
from tests.decide.stages import a_pod


def owned_by(kind: str, *, controller: bool = True) -> Pod:
    return a_pod(owner={"kind": kind, "name": "x", "uid": "x", "controller": controller})


WORK = {
    "a pod of nobody": a_pod(),
    "a ReplicaSet's": owned_by("ReplicaSet"),
    "a Job's": owned_by("Job"),
    "one that has not begun": a_pod(status={"phase": "Pending"}),
    "one that is leaving": a_pod(terminating=True),
    "one whose state nobody knows": a_pod(status={"phase": "Unknown"}),
    "one that a DaemonSet owns but does not manage": owned_by("DaemonSet", controller=False),
}
NO_WORK = {
    "a DaemonSet's": owned_by("DaemonSet"),
    "a mirror pod": a_pod(annotations={"kubernetes.io/config.mirror": "x"}),
    "a pod that its node owns": owned_by("Node"),
    "one that succeeded": a_pod(status={"phase": "Succeeded"}),
    "one that failed": a_pod(status={"phase": "Failed"}),
}


@pytest.mark.parametrize("what", WORK)
def test_this_is_work(what: str) -> None:
    assert is_work(WORK[what])


@pytest.mark.parametrize("what", NO_WORK)
def test_this_is_none(what: str) -> None:
    assert not is_work(NO_WORK[what])


def test_daemons_and_static_pods_are_told_apart() -> None:
    assert (is_daemon(owned_by("DaemonSet")), is_static(owned_by("DaemonSet"))) == (True, False)
    assert (is_daemon(owned_by("Node")), is_static(owned_by("Node"))) == (False, True)


def a_node(**annotations: str) -> Node:
    return Node(ObjectMeta(name="n", annotations=annotations))


OURS, KARPENTERS = "growth.dev/do-not-disrupt", "karpenter.sh/do-not-disrupt"
DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (a_node(**{OURS: "true"}), OURS),
        (a_node(**{KARPENTERS: "true"}), KARPENTERS),
        (a_node(**{DISABLED: "True"}), DISABLED),
        (a_node(**{OURS: "false"}), ""),
        (a_node(**{SAFE: "false"}), ""),
        (a_node(), ""),
        (a_pod(annotations={OURS: "true"}), OURS),
        (a_pod(annotations={KARPENTERS: "true"}), KARPENTERS),
        (a_pod(annotations={SAFE: "false"}), SAFE),
        (a_pod(annotations={SAFE: "true"}), ""),
        (a_pod(annotations={DISABLED: "true"}), ""),
        (a_pod(annotations={OURS: "true"}, status={"phase": "Succeeded"}), ""),
    ],
)
def test_who_must_not_be_disturbed_says_so_in_one_of_three_tongues(thing: Node | Pod, said: str) -> None:
    assert forbids(thing) == said
