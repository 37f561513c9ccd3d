"""One story told once, stopped or not, and judged: by its own assertions and by an audit."""

import re
import traceback
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from growth.api.pod import Pod
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.environment import Process
from growth_lab.scenarios.scenario import Story
from growth_lab.scenarios.simulated import play_virtually
from tests.trust.audit import Audit
from tests.trust.interruption import Interruption, Pass, Side, Wish, never
from tests.trust.mistakes import Mistakes
from tests.trust.register import REGISTER
from tests.trust.witness import Witness

# How long Growth is given, after the story, to bring everything to its end.
_PATIENCE_SECONDS: Final = 90.0
# What Growth appends to a pool's name to name a machine: it differs from run to run.
_BOUGHT: Final = re.compile(r"-[0-9a-f]{10}(?![0-9a-z])")


@dataclass(frozen=True)
class Trial:
    """What came of it. ``problems`` is empty if all is well."""

    story: Story
    passes: list[Pass]
    stops: list[tuple[Pass, Side]]
    problems: list[str]
    left: frozenset[str]
    """What was left to be done at the end, without what differs from run to run."""


class Attempt:
    """A story that is about to be told, with everything around it that looks and stops."""

    def __init__(self, story: Story, wish: Wish = never, *, may_be_left: Collection[str] | None = ()) -> None:
        self._story, self._may_be_left = story, may_be_left
        self._witness, self._interruption = Witness(), Interruption(wish)
        self._audit = Audit(self._witness.deeds, is_placeable=self._is_placeable)
        self._is_cut_short = False
        self._said: list[str] = []
        self._mistakes = Mistakes()

    async def tell(self, play: Play) -> None:
        """The story, and then Growth once more until nothing is left to be done."""
        play.backstage = replace(play.backstage, around=self._around)
        with self._mistakes.listening():
            async with self._audit.following(play.client):
                await self._tell(play)
                self._interruption.rest()
                play.end_promises()
                if play.encore is not None:
                    async with play.encore():
                        await self._audit.until(self._is_as_usual, _PATIENCE_SECONDS)

    async def _tell(self, play: Play) -> None:
        try:
            await self._story.tell(play)
            play.check()
        except Exception as error:  # whatever a story stumbles over is what this is about
            self._is_cut_short = True
            if not (self._story.unless_stopped and self._interruption.stops):
                frames = traceback.extract_tb(error.__traceback__)
                where = [frame.line for frame in frames if "stories" in frame.filename]
                self._said.append(f"the story: {type(error).__name__} at {where[-1] if where else ''!r}: {error}")

    def _around(self, process: Process) -> Process:
        return self._interruption.around(self._witness.around(process))

    def _is_placeable(self, _: Pod) -> bool:
        """In a story that did not come to its end, nobody can say who would have been."""
        return not self._is_cut_short

    def _is_as_usual(self) -> bool:
        return not self._missing()

    def _missing(self) -> list[str]:
        """What is left to be done that is not left in a run without trouble."""
        usual = self._may_be_left
        return [what for what in self._audit.missing() if usual is None or plain(what) not in usual]

    def judged(self) -> Trial:
        """What came of it, once it was told."""
        passes = self._interruption.passes
        unknown = sorted({one.name for one in passes} - set(REGISTER))
        left = frozenset(map(plain, self._audit.missing()))
        problems = [
            *self._said,
            *dict.fromkeys(self._mistakes.observed),
            *(f"{name!r} is not in the register of points" for name in unknown),
            *self._audit.violations(),
            *([] if self._may_be_left is None else self._missing()),
        ]
        return Trial(self._story, passes, self._interruption.stops, problems, left)


def tried(story: Story, wish: Wish = never, *, may_be_left: Collection[str] | None = (), seed: int = 0) -> Trial:
    """Tell it on the virtual cluster. ``may_be_left`` is None in a run without trouble, which says what may be left."""
    attempt = Attempt(story, wish, may_be_left=may_be_left)
    play_virtually(attempt.tell, seed, alone=story.alone)
    return attempt.judged()


def stop_at(number: int, side: Side) -> Wish:
    """Stop at this pass."""
    return lambda passed: side if passed.number == number else None


def after_the_first(name: str) -> Wish:
    """Stop after the first pass of this name."""
    names: list[str] = []

    def wish(passed: Pass) -> Side | None:
        names.append(passed.name)
        return Side.AFTER if passed.name == name and names.count(name) == 1 else None

    return wish


def plain(text: str) -> str:
    """The words that every run has in common."""
    return _BOUGHT.sub("-*", text)
