"""What the process that runs us lends us: a name, the time, and a place to think.

A virtual cluster lends other ones, and runs the same code.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol, TypeVar

import msgspec

from growth.run.collector import spare_the_collector
from growth.run.thinking import think

T = TypeVar("T")


class Think(Protocol):
    """Where long thoughts are thought: what the work returns or raises."""

    def __call__(self, work: Callable[[], T]) -> Awaitable[T]:
        """Think, and let others go on meanwhile."""
        ...


class Host(msgspec.Struct, frozen=True):
    """``identity`` belongs to this run alone; ``spare`` is called once the World is complete."""

    identity: str
    now: Callable[[], datetime]
    think: Think
    spare: Callable[[], None]


def this_process(identity: str) -> Host:
    """The wall clock, the thinking thread and the collector of the process that we are."""
    return Host(identity, lambda: datetime.now(UTC), think, spare_the_collector)


def played(identity: str, now: Callable[[], datetime]) -> Host:
    """On virtual time: thoughts are thought in place, because a thread would live on real time."""

    async def think_here(work: Callable[[], T]) -> T:
        return work()

    return Host(identity, now, think_here, lambda: None)
