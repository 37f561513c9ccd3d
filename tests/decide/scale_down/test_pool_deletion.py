"""Pools that are deleted: emptied in order and given back (Drain), or left as they are (Orphan)."""

import pytest

from growth.decide.policy.pool_terms import max_unavailable
from tests.decide.scale_down.stage import (
    ANOTHER,
    EVERYTHING,
    MINUTE,
    NAME,
    NOW,
    SECOND,
    a_cloud,
    a_daemon,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    decided,
    told,
)

GOING = a_pool(deleted_at=NOW)
BOTH = a_cloud(a_machine(), a_machine(ANOTHER))
DUE = NOW - SECOND
MARKED, MARKED_TOO = a_node(at=DUE), a_node(ANOTHER, at=DUE)


def test_all_nodes_are_marked_at_once_whoever_works_there() -> None:
    assert told(decided(GOING, BOTH, a_node(), a_node(ANOTHER), a_pod())) == [
        f"mark {NAME} for 2026-03-01T09:00:00Z",
        f"mark {ANOTHER} for 2026-03-01T09:00:00Z",
    ]


def test_a_node_that_is_marked_and_empty_is_removed_without_any_delay() -> None:
    assert told(decided(GOING, BOTH, MARKED, a_daemon())) == [f"remove {NAME}"]


def test_min_and_patience_end_with_the_pool() -> None:
    pool = a_pool(deleted_at=NOW, types=[{"name": "small", "min": 2}], scaleDown={"enabled": False})
    assert told(decided(pool, BOTH, a_node(at=DUE, born=NOW), MARKED_TOO)) == [f"remove {NAME}", f"remove {ANOTHER}"]


def test_pods_are_asked_to_leave_from_so_many_nodes_at_a_time_as_the_pool_allows() -> None:
    pods = [a_pod("a"), a_pod("b"), a_pod("c", node=ANOTHER)]
    assert told(decided(GOING, BOTH, MARKED, MARKED_TOO, *pods)) == ["evict c"]
    both = a_pool(deleted_at=NOW, disruption={"maxUnavailable": 2})
    assert told(decided(both, BOTH, MARKED, MARKED_TOO, *pods)) == ["evict c", "evict a", "evict b"]


def test_a_node_that_is_being_emptied_goes_on() -> None:
    pods = [a_pod("a"), a_pod("b", terminating=True), a_pod("c", node=ANOTHER)]
    assert told(decided(GOING, BOTH, MARKED, MARKED_TOO, *pods)) == ["evict a"]


def test_who_tolerates_the_mark_and_comes_back_is_not_asked_again_at_once() -> None:
    first = decided(GOING, BOTH, MARKED, a_pod("a", tolerations=[EVERYTHING]))
    assert told(first) == ["evict a"]
    again = (GOING, BOTH, MARKED, a_pod("b", tolerations=[EVERYTHING]), a_pod("c"))
    soon = decided(*again, now=NOW + SECOND, memory=first.carry)
    assert told(soon) == [f"hold {NAME}: DoNotDisrupt", "evict c"]
    assert soon.requeue_at == NOW + MINUTE
    assert told(decided(*again, now=NOW + MINUTE, memory=soon.carry)) == ["evict b", "evict c"]


def test_where_no_node_may_be_emptied_people_are_told() -> None:
    pool = a_pool(deleted_at=NOW, disruption={"maxUnavailable": 0})
    said = decided(pool, BOTH, MARKED, a_pod())
    assert told(said, events=True) == ["hold default: DoNotDisrupt", "event NodePool default: DoNotDisrupt"]


def test_who_must_not_be_disturbed_is_left_alone_and_told_of() -> None:
    node = a_node(annotations={"growth.dev/do-not-disrupt": "true"})
    said = decided(GOING, BOTH, node, a_pod())
    assert told(said, events=True) == [f"hold {NAME}: DoNotDisrupt", f"event Node {NAME}: DoNotDisrupt"]
    pod = a_pod(annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"})
    assert told(decided(GOING, BOTH, MARKED, pod, a_pod("b"))) == [f"hold {NAME}: DoNotDisrupt", "evict b"]


def test_daemons_and_what_has_ended_are_not_asked_to_leave() -> None:
    done, mirror = a_pod(status={"phase": "Failed"}), a_pod("m", annotations={"kubernetes.io/config.mirror": "x"})
    assert told(decided(GOING, BOTH, MARKED, a_daemon(), done, mirror)) == [f"remove {NAME}"]


def test_orphan_leaves_machines_nodes_and_pods_as_they_are() -> None:
    pool = a_pool(deleted_at=NOW, deletionPolicy="Orphan")
    assert told(decided(pool, BOTH, a_node(), a_node(ANOTHER), a_pod())) == []


def test_orphan_takes_marks_off_but_not_from_what_is_being_removed() -> None:
    pool = a_pool(deleted_at=NOW, deletionPolicy="Orphan")
    removal = a_removal(ANOTHER, "Deprovisioning", attempt=1, asked_at=DUE)
    assert told(decided(pool, BOTH, MARKED, MARKED_TOO, removal)) == [f"unmark {NAME}"]


@pytest.mark.parametrize("cloud", [a_cloud(a_machine(), problem="no answer"), a_cloud()])
def test_what_nobody_proves_to_be_ours_is_neither_marked_nor_emptied(cloud: object) -> None:
    for node in (a_node(), MARKED):
        assert told(decided(GOING, cloud, node, a_pod())) == []


@pytest.mark.parametrize(
    ("stated", "nodes", "allowed"),
    [("10%", 1, 1), ("10%", 10, 1), ("10%", 11, 2), ("0%", 10, 0), ("100%", 7, 7), (0, 5, 0), (3, 2, 3), ("2", 9, 2)],
)
def test_a_share_is_never_less_than_one_node_unless_it_is_none(stated: object, nodes: int, allowed: int) -> None:
    assert max_unavailable(a_pool(disruption={"maxUnavailable": stated}), nodes) == allowed
