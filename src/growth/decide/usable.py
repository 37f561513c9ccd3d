"""Whether Growth can buy for a pool, and what is wrong with it otherwise: said in words, the rest goes on."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

import msgspec

from growth.api.cloud import Cloud
from growth.api.nodepool import NodePool

FINALIZER: Final = "growth.dev/machines"
"""Holds a pool that is deleted until its machines are settled."""


class Problem(msgspec.Struct, frozen=True):
    """Something about a pool that a person should mend."""

    reason: str
    why: str
    stops_buying: bool = False
    """Whether nothing at all can be bought for the pool because of it."""


def usable(pool: NodePool, clouds: Mapping[str, Cloud]) -> bool:
    """Whether machines may be bought for this pool now. Before its finalizer is seen it could vanish under them."""
    if pool.metadata.deletion_timestamp is not None or FINALIZER not in pool.metadata.finalizers:
        return False
    return not any(problem.stops_buying for problem in problems(pool, clouds))


def provider_of(pool: NodePool, clouds: Mapping[str, Cloud]) -> str:
    """Whose machines it wants; empty if that is not clear."""
    if pool.spec.provider:
        return pool.spec.provider if pool.spec.provider in clouds else ""
    return next(iter(clouds)) if len(clouds) == 1 else ""


def problems(pool: NodePool, clouds: Mapping[str, Cloud]) -> list[Problem]:
    """All that is wrong, the worst first; none while nobody has answered yet."""
    enabled = ", ".join(sorted(clouds)) or "none"
    provider = provider_of(pool, clouds)
    if not provider:
        if pool.spec.provider:
            why = (
                f"spec.provider is {pool.spec.provider!r}, which is not enabled; enabled (providers.enabled): {enabled}"
            )
            return [Problem("UnknownProvider", why, stops_buying=True)]
        what = "no provider is enabled" if not clouds else f"several providers are enabled ({enabled})"
        hint = "set providers.enabled" if not clouds else "set spec.provider to one of them"
        return [Problem("NoProvider", f"{what}, and the pool names none: {hint}", stops_buying=True)]
    cloud = clouds[provider]
    if cloud.read_at is None:
        return [
            Problem("ProviderSilent", f"{provider} has not said yet what it sells: {cloud.problem}", stops_buying=True)
        ]
    found = [*_unknown_types(pool, cloud), *_unknown_locations(pool, cloud)]
    if cloud.problem:
        found.append(Problem("ProviderSilent", f"{provider} does not answer: {cloud.problem}"))
    return found


def _unknown_types(pool: NodePool, cloud: Cloud) -> list[Problem]:
    sold = {offering.server_type.lower(): offering for offering in cloud.offerings}
    found: list[Problem] = []
    for index, wanted in enumerate(pool.spec.server_types):
        offering = sold.get(wanted.name.lower())
        field = f"spec.serverTypes[{index}].name"
        if offering is None:
            hint = _hint(wanted.name.lower(), sorted(sold))
            why = f"{field} is {wanted.name!r}, which {cloud.provider} does not sell{hint}"
            found.append(Problem("UnknownServerType", why))
        elif not offering.is_cloud:
            why = f"{field} is {wanted.name!r}, which {cloud.provider} sells by hand only: it is never bought"
            found.append(Problem("NotForSale", why))
    return found


def _unknown_locations(pool: NodePool, cloud: Cloud) -> list[Problem]:
    known = sorted({offering.location for offering in cloud.offerings})
    return [
        Problem(
            "UnknownLocation",
            f"spec.locations[{index}] is {wanted!r}, which {cloud.provider} does not have{_hint(wanted, known)}",
        )
        for index, wanted in enumerate(pool.spec.locations)
        if wanted not in known
    ]


def _hint(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 1, 0.6)
    return f"; the closest is {close[0]}" if close else f"; it has {', '.join(known[:12])}" if known else ""
