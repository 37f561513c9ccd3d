"""Changing objects without touching them: a merge patch gives a new object that shares what did not change.

Stored objects are never edited in place, because history, watchers and controllers hold on to them.
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]


def merged(whole: Json, patch: Mapping[str, Any]) -> Json:
    """A JSON merge patch (RFC 7386): None removes, mappings go deeper, everything else replaces.

    Gives ``whole`` itself if the patch changes nothing.
    """
    changed: Json | None = None
    for key, value in patch.items():
        known = whole.get(key, _ABSENT)
        if value is None:
            new: Any = _ABSENT
        elif isinstance(value, Mapping):
            new = merged(known if isinstance(known, dict) else {}, value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
            if known is _ABSENT or not isinstance(known, dict):
                new = dict(new)
        else:
            new = value
        if new is known or (new is not _ABSENT and known is not _ABSENT and _same(new, known)):
            continue
        if changed is None:
            changed = dict(whole)
        if new is _ABSENT:
            del changed[key]
        else:
            changed[key] = new
    return whole if changed is None else changed


_ABSENT: Any = object()


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Equal as JSON: true is not 1."""
    return one == other and type(one) is type(other)
