"""Numbers of things that were named: asked for once, and remembered for a while, whoever wants to know."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

# So long a name that now means something else goes on meaning what it meant.
_KEPT_SECONDS: Final = 600.0


class Remembered:
    """Answers by question. What could not be answered is not remembered."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[Hashable, tuple[int, float]] = {}
        self._asking: dict[Hashable, asyncio.Lock] = {}

    async def get(self, question: Hashable, ask: Callable[[], Awaitable[int]]) -> int:
        """The answer; of many who ask at once, one goes, and the others wait for it."""
        async with self._asking.setdefault(question, asyncio.Lock()):
            answer, until = self._known.get(question, (0, 0.0))
            if self._clock() >= until:
                answer = await ask()
                self._known[question] = (answer, self._clock() + _KEPT_SECONDS)
            return answer

    def forget(self) -> None:
        """All of it: something that is remembered may be gone."""
        self._known.clear()
