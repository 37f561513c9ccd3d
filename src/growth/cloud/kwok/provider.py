"""The provider of played machines. It keeps nothing: every answer is read from the cluster when it is asked for."""

import asyncio
import difflib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime

import msgspec

from growth.api.kinds import CONFIG_MAPS
from growth.api.labels import is_hostname
from growth.api.machine import Machine, MachineRequest, Power, PowerReading
from growth.api.offering import Offering
from growth.api.timestamp import format_micro_time
from growth.cloud.errors import Invalid, OutOfStock, QuotaExceeded, Unavailable
from growth.cloud.kwok.catalog import Catalog, MachineBehavior
from growth.cloud.kwok.faults import FaultType, find
from growth.cloud.kwok.machine_record import (
    FENCED_AT,
    POWER_CUT_AT,
    SELECTOR,
    MachineRecord,
    config_map_name,
    machine_from,
    manifest,
    record_from,
    state_of,
)
from growth.cloud.kwok.provider_errors import as_provider_errors
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists, Conflict, NotFound
from growth.kube.patches import MergePatch


class KwokProvider:
    """Machines as ConfigMaps in one namespace. ``PlayedCloud`` makes nodes of them."""

    def __init__(self, client: Client, namespace: str, catalogue: Catalog, now: Callable[[], datetime]) -> None:
        self.catalogue = catalogue
        self._client = client
        self._namespace = namespace
        self._now = now
        self._read: dict[tuple[str, int], MachineRecord] = {}
        # Between counting what is sold and selling one more, nobody else may do the same.
        self._counting = asyncio.Lock()

    @property
    def name(self) -> str:
        """What its offerings' ids begin with."""
        return self.catalogue.provider

    async def offerings(self) -> Sequence[Offering]:
        """What the catalogue sells, less what is sold already."""
        offered: dict[str, int] = {}
        if any(offering.stock is not None for offering in self.catalogue.offerings):
            with as_provider_errors("offerings"):
                for record in await self._records():
                    offered[record.request.offering.id] = offered.get(record.request.offering.id, 0) + 1
        return tuple(
            msgspec.structs.replace(offering, stock=self._stock_left(offering, offered.get(offering.id, 0)))
            for offering in self.catalogue.offerings
        )

    async def create(self, request: MachineRequest) -> Machine:
        """The machine of this name, made if there is none."""
        offering = self._sold(request)
        request = msgspec.structs.replace(request, offering=offering)
        with as_provider_errors(f"create {request.name}"):
            async with self._counting if self._is_limited(offering) else nullcontext():
                # Where nothing has to be counted first, the name itself tells whether there is one.
                record = None if self._is_limited(offering) else await self._made(request)
                if record is None:
                    read_at = self._now()
                    known = await self._find(request.name)
                    if known is not None and state_of(known, read_at).power is Power.GONE:
                        await self._remove(known)
                        known = None
                    if known is not None:
                        return machine_from(_same(known, request), read_at)
                    await self._check_that_one_is_left(offering)
                    record = await self._made(request)
                if record is None:
                    raise Unavailable(f"create {request.name}: somebody else made it just now", may_have_acted=True)
        if find(record.behaviour.faults, FaultType.CREATE_TIMES_OUT):
            raise Unavailable(f"create {request.name}: the answer did not come in time", may_have_acted=True)
        return machine_from(record, self._now())

    async def list(self) -> Sequence[Machine]:
        """All machines of this namespace."""
        read_at = self._now()
        with as_provider_errors("list"):
            records = await self._records()
        ordered = [*self.catalogue.behaviours.values(), *(one.behaviour for one in records if one.behaviour.faults)]
        if any(find(behaviour.faults, FaultType.LIST_FAILS) for behaviour in ordered):
            raise Unavailable("list: the catalogue or a machine orders that it fails", may_have_acted=False)
        shown = (one for one in records if not find(one.behaviour.faults, FaultType.LIST_EMPTY))
        machines = [machine_from(record, read_at) for record in shown]
        return tuple(machine for machine in machines if machine.power is not Power.GONE)

    async def delete(self, machine_id: str) -> None:
        """Remove this machine, if it is still there."""
        with as_provider_errors(f"delete {machine_id}"):
            record = await self._find_by_id(machine_id)
            if record is None:
                return
            if find(record.behaviour.faults, FaultType.DELETE_FAILS):
                raise Unavailable(f"delete {machine_id}: the machine orders that it fails", may_have_acted=False)
            await self._remove(record)

    async def power(self, machine_id: str) -> PowerReading:
        """This machine's power now."""
        read_at = self._now()
        with as_provider_errors(f"power {machine_id}"):
            record = await self._find_by_id(machine_id)
        return PowerReading(machine_id, state_of(record, read_at).power if record else Power.GONE, read_at)

    async def fence(self, machine_id: str) -> PowerReading:
        """Cut this machine's power; it stays off until somebody takes the annotation away."""
        cut_at = self._now()
        stamps = dict.fromkeys((FENCED_AT, POWER_CUT_AT), format_micro_time(cut_at))
        with as_provider_errors(f"fence {machine_id}"):
            record = await self._find_by_id(machine_id)
            if record is not None and not record.is_fenced:
                patch = MergePatch({"metadata": {"uid": record.uid, "annotations": stamps}})
                try:
                    await self._client.patch(CONFIG_MAPS, config_map_name(record.name), patch, self._namespace)
                except (NotFound, Conflict):
                    if await self._find_by_id(machine_id) is not None:
                        raise  # it is still there, and has power
                    record = None
        return PowerReading(machine_id, Power.OFF if record else Power.GONE, self._now())

    # What is sold

    def _sold(self, request: MachineRequest) -> Offering:
        """The catalogue's own offering, so that nobody buys at a price or size of yesterday."""
        if not is_hostname(request.name):
            expected = "expected up to 63 small letters, digits and '-', beginning and ending with a letter or digit"
            raise Invalid(f"no machine can be named {request.name!r}: {expected}")
        by_id = {offering.id: offering for offering in self.catalogue.offerings}
        offering = by_id.get(request.offering.id)
        if offering is None:
            close = difflib.get_close_matches(request.offering.id, by_id, 1, 0.5)
            hint = f": the closest is {close[0]}" if close else ""
            raise Invalid(f"the catalogue has no offering {request.offering.id!r}{hint}")
        if not offering.is_cloud:
            raise Invalid(f"{offering.id} is listed, but somebody must order it by hand")
        return offering

    def _behaviour(self, offering: Offering) -> MachineBehavior:
        return self.catalogue.behaviours.get(offering.id, MachineBehavior())

    def _is_limited(self, offering: Offering) -> bool:
        faults = self._behaviour(offering).faults
        return offering.stock is not None or any(find(faults, kind) for kind in (FaultType.NO_STOCK, FaultType.QUOTA))

    def _stock_left(self, offering: Offering, offered: int) -> int | None:
        if find(self._behaviour(offering).faults, FaultType.NO_STOCK):
            return 0
        return None if offering.stock is None else max(0, offering.stock - offered)

    async def _check_that_one_is_left(self, offering: Offering) -> None:
        records = await self._records() if self._is_limited(offering) else ()
        quota = find(self._behaviour(offering).faults, FaultType.QUOTA)
        if quota is not None and len(records) >= quota.count:
            raise QuotaExceeded(f"{offering.id}: the account may have {quota.count} machines, and has {len(records)}")
        offered = sum(record.request.offering.id == offering.id for record in records)
        if self._stock_left(offering, offered) == 0:
            raise OutOfStock(f"{offering.id} is sold out", offering=offering.id)

    # What is there

    async def _records(self) -> Sequence[MachineRecord]:
        """All of them. They hardly ever change, and there may be thousands: each version is read once."""
        found = await self._client.list(CONFIG_MAPS, self._namespace, label_selector=SELECTOR)
        records: dict[tuple[str, int], MachineRecord] = {}
        for config_map in found.items:
            version = (config_map.metadata.uid, config_map.metadata.resource_version)
            records[version] = self._read.get(version) or record_from(config_map)
        self._read = records
        return list(records.values())

    async def _find(self, name: str) -> MachineRecord | None:
        try:
            return record_from(await self._client.get(CONFIG_MAPS, config_map_name(name), self._namespace))
        except NotFound:
            return None

    async def _find_by_id(self, machine_id: str) -> MachineRecord | None:
        name = machine_id.partition("/")[0]
        record = await self._find(name) if is_hostname(name) else None
        return record if record is not None and record.id == machine_id else None

    async def _made(self, request: MachineRequest) -> MachineRecord | None:
        """The new machine; None if there is one of this name."""
        body = manifest(request, self._behaviour(request.offering), self._now())
        try:
            return record_from(await self._client.create(CONFIG_MAPS, body, self._namespace))
        except AlreadyExists:
            return None

    async def _remove(self, record: MachineRecord) -> None:
        try:
            await self._client.delete(CONFIG_MAPS, config_map_name(record.name), self._namespace, uid=record.uid)
        except (NotFound, Conflict):
            if await self._find_by_id(record.id) is not None:
                raise  # it is still there


def _same(known: MachineRecord, request: MachineRequest) -> MachineRecord:
    """The machine that is there, if it is the one that was asked for."""
    there, wanted = (known.request.offering.id, known.request.pool), (request.offering.id, request.pool)
    if there != wanted:
        raise Invalid(
            f"there is a machine {known.name!r} already, of {there[0]} for the pool {there[1]!r}: "
            f"expected {wanted[0]} for {wanted[1]!r}"
        )
    return known
