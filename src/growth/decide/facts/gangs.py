"""Gangs: pods that start together or not at all.

A job of two pods cannot start with one machine. So no machine is launched for some pods of a gang while a plan leaves
others of it without a place.

``queue`` decides first and notes the gangs in the snapshot that all deciders of a pass read; where it does not run
there are none. What a plan finds out about them comes back with the plan, which ``queue`` reads in the pass after.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from growth.observe.snapshot import Snapshot

_GANGS: Final = "pods that start together"


class Gang(msgspec.Struct, frozen=True):
    """The pods of one admitted workload that have no node yet, existing and virtual ones."""

    key: tuple[str, str]
    """Namespace and name of the workload."""
    workload: str
    """Its uid."""
    admitted_at: datetime
    """Which of its admissions this is: what was said of an earlier one does not count."""
    flavors: tuple[str, ...]
    pods: frozenset[str]
    """By uid."""


class UnplacedGang(msgspec.Struct, frozen=True):
    """A gang that has no place for all of its pods, so that nothing is launched for it."""

    gang: Gang
    why: str


class GangFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan finds out about gangs."""

    unplaced: tuple[UnplacedGang, ...] = ()


PLANS: Final = "grow"
"""The capability whose answers have findings (``State.answers``)."""


def note_gangs(snapshot: Snapshot, gangs: Iterable[Gang]) -> None:
    """Note the gangs of this pass."""
    snapshot.memo[_GANGS] = tuple(gangs)


def gangs_in(snapshot: Snapshot) -> tuple[Gang, ...]:
    """Return what was noted."""
    return snapshot.memo.get(_GANGS, ())
