"""Flavors on which a workload could not start: it tries the others first, and need not wait for that.

    admitted on b ──no machines──► evicted, b is noted ──► a has room: admitted there, now
                                        └── a has none: after its backoff it may try b once more

They are noted on the workload (``failing``), so a restart forgets none.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from growth.api.queue.quotas import FlavorQuotas
from growth.api.queue.workload import EVICTED, PODS_READY_TIMEOUT, Workload
from growth.decide.queue.requeue import is_waiting

FAILED_FLAVORS: Final = "growth.dev/failed-flavors"
"""Annotation of a workload: flavors and why it could not start there, the latest last, such as
``a=FlavorOutOfStock,b=PodsReadyTimeout``; ``WaitForRecovery`` where it ran and did not recover. Where a plan had no
place for its pods stands also what could be launched then (``supply``), such as ``a=NoPlacement:0f3c52aa:1:0``."""

_SEEN: Final = ":"

NO_ROOM: Final = "NoRoomOnNodes"
"""Why it could not start on a flavor whose machines could not be had: it was let in for the nodes that stand
(``room``), and found no place there."""


class FailedFlavors(msgspec.Struct, frozen=True):
    """Where a workload could not start."""

    flavors: tuple[str, ...] = ()
    """The latest last."""
    is_early: bool = False
    """Whether its backoff is not over: only what it has not tried may serve it, and it holds up nobody."""
    refused: frozenset[str] = frozenset()
    """Flavors on which a plan had no place for all of its pods, and there is no more to launch since."""
    missed: frozenset[str] = frozenset()
    """Flavors on whose nodes it found no place: without new machines they are not tried again, or it would go back and
    forth."""

    def ordered(self, quotas: Iterable[FlavorQuotas]) -> list[FlavorQuotas]:
        """The flavors of a group as they are tried: first those that did not fail, at the end the one that did last."""
        place = {flavor: number for number, flavor in enumerate(self.flavors)}
        return sorted(quotas, key=lambda one: place.get(one.name, -1))

    def with_refused(self, flavors: frozenset[str]) -> "FailedFlavors":
        """The same, with flavors on which a plan had no place for pods like its own."""
        return msgspec.structs.replace(self, refused=self.refused | flavors)

    def are_spent(self, flavors: Iterable[str]) -> bool:
        """Whether these together are nothing new, and it is too early for the old."""
        return self.is_early and set(flavors) <= set(self.flavors)


NOTHING_TRIED: Final = FailedFlavors()


def tried_by(workload: Workload, now: datetime) -> FailedFlavors:
    """Where it could not start."""
    failures = failures_of(workload)
    if not failures:
        return NOTHING_TRIED
    missed = frozenset(flavor for flavor, why in failures.items() if why == NO_ROOM)
    return FailedFlavors(tuple(failures), is_early(workload, now), frozenset(supplies_seen_by(workload)), missed)


def failures_of(workload: Workload) -> dict[str, str]:
    """The flavors that failed, the latest last, each with why."""
    return {flavor: why.partition(_SEEN)[0] for flavor, why in notes_on(workload).items()}


def supplies_seen_by(workload: Workload) -> dict[str, str]:
    """The flavors on which a plan had no place for its pods, each with what could be launched then."""
    notes = notes_on(workload).items()
    return {flavor: supply for flavor, why in notes if (supply := why.partition(_SEEN)[2])}


def notes_on(workload: Workload) -> dict[str, str]:
    """By flavor, all that is noted of it."""
    text = workload.metadata.annotations.get(FAILED_FLAVORS, "")
    pairs = (one.partition("=") for one in text.split(",")) if text else ()
    return {flavor: why for flavor, _, why in pairs if flavor}


def note_of(why: str, supply: str) -> str:
    """What is noted of a flavor on which a plan had no place."""
    return f"{why}{_SEEN}{supply}"


def is_early(workload: Workload, now: datetime) -> bool:
    """Whether its backoff is not over, but a flavor that it has not tried may serve it all the same."""
    if not is_waiting(workload, now) or not failures_of(workload):
        return False
    evicted = workload.condition(EVICTED)
    return evicted is not None and evicted.status == "True" and evicted.reason == PODS_READY_TIMEOUT
