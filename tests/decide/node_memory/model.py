"""What each node should be given back, known to somebody who sees every write at once.

A life is one node from its coming to its end. What the next one is given is how the last one was that had its marker
when it ended. There is one way to lose something: a replica was not there when a node ended (its watch was too old, or
it had crashed, maybe just after it heard of that), and the coming of the next one was written down before that end was.
Then it may be given how it was in any state since its last checkpoint, and no more than that is lost.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from growth.api.node_memory import MARKER, NOTHING, NodeContents
from growth_lab.simulator.store import Event

HOSTNAME: Final = "kubernetes.io/hostname"
"""A key that the machine knows better."""
Labels = Mapping[str, str]


@dataclass(frozen=True)
class Due:
    """What may be given back: these labels, without those keys."""

    labels: Labels
    removed: frozenset[str] = frozenset()


@dataclass
class Life:
    """One node."""

    uid: str
    states: list[tuple[int, Labels]]
    """Its labels, and since which version."""
    removed: frozenset[str] = frozenset()
    """Keys that it lost since it has its marker, or was given as lost."""
    is_unwatched: bool = False
    """Whether somebody began to watch in its life, and does not know all that it lost."""
    is_end_missed: bool = False
    ended_at: int = 0
    checkpoint: int = 0
    """The highest version of it that stands in a memory."""
    recorded_at: int = 0
    """When its end was written down as it was."""
    added_at: int = 0
    """When its coming was first written down."""

    @property
    def last(self) -> Labels:
        return self.states[-1][1]

    @property
    def is_marked(self) -> bool:
        return MARKER in self.last

    def dues(self, before_version: int) -> Iterator[Due]:
        """How it may be remembered by somebody who wrote down the next one's coming at that version."""
        removed = frozenset[str]() if self.is_unwatched else self.removed
        yield Due(self.last, removed)
        if self.is_lossy(before_version):
            known = [since for since, _ in self.states if since <= self.checkpoint]
            for since, labels in self.states:
                if since >= (known[-1] if known else 0) and (known or MARKER in labels or not self.is_marked):
                    yield Due(labels)

    def is_lossy(self, before_version: int) -> bool:
        """Whether its end may be unknown to who gives the next one back what it was."""
        is_recorded = self.recorded_at and self.recorded_at < before_version
        return self.is_end_missed and not is_recorded


@dataclass
class Name:
    """All lives of one name."""

    dues: list[Due | None] = field(default_factory=lambda: [None])
    """What the life before the ended ones may have been given; None for nothing."""
    ended: list[Life] = field(default_factory=list[Life])
    live: Life | None = None
    past: list[Life] = field(default_factory=list[Life])
    """Those that ended before the last one got its marker."""
    lost: set[str] = field(default_factory=set[str])
    """Keys that any life ever lost: whether that is known of a life that nobody saw whole is left open."""


class Model:
    """Told of every write to nodes, transactions and memories, in its order."""

    def __init__(self, mode: str, names: Mapping[str, str]) -> None:
        """``names``: those of the memories' and the transactions' namespaces."""
        self._mode = mode
        self._memories, self._transactions = names["memories"], names["transactions"]
        self.names: dict[str, Name] = {}
        self.restored = 0

    def hear_of_node(self, event: Event, *, is_ours: bool) -> None:
        """A node came, changed or went."""
        meta, version = event.object["metadata"], event.version
        labels: Labels = meta.get("labels") or {}
        name = self.names.setdefault(meta["name"], Name())
        if event.what == "ADDED":
            name.live = Life(meta["uid"], [(version, labels)])
            return
        life = name.live
        assert life is not None
        if event.what == "DELETED":
            life.ended_at, name.live = version, None
            name.ended.append(life)
            return
        lost = life.last.keys() - labels.keys()
        if not is_ours:
            life.removed = frozenset((life.removed | lost) - labels.keys())
        elif life.is_marked:
            assert labels == life.last, f"{meta['name']} was given labels once more: {life.last} became {labels}"
        else:
            self._judge(name, life, labels)
        life.states.append((version, labels))
        name.lost |= lost

    def hear_of_config_map(self, event: Event) -> None:
        """Something was written down about a node."""
        data: dict[str, str] = event.object["data"]
        place = event.object["metadata"]["namespace"]
        if event.what == "DELETED":
            return
        if place == self._memories:
            memento = _memento(data.get("memory") or data["checkpoint"])
            life = self._life(event.object["metadata"]["name"], memento.uid)
            life.checkpoint = max(life.checkpoint, memento.version)
            assert memento.labels in [labels for _, labels in life.states], "it is remembered as it never was"
            return
        memento = _memento(data["memento"])
        life = self._life(data["node"], memento.uid)
        if data["type"] == "added":
            life.added_at = life.added_at or event.version
        elif memento.version == life.ended_at:
            life.recorded_at = life.recorded_at or event.version

    def miss(self, version: int, *, forgets: bool) -> None:
        """A replica begins to watch nodes anew. It had heard of them up to this version, and may forget that."""
        for name in self.names.values():
            for life in name.ended:
                life.is_end_missed |= life.ended_at > version or (forgets and not life.recorded_at)
            if name.live is not None:
                name.live.is_unwatched = True

    def _life(self, name: str, uid: str) -> Life:
        known = self.names[name]
        return next(life for life in (*known.past, *known.ended, known.live) if life and life.uid == uid)

    def _judge(self, name: Name, life: Life, now: Labels) -> None:
        """The write in which a node gets its marker."""
        dues = name.dues
        for ended in name.ended:
            if ended.is_marked or None in dues:
                is_lost = ended.is_lossy(life.added_at) and not ended.checkpoint
                is_forgotten = is_lost or not ended.is_marked
                # One that lacked what an earlier one was takes its place only where nothing is known of that.
                kept = [due for due in dues if due is not None or is_lost] if is_forgotten else []
                dues = [*kept, *ended.dues(life.added_at)]
        fits = [due for due in dues if self._fits(due, life.last, now, name.lost)]
        assert fits, f"expected one of {dues}, it had {dict(life.last)} and was given {dict(now)}"
        removed = [due.removed if due is not None else frozenset[str]() for due in fits]
        life.removed = frozenset(key for key in removed[0] if key not in now and all(key in one for one in removed))
        name.past += name.ended
        name.dues, name.ended = dues, []
        self.restored += 1

    def _fits(self, due: Due | None, had: Labels, now: Labels, lost: set[str]) -> bool:
        if due is None:
            return now == {**had, MARKER: NOTHING}
        given = {key: value for key, value in due.labels.items() if key not in (HOSTNAME, MARKER)}
        return now[MARKER] != NOTHING and all(
            now.get(key) in self._right(key, given, had, due, lost) for key in {*given, *had, *now} - {MARKER}
        )

    def _right(self, key: str, given: Labels, had: Labels, due: Due, lost: set[str]) -> set[str | None]:
        """The values that this label may have; None if it may be absent."""
        if key == HOSTNAME or (key not in given and key not in had):
            return {had.get(key)}
        if key in given:
            return {given[key]}
        if self._mode == "replace" or key in due.removed:
            return {None}
        return {had[key], None} if key in lost else {had[key]}


def _memento(text: str) -> NodeContents:
    return msgspec.json.decode(text, type=NodeContents)
