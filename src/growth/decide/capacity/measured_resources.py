"""What machines of a type are believed to have: what they promise, corrected by what their nodes turned out to have."""

from collections.abc import Iterable, Mapping

import msgspec

from growth.api.node_pool import OfferingStatus
from growth.api.offering import Offering, left_of
from growth.api.provider_state import ProviderState
from growth.api.quantity import canonical, nano_value


def corrected(offering: Offering, entries: Iterable[OfferingStatus]) -> Offering:
    """The offering with what nodes of its type turned out to have: the least counts.

    With an image of which nothing is known, they have what they had least with any; and never more than was promised.
    """
    worst: dict[str, int] = {}
    by_image: dict[str, dict[str, int]] = {}
    for entry in entries:
        own = by_image.setdefault(entry.image, {})
        for name, amount in entry.lacks.items():
            lack = nano_value(amount)
            own[name] = max(lack, own.get(name, lack))
            worst[name] = max(lack, worst.get(name, 0), 0)
    if not worst:
        return offering
    beyond = {
        image: _amounts({name: worst[name] - one for name, one in own.items()}) for image, own in by_image.items()
    }
    resources = left_of(offering.resources, _amounts(worst))
    return msgspec.structs.replace(
        offering, resources=resources, beyond={image: more for image, more in beyond.items() if more}
    )


def _amounts(nanos: Mapping[str, int]) -> dict[str, str]:
    return {name: canonical(f"{amount}n") for name, amount in nanos.items() if amount}


def measured_by_type(
    entries: Mapping[str, Iterable[OfferingStatus]], cloud: ProviderState
) -> dict[str, list[OfferingStatus]]:
    """What was learnt about sizes, by server type: machines of one type are the same in all places."""
    found: dict[str, list[OfferingStatus]] = {}
    for offering in cloud.offerings:
        measured = [entry for entry in entries.get(offering.id, ()) if entry.lacks]
        if measured:
            found.setdefault(offering.server_type, []).extend(measured)
    return found
