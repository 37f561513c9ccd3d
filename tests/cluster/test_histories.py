"""Drawn histories end alike on the virtual cluster and on a real one: the short form, newly drawn, about two minutes.

The seed is printed and can be given (``GROWTH_FIDELITY_SEED``); ``make fidelity`` plays five hundred.
"""

import os
import secrets

import pytest

from tests.fidelity.histories import compare

pytestmark = pytest.mark.cluster

HISTORIES = 60
SECONDS = 90.0  # for beginning new ones; those that are under way are played to their end


async def test_both_worlds_end_alike() -> None:
    seed = int(os.environ.get("GROWTH_FIDELITY_SEED") or secrets.randbelow(1_000_000))
    print(f"GROWTH_FIDELITY_SEED={seed}")  # noqa: T201 - shown by pytest if the test fails
    tally = await compare(seed, HISTORIES, seconds=SECONDS, without_slow=True)
    print(tally.line())  # noqa: T201
    assert not tally.differences, "\n".join(map(str, tally.differences))
    assert tally.played >= 10
