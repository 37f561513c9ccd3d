"""Money as people read it: an hour exactly, a month in round figures."""

from typing import Final

# 365 days of 24 hours, in twelve parts: what providers mean when they name both prices.
HOURS_A_MONTH: Final = 730


def hourly(amount: float) -> str:
    """Prices of small machines differ in the fourth place."""
    return f"{amount:,.4f}"


def monthly(amount_per_hour: float) -> str:
    """The same for a month."""
    return f"{amount_per_hour * HOURS_A_MONTH:,.2f}"
