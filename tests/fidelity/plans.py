"""Plans come true: ``python -m tests.fidelity.plans --plans 300 --seed 7``.

Each drawn demand is created on a real control plane: first the nodes that stand, then the pods, which the scheduler
tries and refuses (or places, if it can). What is refused is planned for, once. The planned nodes appear closed by their
start-up taint, and the pods whose places the plan wants kept are given keys to them; nodes of which it does not are
opened. Every planned pod must be bound then, and no planned node may stand empty. Pods that the plan leaves out stay
and take what they can get.

``--by-nomination`` keeps places with ``status.nominatedNodeName`` instead, to compare.

Ends in one JSON line; ``--only N`` carries out one plan and tells its story.
"""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from tests.fidelity.arena import an_arena
from tests.fidelity.plan_drawing import draw
from tests.fidelity.theatre import Performance, Theatre

AT_ONCE = 5


@dataclass
class Tally:
    """What came out."""

    seed: int
    played: list[Performance] = field(default_factory=list[Performance])
    seconds: float = 0.0

    @property
    def broken(self) -> list[Performance]:
        """The plans that did not come true."""
        return [one for one in self.played if not one.came_true]

    def line(self) -> str:
        """One line of JSON."""
        solutions = [one.solution for one in self.played if one.solution is not None]
        return json.dumps(
            {
                "plans": len(self.played),
                "came_true": len(self.played) - len(self.broken),
                "with_pods_unbound": sum(bool(one.unbound) for one in self.played),
                "with_empty_nodes": sum(bool(one.empty) for one in self.played),
                "pods_planned": sum(one.placed for one in solutions),
                "nodes_planned": sum(len(one.launch) for one in solutions),
                "places_kept": sum(len(one.keep) for one in solutions),
                "kept_again": sum(one.again for one in self.played),
                "strayed": sum(len(one.strayed) for one in self.played),
                "outcomes": dict(Counter(one.outcome for one in solutions)),
                "plans_per_second": round(len(self.played) / self.seconds, 2) if self.seconds else 0.0,
                "seconds": round(self.seconds, 1),
                "seed": self.seed,
            }
        )


@asynccontextmanager
async def a_theatre(*, by_nomination: bool) -> AsyncGenerator[Theatre]:
    """A control plane of its own, watched."""
    async with an_arena() as arena:
        theatre = Theatre(arena.cluster.admin, by_nomination=by_nomination)
        following = asyncio.create_task(theatre.follow())
        try:
            yield theatre
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def carry_out(
    seed: int, plans: int, *, clusters: int = 2, seconds: float | None = None, by_nomination: bool = False
) -> Tally:
    """Carry out so many plans, or as many as the time allows."""
    tally = Tally(seed)
    numbers = count()
    started = time.monotonic()

    async def play(theatre: Theatre) -> None:
        while seconds is None or time.monotonic() - started < seconds:
            number = next(numbers)
            if number >= plans:
                return
            performance = await theatre.carry_out(draw(seed, number))
            tally.played.append(performance)
            if not performance.came_true:
                print(performance, file=sys.stderr, flush=True)  # noqa: T201 - a command's output

    async def work() -> None:
        async with a_theatre(by_nomination=by_nomination) as theatre:
            await asyncio.gather(*(play(theatre) for _ in range(AT_ONCE)))

    await asyncio.gather(*(work() for _ in range(clusters)))
    tally.seconds = time.monotonic() - started
    return tally


async def show(seed: int, index: int, *, by_nomination: bool) -> int:
    """Carry out one plan and tell what happened."""
    draft = draw(seed, index)
    for manifest in (*draft.nodes, *draft.pods):
        print(json.dumps(manifest))  # noqa: T201
    async with a_theatre(by_nomination=by_nomination) as theatre:
        performance = await theatre.carry_out(draft)
    print(performance)  # noqa: T201
    return 0 if performance.came_true else 1


def main() -> int:
    """Parse, play, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plans", type=int, default=300)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--clusters", type=int, default=2)
    parser.add_argument("--only", type=int, help="the number of one plan to carry out and tell about")
    parser.add_argument("--by-nomination", action="store_true", help="keep places by nomination instead of keys")
    given = parser.parse_args()
    if given.only is not None:
        return asyncio.run(show(given.seed, given.only, by_nomination=given.by_nomination))
    tally = asyncio.run(carry_out(given.seed, given.plans, clusters=given.clusters, by_nomination=given.by_nomination))
    print(tally.line())  # noqa: T201
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
