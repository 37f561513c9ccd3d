"""The long thoughts of deciders: one at a time for each, and the answer is there in a later pass."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from growth.decide.contract import IDLE, RUNNING, Finished, Idle, Running
from growth.run.metrics import Metrics
from growth.run.runtime import Compute

_LOG: Final = logging.getLogger(__name__)


class BackgroundComputations:
    """What is being thought, and what came of it, by capability."""

    def __init__(self, compute: Compute, wake: Callable[[], None], metrics: Metrics) -> None:
        self._compute = compute
        self._wake = wake
        self._metrics = metrics
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._answers: dict[str, object] = {}

    def is_computing(self, capability: str) -> bool:
        """Whether a thought of this one is under way."""
        return capability in self._under_way

    def state(self, capability: str) -> Idle | Running | Finished[Any]:
        """How the computation of this one stands."""
        if capability in self._under_way:
            return RUNNING
        return Finished(self._answers[capability]) if capability in self._answers else IDLE

    def answer(self, capability: str) -> object:
        """What its last thought came to; None if there was none, it failed, or the next one has begun."""
        return self._answers.get(capability)

    def begin(self, capability: str, work: Callable[[], object]) -> None:
        """Think, unless this capability is thinking already."""
        if capability in self._under_way:
            return
        self._answers.pop(capability, None)
        task = asyncio.get_running_loop().create_task(self._follow(capability, work))
        self._under_way[capability] = task
        task.add_done_callback(lambda _: self._ended(capability))

    def _ended(self, capability: str) -> None:
        del self._under_way[capability]
        self._wake()

    async def _follow(self, capability: str, work: Callable[[], object]) -> None:
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            self._answers[capability] = await self._compute(work)
        except Exception:  # a mistake in one thought must not end the other capabilities
            self._metrics.decider_failures.labels(capability).inc()
            _LOG.exception("%s: a thought failed", capability)
        self._metrics.thought_seconds.labels(capability).observe(clock() - started)

    async def close(self) -> None:
        """Wait for nothing any more. A thread that thinks cannot be stopped and ends unheard."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
