"""Nodes on which the last plan expects pods that still wait: whoever removes nodes must know them.

``grow`` decides first and notes them in the snapshot that both look at; where it does not run, nobody is expected.
"""

from collections.abc import Iterable
from typing import Final

from growth.observe.snapshot import Snapshot

_EXPECTED: Final = "nodes that pods are expected on"


def note_expected(snapshot: Snapshot, nodes: Iterable[str]) -> None:
    """These must stay."""
    snapshot.memo[_EXPECTED] = frozenset(nodes)


def expected_in(snapshot: Snapshot) -> frozenset[str]:
    """What was noted."""
    return snapshot.memo.get(_EXPECTED, frozenset())
