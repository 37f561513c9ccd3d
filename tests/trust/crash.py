"""``make crash``: Growth is stopped before and after every side effect of every story, and all must still be well.

Virtually, all points of all stories; with ``--real``, every named point at least once on a real control plane.
What must be well is docs/invariants.md.
"""

import argparse
import asyncio
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from growth_lab.scenarios.scenario import Story
from tests.stories.all_stories import STORIES
from tests.trust.crash_points import Stop, stops_of
from tests.trust.crash_really import crash_really
from tests.trust.interruption import Side
from tests.trust.memory.scenes import SCENES
from tests.trust.mistakes import be_quiet
from tests.trust.register import REGISTER
from tests.trust.trial import Trial, tried

TOLD: Final = [*(story for story in STORIES if story.alone), *SCENES.all]
# So many problems are shown of one story; the rest is usually the same one again.
_SHOWN: Final = 3


@dataclass(frozen=True)
class Tried:
    """What came of one run, small enough to be sent from process to process."""

    stop: Stop | None
    passed: frozenset[str]
    problems: tuple[str, ...]
    is_stopped: bool


@dataclass
class Summary:
    """What came of all runs."""

    stories: int = 0
    points: int = 0
    runs: int = 0
    wrong: int = 0
    stopped: Counter[tuple[str, Side]] = field(default_factory=Counter[tuple[str, Side]])


def crash(stories: Sequence[Story], processes: int) -> int:
    """All stops of these stories; gives how many runs went wrong."""
    began, summary = time.monotonic(), Summary()
    with ProcessPoolExecutor(processes, initializer=be_quiet) as pool:
        for number, story in enumerate(stories, 1):
            told = time.monotonic()
            usual = pool.submit(_usual, story.name).result()
            found = Summary(1, len(usual.passes))
            runs = [Tried(None, frozenset(one.name for one in usual.passes), tuple(usual.problems), is_stopped=True)]
            stops = stops_of(usual.passes)
            runs += pool.map(_run, *zip(*((story.name, stop, usual.left) for stop in stops), strict=True), chunksize=4)
            late = _late(runs)
            runs += (
                pool.map(_run, *zip(*((story.name, stop, usual.left) for stop in late), strict=True)) if late else ()
            )
            _count(found, runs, {one.number: one.name for one in usual.passes})
            _add(summary, found)
            left = f"{number} of {len(stories)} stories, {time.monotonic() - began:.0f} s"
            word = "FAILED" if found.wrong else "well"
            took = f"{found.points:3} points {found.runs:4} runs {time.monotonic() - told:5.1f} s"
            _say(f"{word:6} {story.name:72} {took}   [{left}]")
            _show(story, runs)
    is_whole = len(stories) == len(TOLD)
    missed = [name for name in REGISTER for side in Side if not summary.stopped[name, side]] if is_whole else []
    for name in dict.fromkeys(missed):
        _say(f"FAILED the register names {name!r}, which no story passes before and after")
    minutes = (time.monotonic() - began) / 60
    _say(
        f"{summary.stories} stories, {summary.points} points, {summary.runs} runs in {minutes:.1f} minutes: "
        f"{summary.wrong} went wrong"
    )
    return summary.wrong + len(missed)


def _late(runs: Iterable[Tried]) -> list[Stop]:
    """Points that are passed only when somebody was stopped before: there the second process is stopped, too."""
    known, found = set[str](), list[Stop]()
    for run in runs:
        if run.stop is None:
            known |= run.passed
            continue
        for name in sorted(run.passed - known):
            known.add(name)
            found += [Stop(run.stop.at, run.stop.side, name, side) for side in Side]
    return found


def _count(found: Summary, runs: Sequence[Tried], names: dict[int, str]) -> None:
    for run in runs:
        found.runs += 1
        found.wrong += bool(run.problems)
        if run.stop is not None and run.is_stopped:
            found.stopped[names[run.stop.at], run.stop.side] += 1
            if run.stop.then:
                found.stopped[run.stop.then, run.stop.then_side] += 1


def _add(summary: Summary, found: Summary) -> None:
    summary.stories += found.stories
    summary.points += found.points
    summary.runs += found.runs
    summary.wrong += found.wrong
    summary.stopped += found.stopped


def _show(story: Story, runs: Iterable[Tried]) -> None:
    """Problems, each kind once, with the line that shows it again."""
    shown = set[str]()
    for run in runs:
        if not run.problems or run.problems[0] in shown or len(shown) == _SHOWN:
            continue
        shown.add(run.problems[0])
        for problem in run.problems:
            _say(f"         {problem}")
        _say(f"         {replay_line(story, run.stop)}")


def replay_line(story: Story, stop: Stop | None) -> str:
    """What shows the same run again."""
    arguments = f" {stop.arguments}" if stop else ""
    return f'replay: python -m tests.trust.crash --story "{story.name}"{arguments}'


def _usual(name: str) -> Trial:
    """A run without trouble, which says where one can be stopped, and what is left at the end anyway."""
    return tried(_story(name), may_be_left=None)


def _run(name: str, stop: Stop, usual: frozenset[str]) -> Tried:
    trial = tried(_story(name), stop.wish(), may_be_left=usual)
    problems = list(trial.problems)
    wanted = 2 if stop.then else 1
    if len(trial.stops) != wanted:
        problems.append(
            f"Growth was stopped {len(trial.stops)} times, not {wanted}: the run is not the one it should be"
        )
    return Tried(stop, frozenset(one.name for one in trial.passes), tuple(problems), len(trial.stops) == wanted)


def _story(name: str) -> Story:
    return next(story for story in TOLD if story.name == name)


def _replay(story: Story, stop: Stop) -> int:
    """One run, with its log."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    usual = _usual(story.name)
    run = _run(story.name, stop, usual.left)
    for problem in run.problems:
        _say(problem)
    _say(f"{'FAILED' if run.problems else 'well'}: {story.name}, stopped {stop.side} {usual.passes[stop.at - 1].name}")
    return len(run.problems)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command's output


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser("python -m tests.trust.crash", description=__doc__)
    parser.add_argument("--story", default="", help="only stories whose names hold this")
    parser.add_argument("--at", type=int, default=0, help="only this pass")
    parser.add_argument("--side", type=Side, default=Side.BEFORE, help="before or after it")
    parser.add_argument("--then", default="", help="and then at the first pass of this name")
    parser.add_argument("--then-side", type=Side, default=Side.BEFORE, help="before or after it")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--real", action="store_true", help="on a real control plane, every named point once")
    chosen = parser.parse_args(arguments)
    stories = [story for story in TOLD if chosen.story in story.name]
    if not stories:
        parser.error(f"no story's name holds {chosen.story!r}")
    if chosen.at:
        exact = [story for story in stories if story.name == chosen.story] or stories
        return 1 if _replay(exact[0], Stop(chosen.at, chosen.side, chosen.then, chosen.then_side)) else 0
    if chosen.real:
        be_quiet()
        return 1 if asyncio.run(crash_really(stories)) else 0
    return 1 if crash(stories, chosen.processes) else 0


if __name__ == "__main__":
    sys.exit(main())
