"""The audit's own memory of nodes: all lives of a name, as the server told them, and what stands in its memory object.

It is put together from the nodes themselves. What Growth says about them is only compared with it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from growth.api.meta import ObjectMeta
from growth.api.node_memory import FINALIZER, MemoryObject

MARKER: Final = "growth.dev/labels-restored"
_GIVEN_TO: Final = "growth.dev/labels-restored-to"
Labels = Mapping[str, str]
# What no ConfigMap holds is refused, and what was known before is kept.
_LARGEST: Final = 1000 * 1024


@dataclass
class Life:
    """One node, from its coming to its end."""

    uid: str
    states: list[tuple[int, Labels]] = field(default_factory=list[tuple[int, Labels]])
    """What labels it had, and since which version."""
    is_over: bool = False
    is_meddled_with: bool = False
    """Whether somebody took the marker off it: from then on anything may be given to it again."""
    is_held: bool = False
    """Whether it ever bore the finalizer, without which it may go unseen: no node bears it before its marker."""

    @property
    def last(self) -> Labels:
        """Its labels now, or when it left."""
        return self.states[-1][1]

    def at(self, version: int) -> Labels | None:
        """Its labels then; None if it was not there yet."""
        return next((labels for since, labels in reversed(self.states) if since <= version), None)


@dataclass(frozen=True)
class Kept:
    """What stands in a memory object."""

    uid: str
    version: int
    labels: Labels
    is_final: bool
    claimed_by: str


@dataclass
class Memoir:
    """All about one name."""

    lives: list[Life] = field(default_factory=list[Life])
    kept: Kept | None = None
    before: Kept | None = None
    """What was kept before the last change of it."""
    stood: set[str] = field(default_factory=set[str])
    """Keys that ever stood in its memory object: one that is gone since was removed, and that is known."""

    def life(self, uid: str) -> Life | None:
        """The one of this uid."""
        return next((one for one in self.lives if one.uid == uid), None)

    @property
    def due(self) -> Life | None:
        """Whose labels are to be given back: the last one's who had been given its own, or the first one's."""
        found: Life | None = None
        for life in self.lives:
            if life.is_over and (found is None or MARKER in life.last):
                found = life
        return found

    def note_node(self, meta: ObjectMeta, *, is_end: bool) -> None:
        """A node of this name came, changed or went."""
        labels, life = labels_of(meta), self.life(meta.uid)
        if life is None:
            life = Life(meta.uid)
            self.lives.append(life)
        if life.states and MARKER in life.last and MARKER not in labels:
            life.is_meddled_with = True
        if not life.states or (life.last != labels and len(json.dumps(dict(labels))) < _LARGEST):
            life.states.append((meta.resource_version, labels))
        life.is_over = is_end
        life.is_held |= FINALIZER in meta.finalizers

    def note_memory(self, found: MemoryObject | None) -> None:
        """Something else is remembered of it; None if it is forgotten, by whomever."""
        self.before, self.kept = self.kept, _kept(found) if found is not None else None
        if found is None:
            self.lives = [life for life in self.lives if not life.is_over]
            self.stood.clear()
        elif self.kept is not None:
            self.stood |= set(self.kept.labels)


def labels_of(meta: ObjectMeta) -> Labels:
    """A node's labels; without the marker if that was another one's, and this one was made from what it looked like."""
    is_its_own = meta.annotations.get(_GIVEN_TO, meta.uid) == meta.uid
    return meta.labels if is_its_own else {key: value for key, value in meta.labels.items() if key != MARKER}


def _kept(found: MemoryObject) -> Kept | None:
    text, is_final = found.data.memory or found.data.checkpoint, bool(found.data.memory)
    try:
        said: dict[str, Any] = json.loads(text)
        return Kept(said["uid"], said["version"], said.get("labels", {}), is_final, found.data.claimed_by)
    except (ValueError, KeyError, TypeError):  # somebody else wrote it
        return None
