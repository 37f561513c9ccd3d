"""What is sold, read on a schedule. When it cannot be read, what was read before stands, with its age."""

import asyncio
import difflib
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from growth.api.duration import format_duration
from growth.api.offering import Offering
from growth.cloud.errors import Invalid, ProviderError
from growth.cloud.hetzner.calling import Api
from growth.cloud.hetzner.catalogue import offerings_from
from growth.cloud.hetzner.paging import read_all
from growth.cloud.hetzner.refusals import as_provider_errors
from growth.cloud.hetzner.wire import Pricing, ServerType, read

_LOG: Final = logging.getLogger(__name__)


class Stocktaking:
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
        sold = self._sold or {one.id: one for one in await self.offerings()}
        offering = sold.get(wanted.id)
        if offering is None:
            close = difflib.get_close_matches(wanted.id, sold, 1, 0.5)
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
            types, _ = await read_all(self._api, "/server_types", "server_types", ServerType, is_urgent=is_urgent)
            answer = await self._api.ask("GET", "/pricing", is_urgent=is_urgent)
        pricing = read(answer.get("pricing"), Pricing, "GET /pricing")
        found = offerings_from(types, pricing, read_at)
        self._sold, self._read_at = {offering.id: offering for offering in found}, read_at
