"""Drawn histories end alike on the virtual cluster and on a real one: the short form, newly drawn, about two minutes.

The seed is printed and can be given (``GROWTH_FIDELITY_SEED``); ``make fidelity`` plays five hundred.
"""

import pytest

from tests.fidelity.histories import compare
from tests.fidelity.seeds import new_seed

pytestmark = pytest.mark.cluster

HISTORIES = 40
SECONDS = 90.0  # for beginning new ones; those that are under way are played to their end


async def test_both_worlds_end_alike() -> None:
    tally = await compare(new_seed(), HISTORIES, seconds=SECONDS, without_slow=True)
    print(tally.line())  # noqa: T201
    assert not tally.differences, "\n".join(map(str, tally.differences))
    assert tally.played >= 10
