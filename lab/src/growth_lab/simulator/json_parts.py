"""Reading what may be missing in JSON objects: a part that is not there, or null, is an empty one."""

from collections.abc import Mapping
from typing import Any

from growth_lab.simulator.merge_patch import Json


def part(thing: Mapping[str, Any], *path: str) -> Json:
    """The mapping at this path."""
    found: Any = thing
    for key in path:
        found = found.get(key)
        if not found:
            return {}
    return found


def parts(thing: Mapping[str, Any], *path: str) -> list[Json]:
    """The list of mappings at this path."""
    found = part(thing, *path[:-1]).get(path[-1])
    return found or []
