"""The virtual server answers as a real one once did; tests/cluster asks a real one again."""

import pytest

from lab.tests.simulator.api.scripts import SCRIPTS
from lab.tests.simulator.api.scripts.record import recorded
from lab.tests.simulator.api.scripts.stages import play_virtually

RECORDED = recorded()


def test_every_script_was_recorded() -> None:
    assert sorted(RECORDED) == sorted(SCRIPTS)
    assert len(SCRIPTS) >= 100


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_answers_are_those_of_a_real_server(name: str) -> None:
    assert play_virtually(SCRIPTS[name]) == RECORDED[name]
