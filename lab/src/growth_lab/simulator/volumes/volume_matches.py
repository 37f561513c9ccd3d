"""Which volume a claim gets: one that was made for it, else the smallest that is free and large enough."""

from collections.abc import Iterable

import msgspec

from growth.api import quantity
from growth.api.selectors import LabelSelector
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.volumes.claims import is_reference_to


def best_volume(claim: Json, volumes: Iterable[Json], *, only_reserved: bool) -> Json | None:
    """The best of these volumes; ``only_reserved`` if the rest is the scheduler's to choose from."""
    free: list[Json] = []
    for volume in volumes:
        reference = volume["spec"].get("claimRef")
        if reference is not None:
            if is_reference_to(reference, claim) and satisfies(volume, claim):
                return volume
        elif not only_reserved and _is_free_for(volume, claim):
            free.append(volume)
    return min(free, key=lambda volume: (_size(volume), volume["metadata"]["name"]), default=None)


def satisfies(volume: Json, claim: Json) -> bool:
    """Whether a volume can be this claim's at all: size, mode of use, ways of access, class."""
    has, wants = volume["spec"], claim["spec"]
    return (
        _size(volume) >= quantity.nano_value(part(wants, "resources", "requests").get("storage", "0"))
        and has.get("volumeMode", "Filesystem") == wants.get("volumeMode", "Filesystem")
        and all(mode in has.get("accessModes", ()) for mode in wants.get("accessModes", ()))
        and (has.get("storageClassName") or "") == (wants.get("storageClassName") or "")
    )


def _is_free_for(volume: Json, claim: Json) -> bool:
    if "deletionTimestamp" in volume["metadata"] or part(volume, "status").get("phase") != "Available":
        return False
    written = claim["spec"].get("selector")
    if written is not None:
        selector = msgspec.convert(written, LabelSelector)
        if not selector.matches(part(volume, "metadata", "labels")):
            return False
    return satisfies(volume, claim)


def _size(volume: Json) -> int:
    return quantity.nano_value(part(volume, "spec", "capacity").get("storage", "0"))
