"""Many small writes for a person: several at a time, with a figure to look at, and an honest end when it is stopped."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from rich.console import Console

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
