"""Two clusters tell the same if each object's life is the same, thread by thread."""

from growth_lab.scenarios.comparison import differences
from growth_lab.scenarios.trace import Seen


def seen(*words: tuple[str, str, str]) -> list[Seen]:
    return [Seen(float(at), subject, uid, what) for at, (subject, uid, what) in enumerate(words)]


def test_the_same_lives_agree_whatever_their_uids_and_times() -> None:
    one = seen(("Pod a", "1", "created"), ("Pod b", "2", "created"), ("Pod a", "1", "Running"))
    other = seen(("Pod b", "8", "created"), ("Pod a", "9", "created"), ("Pod a", "9", "Running"))
    assert differences(one, other) == []


def test_another_order_in_one_life_is_a_difference() -> None:
    one = seen(("Pod a", "1", "created"), ("Pod a", "1", "gone"))
    assert differences(one, one[::-1]) == ["Pod a: only virtual: created, gone", "Pod a: only real:    gone, created"]


def test_readiness_and_taints_are_threads_of_their_own() -> None:
    one = seen(("Node a", "1", "ready"), ("Node a", "1", "untainted x:NoSchedule"))
    assert differences(one, one[::-1]) == []


def test_pods_of_one_controller_are_counted_and_not_told_apart() -> None:
    two = seen(("Pod web-*", "1", "created"), ("Pod web-*", "2", "created"))
    assert differences(two, two[:1]) == ["Pod web-*: only virtual: created"]


def test_which_of_equal_nodes_does_not_matter_if_the_story_says_so() -> None:
    one, other = seen(("Pod a", "1", "bound to x")), seen(("Pod a", "1", "bound to y"))
    assert differences(one, other, any_node=True) == []
    assert len(differences(one, other)) == 2
