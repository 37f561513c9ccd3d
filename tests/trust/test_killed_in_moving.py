"""Growth is killed between buying and emptying, and in the middle of it: the next process goes on where it stood."""

import pytest

from tests.stories.moving import STORIES
from tests.trust.interruption import Pass, Side
from tests.trust.trial import tried

pytestmark = pytest.mark.long

STORY = STORIES.all[0]
DECIDED, ASKED, PHASE, EVICT = "create nodemoves", "create noderequests", "patch nodemoves/status", "evict pods"
MARK, REMOVE, BUY = "patch nodes", "create noderemovalrequests", "buy machine"


def the_pass_of(name: str, passes: list[Pass]) -> Pass:
    """The first of this name once the move is decided."""
    begun = next(one.number for one in passes if one.name == DECIDED)
    return next(one for one in passes if one.number >= begun and one.name == name)


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("name", [DECIDED, ASKED, BUY, PHASE, MARK, EVICT, REMOVE])
def test_the_move_goes_on_and_nobody_is_disturbed_twice(name: str, side: Side) -> None:
    usual = tried(STORY, may_be_left=None)
    at = the_pass_of(name, usual.passes).number
    trial = tried(STORY, lambda one: side if one.number == at else None)
    assert trial.problems == []
    assert len(trial.stops) == 1
    for once in (EVICT, DECIDED):
        # Before it, nothing was sent; after it, nobody heard the answer, and yet it is not done again.
        sent = [one for one in trial.passes if one.name == once and (one.number != at or side is Side.AFTER)]
        assert len(sent) == 1
