"""Some deliberate defects are caught by the stories that tell of them, or by tests. ``make chaos`` tries all."""

import pytest

from tests.trust.mutant import Mutant
from tests.trust.mutants import MUTANTS, is_told_of

TOLD = [mutant for mutant in MUTANTS if mutant.story or mutant.tests]


@pytest.mark.long
@pytest.mark.parametrize("mutant", TOLD, ids=lambda mutant: mutant.name)
def test_a_defect_is_caught_by_those_who_tell_of_it(mutant: Mutant) -> None:
    assert is_told_of(mutant)
