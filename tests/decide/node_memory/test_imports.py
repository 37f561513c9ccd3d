"""What came from elsewhere has no version here: it waits for a node, and gives way to what is known here."""

import msgspec
import pytest

from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_memory import IMPORTED, MARKER, NOTHING, NodeContents, NodeRecord, with_removed
from growth.api.settings.model import MemorySettings
from growth.decide.node_memory.restore_policy import RestorePolicy
from growth.decide.node_memory.transactions import is_heir, is_news

IMPORT = NodeContents(uid="", version=0, labels={"team": "blue", "rack": "r7"}, removed=("old",))
MEMORY = NodeRecord(ObjectMeta(name="worker-1"), IMPORT, is_final=True)


def left(**labels: str) -> NodeContents:
    """A node of this cluster, as it was when it left."""
    return NodeContents(uid="here", version=812, labels=labels)


def test_a_node_that_comes_is_given_it_back() -> None:
    node = Node(ObjectMeta(name="worker-1", uid="here", labels={"old": "x", "new": "y"}))
    patch = RestorePolicy(MemorySettings()).restored(node, IMPORT, ())
    assert patch["metadata"]["labels"] == {MARKER: IMPORTED, "team": "blue", "rack": "r7", "old": None}


@pytest.mark.parametrize(("marker", "wins"), [(IMPORTED, True), (NOTHING, True), ("77", True), (None, False)])
def test_only_a_node_that_had_its_marker_takes_its_place_when_it_leaves(marker: str | None, wins: bool) -> None:  # noqa: FBT001
    labels = {"team": "red"} | ({MARKER: marker} if marker is not None else {})
    assert is_news(MEMORY, msgspec.structs.replace(left(), labels=labels)) is wins


def test_what_a_node_lacks_that_was_given_it_stays_removed() -> None:
    memento = msgspec.structs.replace(left(team="blue"), labels={"team": "blue", MARKER: IMPORTED})
    assert is_heir(memento, MEMORY)
    assert with_removed(memento, (IMPORT,)).removed == ("old", "rack")


def test_a_node_that_was_given_nothing_has_removed_nothing() -> None:
    """The import came a moment too late for it: that it lacks those labels is nobody's wish."""
    memento = msgspec.structs.replace(left(), labels={MARKER: NOTHING})
    assert not is_heir(memento, MEMORY)
