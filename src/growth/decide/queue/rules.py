"""What is wrong with the quota of a ClusterQueue or of a Cohort, though the server took it.

Kueue refuses these by webhooks, because a definition cannot express them. We have none: whoever breaks one is told.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from growth.api.quantity import QuantityError, nano_value
from growth.api.queue.quotas import ResourceFlavor, ResourceGroup, ResourceQuota

# As many as Kueue's webhook allows in one ClusterQueue, and of pairs in one resource group.
_MAX_NAMES: Final = 256
_MAX_PAIRS: Final = 512


class Above(msgspec.Struct, frozen=True):
    """Where what is not used could be lent to, and how the field is called that says it."""

    name: str
    field: str
    is_lending_bound: bool = False
    """Whether nobody may lend more than its own: a Cohort lends what its members gave it, too."""


def problems_of(groups: Sequence[ResourceGroup], known: Mapping[str, ResourceFlavor], above: Above) -> Iterator[str]:
    """Each rule that is broken, as a sentence."""
    resources = Counter(resource for group in groups for resource in group.covered_resources)
    yield from (f"resource {name} is in {count} resource groups" for name, count in resources.items() if count > 1)
    flavors = Counter(flavor.name for group in groups for flavor in group.flavors)
    yield from (f"flavor {name} is named {count} times" for name, count in flavors.items() if count > 1)
    yield from _too_many(groups)
    for name in flavors:
        yield from _bad_taints(name, known.get(name))
    for group in groups:
        for flavor in group.flavors:
            names = tuple(resource.name for resource in flavor.resources)
            if names != group.covered_resources:
                expected = ", ".join(group.covered_resources)
                yield f"flavor {flavor.name} has quota for {', '.join(names)}: expected {expected}, in this order"
            for resource in flavor.resources:
                yield from _bad_amounts(flavor.name, resource, above)


def _bad_taints(name: str, flavor: ResourceFlavor | None) -> Iterator[str]:
    taints = Counter((taint.key, taint.effect) for taint in (flavor.spec.node_taints if flavor is not None else ()))
    yield from (f"flavor {name} has the taint {key}:{effect} twice" for (key, effect), n in taints.items() if n > 1)


def _too_many(groups: Sequence[ResourceGroup]) -> Iterator[str]:
    for what, counts in (
        ("flavors", [len(group.flavors) for group in groups]),
        ("resources", [len(group.covered_resources) for group in groups]),
    ):
        if sum(counts) > _MAX_NAMES:
            yield f"it has {sum(counts)} {what}: expected {_MAX_NAMES} at most"
    for group in groups:
        pairs = len(group.flavors) * len(group.covered_resources)
        if pairs > _MAX_PAIRS:
            yield f"a resource group has {pairs} quotas: expected {_MAX_PAIRS} at most"


def _bad_amounts(flavor: str, resource: ResourceQuota, above: Above) -> Iterator[str]:
    where = f"of {resource.name} in flavor {flavor}"
    amounts = {
        "nominalQuota": resource.nominal_quota,
        "borrowingLimit": resource.borrowing_limit,
        "lendingLimit": resource.lending_limit,
    }
    for field, written in amounts.items():
        if written is None:
            continue
        if not _is_quantity(written):
            yield f"{field} {where} is {written!r}: expected a quantity, such as 9, 1500m or 36Gi"
        elif nano_value(str(written)) < 0:
            yield f"{field} {where} is {written}: expected a quantity of at least 0"
    for field in ("borrowingLimit", "lendingLimit"):
        if amounts[field] is not None and not above.name:
            yield f"{field} {where} needs a cohort ({above.field})"
    if above.is_lending_bound:
        yield from _too_much_lent(where, resource.lending_limit, resource.nominal_quota)


def _too_much_lent(where: str, lent: int | str | None, nominal: int | str) -> Iterator[str]:
    if lent is None or not _is_quantity(lent) or not _is_quantity(nominal):
        return
    if nano_value(str(lent)) > nano_value(str(nominal)):
        yield f"lendingLimit {where} is {lent}: expected no more than its nominalQuota, {nominal}"


def _is_quantity(written: int | str) -> bool:
    try:
        nano_value(str(written))
    except QuantityError:
        return False
    return True
