"""From server types and prices to offerings. Pure: what is kept, and for how long, is ``stocktaking``'s business.

What a node will have is estimated, because no node exists yet; the first one corrects it, and later ones that are
smaller (docs/growing.md). So the estimate is careful: too much would be bought in vain, too little costs a little.

What is sold, read on a schedule. When it cannot be read, what was read before stands, with its age.
"""

import asyncio
import difflib
import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from growth.api.duration import format_duration
from growth.api.offering import Offering, offering_id
from growth.cloud.errors import Invalid, ProviderError
from growth.cloud.hetzner.api_client import Api, read_all
from growth.cloud.hetzner.provider_errors import as_provider_errors
from growth.cloud.hetzner.wire import Amount, Location, Price, Pricing, WireServerType, read

PROVIDER: Final = "hetzner"
CSI_LOCATION: Final = "csi.hetzner.cloud/location"
"""Hetzner's CSI driver lets volumes attach where this label has their location's name, and sets it itself later."""

# The guest's kernel sees 2 to 8 % less memory than is advertised, by type and system.
_MEMORY_SEEN: Final = Decimal("0.92")
# Partition table, boot partition and the file system's own tables; by the image.
_DISK_SEEN: Final = Decimal("0.92")
# What a kubelet sets aside unless it is told otherwise: evictionHard memory.available 100Mi and nodefs.available 10 %.
_EVICTION_MEMORY: Final = "100Mi"
_EVICTION_DISK: Final = Decimal("0.10")
# A kubelet's own default.
_PODS: Final = "110"
_FREE: Final = Price("", Amount("0"), Amount("0"))
_ARCHITECTURES: Final = {"x86": "amd64", "arm": "arm64"}


def offerings_from(types: Iterable[WireServerType], pricing: Pricing, read_at: datetime) -> tuple[Offering, ...]:
    """Every type in every location that sells it or did, in the order of their ids."""
    addresses = next((one.prices for one in pricing.primary_ips if one.type == "ipv4"), ())
    address_prices = {price.location: price for price in addresses}
    found: list[Offering] = []
    for server_type in types:
        prices = {price.location: price for price in server_type.prices}
        found.extend(
            _offering(
                server_type,
                place,
                prices[place.name],
                address_prices.get(place.name, _FREE),
                currency=pricing.currency,
                read_at=read_at,
            )
            for place in server_type.locations
            if place.name in prices
        )
    return tuple(sorted(found, key=lambda offering: offering.id))


def _offering(
    server_type: WireServerType,
    place: Location,
    price: Price,
    address: Price,
    *,
    currency: str,
    read_at: datetime,
) -> Offering:
    withdrawn = _withdrawn(server_type.name, place, read_at)
    disk = Decimal(str(server_type.disk)) * 1000 * _DISK_SEEN
    return Offering(
        id=offering_id(PROVIDER, server_type.name, place.name),
        provider=PROVIDER,
        server_type=server_type.name,
        location=place.name,
        # With the public IPv4 that every server has unless its pool says otherwise.
        price_per_hour=float(_net(price.price_hourly) + _net(address.price_hourly)),
        ipv4_per_hour=float(_net(address.price_hourly)),
        currency=currency,
        price_per_month=float(_net(price.price_monthly) + _net(address.price_monthly)),
        resources={
            "cpu": str(server_type.cores),
            "memory": f"{int(Decimal(str(server_type.memory)) * 1024 * _MEMORY_SEEN)}Mi",
            "ephemeral-storage": f"{int(disk)}M",
            "pods": _PODS,
        },
        reserved={"memory": _EVICTION_MEMORY, "ephemeral-storage": f"{int(disk * _EVICTION_DISK)}M"},
        labels={CSI_LOCATION: place.name},
        # Hetzner's cloud controller calls the location the region; of zones, a location has one.
        zone=place.name,
        region=place.name,
        arch=_ARCHITECTURES.get(server_type.architecture, server_type.architecture),
        stock=None if place.available and not withdrawn else 0,
        is_cloud=not withdrawn,
        withdrawn=withdrawn,
        read_at=read_at,
    )


def _net(amount: Amount) -> Decimal:
    return Decimal(amount.net)


def _withdrawn(name: str, place: Location, now: datetime) -> str:
    """What Hetzner announced about a type in one place; empty if it is sold without a word."""
    if place.deprecation is None:
        return ""
    ends = place.deprecation.unavailable_after
    end = f"gone since {ends:%Y-%m-%d}" if ends <= now else f"to be had until {ends:%Y-%m-%d}"
    return f"{name} in {place.name} is deprecated since {place.deprecation.announced:%Y-%m-%d}, {end}"


_LOG: Final = logging.getLogger(__name__)


class CatalogPoller:
    """Keeps the catalogue."""

    def __init__(self, api: Api, every: timedelta, now: Callable[[], datetime], clock: Callable[[], float]) -> None:
        self._api, self._every = api, every
        self._now, self._clock = now, clock
        self._sold: dict[str, Offering] = {}
        self._read_at: datetime | None = None
        self._stale_at = clock()
        self._is_behind = False
        self._reading = asyncio.Lock()

    async def offerings(self) -> Sequence[Offering]:
        """What is sold, as read no longer ago than was agreed, if the API answers."""
        async with self._reading:
            if self._clock() >= self._stale_at:
                await self._refresh()
            return tuple(self._sold.values())

    async def check(self, wanted: Offering) -> None:
        """Refuse what is not sold; raises Invalid."""
        offered = self._sold or {one.id: one for one in await self.offerings()}
        offering = offered.get(wanted.id)
        if offering is None:
            close = difflib.get_close_matches(wanted.id, offered, 1, 0.5)
            hint = f": the closest is {close[0]}" if close else ""
            raise Invalid(f"Hetzner sells no {wanted.id!r} ({wanted.server_type} in {wanted.location}){hint}")
        if offering.withdrawn:
            raise Invalid(f"{wanted.id} is not bought: {offering.withdrawn}")

    async def _refresh(self) -> None:
        try:
            await self._read()
        except ProviderError as error:
            if self._read_at is None:
                raise  # nothing is known at all
            if not self._is_behind:
                age = format_duration(self._now() - self._read_at)
                _LOG.warning("what Hetzner sells is %s old and cannot be read again: %s", age, error)
            self._is_behind = True
            return
        self._is_behind = False
        self._stale_at = self._clock() + self._every.total_seconds()

    async def _read(self) -> None:
        # Without a first look nothing can be bought.
        read_at, is_urgent = self._now(), self._read_at is None
        with as_provider_errors("offerings"):
            types, _ = await read_all(self._api, "/server_types", "server_types", WireServerType, is_urgent=is_urgent)
            answer = await self._api.ask("GET", "/pricing", is_urgent=is_urgent)
        pricing = read(answer.get("pricing"), Pricing, "GET /pricing")
        found = offerings_from(types, pricing, read_at)
        self._sold, self._read_at = {offering.id: offering for offering in found}, read_at
