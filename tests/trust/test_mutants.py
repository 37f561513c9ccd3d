"""Some deliberate defects are caught by the stories that tell of them. ``make chaos`` tries all, with both suites."""

import pytest

from tests.trust.mutants import MUTANTS, Mutant, caught

TOLD = [mutant for mutant in MUTANTS if mutant.story]


@pytest.mark.long
@pytest.mark.parametrize("mutant", TOLD, ids=lambda mutant: mutant.name)
def test_a_defect_is_caught_by_the_stories_that_tell_of_it(mutant: Mutant) -> None:
    assert any(one.suite for one in caught(mutant, chaos_runs=0))
