"""The stories of memory end alike in both modes, but for the one about labels that only the new node has."""

from dataclasses import replace
from typing import Final

import msgspec
import pytest

from growth_lab.scenarios.context import Play
from growth_lab.scenarios.environment import Process
from growth_lab.scenarios.scenario import Story
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.scenarios.trace import Seen
from tests.stories import memory, memory_edges, memory_ours, memory_replicas, memory_successor

pytestmark = pytest.mark.long

MODULES: Final = (memory, memory_edges, memory_ours, memory_replicas, memory_successor)
# What it is about is the difference between the modes; a story of its own says how it ends in the other one.
OF_ONE_MODE: Final = "labels set before the return is dealt with are merged"
STORIES: Final = [story for module in MODULES for story in module.STORIES.all if story.name != OF_ONE_MODE]


def in_replace(process: Process) -> Process:
    settings = process.settings
    mode = "off" if settings.memory.mode == "off" else "replace"
    changed = msgspec.structs.replace(settings, memory=msgspec.structs.replace(settings.memory, mode=mode))
    return replace(process, settings=changed)


def played_in_replace(story: Story) -> list[Seen]:
    async def tell(play: Play) -> None:
        around = play.backstage.around

        def both(process: Process) -> Process:
            return in_replace(around(process))

        play.backstage = replace(play.backstage, around=both)
        await story.tell(play)

    return play_virtually(tell, alone=story.alone)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_story_ends_in_replace_as_it_does_in_merge(story: Story) -> None:
    assert played_in_replace(story)


def test_story_about_the_difference_ends_otherwise_in_replace() -> None:
    (story,) = (one for one in memory.STORIES.all if one.name == OF_ONE_MODE)
    with pytest.raises((AssertionError, KeyError)):
        played_in_replace(story)
