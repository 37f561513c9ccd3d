"""The crash suite on a real control plane: every named point at least once, before and after.

One run of a story stops several processes, one after the other, wherever one comes by a point that is still missing.
Which stories come by it is known from the virtual cluster.
"""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from growth.play.real import RealWorld, a_real_world
from growth.play.story import Story
from tests.trust.interruption import Pass, Side
from tests.trust.register import REGISTER
from tests.trust.trial import Attempt, Trial, tried

# More would leave stories that tell of seconds no time in which Growth lives.
_STOPS_IN_ONE_RUN: Final = 3
# A point may be passed over: on a real cluster not every run is the same. Then the story is told again.
_TIMES_PER_STORY: Final = 4

Wanted = tuple[str, Side]


@dataclass(frozen=True)
class _Known:
    """A story, and what the virtual cluster knows about it."""

    story: Story
    usual: Trial

    @property
    def names(self) -> frozenset[str]:
        return frozenset(one.name for one in self.usual.passes)


class Collecting:
    """Wishes to stop wherever something is missing."""

    def __init__(self, missing: Collection[Wanted], at_most: int = _STOPS_IN_ONE_RUN) -> None:
        self.missing = set(missing)
        self._left = at_most

    def __call__(self, passed: Pass) -> Side | None:
        """Where to stop here, if anywhere."""
        for side in Side:
            if self._left and (passed.name, side) in self.missing:
                self._left -= 1
                self.missing.discard((passed.name, side))
                return side
        return None


async def crash_really(stories: Sequence[Story]) -> int:
    """Tell stories until every point that they pass was stopped at; gives what went wrong, and what was not reached."""
    began, wrong, runs = time.monotonic(), 0, 0
    known = await asyncio.to_thread(_known, [story for story in stories if not story.unless_stopped])
    missing: set[Wanted] = {(name, side) for name in REGISTER for side in Side}
    told: dict[str, int] = {}
    async with a_real_world() as world:
        while (chosen := _most_useful(known, missing, told)) is not None:
            name = chosen.story.name
            told[name] = told.get(name, 0) + 1
            started, wish = time.monotonic(), Collecting(missing)
            trial = await told_really(world, chosen.story, wish, chosen.usual.left)
            missing, runs, wrong = wish.missing, runs + 1, wrong + bool(trial.problems)
            stops = ", ".join(f"{side} {one.name}" for one, side in trial.stops)
            word = "FAILED" if trial.problems else "well"
            left = f"{len(missing)} left, {time.monotonic() - began:.0f} s"
            _say(f"{word:6} {name:70} {time.monotonic() - started:5.1f} s   [{left}]  {stops}")
            for problem in trial.problems:
                _say(f"         {problem}")
    for name, side in sorted(missing):
        _say(f"FAILED nobody was stopped {side} {name}")
    stopped = 2 * len(REGISTER) - len(missing)
    _say(f"{runs} runs, {stopped} of {2 * len(REGISTER)} stops in {time.monotonic() - began:.0f} s: {wrong} went wrong")
    return wrong + len(missing)


def _known(stories: Sequence[Story]) -> list[_Known]:
    """On a thread: a virtual cluster has an event loop of its own."""
    return [_Known(story, tried(story, may_be_left=None)) for story in stories]


async def told_really(world: RealWorld, story: Story, wish: Collecting, usual: frozenset[str]) -> Trial:
    """One run on the real cluster."""
    attempt = Attempt(story, wish, may_be_left=usual)
    await world.play(attempt.tell, alone=True)
    return attempt.judged()


def _most_useful(known: Sequence[_Known], missing: set[Wanted], told: dict[str, int]) -> _Known | None:
    """The story that comes by most of what is missing; of several the shortest."""
    names = {name for name, _ in missing}
    left = [one for one in known if names & one.names and told.get(one.story.name, 0) < _TIMES_PER_STORY]
    return max(left, key=lambda one: (len(names & one.names), -len(one.usual.passes)), default=None)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command's output
