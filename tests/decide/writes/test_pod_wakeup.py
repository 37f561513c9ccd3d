"""A pod is woken by a change of a label of ours, once for each mark."""

from growth.api.actions import PatchObject
from growth.decide.writes.pod_wakeup import NUDGE, nudge
from tests.decide.stages import a_pod


def test_a_pod_is_woken_by_a_label_of_ours() -> None:
    pod = a_pod("app")
    action = nudge(pod, "default-1", "its place is ready")
    assert isinstance(action, PatchObject)
    assert action.subject.uid == pod.metadata.uid
    assert (action.body, action.why) == ({"metadata": {"labels": {NUDGE: "default-1"}}}, "its place is ready")


def test_it_is_woken_once_for_each_mark() -> None:
    pod = a_pod("app", labels={NUDGE: "default-1"})
    assert nudge(pod, "default-1", "again") is None
    assert nudge(pod, "default-2", "another place") is not None
