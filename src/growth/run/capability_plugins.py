"""Capabilities from other packages: entry points of the group ``growth.capabilities``, after Growth's own stages."""

from importlib.metadata import EntryPoint, entry_points
from typing import cast

from growth.api.settings.extensions import GROUP
from growth.api.settings.model import Settings
from growth.decide.contract import AnyCapability, Capability
from growth.decide.pipeline import CAPABILITIES, PIPELINE, BrokenPipeline, check


class CapabilityNotUsable(Exception):
    """An installed capability cannot be loaded, or does not fit into the pipeline."""

    def __init__(self, entry: EntryPoint, reason: str) -> None:
        super().__init__(f"capability {entry.name!r} is installed ({entry.value}) and cannot be used: {reason}")


def installed_capabilities() -> tuple[AnyCapability, ...]:
    """Return Growth's own capabilities, and those of other packages. Raises CapabilityNotUsable."""
    return (*CAPABILITIES, *plugin_capabilities())


def plugin_capabilities() -> list[AnyCapability]:
    """Return the capabilities of other packages. Raises CapabilityNotUsable."""
    sections = Settings.__struct_fields__
    found: list[AnyCapability] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            loaded: object = entry.load()
        except Exception as error:
            raise CapabilityNotUsable(entry, f"{type(error).__name__}: {error}") from error
        if not isinstance(loaded, Capability):
            expected = "expected a Capability (growth.decide.contract)"
            raise CapabilityNotUsable(entry, f"it is a {type(loaded).__name__}; {expected}")
        capability = cast("AnyCapability", loaded)
        if any(one.name == capability.name for one in (*CAPABILITIES, *found)):
            raise CapabilityNotUsable(entry, f"another capability has the name {capability.name!r}")
        if capability.settings is not None and capability.name in sections:
            raise CapabilityNotUsable(entry, f"the settings have a section {capability.name!r} of their own")
        try:
            check((*PIPELINE, *found, capability))
        except BrokenPipeline as error:
            raise CapabilityNotUsable(entry, str(error)) from error
        found.append(capability)
    return found
