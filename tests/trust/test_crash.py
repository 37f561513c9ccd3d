"""The crash suite in short: each story is stopped at a point that is newly drawn each time. ``make crash`` has all."""

import random

import pytest

from growth_lab.scenarios.scenario import Story
from tests.trust.crash import TOLD, replay_line
from tests.trust.crash_points import stops_of
from tests.trust.register import AFTERMATH, REGISTER, registered_name
from tests.trust.trial import after_the_first, tried

pytestmark = pytest.mark.long

STOPS_PER_STORY = 1


@pytest.mark.parametrize("story", TOLD, ids=lambda story: story.name)
def test_wherever_growth_is_stopped_the_story_ends_well(story: Story) -> None:
    usual = tried(story, may_be_left=None)
    assert usual.problems == []
    stops = stops_of(usual.passes)
    for stop in random.Random().sample(stops, min(STOPS_PER_STORY, len(stops))):  # noqa: S311 - drawn anew each time
        trial = tried(story, stop.wish(), may_be_left=usual.left)
        assert trial.problems == [], replay_line(story, stop)
        assert trial.stops, replay_line(story, stop)


def test_every_registered_point_is_passed_by_some_story() -> None:
    """Some only when somebody was stopped there before: whoever comes next must mend what was half done."""
    passed = {one.name for story in TOLD for one in tried(story, may_be_left=None).passes}
    for half_done in AFTERMATH.values():
        passed |= {one.name for one in tried(TOLD[0], after_the_first(half_done)).passes}
    assert passed == set(REGISTER)


def test_a_write_past_all_points_is_not_in_the_register() -> None:
    assert registered_name("patch nodes", by="") not in REGISTER
