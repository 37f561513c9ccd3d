"""Reading a catalogue: which machines a provider sells, where and for how much.

A catalogue is a YAML text that people write and providers ship. Whatever is wrong in it is told at once, each with its
line, its field and, for a name that does not exist, the closest one that does: a price that is silently skipped would
cost real money.
"""

import difflib
import math
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Final, cast

import msgspec
import yaml

from growth.api.offering import ON_DEMAND, Offering, offering_id
from growth.api.quantity import QuantityError, parse
from growth.api.slim import Slim

_TOP: Final = ("provider", "currency", "note", "locations", "reserved", "labels", "pods", "serverTypes")
_LOCATION: Final = ("zone", "region", "labels")
_TYPE: Final = (
    "name", "note", "resources", "reserved", "labels", "arch", "capacityType", "priority", "prices", "stock", "isCloud",
)  # fmt: skip
_ARCHES: Final = ("amd64", "arm64")
_PODS: Final = 110  # the kubelet's own default


class CatalogueError(ValueError):
    """A catalogue that must not be used; one sentence per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Catalogue(Slim, frozen=True):
    """All offerings of one provider, in the order of the text."""

    provider: str
    currency: str
    offerings: tuple[Offering, ...]


def shipped_catalogue(provider: str) -> Catalogue:
    """The catalogue that comes with Growth; prices change, so a provider that can ask for them should."""
    text = files("growth.api").joinpath("catalogues", f"{provider}.yaml").read_text(encoding="utf-8")
    return read_catalogue(text, file_name=f"{provider}.yaml")


def read_catalogue(text: str, *, file_name: str = "the catalogue") -> Catalogue:
    """Read and check a catalogue, or raise CatalogueError with everything that is wrong."""
    reader = _Reader(file_name)
    root = reader.document(text)
    reader.names(root, _TOP, "")
    provider = reader.word(root, "provider", "", "")
    currency = reader.word(root, "currency", "", "EUR")
    places = reader.mapping(root, "locations", "")
    for name, place in places.items():
        reader.names(reader.as_mapping(place, f"locations.{name}"), _LOCATION, f"locations.{name}")
    offerings: list[Offering] = []
    for index, entry in enumerate(reader.sequence(root, "serverTypes", "")):
        offerings += _offerings_of(reader, entry, f"serverTypes[{index}]", root, provider)
    seen: dict[str, None] = {}
    for offering in offerings:
        if offering.id in seen:
            reader.problems.append(f"{file_name}: {offering.id} is listed twice: give each server type once")
        seen[offering.id] = None
    if reader.problems:
        raise CatalogueError(reader.problems)
    return Catalogue(provider=provider, currency=currency, offerings=tuple(offerings))


_Fields = Mapping[str, yaml.Node]


def _offerings_of(reader: "_Reader", entry: yaml.Node, path: str, root: _Fields, provider: str) -> Iterator[Offering]:
    places = reader.mapping(root, "locations", "")
    fields = reader.as_mapping(entry, path)
    reader.names(fields, _TYPE, path)
    name = reader.word(fields, "name", path, "")
    resources = reader.quantities(fields, "resources", path)
    if not {"cpu", "memory"} <= resources.keys():
        reader.wrong(entry, f"{path}.resources", "", "at least cpu and memory")
    resources.setdefault("pods", str(reader.whole(root, "pods", "", _PODS)))
    arch = reader.word(fields, "arch", path, "amd64")
    if arch not in _ARCHES:
        reader.wrong(fields["arch"], f"{path}.arch", arch, " or ".join(_ARCHES))
    capacity_type = reader.word(fields, "capacityType", path, ON_DEMAND)
    labels = reader.words(root, "labels", "") | reader.words(fields, "labels", path)
    reserved = reader.quantities(root, "reserved", "") | reader.quantities(fields, "reserved", path)
    stock = reader.mapping(fields, "stock", path)
    reader.names(stock, tuple(places), f"{path}.stock")
    prices = reader.mapping(fields, "prices", path)
    reader.names(prices, tuple(places), f"{path}.prices")
    for location, price in prices.items():
        if location not in places:
            continue
        place = reader.as_mapping(places[location], f"locations.{location}")
        yield Offering(
            id=offering_id(provider, name, location, capacity_type),
            provider=provider,
            server_type=name,
            location=location,
            price_per_hour=reader.price(price, f"{path}.prices.{location}"),
            resources=resources,
            reserved=reserved,
            labels=labels | reader.words(place, "labels", f"locations.{location}"),
            zone=reader.word(place, "zone", f"locations.{location}", location),
            region=reader.word(place, "region", f"locations.{location}", location),
            arch=arch,
            capacity_type=capacity_type,
            priority=reader.whole(fields, "priority", path, 0),
            stock=reader.whole(stock, location, f"{path}.stock", 0) if location in stock else None,
            is_cloud=reader.word(fields, "isCloud", path, "true").lower() == "true",
        )


class _Reader:
    """YAML nodes to values, noting what is wrong and where. A value that is wrong reads as its default."""

    def __init__(self, file_name: str) -> None:
        self._file_name = file_name
        self.problems: list[str] = []
        # A block of fields begins below its name, but people look for the name.
        self._lines: dict[yaml.Node, int] = {}

    def document(self, text: str) -> _Fields:
        try:
            root = cast("yaml.Node | None", yaml.compose(text, yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise CatalogueError([f"{self._file_name} line {line}: not YAML: {error.problem}"]) from error
        return {} if root is None else self.as_mapping(root, "the text")

    def as_mapping(self, node: yaml.Node, path: str) -> dict[str, yaml.Node]:
        if isinstance(node, yaml.MappingNode):
            self._lines |= {value: key.start_mark.line for key, value in node.value}
            return {str(key.value): value for key, value in node.value}
        if node.value not in ("", "null", "~"):
            self.wrong(node, path, node.value, "fields with values")
        return {}

    def mapping(self, fields: _Fields, name: str, path: str) -> dict[str, yaml.Node]:
        return self.as_mapping(fields[name], _join(path, name)) if name in fields else {}

    def sequence(self, fields: _Fields, name: str, path: str) -> list[yaml.Node]:
        node = fields.get(name)
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        if node is not None:
            self.wrong(node, _join(path, name), node.value, "a list")
        return []

    def names(self, fields: _Fields, known: tuple[str, ...], path: str) -> None:
        for name, node in fields.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, 1, 0.5)
                hint = f", the closest is {close[0]}" if close else f"; known are {', '.join(known)}"
                self._note(node, _join(path, name), f"has no meaning: there is no such name{hint}")

    def word(self, fields: _Fields, name: str, path: str, default: str) -> str:
        node = fields.get(name)
        if node is None:
            if not default:
                self.problems.append(f"{self._file_name}: {_join(path, name)} is missing")
            return default
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            self.wrong(node, _join(path, name), node.value, "a word")
            return default
        return str(node.value)

    def words(self, fields: _Fields, name: str, path: str) -> dict[str, str]:
        inside = self.mapping(fields, name, path)
        return {key: self.word(inside, key, _join(path, name), "?") for key in inside}

    def quantities(self, fields: _Fields, name: str, path: str) -> dict[str, str]:
        texts = self.words(fields, name, path)
        for key, text in texts.items():
            try:
                parse(text)
            except QuantityError:
                node = self.mapping(fields, name, path)[key]
                self.wrong(node, f"{_join(path, name)}.{key}", text, "a quantity such as 2, 500m or 4Gi")
                texts[key] = "0"
        return texts

    def whole(self, fields: _Fields, name: str, path: str, default: int) -> int:
        if name not in fields:
            return default
        text = fields[name].value
        try:
            return msgspec.convert(text, int, strict=False)
        except msgspec.ValidationError:
            self.wrong(fields[name], _join(path, name), text, "a whole number")
            return default

    def price(self, node: yaml.Node, path: str) -> float:
        try:
            price = float(node.value)
        except (TypeError, ValueError):
            price = math.nan
        if not 0 <= price < math.inf:
            self.wrong(node, path, node.value, "a price per hour such as 0.0088")
            return 0.0
        return price

    def wrong(self, node: yaml.Node, path: str, value: object, expected: str) -> None:
        shown = f"{value!r}" if isinstance(node, yaml.ScalarNode) else "this"
        self._note(node, path, f"{shown} is not possible: expected {expected}")

    def _note(self, node: yaml.Node, path: str, what: str) -> None:
        line = self._lines.get(node, node.start_mark.line) + 1
        self.problems.append(f"{self._file_name} line {line}: {path}: {what}")


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
