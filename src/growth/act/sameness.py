"""Whether an object that is there already is the one that was wanted."""

from collections.abc import Mapping
from typing import Any, cast


def contains(there: object, wanted: object) -> bool:
    """Whether everything that was wanted is there; what the server added to it (defaults, status) does not matter.

    Lists are compared item by item in their order, because the server adds to items but not between them.
    """
    if isinstance(wanted, Mapping):
        whole, part = cast("Any", there), cast("Mapping[str, Any]", wanted)
        return isinstance(there, Mapping) and all(contains(whole.get(key), value) for key, value in part.items())
    if isinstance(wanted, (list, tuple)):
        items, parts = cast("Any", there), cast("list[Any]", wanted)
        return isinstance(there, (list, tuple)) and len(items) == len(parts) and all(map(contains, items, parts))
    return there == wanted
