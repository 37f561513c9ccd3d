"""The crash suite on a real control plane: every named point at least once, before and after.

One run of a story stops several processes, one after the other, wherever one comes by a point that is still missing.
Which stories come by it is known from the virtual cluster.
"""

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from growth_lab.scenarios.local import RealWorld, a_real_world
from growth_lab.scenarios.scenario import Story
from tests.trust.interruption import Pass, Side
from tests.trust.register import AFTERMATH, REGISTER
from tests.trust.trial import Attempt, Trial, tried

# Every stop costs the two seconds after which the lease runs out. A story that tells of seconds ends differently if
# there are too many, so each is tried on the virtual cluster first, and stopped less often if it does.
_STOPS_IN_ONE_RUN: Final = (3, 2, 1)
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

    def __init__(self, missing: Collection[Wanted], at_most: int) -> None:
        self.missing = set(missing)
        self._left = at_most

    def __call__(self, passed: Pass) -> Side | None:
        """Where to stop here, if anywhere."""
        if self._left > 1 and passed.name in self._forerunners():
            self._left -= 1
            return Side.AFTER
        for side in Side:
            if self._left and (passed.name, side) in self.missing:
                self._left -= 1
                self.missing.discard((passed.name, side))
                return side
        return None

    def _forerunners(self) -> set[str]:
        """Points after which somebody must be stopped, so that the next one comes by what is missing."""
        names = {name for name, _ in self.missing}
        return {before for name, before in AFTERMATH.items() if name in names and before not in names}


async def crash_really(stories: Sequence[Story]) -> int:
    """Tell stories until every point that they pass was stopped at; gives what went wrong, and what was not reached."""
    began, wrong, runs = time.monotonic(), 0, 0
    known = await asyncio.to_thread(_known, [story for story in stories if not story.unless_stopped])
    missing: set[Wanted] = {(name, side) for name in REGISTER for side in Side}
    useless: set[str] = set()
    async with a_real_world() as world:
        while (chosen := _most_useful(known, missing, useless)) is not None:
            name = chosen.story.name
            started = time.monotonic()
            wish = Collecting(missing, await asyncio.to_thread(_bearable, chosen, missing))
            trial = await told_really(world, chosen.story, wish, chosen.usual.left)
            if wish.missing == missing:
                useless.add(name)  # on a real cluster not every run is the same; others come by there, too
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


def _bearable(known: _Known, missing: set[Wanted]) -> int:
    """How often a story can be stopped and end as it should."""
    *more, one = _STOPS_IN_ONE_RUN
    for stops in more:
        if not tried(known.story, Collecting(missing, stops), may_be_left=known.usual.left).problems:
            return stops
    return one


async def told_really(world: RealWorld, story: Story, wish: Collecting, usual: frozenset[str]) -> Trial:
    """One run on the real cluster."""
    attempt = Attempt(story, wish, may_be_left=usual)
    await world.play(attempt.tell, alone=True)
    return attempt.judged()


def _most_useful(known: Sequence[_Known], missing: set[Wanted], useless: set[str]) -> _Known | None:
    """The story that comes by most of what is missing; of several the shortest."""
    names = {AFTERMATH.get(name, name) for name, _ in missing}
    left = [one for one in known if names & one.names and one.story.name not in useless]
    return max(left, key=lambda one: (len(names & one.names), -len(one.usual.passes)), default=None)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command's output
