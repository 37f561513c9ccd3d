"""One builder at a time: the second waits, and says for whom."""

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

_POLL_SECONDS = 0.2


@contextlib.asynccontextmanager
async def builders_lock(path: Path, announce: Callable[[str], None]) -> AsyncGenerator[None]:
    """Hold the lock file. The kernel frees it when its holder dies, however it dies, so it never has to be broken."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        waits_for = ""
        while not _try_lock(file.fileno()):
            holder = _holder(path)
            if holder != waits_for:
                announce(f"waiting for {holder}, which builds the same programs")
                waits_for = holder
            await asyncio.sleep(_POLL_SECONDS)
        file.truncate(0)
        file.write(f"process {os.getpid()} (since {time.strftime('%H:%M:%S')})")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(path: Path) -> str:
    return path.read_text().strip() or "another process"
