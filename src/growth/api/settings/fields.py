"""The settings as a flat list, made from the class: one row per field, with every name that it goes by."""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import cache
from itertools import chain
from typing import Any, cast

import msgspec
from msgspec import inspect

from growth.api.duration import DurationError, format_duration, parse_duration
from growth.api.settings.extensions import installed_sections
from growth.api.settings.model import Settings

Value = str | int | timedelta | tuple[str, ...] | None
# YAML reads a bare off, no, on or yes as a truth value; where that word itself is one of the choices, it was meant.
_TRUTHS = {"true": True, "false": False}
_MEANT = {False: "off", True: "on"}
PREFIX = "GROWTH"
NEVER = "never"
"""How a setting is written that may have no value, unless it has another word for that."""


class BadItem(ValueError):
    """One of several texts is not possible."""

    def __init__(self, number: int, item: object, expected: str) -> None:
        super().__init__(expected)
        self.number, self.item = number, item


class SettingField(msgspec.Struct, frozen=True):
    """One setting: where it stands in the file and what it may hold."""

    path: str
    type: type[str | int | timedelta | tuple[str, ...]]
    default: Value
    meaning: str
    expected: str
    shape: inspect.Type
    nothing: str = NEVER
    """What stands for no value, where that is possible."""
    takes_zero: bool = False
    """Whether no time at all is a time."""

    @property
    def flag(self) -> str:
        """``--leader-election-lease-duration``."""
        return "--" + "-".join(self._words)

    @property
    def variable(self) -> str:
        """``GROWTH_LEADER_ELECTION_LEASE_DURATION``."""
        return "_".join((PREFIX, *self._words)).upper()

    @property
    def parameter(self) -> str:
        """``leader_election_lease_duration``, as a Python name."""
        return "_".join(self._words)

    @property
    def _words(self) -> list[str]:
        """The path's words. The section kube is left out: people know its flags from kubectl, without a prefix."""
        return re.sub(r"([A-Z])", r".\1", self.path.removeprefix("kube.")).lower().split(".")

    def value_from(self, raw: object) -> Value:
        """Translate what a file holds, or a text from elsewhere, and check it; raises ValueError."""
        match self.shape, raw:
            case inspect.UnionType(), _ if raw in (None, self.nothing):
                return None
            case inspect.UnionType(types=types), int():
                return self._number(types, raw)
            case inspect.VarTupleType(item_type=item), list():
                return tuple(self._item(item, *one) for one in enumerate(cast("list[object]", raw)))
            case inspect.UnionType() | inspect.TimeDeltaType(), str():
                try:
                    duration = parse_duration(raw)
                except DurationError as error:
                    raise ValueError(self.expected) from error
                if duration < timedelta(0) or (not duration and not self.takes_zero):
                    raise ValueError(self.expected)
                return duration
            case inspect.BoolType(), bool():
                return raw
            case inspect.IntType(), int():
                return self._number((self.shape,), raw)
            case inspect.StrType(pattern=pattern), str():
                if pattern is not None and not re.search(pattern, raw):
                    raise ValueError(self.expected)
                return raw
            case inspect.StrType(pattern=str()), bool():
                return self.value_from(_MEANT[raw])
            case _:
                raise ValueError(self.expected)

    def _number(self, shapes: Iterable[inspect.Type], raw: int) -> int:
        for shape in shapes:
            if isinstance(shape, inspect.IntType) and not isinstance(raw, bool):
                is_above = shape.ge is None or raw >= shape.ge
                if is_above and (shape.le is None or raw <= shape.le):
                    return raw
        raise ValueError(self.expected)

    def _item(self, shape: inspect.Type, number: int, raw: object) -> str:
        pattern = shape.pattern if isinstance(shape, inspect.StrType) else None
        if not isinstance(raw, str) or (pattern is not None and not re.search(pattern, raw)):
            raise BadItem(number, raw, self.expected)
        return raw

    def value_from_text(self, text: str) -> Value:
        """Translate a flag or a variable, where everything is text; raises ValueError."""
        if self.type is tuple:
            return self.value_from([item.strip() for item in text.split(",") if item.strip()])
        if self.type is bool and text.strip().lower() in _TRUTHS:
            return self.value_from(_TRUTHS[text.strip().lower()])
        is_number = self.type is int and re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip())
        return self.value_from(int(text) if is_number else text)


def plain(value: Value, nothing: str = NEVER) -> str | int | list[str]:
    """A value as the file would hold it."""
    match value:
        case None:
            return nothing
        case timedelta():
            return format_duration(value)
        case tuple():
            return list(value)
        case _:
            return value


def worded(value: Value, nothing: str = NEVER) -> str:
    """The same as people write it."""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(plain(value, nothing))


@cache
def setting_fields() -> tuple[SettingField, ...]:
    """Every setting, in the order of the class; then those of capabilities from other packages."""
    own = _fields(cast("inspect.StructType", inspect.type_info(Settings)), "")
    others = (
        _fields(cast("inspect.StructType", inspect.type_info(section)), f"{name}.")
        for name, section in installed_sections()
    )
    return tuple(chain(own, *others))


def _fields(section: inspect.StructType, prefix: str) -> Iterator[SettingField]:
    for field in section.fields:
        path = f"{prefix}{field.encode_name}"
        if isinstance(field.type, inspect.StructType):
            yield from _fields(field.type, f"{path}.")
        elif not isinstance(field.type, inspect.DictType):  # the sections of other packages are asked for themselves
            yield _field(path, field)


def _field(path: str, field: inspect.Field) -> SettingField:
    described = cast("Any", field.type)
    schema: dict[str, str] = described.extra_json_schema
    extra: dict[str, Any] = described.extra
    shape, nothing = described.type, extra.get("nothing") or NEVER
    match shape:
        case inspect.TimeDeltaType():
            kind, words = timedelta, "a duration above zero, such as 90s, 10m or 1h30m"
        case inspect.IntType():
            kind, words = int, f"a whole number from {shape.ge} {'up' if shape.le is None else f'to {shape.le}'}"
        case inspect.BoolType():
            kind, words = bool, "true or false"
        case inspect.StrType():
            kind, words = str, "a text"
        case inspect.VarTupleType():
            kind, words = tuple, "texts"
        case inspect.UnionType(types=types) if any(isinstance(one, inspect.IntType) for one in types):
            (number,) = (one for one in types if isinstance(one, inspect.IntType))
            kind, words = int, f"a whole number from {number.ge} up, or {nothing}"
        case inspect.UnionType():
            kind, words = timedelta, f"a duration above zero, such as 90s, 10m or 1h30m, or {nothing}"
        case _:
            raise TypeError(f"{path} cannot be a setting of type {shape}: expected str, bool, int, timedelta or texts")
    expected = extra["expected"] or words
    meaning = schema["description"]
    return SettingField(path, kind, field.default, meaning, expected, shape, nothing, extra["takes_zero"])
