"""A way to wait on virtual time (growth_lab.simulator.virtual_loop) for what a test is about."""

import asyncio
from collections.abc import Callable


async def wait_until(condition: Callable[[], object], *, seconds: float = 1_000) -> None:
    """Look every 50 ms, which costs nothing on virtual time, whether it has come true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - a condition over several objects has no one event
            await asyncio.sleep(0.05)
