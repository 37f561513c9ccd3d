"""Some deliberate defects are caught by the stories that tell of them, or by tests. ``make chaos`` tries all."""

from pkgutil import resolve_name

import pytest

from tests.repository import ROOT
from tests.trust.mutant import Mutant
from tests.trust.mutants import MUTANTS, is_told_of

TOLD = [mutant for mutant in MUTANTS if mutant.story or mutant.tests]


@pytest.mark.long
@pytest.mark.parametrize("mutant", TOLD, ids=lambda mutant: mutant.name)
def test_a_defect_is_caught_by_those_who_tell_of_it(mutant: Mutant) -> None:
    assert is_told_of(mutant)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_replaces_and_the_tests_that_it_names_exist(mutant: Mutant) -> None:
    """A name that went with a rename would be noticed in the long run of them all, an hour later."""
    for target in mutant.changes:
        owner, _, name = target.rpartition(".")
        assert hasattr(resolve_name(owner), name), target
    assert [path for path in mutant.tests.split() if not (ROOT / path.partition("::")[0]).is_file()] == []
