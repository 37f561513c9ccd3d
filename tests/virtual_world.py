"""Several processes in one: an event loop for each, all on one virtual clock (for a single one: virtual_time.py).

A loop runs only when it is stepped, so a process can be stopped between any two callbacks, as SIGSTOP would, while
time and the other processes go on. When nobody has anything to do, the clock jumps to the next timer.
"""

import asyncio
import heapq
import itertools
import random
from collections.abc import Callable
from contextvars import Context


class Process(asyncio.SelectorEventLoop):
    """The event loop of one process. Its clock may run at another speed than the world's, and start anywhere."""

    def __init__(self, world: "World", *, speed: float = 1.0, offset: float = 0.0) -> None:
        self._world = world
        self._speed = speed
        self._offset = offset
        self._is_ready = False
        self._timers: list[float] = []
        self.is_paused = False
        super().__init__()

    def time(self) -> float:
        return self._offset + self._speed * self._world.now

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        self._is_ready = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        # One bit more, so that the jump to this timer never ends a rounding error before it.
        heapq.heappush(self._timers, (when - self._offset) / self._speed + 1e-9)
        return super().call_at(when, callback, *args, context=context)

    @property
    def next_timer(self) -> float | None:
        """When this process next wakes up by itself, in the world's time."""
        return self._timers[0] if self._timers else None

    @property
    def can_run(self) -> bool:
        is_due = self._timers and self._timers[0] <= self._world.now
        return not self.is_paused and bool(self._is_ready or is_due)

    def step(self) -> None:
        """One turn of the loop: what is ready now, and nothing that becomes ready through it."""
        self._is_ready = False
        while self._timers and self._timers[0] <= self._world.now:
            heapq.heappop(self._timers)
        super().call_soon(self.stop)
        self.run_forever()


class World:
    """A clock, processes, and an agenda of what happens outside of them."""

    def __init__(self, chance: random.Random) -> None:
        self.now = 0.0
        self.processes: list[Process] = []
        self.chance = chance
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def process(self, *, speed: float = 1.0, offset: float = 0.0) -> Process:
        process = Process(self, speed=speed, offset=offset)
        self.processes.append(process)
        return process

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (self.now + seconds, next(self._order), happen))

    def play(self, is_over: Callable[[], bool], after_each_step: Callable[[], None] = lambda: None) -> None:
        """Until ``is_over``, one step of one process at a time, in an order that chance decides."""
        while not is_over():
            if ready := [process for process in self.processes if process.can_run]:
                self.chance.choice(ready).step()
            elif not self._jump():
                raise AssertionError("everybody waits for something that nobody will ever do")
            after_each_step()

    def _jump(self) -> bool:
        timers = [process.next_timer for process in self.processes if not process.is_paused]
        times = [when for when in timers if when is not None] + [entry[0] for entry in self._agenda[:1]]
        if not times:
            return False
        self.now = max(self.now, min(times))
        while self._agenda and self._agenda[0][0] <= self.now:
            heapq.heappop(self._agenda)[2]()
        return True

    def close(self) -> None:
        """End every process; its tasks are cancelled for as long as they resist."""
        for process in self.processes:
            while tasks := asyncio.all_tasks(process):
                for task in tasks:
                    task.cancel()
                process.step()
            process.close()
