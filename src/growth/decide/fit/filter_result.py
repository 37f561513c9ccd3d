"""Why a pod does not fit: one node's answer, and the answers of all nodes in one sentence."""

from collections.abc import Mapping
from typing import Final

import msgspec

MAX_CAUSES_TOLD: Final = 4


class FilterRefusal(msgspec.Struct, frozen=True, gc=False):
    """The first filter that refuses, under the scheduler's name for it, and why in words.

    ``is_permanent`` is the scheduler's UnschedulableAndUnresolvable: evicting pods from the node would not help.
    """

    filter: str
    reason: str
    is_permanent: bool


class RefusalGroup(msgspec.Struct, frozen=True):
    """Nodes that refuse by the same filter, and what one of them says."""

    nodes: int
    example: FilterRefusal


class FitResult(msgspec.Struct, frozen=True):
    """Where a pod fits; if nowhere, why not.

    ``unplaceable`` is what holds before any node is looked at; then ``causes`` is empty, because no node was asked.
    """

    nodes: tuple[str, ...]
    causes: tuple[RefusalGroup, ...] = ()
    unplaceable: FilterRefusal | None = None

    @property
    def fits(self) -> bool:
        """Whether some node takes the pod."""
        return bool(self.nodes)

    @property
    def sentence(self) -> str:
        """The verdict in words, the commonest cause first."""
        if self.unplaceable is not None:
            return self.unplaceable.reason
        refusing = sum(cause.nodes for cause in self.causes)
        total = refusing + len(self.nodes)
        if self.nodes:
            return f"fits {len(self.nodes)} of {_nodes(total)}"
        if not total:
            return "there is no node"
        told = "; ".join(f"{cause.nodes}: {cause.example.reason}" for cause in self.causes[:MAX_CAUSES_TOLD])
        more = len(self.causes) - MAX_CAUSES_TOLD
        return f"fits none of {_nodes(total)} ({told}{f'; and {more} more causes' if more > 0 else ''})"


def verdict_from(nodes: list[str], misfits: Mapping[str, FilterRefusal]) -> FitResult:
    """The verdict of many nodes, alike misfits told once."""
    by_filter: dict[str, list[FilterRefusal]] = {}
    for misfit in misfits.values():
        by_filter.setdefault(misfit.filter, []).append(misfit)
    causes = [RefusalGroup(len(alike), _most_telling(alike)) for alike in by_filter.values()]
    causes.sort(key=lambda cause: (-cause.nodes, cause.example.filter))
    return FitResult(tuple(nodes), tuple(causes))


def _most_telling(misfits: list[FilterRefusal]) -> FilterRefusal:
    """The commonest one; among equals one that may pass, because it is the nearest miss."""
    count: dict[FilterRefusal, int] = {}
    for misfit in misfits:
        count[misfit] = count.get(misfit, 0) + 1
    return min(count, key=lambda misfit: (-count[misfit], misfit.is_permanent, misfit.reason))


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
