"""What things cost, written as the API does: decimal strings, net and gross."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Final

from growth_lab.hetzner_sandbox.locations import LOCATIONS
from growth_lab.hetzner_sandbox.server_types import (
    CURRENCY,
    HOURS_OF_MONTHLY_CAP,
    IPV4_HOURLY,
    SERVER_TYPES,
    VAT_PERCENT,
)

_CENT: Final = Decimal("0.01")
_IPV4_MONTHLY: Final = Decimal("0.50")
_VOLUME_GB_MONTHLY: Final = Decimal("0.0440")
_IMAGE_GB_MONTHLY: Final = Decimal("0.0110")
_TRAFFIC_TB: Final = Decimal(1)
_BACKUP_PERCENT: Final = Decimal(20)


@cache
def prices(type_id: int) -> Sequence[Mapping[str, Any]]:
    """The prices of a type in all places that list it, those included that no longer sell it."""
    server_type = SERVER_TYPES[type_id]
    return [
        {
            "location": place,
            "price_hourly": _money(sale.hourly),
            "price_monthly": _money((sale.hourly * HOURS_OF_MONTHLY_CAP).quantize(_CENT)),
            "included_traffic": sale.traffic_bytes,
            "price_per_tb_traffic": _money(_TRAFFIC_TB),
        }
        for place, sale in server_type.sales.items()
    ]


def pricing() -> dict[str, Any]:
    """The answer to ``GET /pricing``, the only one that names the currency."""
    ipv4 = [
        {"location": place, "price_hourly": _money(IPV4_HOURLY), "price_monthly": _money(_IPV4_MONTHLY)}
        for place in LOCATIONS
    ]
    free = [
        {"location": place, "price_hourly": _money(Decimal(0)), "price_monthly": _money(Decimal(0))}
        for place in LOCATIONS
    ]
    return {
        "currency": CURRENCY,
        "vat_rate": f"{VAT_PERCENT:.6f}",
        "server_types": [{"id": one.id, "name": one.name, "prices": prices(one.id)} for one in SERVER_TYPES.values()],
        "server_backup": {"percentage": f"{_BACKUP_PERCENT:.10f}"},
        "primary_ips": [{"type": "ipv4", "prices": ipv4}, {"type": "ipv6", "prices": free}],
        "floating_ips": [],
        "load_balancer_types": [],
        "image": {"price_per_gb_month": _money(_IMAGE_GB_MONTHLY)},
        "volume": {"price_per_gb_month": _money(_VOLUME_GB_MONTHLY)},
    }


def _money(net: Decimal) -> dict[str, str]:
    return {"net": f"{net:.10f}", "gross": f"{net * (100 + VAT_PERCENT) / 100:.16f}"}
