"""Whatever chance asks for, the virtual server has an answer, and the same one again."""

import pytest

from lab.tests.simulator.api.scripts.drawn import drawn_script
from lab.tests.simulator.api.scripts.stages import play_virtually


@pytest.mark.parametrize("seed", range(1_000, 1_100))
def test_everything_is_answered_and_twice_the_same(seed: int) -> None:
    answers = play_virtually(drawn_script(seed))
    assert {answer["status"] for answer in answers} <= {200, 201, 400, 404, 409, 422}
    assert play_virtually(drawn_script(seed)) == answers
