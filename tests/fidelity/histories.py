"""The virtual cluster against a real one: ``python -m tests.fidelity.histories --histories 500 --seed 7``.

Short histories are drawn, played on both, and their final states compared. Many are played at a time on one real
cluster, each with a namespace and nodes of its own. A history that ends differently is played again, alone, because a
busy scheduler may be slower than our patience. Ends in one JSON line; fails if any final state differs then, too.
``--only N`` plays one history and tells what both worlds saw.
"""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count

from growth_lab.scenarios.context import Play
from growth_lab.scenarios.local import RealWorld, a_real_world
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.scenarios.trace import Seen
from tests.fidelity.final_state import Picture, disagreements, picture
from tests.fidelity.history_drawing import History, draw

AT_ONCE = 32
PROGRESS_EVERY = 25


@dataclass(frozen=True)
class Difference:
    """A history that ends differently."""

    history: History
    sentences: list[str]

    def __str__(self) -> str:
        again = f"python -m tests.fidelity.histories --seed {self.history.seed} --only {self.history.index}"
        told = "\n  ".join(self.sentences)
        return f"history {self.history.index} of seed {self.history.seed}:\n  {told}\n  again: {again}"


@dataclass
class Tally:
    """What came out."""

    seed: int
    played: int = 0
    again: int = 0
    """How many were played a second time."""

    steps: Counter[str] = field(default_factory=Counter[str])
    differences: list[Difference] = field(default_factory=list[Difference])
    virtual_seconds: float = 0.0
    seconds: float = 0.0

    def line(self) -> str:
        """One line of JSON."""
        return json.dumps(
            {
                "histories": self.played,
                "agree": self.played - len(self.differences),
                "played_again": self.again,
                "steps": dict(sorted(self.steps.items())),
                "virtual_seconds": round(self.virtual_seconds, 1),
                "seconds": round(self.seconds, 1),
                "seed": self.seed,
            }
        )


@dataclass
class _Witness:
    """Plays a history and keeps what it ended in."""

    history: History
    final: Picture = field(default_factory=Picture)

    async def tell(self, play: Play) -> None:
        for step in self.history.steps:
            await step.do(play)
            await play.settled(step.quiet)
        self.final = picture(play)


async def compare_one(world: RealWorld, history: History) -> tuple[list[str], list[Seen], list[Seen], float]:
    """The sentences in which both differ, what each saw, and how long the virtual one took."""
    real, virtual = _Witness(history), _Witness(history)
    seen_real = await world.play(real.tell)
    began = time.process_time()
    seen_virtual = await asyncio.to_thread(play_virtually, virtual.tell, history.index)
    return disagreements(virtual.final, real.final), seen_virtual, seen_real, time.process_time() - began


async def compare(seed: int, histories: int, *, seconds: float | None = None, without_slow: bool = False) -> Tally:
    """Play so many histories, or as many as the time allows."""
    tally, numbers, started = Tally(seed), count(), time.monotonic()
    doubtful: list[History] = []

    async def work(world: RealWorld) -> None:
        while seconds is None or time.monotonic() - started < seconds:
            number = next(numbers)
            if number >= histories:
                return
            history = draw(seed, number, without_slow=without_slow)
            sentences, _, _, spent = await compare_one(world, history)
            tally.played += 1
            if tally.played % PROGRESS_EVERY == 0:
                print(f"{tally.played} of {histories} histories", file=sys.stderr, flush=True)  # noqa: T201
            tally.virtual_seconds += spent
            tally.steps.update(type(step).__name__ for step in history.steps)
            if sentences:
                doubtful.append(history)

    async with a_real_world() as world:
        await asyncio.gather(*(work(world) for _ in range(AT_ONCE)))
        for history in doubtful:
            tally.again += 1
            sentences, _, _, _ = await compare_one(world, history)
            if sentences:
                tally.differences.append(Difference(history, sentences))
                print(tally.differences[-1], file=sys.stderr, flush=True)  # noqa: T201 - a command's output
    tally.seconds = time.monotonic() - started
    return tally


async def show(seed: int, index: int) -> int:
    """Play one history and tell what both saw."""
    history = draw(seed, index)
    for step in history.steps:
        print(step)  # noqa: T201
    async with a_real_world() as world:
        sentences, virtual, real, _ = await compare_one(world, history)
    for name, seen in (("virtual", virtual), ("real", real)):
        print(f"-- {name}")  # noqa: T201
        for one in seen:
            print(one._replace(at=one.at - seen[0].at))  # noqa: T201
    print("\n".join(sentences) or "they agree")  # noqa: T201
    return 1 if sentences else 0


def main() -> int:
    """Parse, play, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=500)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--only", type=int, help="the number of one history to play and tell about")
    given = parser.parse_args()
    if given.only is not None:
        return asyncio.run(show(given.seed, given.only))
    tally = asyncio.run(compare(given.seed, given.histories))
    print(tally.line())  # noqa: T201
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
