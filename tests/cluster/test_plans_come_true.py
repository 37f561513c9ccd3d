"""Plans come true on a real control plane, the short form: newly drawn plans for about a minute and a half.

The seed is printed and can be given (``GROWTH_FIDELITY_SEED``); ``make fidelity`` carries out hundreds.
"""

import pytest

from tests.fidelity.plans import carry_out
from tests.fidelity.seeds import new_seed

pytestmark = pytest.mark.cluster

PLANS = 30
SECONDS = 90.0


async def test_every_planned_pod_is_bound_and_no_planned_node_stands_empty() -> None:
    tally = await carry_out(new_seed(), PLANS, clusters=1, seconds=SECONDS)
    print(tally.line())  # noqa: T201
    assert not tally.broken, "\n".join(map(str, tally.broken))
    assert len(tally.played) >= PLANS / 3
