"""Running one long command: with its output in a file, a tick every second, and no trace of it after a cancellation."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from growth_lab.local_cluster.process import LAUNCHER

_TICK_SECONDS = 1.0


async def run(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    tick: Callable[[float], None],
) -> int:
    """Return the exit code. If we are cancelled the whole process group is killed; if we are killed, the command is."""
    started = time.monotonic()
    with log.open("ab") as output:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            str(LAUNCHER),
            str(os.getpid()),
            *command,
            cwd=folder,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        while True:
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(child.wait(), _TICK_SECONDS)
            tick(time.monotonic() - started)
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
