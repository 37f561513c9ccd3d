"""What is remembered of a node: labels, what was removed, and annotations and taints as far as somebody wants them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.meta import ObjectMeta
from growth.api.node import Node, NodeSpec
from growth.api.node_memory import (
    MARKER,
    REMOVED_AT_MOST,
    RESTORED_TO,
    NodeContents,
    is_marked,
    is_remembering,
    legal,
    memento_of,
    with_removed,
)
from growth.api.tolerations import Taint
from growth_lab.simulator.clock import BEGINNING


def a_node(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, taints: tuple[Taint, ...] = ()
) -> Node:
    meta = ObjectMeta(
        name="worker-1", uid="this", resource_version=7, labels=labels or {}, annotations=annotations or {}
    )
    return Node(meta, NodeSpec("kwok://worker-1", taints=taints))


def a_memento(*removed: str, **labels: str) -> NodeContents:
    return NodeContents(uid="this", version=7, labels=labels, removed=removed)


def test_labels_are_remembered_and_of_the_rest_nothing_that_nobody_asked_for() -> None:
    node = a_node({"team": "blue"}, {"example.com/note": "x"}, (Taint("example.com/gpu", "yes", "NoSchedule"),))
    expected = NodeContents(uid="this", version=7, provider_id="kwok://worker-1", labels={"team": "blue"}, at=BEGINNING)
    assert memento_of(node, BEGINNING) == expected


def test_annotations_and_taints_are_remembered_by_how_their_keys_begin() -> None:
    ours, theirs = Taint("example.com/gpu", "yes", "NoSchedule"), Taint("other.com/gpu", "", "NoSchedule")
    node = a_node({}, {"example.com/note": "x", "other.com/note": "y"}, (ours, theirs))
    memento = memento_of(node, BEGINNING, annotations=["example.com/"], taints=["example.com/"])
    assert (memento.annotations, memento.taints) == ({"example.com/note": "x"}, (ours,))


@pytest.mark.parametrize(
    "key",
    [
        "node.kubernetes.io/out-of-service",
        "node.kubernetes.io/not-ready",
        "growth.dev/starting",
        "growth.dev/remembering",
    ],
)
def test_a_taint_that_says_how_a_machine_is_now_is_never_remembered(key: str) -> None:
    """A healthy node that comes back must not lose its pods because it was out of service in its last life."""
    node = a_node(taints=(Taint(key, "", "NoExecute"),))
    assert memento_of(node, BEGINNING, taints=["node", "growth.dev/"]).taints == ()


@pytest.mark.parametrize(
    ("labels", "annotations", "expected"),
    [
        ({}, {}, False),
        ({MARKER: "0"}, {}, True),
        ({MARKER: "0"}, {RESTORED_TO: "this"}, True),
        ({MARKER: "0"}, {RESTORED_TO: "its last life"}, False),
    ],
    ids=["no marker", "a marker", "a marker of its own", "a marker that it brought along"],
)
def test_a_marker_counts_only_in_the_life_in_which_it_was_given(
    labels: dict[str, str],
    annotations: dict[str, str],
    expected: bool,  # noqa: FBT001
) -> None:
    node = a_node(labels, annotations)
    assert is_marked(node) is expected
    assert memento_of(node, BEGINNING).is_marked is expected


def test_what_it_was_restored_to_is_not_remembered_as_an_annotation() -> None:
    node = a_node({}, {RESTORED_TO: "this", "growth.dev/do-not-disrupt": "true"})
    memento = memento_of(node, BEGINNING, annotations=["growth.dev/"])
    assert memento.annotations == {"growth.dev/do-not-disrupt": "true"}


def test_keys_that_were_there_before_and_are_gone_were_removed() -> None:
    before = a_memento("long-gone", "back", team="blue", rack="r7")
    now = with_removed(a_memento(team="blue", back="yes"), (None, before), ["lately"])
    assert now.removed == ("long-gone", "rack", "lately")


@given(st.integers(0, 600), st.integers(0, 600), st.integers(0, 600))
def test_what_was_removed_is_bounded_and_saying_it_again_changes_nothing(kept: int, lost: int, lately: int) -> None:
    """Else a node whose keys are made up as it goes would be written down for ever."""
    before = a_memento(
        *(f"kept-{number}" for number in range(kept)), **{f"lost-{number}": "" for number in range(lost)}
    )
    seen = [f"lately-{number}" for number in range(min(lately, REMOVED_AT_MOST))]
    once = with_removed(a_memento(team="blue"), (before,), seen)
    assert len(once.removed) == min(REMOVED_AT_MOST, kept + lost + len(seen))
    assert once.removed[-1:] == (tuple(seen) or before.removed + tuple(before.labels))[-1:]
    assert with_removed(a_memento(team="blue"), (once,), seen).says_the_same_as(once)


@pytest.mark.parametrize(
    "other",
    [
        a_memento(team="red"),
        a_memento("rack", team="blue"),
        msgspec.structs.replace(a_memento(team="blue"), annotations={"a": "b"}),
        msgspec.structs.replace(a_memento(team="blue"), taints=(Taint("a", "b", "NoSchedule"),)),
    ],
)
def test_two_say_the_same_if_a_node_would_be_given_the_same(other: NodeContents) -> None:
    memento = a_memento(team="blue")
    assert not memento.says_the_same_as(other)
    assert memento.says_the_same_as(msgspec.structs.replace(memento, version=9, at=BEGINNING, provider_id="other"))


def test_what_an_api_server_would_refuse_is_left_out() -> None:
    assert legal({"team": "blue", "no good": "x", "bad": "not a value!", "a" * 64: "x"}) == {"team": "blue"}


def test_only_our_own_taint_waits_for_memory() -> None:
    assert is_remembering(Taint("growth.dev/remembering", "", "NoSchedule"))
    assert not is_remembering(Taint("growth.dev/remembering", "", "NoExecute"))
    assert not is_remembering(Taint("growth.dev/starting", "worker-1", "NoSchedule"))
