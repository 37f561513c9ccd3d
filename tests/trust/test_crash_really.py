"""Growth is stopped three times in one story on a real control plane. ``make crash`` has every point."""

import asyncio
import random

import pytest

from growth_lab.scenarios.local import a_real_world
from tests.trust.crash import TOLD
from tests.trust.crash_really import Collecting, told_really
from tests.trust.interruption import Side
from tests.trust.trial import tried

pytestmark = pytest.mark.cluster

POINTS = ("create noderequests", "buy machine", "create configmaps", "patch noderequests/status", "patch nodes")


async def test_a_real_story_ends_well_though_growth_is_stopped_three_times() -> None:
    story = TOLD[0]
    usual = await asyncio.to_thread(tried, story, may_be_left=None)
    drawn = random.Random().sample([(name, side) for name in POINTS for side in Side], 3)  # noqa: S311
    wish = Collecting(drawn, at_most=3)
    async with a_real_world() as world:
        trial = await told_really(world, story, wish, usual.left)
    assert trial.problems == [], drawn
    assert len(trial.stops) == 3, trial.stops
