"""How a played machine is at an instant: a pure function of its record and the clock.

made ──boot delay──► on, node registers, kubelet speaks ──powerOff──► off ──(fault taken away)──► on
  starting                                            ├──hardwareFails──► failed ──(fault taken away)──► on
                                                      └──vanishes──► gone
"""

from datetime import datetime, timedelta
from typing import Final

from growth.api.machine import Machine, Power
from growth.api.meta import Slim
from growth.cloud.kwok.faults import Kind, find
from growth.cloud.kwok.record import Record


class State(Slim, frozen=True):
    """A machine, its node and its kubelet."""

    power: Power
    registers: bool
    """Whether its node exists; that of a machine which lost its power stays."""

    speaks: bool
    """Whether the kubelet is heard."""

    changes_at: datetime | None
    """When one of these changes by itself."""


def state_of(record: Record, now: datetime) -> State:
    """How the machine is."""
    faults = record.behaviour.faults
    if not faults and not record.is_fenced:
        return _state_of_a_sound_one(record.created_at + record.behaviour.boot_delay, now)
    slow = find(faults, Kind.SLOW_BOOT)
    boots_at = record.created_at + record.behaviour.boot_delay + (slow.duration if slow else timedelta(0))
    vanishes_at, fails_at, off_at, silent_at = (
        record.created_at + fault.duration if (fault := find(faults, kind)) else None
        for kind in (Kind.VANISHES, Kind.HARDWARE_FAILS, Kind.POWER_OFF, Kind.NEVER_READY)
    )
    power = Power.ON
    if vanishes_at and vanishes_at <= now:
        power = Power.GONE
    elif record.is_fenced or (off_at and off_at <= now):
        power = Power.OFF
    elif fails_at and fails_at <= now:
        power = Power.FAILED
    elif find(faults, Kind.NEVER_BOOTS) or now < boots_at:
        power = Power.STARTING
    registers = power is Power.ON and not find(faults, Kind.NEVER_REGISTERS)
    later = [instant for instant in (boots_at, vanishes_at, fails_at, off_at, silent_at) if instant and instant > now]
    return State(
        power=power,
        registers=registers,
        speaks=registers and not (silent_at and silent_at <= now),
        changes_at=min(later, default=None),
    )


def _state_of_a_sound_one(boots_at: datetime, now: datetime) -> State:
    """With which nothing goes wrong: almost all of thousands, each asked about whenever all are listed."""
    return _STARTED if boots_at <= now else State(Power.STARTING, registers=False, speaks=False, changes_at=boots_at)


_STARTED: Final = State(Power.ON, registers=True, speaks=True, changes_at=None)


def machine_from(record: Record, now: datetime) -> Machine:
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
