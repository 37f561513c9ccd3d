"""How many pods of each owner are there."""

from growth.api.change import Change, ChangeType
from growth.observe.owned_pods import OwnedPodCounts
from tests.decide import stages

JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "sum", "uid": "job", "controller": True}


def test_pods_are_counted_by_owner_until_they_are_gone() -> None:
    counts = OwnedPodCounts()
    one, two, alone = stages.a_pod("a", owner=JOB), stages.a_pod("b", owner=JOB), stages.a_pod("c")
    counts.hear([Change(ChangeType.ADDED, pod, None) for pod in (one, two, alone)])
    assert counts.of("job") == 2
    counts.hear([Change(ChangeType.MODIFIED, one, one)])
    assert counts.of("job") == 2
    counts.hear([Change(ChangeType.DELETED, one, one), Change(ChangeType.DELETED, two, two)])
    assert counts.of("job") == 0


def test_a_pod_may_change_hands() -> None:
    counts = OwnedPodCounts()
    pod = stages.a_pod("a", owner=JOB)
    other = stages.a_pod("a", owner={**JOB, "uid": "other"})
    counts.hear([Change(ChangeType.ADDED, pod, None), Change(ChangeType.MODIFIED, other, pod)])
    assert (counts.of("job"), counts.of("other")) == (0, 1)
