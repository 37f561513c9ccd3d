"""The nodes of ``bench.memory_availability``: what people made of each, and when it was that again after a return.

It hears of every write to the store itself, so no fault of the API server hides one from it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec

from bench.availability_day import Trouble
from bench.memory_witness import percentile
from growth.api.node_memory import MARKER
from growth_lab.local_cluster.nodes import kwok_node
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.faults import Happened
from growth_lab.simulator.served_kinds import NODES
from growth_lab.simulator.store import Event, Store

AIM_SECONDS: Final = 60.0
PEOPLES: Final = "example.com/"
"""The beginning of all keys that people set: labels, one annotation and one taint."""
_TEAM, _SHELF, _OWNER, _DEDICATED = (f"{PEOPLES}{what}" for what in ("team", "shelf", "owner", "dedicated"))
# A fault may matter after its end, for as long as Leases, back-offs and time-outs of requests last.
_AFTERMATH_SECONDS: Final = 60.0

Carried = dict[str, str]
"""What a node carries of people's: labels, annotations and taints, by what they are and key."""


def body_of(name: str, *, is_new: bool) -> dict[str, Any]:
    """A node as its kubelet registers it; with what people gave it only the first time."""
    if not is_new:
        return kwok_node(name, labels={_TEAM: "as-installed"})
    taints = [{"key": _DEDICATED, "value": name, "effect": "NoSchedule"}]
    return kwok_node(name, labels={_TEAM: name, _SHELF: "1"}, annotations={_OWNER: name}, taints=taints)


def carried(node: Mapping[str, Any]) -> Carried:
    """What this node has of people's."""
    meta = node["metadata"]
    found = {f"{what} {key}": value for what in ("labels", "annotations") for key, value in meta.get(what, {}).items()}
    found |= {f"taints {one['key']}": one.get("value", "") for one in node["spec"].get("taints", ())}
    return {key: value for key, value in found.items() if key.partition(" ")[2].startswith(PEOPLES)}


class State(Enum):
    """How a return missed the aim."""

    LATE = "late"
    UNMARKED = "left before it had its marker"
    INCOMPLETE = "marked, but without its last change"


class Return(msgspec.Struct):
    """One return of a node, which had left at ``gone_at``. ``whole_at`` is None until it is whole, ``left_at`` until it
    has left again."""

    node: str
    at: float
    gone_at: float = 0.0
    whole_at: float | None = None
    left_at: float | None = None
    marked_at: float | None = None

    def seconds(self, now: float) -> float:
        """How long it took; for one that never was whole, how long it was there without that."""
        ends = [when for when in (self.whole_at, self.left_at) if when is not None]
        return min(ends, default=now) - self.at


class Returns:
    """Hears of nodes. Returns count from ``begin`` on."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self.all: list[Return] = []
        self.present: dict[str, float] = {}
        """Nodes that are there, and since when."""
        self._expected: dict[str, Carried] = {}
        self._open: dict[str, Return] = {}
        self._gone: dict[str, float] = {}
        self._counts = False
        store.listen(NODES, self._hear)

    def begin(self) -> None:
        """From now on it counts."""
        self._counts = True

    def is_whole(self, name: str) -> bool:
        """Whether this node is there, has its marker and carries what it should."""
        node = self._store.get(NODES, name)
        return node is not None and _is_marked(node) and carried(node) == self._expected.get(name)

    def accept(self, name: str) -> None:
        """From now on the node should be what it is: people changed it, or it is about to leave. A node without its
        marker is not what it should be, and what it should be stays as it was."""
        node = self._store.get(NODES, name)
        if node is not None and _is_marked(node):
            self._expected[name] = carried(node)

    def _hear(self, event: Event) -> None:
        node, now = event.object, self._clock.seconds()
        name = node["metadata"]["name"]
        if event.what == "DELETED":
            self.present.pop(name, None)
            self._gone[name] = now
            if (one := self._open.pop(name, None)) is not None:
                one.left_at = now
            return
        if event.what == "ADDED":
            self.present[name] = now
            if self._counts:
                self._open[name] = one = Return(name, now, self._gone[name])
                self.all.append(one)
        if (one := self._open.get(name)) is not None:
            if one.marked_at is None and _is_marked(node):
                one.marked_at = now
            if _is_marked(node) and carried(node) == self._expected.get(name):
                one.whole_at = now
                del self._open[name]


def _is_marked(node: Mapping[str, Any]) -> bool:
    return MARKER in node["metadata"].get("labels", {})


# Figures


def figures(
    returns: Sequence[Return], troubles: Sequence[Trouble], failed: Sequence[Happened], now: float
) -> dict[str, Any]:
    """What came of a day. A return that still has time at its end does not count."""
    judged = [one for one in returns if one.whole_at is not None or one.seconds(now) > AIM_SECONDS]
    waits = [one.seconds(now) for one in judged]
    missed = [one for one in judged if one.whole_at is None or one.seconds(now) > AIM_SECONDS]
    within = len(judged) - len(missed)
    restored = sum(one.marked_at is not None and one.marked_at - one.at <= AIM_SECONDS for one in judged)
    return {
        "returns": len(judged),
        "restored_within_60s": restored,
        "restored_share": _share(restored, judged),
        "whole_within_60s": within,
        "share": _share(within, judged),
        "never_whole": sum(one.whole_at is None for one in judged),
        "p50_s": percentile(waits, 0.5),
        "p99_s": percentile(waits, 0.99),
        "worst_seconds": percentile(waits, 1.0),
        "faults": dict(Counter(one.fault.value for one in troubles)),
        "failed_requests": dict(Counter(one.fault.name.lower() for one in failed if not one.is_ordered)),
        "missed": [_shown(one, troubles, failed, now) for one in missed],
    }


def _share(count: int, of: Sequence[Return]) -> float | None:
    return round(count / len(of), 5) if of else None


def _shown(one: Return, troubles: Sequence[Trouble], failed: Sequence[Happened], now: float) -> dict[str, Any]:
    """A return that missed the aim, with all that failed when it was decided: at the return, or, if a last change was
    not recorded, when the node left."""
    state = _state(one)
    middle = one.gone_at if state is State.INCOMPLETE else one.at
    begin, end = middle - _AFTERMATH_SECONDS, middle + AIM_SECONDS
    causes = {trouble.fault.value for trouble in troubles if trouble.overlaps(begin, end)}
    causes |= {
        f"request for the node: {fault.fault.value}"
        for fault in failed
        if not fault.is_ordered and fault.ask.name == one.node and begin <= fault.ask.at_seconds <= end
    }
    return {
        "node": one.node,
        "at": round(one.at, 1),
        "seconds": round(one.seconds(now), 1),
        "state": state.value,
        "causes": sorted(causes),
    }


def _state(one: Return) -> State:
    if one.whole_at is not None:
        return State.LATE
    return State.INCOMPLETE if one.marked_at is not None else State.UNMARKED
