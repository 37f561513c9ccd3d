"""Scale-down in an unhealthy cluster: nothing goes, and nobody is on the way out any more."""

from growth.api.outcome import Result
from tests.decide.shrink.stage import (
    ANOTHER,
    MINUTE,
    NAME,
    NOW,
    SECOND,
    a_cloud,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    an_answer,
    decided,
    told,
)

DUE = NOW - SECOND
CLOUD = a_cloud(a_machine(), *(a_machine(f"default-{number}") for number in range(2, 7)))
BROKEN = tuple(a_node(f"default-{number}", ready=False, unready_since=NOW - MINUTE) for number in range(2, 7))


def test_marks_are_taken_off_and_nothing_goes() -> None:
    said = decided(a_pool(), CLOUD, *BROKEN, a_node(at=DUE))
    assert told(said) == [f"unmark {NAME}"]
    assert f"event Node {NAME}: ScaleDownCancelled" in told(said, events=True)


def test_a_removal_is_held_and_its_node_keeps_what_it_has() -> None:
    removal = a_removal()
    said = decided(a_pool(), CLOUD, *BROKEN, a_node(at=DUE), removal)
    assert told(said) == [f"hold {NAME}: ClusterUnhealthy"]


def test_what_a_provider_was_asked_before_is_written_down() -> None:
    removal = a_removal()
    said = decided(a_pool(), CLOUD, *BROKEN, a_node(at=DUE), removal, outcome=an_answer(removal, Result.DONE))
    assert told(said) == [f"{NAME} -> Deprovisioning", f"hold {NAME}: ClusterUnhealthy"]


def test_a_node_of_a_deleted_pool_keeps_its_mark_and_waits() -> None:
    said = decided(a_pool(deleted_at=NOW - MINUTE), CLOUD, *BROKEN, a_node(at=DUE))
    assert told(said) == [f"hold {NAME}: ClusterUnhealthy"]


def test_what_is_not_ours_is_not_touched() -> None:
    others = a_cloud(a_machine(ANOTHER), *CLOUD.machines[2:])
    assert told(decided(a_pool(), others, *BROKEN, a_node(at=DUE))) == []
