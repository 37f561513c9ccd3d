"""Every story on the virtual cluster. On a real one: tests/cluster/test_stories.py, and ``make stories`` for all."""

import random
import subprocess
import sys
from typing import Final

import pytest

from growth.decide.pipeline import CAPABILITIES
from growth_lab.scenarios import replica
from growth_lab.scenarios.scenario import Story
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.all_stories import STORIES
from tests.stories.written import checked

pytestmark = pytest.mark.long

TOLD_ELSEWHERE: Final = 50
"""So many stories, drawn anew each time, are told in other processes too."""


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_story_ends_as_it_should(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    surprises: set[str] = set()
    monkeypatch.setattr(replica, "CAPABILITIES", tuple(checked(one, surprises) for one in CAPABILITIES))
    assert play_virtually(story.tell, alone=story.alone)
    assert surprises == set(), "a capability writes what growth.run.permissions does not list for it"


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_the_same_seed_tells_the_same_story_to_the_byte(story: Story) -> None:
    assert play_virtually(story.tell, seed=3, alone=story.alone) == play_virtually(
        story.tell, seed=3, alone=story.alone
    )


def test_another_process_tells_the_same_stories() -> None:
    """Whatever differs between processes, such as the order of sets of strings, must not be seen."""
    chosen = random.Random().sample([story.name for story in STORIES], TOLD_ELSEWHERE)  # noqa: S311 - drawn anew
    program = (
        "from growth_lab.scenarios.simulated import play_virtually\n"
        "from tests.stories.all_stories import STORIES\n"
        f"chosen = [story for story in STORIES if story.name in {chosen}]\n"
        "print([play_virtually(story.tell, seed=5, alone=story.alone) for story in chosen])"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1, chosen


def test_capabilities_have_one_story_for_every_day_at_least() -> None:
    assert {story.capability for story in STORIES if story.is_first} == {story.capability for story in STORIES}
