"""Many small writes for a person: several at a time, with a figure to look at, and an honest end when it is stopped.

Memories are dropped, each as it was shown: what is lost is said first.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

import msgspec
from rich.console import Console

from growth.api.node_memory import MEMORIES, MemoryObject
from growth.api.settings.model import MemorySettings
from growth.cli.errors import NotDone
from growth.cli.memory_list import MemoryPhase, MemoryRow, counted, line_of, named, state
from growth.cli.memory_reader import MemoryBook, Now, read_book, unknown
from growth.kube.client import Client
from growth.kube.errors import Conflict, NotFound

T = TypeVar("T")

# As fast as one API server takes them from one person: more would only wait there.
_AT_ONCE: Final = 32


class WriteProgress:
    """How far it is: read by whoever has to say so when it ends early."""

    def __init__(self, console: Console, what: str) -> None:
        self.console, self.what = console, what
        self.done = self.total = 0


async def writing(items: Sequence[T], write: Callable[[T], Awaitable[None]], tally: WriteProgress) -> None:
    """All of them. The first that fails ends it; what was written stays."""
    tally.total, left = len(items), iter(items)
    with tally.console.status(tally.what) as status:

        async def work() -> None:
            for item in left:
                await write(item)
                tally.done += 1
                status.update(f"{tally.what}: {tally.done:,} of {tally.total:,}")

        workers = [asyncio.create_task(work()) for _ in range(min(_AT_ONCE, len(items)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)


_SHOWN: Final = 10


class ForgetOptions(msgspec.Struct, frozen=True):
    """Whom to forget: these, or all that have been gone for so long."""

    names: tuple[str, ...] = ()
    gone_for: timedelta | None = None


async def forget_memories(
    client: Client,
    settings: MemorySettings,
    options: ForgetOptions,
    tally: WriteProgress,
    *,
    agrees: Callable[[str], bool],
    now: Now,
) -> list[str]:
    """Drop them; says what was done. Raises NotDone if not all could be, and Refused for a name that nobody bears."""
    book = await read_book(client, settings, now)
    lines = _chosen(book, options)
    if not lines:
        return ["nobody has been gone for so long: nothing is forgotten"]
    if not agrees("\n".join(_question(lines, book.at))):
        raise NotDone("nothing is forgotten")
    changed: list[str] = []

    async def drop(one: MemoryObject) -> None:
        version = one.metadata.resource_version
        try:
            await client.delete(MEMORIES, one.metadata.name, settings.namespace, resource_version=version)
        except Conflict:
            changed.append(one.metadata.name)
        except NotFound:
            pass  # somebody else was faster, and it is gone

    await writing([book.memories[line.node] for line in lines], drop, tally)
    if changed:
        raise NotDone(
            f"{named(sorted(changed))} changed just now, and stays; {tally.total - len(changed):,} are forgotten. "
            "Look at it, and ask again"
        )
    return [f"forgot {named([line.node for line in lines])}", *_remarks(lines)]


def _chosen(book: MemoryBook, options: ForgetOptions) -> list[MemoryRow]:
    for name in options.names:
        if name not in book.memories:
            raise unknown(f"nothing is remembered of {name!r}", name, book.memories.keys())
    if options.gone_for is None:
        return [line_of(book.pages[name]) for name in options.names]
    until = book.at - options.gone_for
    lines = [line_of(book.pages[name]) for name in sorted(book.memories)]
    return [line for line in lines if _is_gone(line) and line.written_at is not None and line.written_at <= until]


def _is_gone(line: MemoryRow) -> bool:
    return line.standing in (MemoryPhase.GONE, MemoryPhase.WENT_OVER)


def _question(lines: list[MemoryRow], now: datetime) -> Iterator[str]:
    for line in lines[:_SHOWN]:
        what = "" if line.problem else f"{counted(line.labels, 'label')}, "
        yield f"  {line.node}: {what}{state(line, now)}"
    if len(lines) > _SHOWN:
        yield f"  and {len(lines) - _SHOWN:,} more"
    yield f"Forget {counted(len(lines), 'memory', 'memories')}? Nobody can bring it back"


def _remarks(lines: list[MemoryRow]) -> Iterator[str]:
    """What will be remembered again all the same."""
    if there := [line.node for line in lines if line.marker]:
        yield f"there, and remembered again by the next checkpoint, without what was removed before: {named(there)}"
    if waiting := [line.node for line in lines if any(one.type == "deleted" for one in line.waiting)]:
        yield f"transactions wait, and what they say is remembered again: {named(waiting)}"
