"""The catalogue: what is sold where, at which price, as published in September 2026.

Net euros an hour without IPv4; the month's cap is 624 hours of it. Ids and traffic are plausible, not checked. What a
type costs where it can no longer be bought is unknown, and the price of another place stands there, because the API
goes on listing one.
"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from growth.api.meta import FrozenValue
from growth_lab.hetzner_sandbox.locations import EU, SIN, US

CURRENCY: Final = "EUR"
VAT_PERCENT: Final = Decimal(19)
IPV4_HOURLY: Final = Decimal("0.0008")
HOURS_OF_MONTHLY_CAP: Final = 624
_TIB: Final = 1024**4
DEPRECATED_AT: Final = datetime(2025, 10, 16, tzinfo=UTC)
UNAVAILABLE_AFTER: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Sale(FrozenValue, frozen=True):
    """A type in one place."""

    hourly: Decimal
    traffic_bytes: int
    is_dead: bool = False
    """Still listed, with a deprecation in the past: never again to be had."""


class ServerType(FrozenValue, frozen=True):
    """A kind of server, and where it is listed."""

    id: int
    name: str
    description: str
    category: str
    cores: int
    memory_gb: int
    disk_gb: int
    architecture: str
    cpu_type: str
    sales: dict[str, Sale]

    @property
    def is_dedicated(self) -> bool:
        """Whether its cores are nobody else's, and count against a limit of their own."""
        return self.cpu_type == "dedicated"


def _type(  # one row of the table below
    type_id: int,
    name: str,
    size: tuple[int, int, int],
    *,
    eu: str = "",
    us: str = "",
    sin: str = "",
    dead: tuple[str, ...] = (),
    eu_traffic_tib: int = 20,
) -> ServerType:
    family = name.rstrip("0123456789")
    cores, memory_gb, disk_gb = size
    offered: dict[str, Sale] = {}
    for places, price, traffic in ((EU, eu, eu_traffic_tib * _TIB), (US, us, _TIB), (SIN, sin, _TIB // 2)):
        for place in places:
            if place in dead:
                offered[place] = Sale(Decimal(eu or us or sin), traffic, is_dead=True)
            elif price:
                offered[place] = Sale(Decimal(price), traffic)
    return ServerType(
        id=type_id,
        name=name,
        description=name.upper(),
        category={"cpx": "regular_purpose", "ccx": "general_purpose"}.get(family, "cost_optimized"),
        cores=cores,
        memory_gb=memory_gb,
        disk_gb=disk_gb,
        architecture="arm" if family == "cax" else "x86",
        cpu_type="dedicated" if family == "ccx" else "shared",
        sales=offered,
    )


_OLD: Final = (*EU, *SIN)
_TYPES: Final = (
    _type(22, "cpx11", (2, 2, 40), us="0.0280", dead=_OLD),
    _type(23, "cpx21", (3, 4, 80), us="0.0513", dead=_OLD),
    _type(24, "cpx31", (4, 8, 160), us="0.1001", dead=_OLD),
    _type(25, "cpx41", (8, 16, 240), us="0.1931", dead=_OLD),
    _type(26, "cpx51", (16, 32, 360), us="0.3814", dead=_OLD),
    _type(45, "cax11", (2, 4, 40), eu="0.0096"),
    _type(93, "cax21", (4, 8, 80), eu="0.0168"),
    _type(94, "cax31", (8, 16, 160), eu="0.0336"),
    _type(95, "cax41", (16, 32, 320), eu="0.0657"),
    # What these six cost in Singapore is not known to us: they are not sold there.
    _type(96, "ccx13", (2, 8, 80), eu="0.0689", us="0.0697"),
    _type(97, "ccx23", (4, 16, 160), eu="0.1378", us="0.1402"),
    _type(98, "ccx33", (8, 32, 240), eu="0.2219", us="0.2259", eu_traffic_tib=30),
    _type(99, "ccx43", (16, 64, 360), eu="0.4423", us="0.4479", eu_traffic_tib=40),
    _type(100, "ccx53", (32, 128, 600), eu="0.8550", us="0.8630", eu_traffic_tib=50),
    _type(101, "ccx63", (48, 192, 960), eu="1.3678", us="1.3782", eu_traffic_tib=60),
    _type(108, "cpx12", (1, 2, 40), eu="0.0184", sin="0.0248"),
    _type(109, "cpx22", (2, 4, 80), eu="0.0312", sin="0.0425"),
    _type(110, "cpx32", (4, 8, 160), eu="0.0569", sin="0.0785"),
    _type(111, "cpx42", (8, 16, 320), eu="0.1114", sin="0.1498"),
    _type(112, "cpx52", (12, 24, 480), eu="0.1610", sin="0.2155"),
    _type(113, "cpx62", (16, 32, 640), eu="0.2083", sin="0.2756"),
    _type(114, "cx23", (2, 4, 40), eu="0.0088"),
    _type(115, "cx33", (4, 8, 80), eu="0.0136"),
    _type(116, "cx43", (8, 16, 160), eu="0.0256"),
    _type(117, "cx53", (16, 32, 320), eu="0.0473"),
)
SERVER_TYPES: Final[dict[int, ServerType]] = {one.id: one for one in _TYPES}
