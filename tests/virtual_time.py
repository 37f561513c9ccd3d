"""An event loop whose clock jumps: hours of back-off pass in the time that the code itself needs.

Whenever every task waits, the loop's time moves on to the next timer. A program in which nobody waits for a timer but
all wait for each other can never go on, and says so instead of hanging.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Stuck(AssertionError):
    """All tasks wait and no timer is set."""


class _Jumping(selectors.SelectSelector):
    """Never waits; it moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Stuck("every task waits for another one, and no timer is set")
            self.now += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on virtual time, which starts at zero. Sockets and threads live on real time: keep them out."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def run_virtually(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns, without waiting for any of its timers."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)


async def wait_until(condition: Callable[[], object], *, seconds: float = 1_000) -> None:
    """Look every 50 ms, which costs nothing on virtual time, whether it has come true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - a condition over several objects has no one event
            await asyncio.sleep(0.05)
