"""What is written down about a played machine: a ConfigMap, and how it is read again.

Everything that will ever happen to a machine follows from this and the clock. What was bought is written in whole, so
that a catalogue which changes later changes no machine that is there already.

How a played machine is at an instant: a pure function of its record and the clock.

made ──boot delay──► on, node registers, kubelet speaks ──powerOff──► off ──(fault taken away)──► on
  starting                                            ├──hardwareFails──► failed ──(fault taken away)──► on
                                                      └──vanishes──► gone
"""

import uuid
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.core import ConfigMap
from growth.api.duration import DurationError, format_duration, parse_duration
from growth.api.machine import Machine, MachineRequest, Power
from growth.api.meta import FrozenValue
from growth.api.offering import OFFERING, POOL
from growth.api.timestamp import TimestampError, format_micro_time, parse_timestamp
from growth.cloud.errors import Invalid
from growth.cloud.kwok.catalog import MachineBehavior
from growth.cloud.kwok.faults import FaultError, FaultType, faults_from, faults_text, find

MACHINE_LABEL: Final = "growth.dev/machine"
SELECTOR: Final = f"{MACHINE_LABEL}=kwok"
FAULTS: Final = "growth.dev/faults"
"""What goes wrong with this machine. Written when it is made, and read each time: change it to order a fault."""

FENCED_AT: Final = "growth.dev/fenced-at"
"""Set by fencing; the machine is off as long as it stands there."""

POWER_CUT_AT: Final = "growth.dev/power-cut-at"
"""When the machine last lost its power. It stays, because the next boot differs from the one before by it."""

_NAME_PREFIX: Final = "kwok-machine-"
_SCHEME: Final = "kwok://"


class MachineRecord(FrozenValue, frozen=True):
    """One played machine, as it stands in its ConfigMap."""

    name: str
    uid: str
    namespace: str
    request: MachineRequest
    created_at: datetime
    behaviour: MachineBehavior
    is_fenced: bool = False
    power_cut_at: str = ""

    @property
    def id(self) -> str:
        """Name and uid: a machine that has this name later is another one."""
        return f"{self.name}/{self.uid}"

    @property
    def provider_id(self) -> str:
        """The namespace is part of it, so that two Growths on one cluster leave each other's nodes alone."""
        return f"{scheme_of(self.namespace)}{self.id}"

    @property
    def boot_id(self) -> str:
        """What tells this boot from the one before the last power cut."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.uid}/{self.power_cut_at}"))


def scheme_of(namespace: str) -> str:
    """How the provider ids of all machines begin whose ConfigMaps are in this namespace."""
    return f"{_SCHEME}{namespace}/"


def config_map_name(machine: str) -> str:
    """Where a machine is written down; Growth has other ConfigMaps, too."""
    return f"{_NAME_PREFIX}{machine}"


def machine_name(config_map: ConfigMap) -> str:
    """The machine that is written down there."""
    return config_map.metadata.name.removeprefix(_NAME_PREFIX)


def manifest(request: MachineRequest, behaviour: MachineBehavior, created_at: datetime) -> dict[str, Any]:
    """The ConfigMap of a new machine. What is bought is written in whole; its start-up script is only named there."""
    return {
        "metadata": {
            "name": config_map_name(request.name),
            "labels": {MACHINE_LABEL: "kwok", POOL: request.pool, OFFERING: request.offering.id},
            "annotations": {FAULTS: faults_text(behaviour.faults)},
        },
        "data": {
            "request": msgspec.json.encode(request).decode(),
            "createdAt": format_micro_time(created_at),
            "bootDelay": format_duration(behaviour.boot_delay),
        },
    }


def record_from(config_map: ConfigMap) -> MachineRecord:
    """Read a machine again; raises Invalid if somebody wrote something into it that cannot be read."""
    meta, data = config_map.metadata, config_map.data
    try:
        return MachineRecord(
            name=machine_name(config_map),
            uid=meta.uid,
            namespace=meta.namespace,
            request=msgspec.json.decode(data["request"], type=MachineRequest),
            created_at=parse_timestamp(data["createdAt"]),
            behaviour=MachineBehavior(parse_duration(data["bootDelay"]), faults_from(meta.annotations.get(FAULTS, ""))),
            is_fenced=FENCED_AT in meta.annotations,
            power_cut_at=meta.annotations.get(POWER_CUT_AT, ""),
        )
    except KeyError as error:
        problem = f"data.{error.args[0]} is missing"
    except FaultError as error:
        problem = f"annotation {FAULTS}: {error}"
    except (msgspec.DecodeError, TimestampError, DurationError) as error:
        problem = f"data: {error}"
    raise Invalid(f"ConfigMap {meta.namespace}/{meta.name} is no machine that can be read: {problem}")


class MachineState(FrozenValue, frozen=True):
    """A machine, its node and its kubelet."""

    power: Power
    registers: bool
    """Whether its node exists; that of a machine which lost its power stays."""

    speaks: bool
    """Whether the kubelet is heard."""

    changes_at: datetime | None
    """When one of these changes by itself."""


def state_of(record: MachineRecord, now: datetime) -> MachineState:
    """How the machine is."""
    faults = record.behaviour.faults
    if not faults and not record.is_fenced:
        return _state_of_a_sound_one(record.created_at + record.behaviour.boot_delay, now)
    slow = find(faults, FaultType.SLOW_BOOT)
    boots_at = record.created_at + record.behaviour.boot_delay + (slow.duration if slow else timedelta(0))
    vanishes_at, fails_at, off_at, silent_at = (
        record.created_at + fault.duration if (fault := find(faults, kind)) else None
        for kind in (FaultType.VANISHES, FaultType.HARDWARE_FAILS, FaultType.POWER_OFF, FaultType.NEVER_READY)
    )
    power = Power.ON
    if vanishes_at and vanishes_at <= now:
        power = Power.GONE
    elif record.is_fenced or (off_at and off_at <= now):
        power = Power.OFF
    elif fails_at and fails_at <= now:
        power = Power.FAILED
    elif find(faults, FaultType.NEVER_BOOTS) or now < boots_at:
        power = Power.STARTING
    registers = power is Power.ON and not find(faults, FaultType.NEVER_REGISTERS)
    later = [instant for instant in (boots_at, vanishes_at, fails_at, off_at, silent_at) if instant and instant > now]
    return MachineState(
        power=power,
        registers=registers,
        speaks=registers and not (silent_at and silent_at <= now),
        changes_at=min(later, default=None),
    )


def _state_of_a_sound_one(boots_at: datetime, now: datetime) -> MachineState:
    """With which nothing goes wrong: almost all of thousands, each asked about whenever all are listed."""
    return (
        _STARTED
        if boots_at <= now
        else MachineState(Power.STARTING, registers=False, speaks=False, changes_at=boots_at)
    )


_STARTED: Final = MachineState(Power.ON, registers=True, speaks=True, changes_at=None)


def machine_from(record: MachineRecord, now: datetime) -> Machine:
    """What the provider says about it."""
    return Machine(
        id=record.id,
        provider_id=record.provider_id,
        name=record.name,
        offering=record.request.offering.id,
        pool=record.request.pool,
        created_at=record.created_at,
        power=state_of(record, now).power,
        read_at=now,
    )
