"""Kubernetes quantities ("500m", "1.5Gi", "2e3"), exact to the nano unit and printed as the API server prints them.

A quantity is a whole number of nano units, so Python's integers hold it exactly and no float ever touches it. What is
accepted, how it is rounded and what is printed follow apimachinery v0.36 to its quirks, because we compare our texts
with texts that the API server wrote. Two differences are meant. Numbers beyond 2^63-1 stay there, where Go's own
``Value()`` answers 0 or wraps round: a request that no machine can meet must never look free. And negative numbers are
always rounded away from zero, as Go's documentation says and its code for long numbers does not.
"""

import re
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

NANO = 10**9
MAX_VALUE = 2**63 - 1
MAX_NANOS = MAX_VALUE * NANO
MAX_CHARACTERS = 4_000  # Python reads integers of at most 4,300 digits; nothing real comes near

# Distinct texts, not objects, fill the caches: pods share a few hundred, each node may bring its own memory size.
CACHED_TEXTS = 65_536


class Format(Enum):
    """How a quantity was written, which is also how it is printed."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


class QuantityError(ValueError):
    """A text that the API server would not take as a quantity."""

    def __init__(self, text: str) -> None:
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        super().__init__(
            f"{shown!r} is not a quantity: expected a number and, right behind it, nothing, an exponent or one of "
            "n u m k M G T P E Ki Mi Gi Ti Pi Ei, such as 2, 2e3, 500m or 1.5Gi"
        )
        self.text = text


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount in nano units; equal and ordered by amount alone, so ``1`` is ``1000m``."""

    nanos: int
    format: Format = field(compare=False)
    text: str = field(compare=False)

    def __str__(self) -> str:
        return self.text


# A sign, digits and a point may each be missing: the API server reads "." and "+" as zero.
_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {power: name for name, power in _DECIMAL.items()}
_BINARY_NAMES = {power: name for name, power in _BINARY.items()} | {0: ""}


@lru_cache(CACHED_TEXTS)
def parse(text: str) -> Quantity:
    """Read a quantity as the API server does, or raise QuantityError."""
    shape = _SHAPE.fullmatch(text)
    if not text or len(text) > MAX_CHARACTERS or shape is None:
        raise QuantityError(text)
    sign = -1 if shape[1] == "-" else 1
    whole, fraction = shape[2].lstrip("0") or "0", shape[3] or ""
    power, style = _suffix(text, shape[4])
    digits = whole + fraction
    mantissa = int(digits)
    if style is Format.BINARY_SI:
        # apimachinery's short path for whole numbers of up to 11 digits prints the text as it came.
        is_short = not fraction and len(whole) + 3 * power // 10 <= 14
        keeps_text = is_short and bool(mantissa & 7)
        mantissa <<= power
        scale = -len(fraction)
    else:
        scale = power - len(fraction)
        is_short = len(digits) <= 18 and scale >= -9
        keeps_text = is_short and scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    if not is_short and not shape[2] and not fraction:
        raise QuantityError(text)
    mantissa, scale = _at_least_nano(mantissa, scale)
    nanos = _nanos(mantissa, scale)
    if style is Format.BINARY_SI and nanos >= MAX_NANOS:
        mantissa, scale = MAX_VALUE, 0
    printed = text if keeps_text else _canonical(sign * mantissa, scale, style)
    return Quantity(sign * nanos, style, printed)


@lru_cache(CACHED_TEXTS)
def value(text: str) -> int:
    """Whole units, rounded away from zero: how the scheduler counts memory, storage and devices."""
    return value_from_nanos(parse(text).nanos)


@lru_cache(CACHED_TEXTS)
def milli_value(text: str) -> int:
    """Thousandths, rounded away from zero: how the scheduler counts CPU."""
    return milli_from_nanos(parse(text).nanos)


@lru_cache(CACHED_TEXTS)
def nano_value(text: str) -> int:
    """The exact amount, for sums: the scheduler adds a pod's containers exactly and rounds only the sum."""
    return parse(text).nanos


def value_from_nanos(nanos: int) -> int:
    """Round an exact sum to whole units, away from zero."""
    return _divide_away_from_zero(nanos, NANO)


def milli_from_nanos(nanos: int) -> int:
    """Round an exact sum to thousandths, away from zero."""
    return max(-MAX_VALUE, min(MAX_VALUE, _divide_away_from_zero(nanos, 10**6)))


def canonical(text: str) -> str:
    """The same quantity as the API server would print it: "0.5Gi" is "512Mi"."""
    return parse(text).text


def _suffix(text: str, suffix: str) -> tuple[int, Format]:
    """The power of ten, or of two, that a suffix stands for."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], Format.DECIMAL_SI
    if suffix in _BINARY:
        return _BINARY[suffix], Format.BINARY_SI
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or not -(2**63) <= int(exponent[1]) < 2**63:
        raise QuantityError(text)
    # Go keeps the low 32 bits of the exponent.
    return (int(exponent[1]) + 2**31) % 2**32 - 2**31, Format.DECIMAL_EXPONENT


def _at_least_nano(mantissa: int, scale: int) -> tuple[int, int]:
    """Round up to nano units without ever computing a huge power of ten."""
    if scale >= -9:
        return mantissa, scale
    if -9 - scale > MAX_CHARACTERS:
        return min(mantissa, 1), -9
    return _divide_away_from_zero(mantissa, 10 ** (-9 - scale)), -9


def _nanos(mantissa: int, scale: int) -> int:
    """The amount in nano units, at most MAX_NANOS."""
    if mantissa and scale > 19:
        return MAX_NANOS
    return min(MAX_NANOS, mantissa * 10 ** (scale + 9)) if mantissa else 0


def _canonical(mantissa: int, scale: int, style: Format) -> str:
    """The largest suffix that leaves no fraction; a binary text falls back to decimal below 1024 and for fractions."""
    if not mantissa:
        return "0"
    while mantissa % 10 == 0:
        mantissa, scale = mantissa // 10, scale + 1
    if style is Format.BINARY_SI and scale >= 0 and abs(mantissa * 10**scale) >= 1024:
        amount, power = mantissa * 10**scale, 0
        while amount % 1024 == 0:
            amount, power = amount // 1024, power + 10
        return f"{amount}{_BINARY_NAMES[power]}"
    mantissa, scale = mantissa * 10 ** (scale % 3), scale - scale % 3
    if style is Format.DECIMAL_EXPONENT:
        return f"{mantissa}e{scale}" if scale else str(mantissa)
    # Beyond E there is no suffix and apimachinery prints none: it writes 1000E as "1".
    return f"{mantissa}{_DECIMAL_NAMES.get(scale, '')}"


def _divide_away_from_zero(amount: int, divisor: int) -> int:
    return -(-amount // divisor) if amount > 0 else amount // divisor
