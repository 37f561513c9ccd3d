"""The oldest supported release: a pod gets a machine, a job is queued, and doctor finds what is missing."""

import os

import pytest

from growth.api.server_features import OLDEST
from growth_lab.local_cluster.binaries import find_binaries
from growth_lab.local_cluster.pinned_modules import PROGRAMS, named_sources
from tests.skew.combination import Combination, check_combination

pytestmark = pytest.mark.cluster

IS_BUILT = len(find_binaries(os.environ, named_sources(OLDEST))) == len(PROGRAMS)


@pytest.mark.skipif(not IS_BUILT, reason=f"growth cluster build --kubernetes {OLDEST} takes minutes: make skew does it")
async def test_growth_works_on_the_oldest_release() -> None:
    outcome = await check_combination(Combination(OLDEST), ["grow", "queue"], print)
    assert [one.problem for one in outcome.checks] == [""] * 3
    assert outcome.version.startswith(f"v{OLDEST}.")
