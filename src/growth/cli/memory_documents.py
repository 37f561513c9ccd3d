"""Memories as a file: one document for each node, YAML or JSON, which ``growth memory import`` reads again.

    node: worker-7
    labels: {example.com/rack: r7}
    removed: [example.com/old]

``uid``, ``version`` and ``at`` are there for people. They mean nothing elsewhere, and are not read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, cast

import msgspec
import yaml

from growth.api.labels import is_label_key, is_label_value, is_object_name
from growth.api.node_memory import NodeContents, NodeRecord, is_too_large
from growth.api.tolerations import EFFECTS, Taint
from growth.cli.errors import UsageError
from growth.cli.yaml_stream import yaml_stream

_FIELDS: Final = (
    *("node", "labels", "removed", "annotations", "taints", "providerID", "claimedBy"),
    *("uid", "version", "at"),
)
_SHOWN: Final = 10
_KEY: Final = "a label's key, such as example.com/rack"
# Ten times as fast as the other one, where it was built.
_LOADER: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class MemoryDocument(msgspec.Struct, frozen=True):
    """What is to be remembered of one node."""

    node: str
    memento: NodeContents
    claimed_by: str = ""


# Writing


def written(memories: Iterable[tuple[str, NodeRecord]], output: str, header: str) -> str:
    """All of them: as YAML, or as JSON with one line for each."""
    documents = (_document(name, memory) for name, memory in memories)
    if output == "json":
        return "".join(f"{msgspec.json.encode(document).decode()}\n" for document in documents)
    return yaml_stream(header, documents)


def _document(name: str, memory: NodeRecord) -> dict[str, Any]:
    claim = {"claimedBy": memory.claimed_by} if memory.claimed_by else {}
    return {"node": name, **msgspec.to_builtins(memory.memento), **claim}


# Reading


def documents_in(text: str, file_name: str) -> list[object]:
    """The documents of a text: YAML, JSON, or JSON line by line."""
    try:
        found = _json(text) if text.lstrip()[:1] in ("{", "[") else list(yaml.load_all(text, _LOADER))
    except (yaml.YAMLError, msgspec.DecodeError) as error:
        raise UsageError(f"{file_name} cannot be read as YAML or JSON: {' '.join(str(error).split())}") from error
    documents = [one for one in found if one is not None]
    if not documents:
        raise UsageError(f"{file_name} is empty: expected what growth memory export prints")
    return documents


def _json(text: str) -> list[object]:
    try:
        whole: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return cast("list[object]", msgspec.json.Decoder[object]().decode_lines(text))
    return cast("list[object]", whole) if isinstance(whole, list) else [whole]


def entries_in(documents: Sequence[object], file_name: str) -> list[MemoryDocument]:
    """What they say. Whatever is wrong is told before anything is done: raises Refused."""
    reading, entries = _Reading(), dict[str, MemoryDocument]()
    for number, document in enumerate(documents, 1):
        reading.where = f"{file_name}, document {number}"
        entry = reading.entry(document)
        if entry is not None and entry.node in entries:
            reading.wrong("node", entry.node, "each node once")
        elif entry is not None:
            entries[entry.node] = entry
    raise_problems(reading.problems)
    return list(entries.values())


def raise_problems(problems: Sequence[str]) -> None:
    """Refuse, with the first few of them."""
    if problems:
        more = [f"and {len(problems) - _SHOWN:,} more"] if len(problems) > _SHOWN else []
        raise UsageError("\n       ".join([*problems[:_SHOWN], *more, "nothing was imported"]))


def checked_labels(labels: Mapping[str, object]) -> Iterator[tuple[str, object, str]]:
    """What the API server would not take as labels: key, value and what was expected."""
    for key, value in labels.items():
        if not is_label_key(key):
            yield "a key", key, _KEY
        elif not isinstance(value, str):
            yield key, value, "a text: write it in quotes"
        elif not is_label_value(value):
            yield key, value, "up to 63 letters, digits, '-', '_' and '.'"


class _Reading:
    """Documents become entries; what is wrong becomes sentences."""

    def __init__(self) -> None:
        self.where = ""
        self.problems: list[str] = []

    def wrong(self, field: str, value: object, expected: str) -> None:
        """Note a problem."""
        self.problems.append(f"{self.where}: {field} is {_short(value)}, expected {expected}")

    def entry(self, document: object) -> MemoryDocument | None:
        """What one document says; None if it says nothing usable."""
        if not isinstance(document, dict):
            self.wrong("it", document, "fields such as node and labels")
            return None
        fields = cast("dict[str, object]", document)
        if fields.get("kind") in ("List", "ConfigMapList", "ConfigMap"):
            self.wrong("kind", fields["kind"], "no such field: for ConfigMaps say --from configmaps")
            return None
        node = fields.get("node")
        if not isinstance(node, str) or not is_object_name(node):
            self.wrong("node", node, "a node's name: small letters, digits, '-' and '.'")
            return None
        self.where = f"{self.where} (node {node})"
        for field in fields:
            if field not in _FIELDS:
                close = get_close_matches(str(field), _FIELDS, 1)
                self.wrong("a field", field, close[0] if close else f"one of {', '.join(_FIELDS)}")
        memento = NodeContents(
            uid="",
            version=0,
            provider_id=self._text(fields, "providerID"),
            labels=self._labels(fields),
            annotations=self._annotations(fields),
            taints=self._taints(fields),
            removed=self._removed(fields),
        )
        if is_too_large(memento):
            self.wrong("it", f"{len(memento.labels)} labels", "less than a ConfigMap of 1 MiB holds")
        return MemoryDocument(node, memento, self._text(fields, "claimedBy"))

    def _text(self, fields: Mapping[str, object], name: str) -> str:
        value = fields.get(name, "")
        if not isinstance(value, str):
            self.wrong(name, value, "a text")
            return ""
        return value

    def _mapping(self, fields: Mapping[str, object], name: str) -> dict[str, object]:
        value = fields.get(name)
        if not isinstance(value, dict):
            if value is not None:
                self.wrong(name, value, "keys with values")
            return {}
        return {str(key): one for key, one in cast("dict[object, object]", value).items()}

    def _list(self, fields: Mapping[str, object], name: str) -> list[object]:
        value = fields.get(name)
        if not isinstance(value, list):
            if value is not None:
                self.wrong(name, value, "a list")
            return []
        return cast("list[object]", value)

    def _labels(self, fields: Mapping[str, object]) -> dict[str, str]:
        labels = self._mapping(fields, "labels")
        for key, value, expected in checked_labels(labels):
            self.wrong(f"labels, {key}", value, expected)
        return {key: str(value) for key, value in labels.items()}

    def _annotations(self, fields: Mapping[str, object]) -> dict[str, str]:
        found = self._mapping(fields, "annotations")
        for key, value in found.items():
            if not is_label_key(key.lower()):
                self.wrong("annotations, a key", key, "an annotation's key, such as example.com/note")
            elif not isinstance(value, str):
                self.wrong(f"annotations, {key}", value, "a text: write it in quotes")
        return {key: str(value) for key, value in found.items()}

    def _removed(self, fields: Mapping[str, object]) -> tuple[str, ...]:
        keys = self._list(fields, "removed")
        for key in keys:
            if not isinstance(key, str) or not is_label_key(key):
                self.wrong("removed, a key", key, _KEY)
        return tuple(str(key) for key in keys)

    def _taints(self, fields: Mapping[str, object]) -> tuple[Taint, ...]:
        taints: list[Taint] = []
        for value in self._list(fields, "taints"):
            try:
                taint = msgspec.convert(value, Taint)
            except msgspec.ValidationError:
                taint = Taint("")
            if is_label_key(taint.key) and is_label_value(taint.value) and taint.effect in EFFECTS:
                taints.append(taint)
            else:
                self.wrong("taints, one", value, f"key, value and effect, which is {', '.join(EFFECTS)}")
        return tuple(taints)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
