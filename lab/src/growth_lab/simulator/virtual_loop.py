"""An event loop whose clock jumps: hours pass in the time that the code itself needs.

Whenever every task waits, the loop's time moves on to the next timer. A program in which nobody waits for a timer but
all wait for each other can never go on, and says so instead of hanging. For people who look on, the clock can be paced.
"""

import asyncio
import math
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Stuck(RuntimeError):
    """All tasks wait and no timer is set."""


class _Jumping(selectors.SelectSelector):
    """Never waits longer than its speed asks for; it moves the clock instead."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self.now = 0.0
        self._speed = speed

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0:
            return []  # somebody is ready; nobody here owns a socket that could be, too
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Stuck("every task waits for another one, and no timer is set")
            if self._speed < math.inf:
                time.sleep(timeout / self._speed)
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop on virtual time, which starts at zero. Sockets and threads live on real time: keep them out.

    ``speed`` is how many virtual seconds may pass in a real one.
    """

    def __init__(self, speed: float = math.inf) -> None:
        self._jumping = _Jumping(speed)
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds since the virtual beginning."""
        return self._jumping.now


def run_virtually(coroutine: Coroutine[Any, Any, T], *, speed: float = math.inf) -> T:
    """What the coroutine returns, without waiting for any of its timers, unless a speed is given."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(speed)) as runner:
        return runner.run(coroutine)
