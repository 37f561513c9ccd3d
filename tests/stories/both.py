"""One story on both worlds: what was seen, and where they differ."""

import asyncio
import time
from dataclasses import dataclass

from growth_lab.scenarios.comparison import differences
from growth_lab.scenarios.local import RealWorld
from growth_lab.scenarios.scenario import Story
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.scenarios.trace import Seen


@dataclass(frozen=True)
class Told:
    """What came of a story."""

    story: Story
    virtual: list[Seen]
    real: list[Seen]
    virtual_seconds: float
    real_seconds: float

    @property
    def differences(self) -> list[str]:
        """A sentence for each life that only one of the worlds knows."""
        left_out = [word for word in self.story.ignores.split(",") if word]
        virtual, real = (
            [one for one in seen if not any(word in one.what for word in left_out)]
            for seen in (self.virtual, self.real)
        )
        return differences(virtual, real, any_node=self.story.any_node)


async def tell_both(world: RealWorld, story: Story) -> Told:
    """Play it on the real cluster, then on the virtual one."""
    began = time.monotonic()
    real = await world.play(story.tell, alone=story.alone)
    between = time.monotonic()
    virtual = await asyncio.to_thread(play_virtually, story.tell, alone=story.alone)
    return Told(story, virtual, real, time.monotonic() - between, between - began)
