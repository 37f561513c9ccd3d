"""Sections of the settings that capabilities of other packages bring."""

from functools import cache
from importlib.metadata import entry_points
from typing import Final, cast

from growth.api.settings.section import Section

GROUP: Final = "growth.capabilities"
"""The group of entry points at which other packages offer capabilities."""


@cache
def installed_sections() -> tuple[tuple[str, type[Section]], ...]:
    """Return the name and the class of each section.

    A capability that cannot be loaded has none: ``growth run``, which needs it, says why it cannot be used.
    """
    found: dict[str, type[Section]] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            capability: object = entry.load()
        except Exception:  # noqa: S112 - whatever another package does when it is loaded
            continue
        section: object = getattr(capability, "settings", None)
        if isinstance(section, type) and issubclass(section, Section):
            found.setdefault(str(cast("object", getattr(capability, "name", entry.name))), section)
    return tuple(found.items())
