"""``make stories``: every story on both worlds, side by side, and whether they tell the same."""

import asyncio
import sys
from typing import Final

from growth.kube.errors import KubeError
from growth_lab.scenarios.local import RealWorld, a_real_world
from growth_lab.scenarios.scenario import Story
from tests.stories.all_stories import STORIES
from tests.stories.both import tell_both

STAGES: Final = 3
"""So many clusters of their own play at once those scenarios in which Growth acts. Most of the time they wait."""


async def play_all(names: list[str]) -> int:
    """Play those whose names hold one of these words; gives how many went wrong."""
    chosen = [story for story in STORIES if not names or any(name in story.name for name in names)]
    wrong = 0

    async def play(world: RealWorld, story: Story) -> None:
        nonlocal wrong
        try:
            told = await tell_both(world, story)
        except (AssertionError, KubeError) as error:
            wrong += 1
            print(f"FAILED   {story.name}: {error}", flush=True)  # noqa: T201 - a command's output
            return
        took = f"virtual {told.virtual_seconds:5.2f} s, real {told.real_seconds:5.1f} s"
        wrong += bool(told.differences)
        print(f"{'DIFFERS' if told.differences else 'agree':8} {story.name:60} {took}", flush=True)  # noqa: T201
        for sentence in told.differences:
            print(f"         {sentence}", flush=True)  # noqa: T201

    async with a_real_world(stages=STAGES) as world:
        await asyncio.gather(*(play(world, story) for story in chosen))
    return wrong


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(play_all(sys.argv[1:])) else 0)
