"""Whether Growth can buy for a pool, and what is wrong with it otherwise: said in words, the rest goes on."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

import msgspec

from growth.api.node_pool import NodePool
from growth.api.not_offered import not_offered
from growth.api.offering import Offering
from growth.api.provider_state import NOT_ASKED, ProviderState
from growth.decide.policy.disruption_budgets import complaints

FINALIZER: Final = "growth.dev/machines"
"""Holds a pool that is deleted until its machines are settled."""


class PoolProblem(msgspec.Struct, frozen=True):
    """Something about a pool that a person should mend."""

    reason: str
    why: str
    stops_launches: bool = False
    """Whether nothing at all can be bought for the pool because of it."""


def usable(pool: NodePool, clouds: Mapping[str, ProviderState]) -> bool:
    """Whether machines may be bought for this pool now. Before its finalizer is seen it could vanish under them."""
    if pool.metadata.deletion_timestamp is not None or FINALIZER not in pool.metadata.finalizers:
        return False
    return not any(problem.stops_launches for problem in problems(pool, clouds))


def provider_of(pool: NodePool, clouds: Mapping[str, ProviderState]) -> str:
    """Whose machines it wants; empty if that is not clear."""
    if pool.spec.provider:
        return pool.spec.provider if pool.spec.provider in clouds else ""
    return next(iter(clouds)) if len(clouds) == 1 else ""


def is_asked(pool: NodePool, clouds: Mapping[str, ProviderState]) -> bool:
    """Whether the pool's provider had the time to say anything, so that its silence means something."""
    cloud = clouds.get(provider_of(pool, clouds))
    return cloud is None or cloud.read_at is not None or cloud.problem != NOT_ASKED


def problems(pool: NodePool, clouds: Mapping[str, ProviderState]) -> list[PoolProblem]:
    """All that is wrong, the worst first."""
    provider = provider_of(pool, clouds)
    if not provider:
        return [_no_provider(pool, clouds)]
    cloud = clouds[provider]
    if cloud.read_at is None:
        why = f"{provider} has not said yet what it sells: {cloud.problem}"
        return [PoolProblem("ProviderSilent", why, stops_launches=True)]
    found = [*_strange_names(cloud), *_unknown_types(pool, cloud), *_unknown_locations(pool, cloud)]
    if cloud.problem:
        found.append(PoolProblem("ProviderSilent", f"{provider} does not answer: {cloud.problem}"))
    return [*found, *(PoolProblem("BadBudget", why) for why in complaints(pool.spec.disruption.budgets))]


def _no_provider(pool: NodePool, clouds: Mapping[str, ProviderState]) -> PoolProblem:
    enabled, wanted = ", ".join(sorted(clouds)) or "none", pool.spec.provider
    if wanted:
        close = get_close_matches(wanted, clouds, 1, 0.6)
        hint = f"; the closest is {close[0]}" if close else ""
        why = f"spec.provider is {wanted!r}, which is not enabled; enabled (providers.enabled): {enabled}{hint}"
        return PoolProblem("UnknownProvider", why, stops_launches=True)
    what = f"several providers are enabled ({enabled})" if clouds else "no provider is enabled"
    hint = "set spec.provider to one of them" if clouds else "set providers.enabled"
    return PoolProblem("NoProvider", f"{what}, and the pool names none: {hint}", stops_launches=True)


def _strange_names(cloud: ProviderState) -> list[PoolProblem]:
    """What a provider sells must go by its own name: a purchase is made at the door that the offering names."""
    names = sorted({offering.provider for offering in cloud.offerings} - {cloud.provider})
    if not names:
        return []
    why = f"{cloud.provider} sells offerings of {names[0]!r}: its catalogue must say provider: {cloud.provider}"
    return [PoolProblem("WrongCatalogue", why, stops_launches=True)]


def _unknown_types(pool: NodePool, cloud: ProviderState) -> list[PoolProblem]:
    offered: dict[str, list[Offering]] = {}
    for offering in cloud.offerings:
        offered.setdefault(offering.server_type.lower(), []).append(offering)
    found: list[PoolProblem] = []
    for index, wanted in enumerate(pool.spec.server_types):
        field = f"spec.serverTypes[{index}].name is {wanted.name!r}, which {cloud.provider}"
        offerings = offered.get(wanted.name.lower(), [])
        if not offerings:
            found.append(_not_listed(field, wanted.name, cloud, sorted(offered)))
        elif withdrawn := _withdrawn(pool, offerings):
            found.append(PoolProblem("Withdrawn", f"{field} no longer sells: {withdrawn}"))
        elif not any(offering.is_cloud for offering in offerings):
            found.append(PoolProblem("NotForSale", f"{field} sells by hand only: it is never bought"))
        elif pool.spec.locations and not any(offering.location in pool.spec.locations for offering in offerings):
            places = ", ".join(sorted({offering.location for offering in offerings}))
            why = f"{field} sells in {places} only: none of these is in spec.locations"
            found.append(PoolProblem("NotSoldThere", why))
    return found


def _not_listed(field: str, server_type: str, cloud: ProviderState, listed: list[str]) -> PoolProblem:
    known = not_offered(cloud.provider, server_type)
    if known is None:
        return PoolProblem("UnknownServerType", f"{field} does not sell{_hint(server_type.lower(), listed)}")
    if known.withdrawn_on is None:
        why = f"{field} does not offer through its cloud API: it is a dedicated server that must be ordered by hand"
        return PoolProblem("NotForSale", f"{why}, and Growth cannot launch it")
    hint = f"; name {known.successor} instead" if known.successor in listed else _hint(server_type.lower(), listed)
    return PoolProblem("Withdrawn", f"{field} has not offered since {known.withdrawn_on}{hint}")


def _withdrawn(pool: NodePool, offerings: list[Offering]) -> str:
    """Why a type cannot be had any more wherever the pool may stand; empty if it can be had in one place."""
    there = [one for one in offerings if not pool.spec.locations or one.location in pool.spec.locations]
    return "; ".join(sorted({one.withdrawn for one in there})) if all(one.withdrawn for one in there) else ""


def _unknown_locations(pool: NodePool, cloud: ProviderState) -> list[PoolProblem]:
    known = sorted({offering.location for offering in cloud.offerings})
    found: list[PoolProblem] = []
    for index, wanted in enumerate(pool.spec.locations):
        if wanted not in known:
            hint = _hint(wanted.lower(), known)
            why = f"spec.locations[{index}] is {wanted!r}, which {cloud.provider} does not have{hint}"
            found.append(PoolProblem("UnknownLocation", why))
    return found


def _hint(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 3, 0.7) or get_close_matches(name, known, 1, 0.6)
    if close:
        return f"; the closest {'are' if len(close) > 1 else 'is'} {', '.join(close)}"
    return f"; it has {', '.join(known[:12])}" if known else ""
