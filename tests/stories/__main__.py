"""``make stories``: every scenario on both worlds, side by side, and whether they tell the same.

Three clusters of their own play at once those scenarios in which Growth acts, so the machine is busy, and a deadline of
a second may pass that would not. Who differs is played once more when all others are through, alone.
"""

import asyncio
import sys
from typing import Final

from growth.kube.errors import KubeError
from growth_lab.scenarios.local import RealWorld, a_real_world
from growth_lab.scenarios.scenario import Story
from tests.stories.all_stories import STORIES
from tests.stories.both import tell_both

STAGES: Final = 3


async def play_all(names: list[str]) -> int:
    """Play those whose names hold one of these words; gives how many went wrong, also alone."""
    chosen = [story for story in STORIES if not names or any(name in story.name for name in names)]
    async with a_real_world(stages=STAGES) as world:
        agreed = await asyncio.gather(*(agrees(world, story) for story in chosen))
        again = [story for story, agree in zip(chosen, agreed, strict=True) if not agree]
        wrong = 0
        if again:
            print(f"once more, alone: {len(again)} of {len(chosen)}", flush=True)  # noqa: T201 - a command's output
        for story in again:
            wrong += not await agrees(world, story)
    print(f"{len(chosen)} scenarios, {len(again)} played twice, {wrong} wrong", flush=True)  # noqa: T201
    return wrong


async def agrees(world: RealWorld, story: Story) -> bool:
    """Play one, and say what came of it."""
    try:
        told = await tell_both(world, story)
    except (AssertionError, KubeError) as error:
        print(f"FAILED   {story.name}: {error}", flush=True)  # noqa: T201
        return False
    took = f"virtual {told.virtual_seconds:5.2f} s, real {told.real_seconds:5.1f} s"
    print(f"{'DIFFERS' if told.differences else 'agree':8} {story.name:60} {took}", flush=True)  # noqa: T201
    for sentence in told.differences:
        print(f"         {sentence}", flush=True)  # noqa: T201
    return not told.differences


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(play_all(sys.argv[1:])) else 0)
