"""Machines that a pool wants even without load (``min`` of a server type): the cheapest that its limits allow."""

from collections.abc import Sequence

import msgspec

from growth.decide.pack.market import Kind, Market


class Shortage(msgspec.Struct, frozen=True):
    """So many machines of a type are missing in a pool."""

    pool: str
    server_type: str
    missing: int

    @property
    def name(self) -> str:
        """What it goes by where pods go by their uids."""
        return f"{self.pool}/{self.server_type}/{self.missing}"


def warmed(market: Market, shortages: Sequence[Shortage]) -> tuple[list[Kind], list[tuple[Shortage, str]]]:
    """What to buy, and the shortages that cannot be ended now, each with the reason."""
    left: list[float] = [limit.left for limit in market.limits]
    bought: list[Kind] = []
    cold: list[tuple[Shortage, str]] = []
    for shortage in shortages:
        kinds = [number for number, kind in enumerate(market.kinds) if _is_of(kind, shortage)]
        why = f"no location sells {shortage.server_type} now"
        for _ in range(shortage.missing):
            for number in kinds:
                hindrance = next(
                    (
                        limit.what
                        for limit, rest in zip(market.limits, left, strict=True)
                        if limit.use.get(number, 0) > rest
                    ),
                    None,
                )
                if hindrance is None:
                    bought.append(market.kinds[number])
                    left = [rest - limit.use.get(number, 0) for limit, rest in zip(market.limits, left, strict=True)]
                    break
                why = hindrance
            else:
                cold.append((shortage, why))
                break
    return bought, cold


def _is_of(kind: Kind, shortage: Shortage) -> bool:
    return (
        kind.pool.metadata.name == shortage.pool and kind.offering.server_type.lower() == shortage.server_type.lower()
    )
