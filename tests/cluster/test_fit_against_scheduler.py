"""Fit against the real kube-scheduler, the short form: newly drawn cases for as long as a minute and a half.

The seed is printed and can be given (``GROWTH_FIDELITY_SEED``); ``make fidelity`` plays thousands.
"""

import os
import secrets

import pytest

from tests.fidelity.drawing import ALL_THEMES
from tests.fidelity.fit import compare

pytestmark = pytest.mark.cluster

CASES = 300
SECONDS = 90.0


async def test_we_and_the_scheduler_agree_on_every_drawn_case() -> None:
    seed = int(os.environ.get("GROWTH_FIDELITY_SEED") or secrets.randbelow(1_000_000))
    print(f"GROWTH_FIDELITY_SEED={seed}")  # noqa: T201 - shown by pytest if the test fails
    tally = await compare(seed, CASES, clusters=1, seconds=SECONDS)
    print(tally.line())  # noqa: T201
    assert not tally.disagreements, "\n".join(map(str, tally.disagreements))
    assert tally.played >= len(ALL_THEMES)
    assert len(tally.refused) < tally.played / 10, [refused.why for refused in tally.refused]
