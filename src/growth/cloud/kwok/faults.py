"""What can go wrong with played machines, by name: in a catalogue, or on one machine while it runs.

The same words stand in both places, a name and for some an amount: ``noStock``, ``slowBoot=10m``, ``smaller=50%``.
"""

import difflib
from collections.abc import Iterable, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import Final

from growth.api.duration import DurationError, format_duration, parse_duration
from growth.api.meta import FrozenValue


class FaultType(StrEnum):
    """Every fault that a played cloud knows."""

    NO_STOCK = "noStock"
    """Nothing is sold."""
    QUOTA = "quota"
    """The account may have so many machines in all, none without an amount: ``quota=5``."""
    SLOW_BOOT = "slowBoot"
    """Booting takes so much longer: ``slowBoot=10m``."""
    NEVER_BOOTS = "neverBoots"
    """The machine is starting for ever."""
    NEVER_REGISTERS = "neverRegisters"
    """The machine runs, but no node comes of it."""
    NEVER_READY = "neverReady"
    """The node is there, but its kubelet is silent although the machine runs; later, that is a partition."""
    SMALLER = "smaller"
    """The node has only such a share of what was promised: ``smaller=50%``."""
    CREATE_TIMES_OUT = "createTimesOut"
    """The machine is made, but nobody gets the answer."""
    DELETE_FAILS = "deleteFails"
    """The machine cannot be deleted."""
    LIST_EMPTY = "listEmpty"
    """The machine is missing in lists although it runs."""
    LIST_FAILS = "listFails"
    """Lists are answered by an error."""
    POWER_OFF = "powerOff"
    """The power is cut, at once or so long after the machine was made: ``powerOff=1h``."""
    HARDWARE_FAILS = "hardwareFails"
    """The machine breaks and does not run, and its provider says so, at once or so long after it was made."""
    VANISHES = "vanishes"
    """The machine is gone without anybody having deleted it, at once or so long after it was made."""


_SHARES: Final = (FaultType.SMALLER,)
_COUNTS: Final = (FaultType.QUOTA,)
_NEED_DURATION: Final = (FaultType.SLOW_BOOT,)
_MAY_HAVE_DURATION: Final = (FaultType.NEVER_READY, FaultType.POWER_OFF, FaultType.HARDWARE_FAILS, FaultType.VANISHES)


class FaultError(ValueError):
    """A text that names no fault, or one with an amount that it cannot have."""


class Fault(FrozenValue, frozen=True):
    """One thing that goes wrong, and how much of it or when; an amount that a kind does not use stays as it is."""

    kind: FaultType
    duration: timedelta = timedelta(0)
    share: float = 1.0
    count: int = 0

    def __str__(self) -> str:
        if self.kind in _SHARES:
            return f"{self.kind}={self.share * 100:g}%"
        if self.kind in _COUNTS:
            return f"{self.kind}={self.count}"
        return f"{self.kind}={format_duration(self.duration)}" if self.duration else str(self.kind)


def fault_from(text: str) -> Fault:
    """Read one fault, or raise FaultError with the closest name or the amount that is expected."""
    name, equals, amount = (part.strip() for part in text.partition("="))
    try:
        kind = FaultType(name)
    except ValueError:
        close = difflib.get_close_matches(name, list(FaultType), 1, 0.5)
        hint = f"the closest is {close[0]}" if close else f"known are {', '.join(FaultType)}"
        raise FaultError(f"{name!r} is no fault: {hint}") from None
    if kind in _SHARES:
        return Fault(kind, share=_share(kind, amount))
    if kind in _COUNTS:
        return Fault(kind, count=_count(kind, amount) if equals else 0)
    if kind in _NEED_DURATION or (kind in _MAY_HAVE_DURATION and equals):
        return Fault(kind, duration=_duration(kind, amount))
    if equals:
        raise FaultError(f"{kind} takes no amount: expected just {kind}, not {text.strip()!r}")
    return Fault(kind)


def faults_from(text: str) -> tuple[Fault, ...]:
    """Read faults with commas between them; an empty text is none."""
    return tuple(fault_from(part) for part in text.split(",") if part.strip())


def faults_text(faults: Iterable[Fault]) -> str:
    """What ``faults_from`` reads again."""
    return ", ".join(map(str, faults))


def find(faults: Sequence[Fault], kind: FaultType) -> Fault | None:
    """The fault of this kind; of several, the last one stated."""
    for fault in reversed(faults):
        if fault.kind is kind:
            return fault
    return None


def _duration(kind: FaultType, amount: str) -> timedelta:
    try:
        duration = parse_duration(amount)
    except DurationError:
        duration = timedelta(-1)
    if duration < timedelta(0):
        raise FaultError(f"{kind} cannot have the amount {amount!r}: expected a duration, such as {kind}=10m")
    return duration


def _share(kind: FaultType, amount: str) -> float:
    number = amount.removesuffix("%")
    if not (amount.endswith("%") and number.isdecimal() and 0 < int(number) < 100):
        raise FaultError(f"{kind} cannot have the amount {amount!r}: expected a share below 100%, such as {kind}=50%")
    return int(number) / 100


def _count(kind: FaultType, amount: str) -> int:
    if not amount.isdecimal():
        raise FaultError(f"{kind} cannot have the amount {amount!r}: expected a whole number, such as {kind}=5")
    return int(amount)
