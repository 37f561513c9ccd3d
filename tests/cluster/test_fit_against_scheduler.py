"""Fit against the real kube-scheduler, the short form: newly drawn cases for as long as a minute and a half.

The seed is printed and can be given (``GROWTH_FIDELITY_SEED``); ``make fidelity`` plays thousands.
"""

import pytest

from tests.fidelity.drawing import ALL_THEMES
from tests.fidelity.fit import compare
from tests.fidelity.seeds import new_seed

pytestmark = pytest.mark.cluster

CASES = 300
SECONDS = 90.0


async def test_we_and_the_scheduler_agree_on_every_drawn_case() -> None:
    tally = await compare(new_seed(), CASES, clusters=1, seconds=SECONDS)
    print(tally.line())  # noqa: T201
    assert not tally.disagreements, "\n".join(map(str, tally.disagreements))
    assert tally.played >= len(ALL_THEMES)
    assert len(tally.refused) < tally.played / 10, [refused.why for refused in tally.refused]
