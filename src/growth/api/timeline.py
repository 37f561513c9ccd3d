"""What happened to one node, for people: each step with its instant, kept in ``growth-status`` beside the rest.

``growth explain node NAME`` prints it. It is a story and no state: nothing is decided on it.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from growth.api.core import ConfigMap
from growth.api.slim import Slim

_PREFIX: Final = "node."
# What is left out in the middle of a long story is less than what its beginning and its end tell.
_FIRST, _LAST = 4, 36


class Entry(Slim, frozen=True):
    """One step."""

    at: datetime
    what: str
    """As one word for machines, such as ``Tainted``."""
    words: str


class Timeline(Slim, frozen=True):
    """All steps of one node."""

    node: str
    uid: str
    entries: tuple[Entry, ...] = ()

    def with_entry(self, entry: Entry) -> "Timeline":
        """One step more; of very many, the first and the last ones are kept."""
        entries = (*self.entries, entry)
        if len(entries) > _FIRST + _LAST:
            entries = (*entries[:_FIRST], *entries[-_LAST:])
        return msgspec.structs.replace(self, entries=entries)


def key_of(node: str) -> str:
    """Under which key of the ConfigMap it stands."""
    return f"{_PREFIX}{node}"


def timelines_in(found: ConfigMap | None) -> Iterator[Timeline]:
    """All that the ConfigMap tells; what somebody else wrote into it is passed over."""
    for key, text in (found.data if found is not None else {}).items():
        if not key.startswith(_PREFIX):
            continue
        try:
            yield msgspec.json.decode(text, type=Timeline)
        except msgspec.DecodeError:
            continue
