"""Gangs: pods that start together or not at all.

A job of two pods cannot start with one machine. So no machine is launched for some pods of a gang while a plan leaves
others of it without a place.

The queue provides the gangs. What a plan finds out about them comes back with the plan, which the queue reads in the
pass after.
"""

from datetime import datetime

import msgspec

from growth.decide.contract import Fact


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


class PendingGangs(Fact, frozen=True):
    """The gangs of this pass. Provided by the queue."""

    gangs: tuple[Gang, ...] = ()


class GangFindings(Fact, frozen=True, kw_only=True):
    """What a plan finds out about gangs. The plan of scale-up is one."""

    unplaced: tuple[UnplacedGang, ...] = ()
