"""The first stories of each capability on a real control plane, compared with the virtual one."""

import asyncio

import pytest

from growth_lab.scenarios.local import a_real_world
from tests.stories.all_stories import STORIES
from tests.stories.both import tell_both

pytestmark = pytest.mark.cluster


async def test_both_worlds_tell_the_same_stories() -> None:
    async with a_real_world() as world:
        told = await asyncio.gather(*(tell_both(world, story) for story in STORIES if story.is_first))
    found = {one.story.name: one.differences for one in told}
    assert found == {name: [] for name in found}
