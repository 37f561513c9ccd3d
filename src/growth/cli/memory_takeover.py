"""Memories of the service that the seed describes: ConfigMaps named as nodes, with labels whose slashes are encoded.

In that format a key that contains the token itself cannot be told from one with a slash: it is read as a slash, as that
service does.
"""

from collections.abc import Sequence
from typing import Final, cast

import msgspec

from growth.api.core import ConfigMap
from growth.api.node_memory import NodeContents
from growth.cli.failures import UsageError
from growth.cli.memory_documents import MemoryDocument, checked_labels, raise_problems

TOKEN: Final = "---SLASH---"  # noqa: S105 - it stands for a slash and keeps no secret
THEIR_MARKER: Final = "labels_restored"
_KINDS: Final = ("ConfigMap", "ConfigMapList", "List")


class TakeoverResult(msgspec.Struct, frozen=True):
    """What they say, and which of them are somebody else's: every namespace has some that nobody asked for."""

    entries: tuple[MemoryDocument, ...]
    others: tuple[str, ...]


def taken_over(config_maps: Sequence[ConfigMap], where: str) -> TakeoverResult:
    """What these ConfigMaps say. One that is that service's and cannot be read is refused, and with it all."""
    entries, others, problems = list[MemoryDocument](), list[str](), list[str]()
    for one in config_maps:
        name, labels = one.metadata.name, {key.replace(TOKEN, "/"): value for key, value in one.data.items()}
        is_theirs = THEIR_MARKER in labels
        wrong = list(checked_labels({key: value for key, value in labels.items() if key != THEIR_MARKER}))
        if wrong and not is_theirs:
            others.append(name)
            continue
        problems += [
            f"{where}, ConfigMap {name}: data, {key} is {value!r}, expected {expected}"
            for key, value, expected in wrong
        ]
        labels.pop(THEIR_MARKER, None)
        entries.append(MemoryDocument(name, NodeContents(uid="", version=0, labels=labels)))
    raise_problems(problems)
    return TakeoverResult(tuple(entries), tuple(others))


def config_maps_in(documents: Sequence[object], file_name: str) -> list[ConfigMap]:
    """The ConfigMaps of a file that ``kubectl get configmaps -o yaml`` wrote."""
    found: list[ConfigMap] = []
    for number, document in enumerate(documents, 1):
        fields = cast("dict[str, object]", document) if isinstance(document, dict) else {}
        kind = fields.get("kind")
        if kind not in _KINDS:
            raise UsageError(f"{file_name}, document {number}: kind is {kind!r}, expected {' or '.join(_KINDS)}")
        try:
            items: object = [fields] if kind == "ConfigMap" else fields.get("items")
            # Not strict: a resourceVersion is an integer in a string.
            found += msgspec.convert(items, list[ConfigMap], strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"{file_name}, document {number} cannot be read: {error}") from error
    return found
