"""YAML texts that people write, read field by field, so that whatever is wrong is told with its line.

A decoder stops at the first problem and knows no lines. This reader notes every problem, each with file, line, field
and, for a name that does not exist, the closest one that does; a value that is wrong then reads as its default.
"""

import difflib
import io
import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import cast

import msgspec
import yaml

from growth.api.duration import DurationError, parse_duration
from growth.api.labels import is_label_key, is_label_value
from growth.api.quantity import QuantityError, parse

Fields = Mapping[str, yaml.Node]


class YamlFields:
    """Values of one text, and one sentence for each that is wrong."""

    def __init__(self, file_name: str) -> None:
        self.file_name = file_name
        self._notes: dict[str, int] = {}
        # A block of fields begins below its name, but people look for the name.
        self._lines: dict[yaml.Node, int] = {}

    def document(self, text: str) -> dict[str, yaml.Node]:
        """The fields of the whole text; a text that is no YAML is a problem and has none."""
        stream = io.StringIO(text)
        stream.name = self.file_name  # pyright: ignore[reportAttributeAccessIssue] - where yaml looks for it
        try:
            root = cast("yaml.Node | None", yaml.compose(stream, yaml.SafeLoader))  # pyright: ignore[reportUnknownMemberType]
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            self.note_line(line, f"not YAML: {error.problem}")
            return {}
        except yaml.YAMLError as error:  # a character that YAML does not allow: it has no line
            self.note_line(1, f"not YAML: {error}")
            return {}
        return {} if root is None else self.as_mapping(root, "the text")

    # Containers

    def as_mapping(self, node: yaml.Node, path: str) -> dict[str, yaml.Node]:
        """The fields below a node."""
        if not isinstance(node, yaml.MappingNode):
            if node.value not in ("", "null", "~"):
                self.wrong(node, path, "fields with values")
            return {}
        fields: dict[str, yaml.Node] = {}
        for key, value in node.value:
            self._lines[value] = key.start_mark.line
            if key.value in fields and fields[key.value] is not value:
                self.note(value, join(path, key.value), "is given twice: only one of them can hold")
            fields[str(key.value)] = value
        return fields

    def mapping(self, fields: Fields, name: str, path: str) -> dict[str, yaml.Node]:
        """The fields below a field; none if it is not there."""
        return self.as_mapping(fields[name], join(path, name)) if name in fields else {}

    def sequence(self, fields: Fields, name: str, path: str) -> list[yaml.Node]:
        """The entries below a field; none if it is not there."""
        node = fields.get(name)
        if isinstance(node, yaml.SequenceNode):
            return list(node.value)
        if node is not None:
            self.wrong(node, join(path, name), "a list")
        return []

    def names(self, fields: Fields, known: Sequence[str], path: str) -> None:
        """Note every field that has a name which is not known."""
        for name, node in fields.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, 1, 0.5)
                hint = f", the closest is {close[0]}" if close else f"; known are {', '.join(known)}"
                self.note(node, join(path, name), f"has no meaning: there is no such name{hint}")

    # Values

    def word(self, fields: Fields, name: str, path: str, default: str) -> str:
        """A text that is not empty."""
        node = fields.get(name)
        if node is None:
            return default
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            self.wrong(node, join(path, name), "a word")
            return default
        return str(node.value)

    def needed(self, fields: Fields, name: str, path: str, inside: yaml.Node | None = None) -> str:
        """A text that must be there; ``inside`` is where it is missing."""
        if name not in fields:
            if inside is None:
                self.note_line(1, f"{join(path, name)} is missing")
            else:
                self.note(inside, join(path, name), "is missing")
        return self.word(fields, name, path, "")

    def one_of(self, fields: Fields, name: str, path: str, known: Sequence[str]) -> str:
        """One of these words; the first of them is the default."""
        word = self.word(fields, name, path, known[0])
        if word not in known:
            self.wrong(fields[name], join(path, name), " or ".join(known))
            return known[0]
        return word

    def words(self, fields: Fields, name: str, path: str) -> dict[str, str]:
        """Texts by name."""
        inside = self.mapping(fields, name, path)
        return {key: self.word(inside, key, join(path, name), "") for key in inside}

    def labels(self, fields: Fields, name: str, path: str) -> dict[str, str]:
        """Labels as the API server takes them."""
        inside = self.mapping(fields, name, path)
        found: dict[str, str] = {}
        for key, node in inside.items():
            where, value = f"{join(path, name)}.{key}", str(node.value)
            if not is_label_key(key):
                self.note(node, where, "has no meaning: expected a label's key, such as disk or example.org/disk")
            elif not isinstance(node, yaml.ScalarNode) or not is_label_value(value):
                self.wrong(node, where, "a label's value: up to 63 letters, digits, '-', '_' and '.'")
            else:
                found[key] = value
        return found

    def quantities(self, fields: Fields, name: str, path: str) -> dict[str, str]:
        """Amounts of resources, none below zero."""
        texts = self.words(fields, name, path)
        for key, text in texts.items():
            try:
                is_amount = parse(text).nanos >= 0
            except QuantityError:
                is_amount = False
            if not is_amount:
                node = self.mapping(fields, name, path)[key]
                self.wrong(node, f"{join(path, name)}.{key}", "a quantity such as 2, 500m or 4Gi")
                texts[key] = "0"
        return texts

    def whole(self, fields: Fields, name: str, path: str, default: int, *, at_least: int | None = None) -> int:
        """A whole number."""
        if name not in fields:
            return default
        try:
            number = msgspec.convert(fields[name].value, int, strict=False)
        except msgspec.ValidationError:
            number = None
        if number is None or (at_least is not None and number < at_least):
            bound = f" of at least {at_least}" if at_least is not None else ""
            self.wrong(fields[name], join(path, name), f"a whole number{bound}")
            return default
        return number

    def price(self, node: yaml.Node, path: str) -> float:
        """A price per hour: finite, and nobody pays us for taking a machine."""
        try:
            price = float(node.value)
        except (TypeError, ValueError):
            price = math.nan
        if not 0 <= price < math.inf:
            self.wrong(node, path, "a price per hour such as 0.0088")
            return 0.0
        return price

    def duration(self, fields: Fields, name: str, path: str, default: timedelta) -> timedelta:
        """A duration, not below zero."""
        if name not in fields:
            return default
        try:
            duration = parse_duration(str(fields[name].value))
        except DurationError:
            duration = timedelta(-1)
        if duration < timedelta(0):
            self.wrong(fields[name], join(path, name), "a duration such as 45s or 10m")
            return default
        return duration

    # Problems

    def wrong(self, node: yaml.Node, path: str, expected: str) -> None:
        """This value cannot be."""
        shown = f"{node.value!r}" if isinstance(node, yaml.ScalarNode) else "this"
        self.note(node, path, f"{shown} is not possible: expected {expected}")

    def note(self, node: yaml.Node, path: str, what: str) -> None:
        """Something is wrong here."""
        line = self._lines.get(node, node.start_mark.line) + 1
        self._notes.setdefault(f"{node.start_mark.name} line {line}: {path}: {what}", line)

    def note_line(self, line: int, what: str) -> None:
        """Something is wrong in this line, or, in the first one, somewhere."""
        self._notes.setdefault(f"{self.file_name} line {line}: {what}", line)

    @property
    def problems(self) -> list[str]:
        """Every problem once, in the order of the lines."""
        return sorted(self._notes, key=self._notes.__getitem__)


def join(path: str, name: str) -> str:
    """The path of a field inside of what stands at ``path``."""
    return f"{path}.{name}" if path else name
