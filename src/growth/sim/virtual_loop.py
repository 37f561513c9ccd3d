"""An event loop whose clock jumps: hours pass in the time that the code itself needs.

Whenever every task waits, the loop's time moves on to the next timer. A program in which nobody waits for a timer but
all wait for each other can never go on, and says so instead of hanging.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Stuck(RuntimeError):
    """All tasks wait and no timer is set."""


class _Jumping(selectors.SelectSelector):
    """Never waits; it moves the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return []  # somebody is ready; nobody here owns a socket that could be, too
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Stuck("every task waits for another one, and no timer is set")
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on virtual time, which starts at zero. Sockets and threads live on real time: keep them out."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds since the virtual beginning."""
        return self._jumping.now


def run_virtually(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns, without waiting for any of its timers."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)
