"""Replicas are killed while nodes come and go: here at some points, in ``make crash`` before and after all of them."""

import pytest

from growth_lab.scenarios.scenario import Story
from tests.trust.crash import replay_line
from tests.trust.crash_points import stops_of
from tests.trust.memory.scenes import SCENES
from tests.trust.trial import tried

pytestmark = pytest.mark.long

STOPS_PER_SCENE = 3


@pytest.mark.parametrize("scene", SCENES.all, ids=lambda scene: scene.name)
def test_whoever_is_killed_every_node_is_what_it_was(scene: Story) -> None:
    usual = tried(scene, may_be_left=None)
    assert usual.problems == []
    stops = stops_of(usual.passes)
    for stop in stops[:: len(stops) // STOPS_PER_SCENE]:
        trial = tried(scene, stop.wish(), may_be_left=usual.left)
        assert trial.problems == [], replay_line(scene, stop)
        assert trial.stops, replay_line(scene, stop)
