"""Who goes for whom, in words: a workload that waits for others to go, and one that was sent back for another. Pure."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from growth.api.queue.workload import EVICTED, PREEMPTED, Workload
from growth.cli.memory_list import named
from growth.cli.queue_reader import QueueView, title_of
from growth.decide.queue.preemption import IN_QUEUE, RECLAIMED, RECLAIMED_TO_BORROW

# What ``admitting`` writes on both of them.
_WAITS: Final = re.compile(r"it gets what (.+) had, once they are gone")
_GOES: Final = re.compile(r"(\S+)/(\S+) gets its quota")
_SHOWN_PREEMPTED: Final = 3


class Preempted(msgspec.Struct, frozen=True):
    """That somebody else got its quota."""

    by: str
    """Who: namespace and name, as people call it."""
    reason: str
    """InClusterQueue, InCohortReclamation or InCohortReclaimWhileBorrowing."""
    why: str
    """The same in words."""
    at: datetime | None = None


def names_in(words: str) -> list[str]:
    """Names of workloads that have to go before one is admitted, by what is said of it."""
    found = _WAITS.search(words)
    return found[1].split(", ") if found is not None else []


def waits_for(seen: QueueView, words: str) -> tuple[str, ...]:
    """The same, as people call them."""
    return tuple(title_of(seen, seen.going[name]) if name in seen.going else name for name in names_in(words))


def until_gone(titles: Iterable[str]) -> str:
    """That it waits for them."""
    return f"waits for {named(list(titles), _SHOWN_PREEMPTED)} to go"


def sent_back(seen: QueueView, workload: Workload) -> Preempted | None:
    """For whom it was, if it was and has no quota since."""
    evicted, said = workload.condition(EVICTED), workload.condition(PREEMPTED)
    is_for_another = evicted is not None and evicted.status == "True" and evicted.reason == PREEMPTED
    if not is_for_another or said is None or said.status != "True":
        return None
    found = _GOES.match(said.message)
    key = (found[1], found[2]) if found is not None else ("", "")
    winner = seen.context.drafts[key].before if key in seen.context.index.workloads else None
    if winner is None:
        by, of_queue, priority = "/".join(key) if found is not None else "another workload", "another queue", ""
    else:
        queue = seen.context.queue_of(winner)
        by = title_of(seen, key)
        of_queue = f"queue {queue.metadata.name}" if queue is not None else "another queue"
        priority = f" (priority {winner.priority:,} against {workload.priority:,})"
    words = {
        IN_QUEUE: f"{by} comes before it in the same queue{priority}",
        RECLAIMED: f"{of_queue} took back what is its own, for {by}",
        RECLAIMED_TO_BORROW: f"{by} of {of_queue} is more important, and borrows what it had{priority}",
    }
    return Preempted(by, said.reason, words.get(said.reason, f"{said.reason}, for {by}"), said.last_transition_time)
