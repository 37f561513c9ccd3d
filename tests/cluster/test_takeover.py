"""Upgrade, downgrade and upgrade of Growth in the middle of a failover. ``make upgrade`` does more, both ways."""

import pytest

from tests.takeover.moments import Moment
from tests.takeover.terms import FAST
from tests.takeover.trip import alternating, trip
from tests.takeover.version import older_version, why_older_is_missing

pytestmark = pytest.mark.cluster

MISSING = why_older_is_missing()


@pytest.mark.skipif(bool(MISSING), reason=f"the older version of Growth is not in this clone (shallow?): {MISSING}")
async def test_versions_of_growth_finish_what_the_other_began() -> None:
    with older_version() as older:
        found = await trip(alternating(older, "old", takeovers=3), FAST, print)
    assert [(one.moment, one.before, one.after) for one in found.takeovers] == [
        (Moment.TAINTED, "old", "new"),
        (Moment.RETURNING, "new", "old"),
        (Moment.PROVING, "old", "new"),
    ]
    assert found.problems == []
