"""What an offering costs in one pool: what the pool does without is not billed."""

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering

# Prices have fewer decimals than this; what lies behind them comes from subtracting floats.
_DECIMALS = 12


def as_billed(offering: Offering, pool: NodePool | None) -> Offering:
    """The offering with the price that machines of this pool have; of a pool that is gone, with everything."""
    if pool is None or pool.spec.machine.public_ipv4 or not offering.ipv4_per_hour:
        return offering
    price = max(0.0, round(offering.price_per_hour - offering.ipv4_per_hour, _DECIMALS))
    # Nobody said what a month costs without it.
    return msgspec.structs.replace(offering, price_per_hour=price, ipv4_per_hour=0.0, price_per_month=None)
