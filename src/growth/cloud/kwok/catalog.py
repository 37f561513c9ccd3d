"""Reading a catalogue: which machines a provider sells, where and for how much.

A catalogue is a YAML text that people write and providers ship. Whatever is wrong in it is told at once, each with its
line, its field and, for a name that does not exist, the closest one that does: a price that is silently skipped would
cost real money.

A catalogue may extend one that comes with Growth: what it states itself wins, field by field, also for a server type.
"""

from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

import msgspec
import yaml

from growth.api.labels import is_label_value
from growth.api.meta import FrozenValue
from growth.api.offering import ON_DEMAND, Offering, offering_id
from growth.cloud.kwok.catalog_yaml import Fields, YamlFields, join
from growth.cloud.kwok.faults import Fault, FaultError, fault_from

_TOP: Final = (
    "provider", "extends", "currency", "note", "locations", "reserved", "labels", "pods", "bootDelay", "faults",
    "serverTypes",
)  # fmt: skip
_LOCATION: Final = ("zone", "region", "labels")
_TYPE: Final = (
    "name", "note", "resources", "reserved", "labels", "arch", "capacityType", "priority", "prices", "stock", "isCloud",
    "bootDelay", "faults",
)  # fmt: skip
_SHIPPED: Final = ("hetzner", "kwok")
_ARCHES: Final = ("amd64", "arm64")
_PODS: Final = 110  # the kubelet's own default


class CatalogError(ValueError):
    """A catalogue that must not be used; one sentence per problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class MachineBehavior(FrozenValue, frozen=True):
    """How played machines of one offering behave. Real ones behave as they like."""

    boot_delay: timedelta = timedelta(0)
    """From the order to the node."""

    faults: tuple[Fault, ...] = ()


class Catalog(FrozenValue, frozen=True):
    """All offerings of one provider, in the order of the text."""

    provider: str
    currency: str
    offerings: tuple[Offering, ...]
    behaviours: dict[str, MachineBehavior] = {}  # noqa: RUF012 - msgspec copies an empty dict default for each instance
    """By the offering's id."""


@cache
def shipped_catalogue(provider: str) -> Catalog:
    """The catalogue that comes with Growth; prices change, so a provider that can ask for them should."""
    return read_catalogue(_shipped_text(provider), file_name=f"{provider}.yaml")


def read_catalogue(text: str, *, file_name: str = "the catalogue") -> Catalog:
    """Read and check a catalogue, or raise CatalogueError with everything that is wrong."""
    reader = YamlFields(file_name)
    root = reader.document(text)
    if reader.problems:
        raise CatalogError(reader.problems)
    whole = _whole(reader, root)
    offered = list(_Shop(reader, whole).offered(whole.types))
    if reader.problems:
        raise CatalogError(reader.problems)
    return Catalog(
        provider=reader.word(whole.fields, "provider", "", ""),
        currency=reader.word(whole.fields, "currency", "", "EUR"),
        offerings=tuple(offering for offering, _ in offered),
        behaviours={offering.id: behaviour for offering, behaviour in offered},
    )


def _shipped_text(provider: str) -> str:
    return files("growth.api").joinpath("catalogues", f"{provider}.yaml").read_text(encoding="utf-8")


class _Type:
    """One entry of ``serverTypes``, before its values are read."""

    def __init__(self, reader: YamlFields, node: yaml.Node, path: str) -> None:
        self.node, self.path = node, path
        self.fields = reader.as_mapping(node, path)
        self.name = reader.needed(self.fields, "name", path, node)
        self.key = (self.name, reader.word(self.fields, "capacityType", path, ON_DEMAND))

    def lie_over(self, base: "_Type") -> None:
        """Take from the base what is not stated here."""
        self.fields = {**base.fields, **self.fields}


class _Whole(NamedTuple):
    """A catalogue's text, together with what it extends, before its values are read."""

    fields: Fields
    places: Fields
    types: list[_Type]


def _whole(reader: YamlFields, root: Fields) -> _Whole:
    reader.names(root, _TOP, "")
    entries = enumerate(reader.sequence(root, "serverTypes", ""))
    types = [_Type(reader, node, f"serverTypes[{index}]") for index, node in entries]
    places = reader.mapping(root, "locations", "")
    name = reader.word(root, "extends", "", "") if "extends" in root else ""
    if name and name not in _SHIPPED:
        reader.wrong(root["extends"], "extends", f"a catalogue that comes with Growth: {' or '.join(_SHIPPED)}")
    if name not in _SHIPPED:
        return _Whole(root, places, types)
    shipped = YamlFields(f"{name}.yaml")  # what comes with Growth is whole: it has no problems to tell
    base = _whole(shipped, shipped.document(_shipped_text(name)))
    return _Whole({**base.fields, **root}, {**base.places, **places}, _laid_over(base.types, types))


def _laid_over(base: list[_Type], own: list[_Type]) -> list[_Type]:
    """The base's entries in its order, changed by those of the same name, then the new ones."""
    known = {entry.key: entry for entry in base}
    changed: dict[tuple[str, str], _Type] = {}
    new: list[_Type] = []
    for entry in own:
        if entry.key in known:
            entry.lie_over(known[entry.key])
        if entry.key in known and entry.key not in changed:
            changed[entry.key] = entry
        else:
            new.append(entry)
    return [*(changed.get(entry.key, entry) for entry in base), *new]


class _Shop:
    """Reads entries into what is sold, and how it behaves."""

    def __init__(self, reader: YamlFields, whole: _Whole) -> None:
        self._reader, root = reader, whole.fields
        self._provider = reader.needed(root, "provider", "")
        self._pods = reader.whole(root, "pods", "", _PODS, at_least=1)
        self._labels = reader.labels(root, "labels", "")
        self._reserved = reader.quantities(root, "reserved", "")
        self._boot_delay = reader.duration(root, "bootDelay", "", timedelta(0))
        self._faults = self._read_faults(root, "")
        self._places = {name: self._place(name, node) for name, node in whole.places.items()}

    def offered(self, types: list[_Type]) -> Iterator[tuple[Offering, MachineBehavior]]:
        """Every server type in every place that has a price for it."""
        if not types:
            self._reader.note_line(1, "serverTypes is missing: nothing is sold")
        seen: dict[str, None] = {}
        for entry in types:
            for offering, behaviour in self._sold_of(entry):
                if offering.id in seen:
                    what = f"{offering.id} is listed twice: give each server type once"
                    self._reader.note(entry.node, f"{entry.path}.name", what)
                seen[offering.id] = None
                yield offering, behaviour

    def _sold_of(self, entry: _Type) -> Iterator[tuple[Offering, MachineBehavior]]:
        reader, fields, path = self._reader, entry.fields, entry.path
        reader.names(fields, _TYPE, path)
        resources = reader.quantities(fields, "resources", path)
        if not {"cpu", "memory"} <= resources.keys():
            reader.wrong(entry.node, f"{path}.resources", "at least cpu and memory")
        resources.setdefault("pods", str(self._pods))
        capacity_type = reader.word(fields, "capacityType", path, ON_DEMAND)
        shared = Offering(
            id="",
            provider=self._provider,
            server_type=entry.name,
            location="",
            price_per_hour=0.0,
            resources=resources,
            reserved=self._reserved | reader.quantities(fields, "reserved", path),
            labels=self._labels | reader.labels(fields, "labels", path),
            arch=reader.one_of(fields, "arch", path, _ARCHES),
            capacity_type=capacity_type,
            priority=reader.whole(fields, "priority", path, 0),
            is_cloud=reader.one_of(fields, "isCloud", path, ("true", "false")) == "true",
        )
        behaviour = MachineBehavior(
            boot_delay=reader.duration(fields, "bootDelay", path, self._boot_delay),
            faults=(*self._faults, *self._read_faults(fields, path)),
        )
        stock = reader.mapping(fields, "stock", path)
        reader.names(stock, tuple(self._places), f"{path}.stock")
        prices = reader.mapping(fields, "prices", path)
        reader.names(prices, tuple(self._places), f"{path}.prices")
        for location, price in prices.items():
            if location not in self._places:
                continue
            name = offering_id(self._provider, entry.name, location, capacity_type)
            if not is_label_value(name):
                reader.note(entry.node, path, f"its name would be {name!r}, and that fits no label: expected a shorter")
            place = self._places[location]
            offering = msgspec.structs.replace(
                shared,
                id=name,
                location=location,
                price_per_hour=reader.price(price, f"{path}.prices.{location}"),
                labels=shared.labels | place.labels,
                zone=place.zone,
                region=place.region,
                stock=reader.whole(stock, location, f"{path}.stock", 0, at_least=0) if location in stock else None,
            )
            yield offering, behaviour

    def _place(self, name: str, node: yaml.Node) -> "_Place":
        path = f"locations.{name}"
        fields = self._reader.as_mapping(node, path)
        self._reader.names(fields, _LOCATION, path)
        return _Place(
            zone=self._reader.word(fields, "zone", path, name),
            region=self._reader.word(fields, "region", path, name),
            labels=self._reader.labels(fields, "labels", path),
        )

    def _read_faults(self, fields: Fields, path: str) -> tuple[Fault, ...]:
        found: list[Fault] = []
        for index, node in enumerate(self._reader.sequence(fields, "faults", path)):
            try:
                found.append(fault_from(str(node.value)))
            except FaultError as error:
                self._reader.note(node, f"{join(path, 'faults')}[{index}]", str(error))
        return tuple(found)


class _Place(FrozenValue, frozen=True):
    """What a location adds to the nodes there."""

    zone: str
    region: str
    labels: dict[str, str]
