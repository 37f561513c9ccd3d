"""Flavors whose machines cannot be had."""

from typing import Any

import msgspec
import pytest

from growth.api.offering import Offering
from growth.api.queue.kinds import RESOURCE_FLAVORS
from growth.api.queue.quotas import ResourceFlavor
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import OfferingCatalog, OfferingInCatalog
from growth.decide.queue.flavor_stock import out_of_stock
from tests.decide.marketplace import NOW, a_pool, an_offering
from tests.decide.queue.stage import read

SMALL, LARGE = an_offering("small"), an_offering("large")
POOL = a_pool("all", types=("small", "large"))


def a_shop(
    *offered: tuple[Offering, Availability], closed: frozenset[tuple[str, str]] = frozenset()
) -> OfferingCatalog:
    return OfferingCatalog(
        {
            one.id: OfferingInCatalog(one, access, "sold out" if access is Availability.CLOSED else "")
            for one, access in offered
        },
        closed=closed,
        mistaken=closed,
    )


def a_flavor(name: str = "any", **labels: str) -> ResourceFlavor:
    return read(RESOURCE_FLAVORS, {"metadata": {"name": name}, "spec": {"nodeLabels": labels}})


def of_type(name: str) -> ResourceFlavor:
    return a_flavor(name, **{"node.kubernetes.io/instance-type": name})


def closed(shop: OfferingCatalog, *flavors: ResourceFlavor, pools: Any = (POOL,)) -> list[str]:  # noqa: ANN401
    return sorted(out_of_stock(flavors, pools, shop, NOW))


def test_a_flavor_is_closed_while_every_offering_behind_it_is() -> None:
    shop = a_shop((SMALL, Availability.CLOSED), (LARGE, Availability.OPEN))
    assert closed(shop, of_type("small"), of_type("large"), a_flavor()) == ["small"]
    shop = a_shop((SMALL, Availability.CLOSED), (LARGE, Availability.CLOSED))
    assert closed(shop, of_type("small"), of_type("large"), a_flavor()) == ["any", "large", "small"]


def test_one_that_may_be_tried_again_opens_it() -> None:
    assert closed(a_shop((SMALL, Availability.ON_TRIAL)), of_type("small")) == []


def test_a_provider_that_lists_none_closes_it_too() -> None:
    none = msgspec.structs.replace(SMALL, stock=0)
    shop = OfferingCatalog({SMALL.id: OfferingInCatalog(none, Availability.OPEN, is_listed=False)})
    assert closed(shop, of_type("small")) == ["small"]


@pytest.mark.parametrize(
    "access", [Availability.ON_TRIAL, Availability.OPEN], ids=["the one that is tried", "the last ones"]
)
def test_what_is_being_bought_does_not_close_it(access: Availability) -> None:
    """None may be asked for beside it, but nobody has said that there are none."""
    none = msgspec.structs.replace(SMALL, stock=0)
    assert closed(OfferingCatalog({SMALL.id: OfferingInCatalog(none, access)}), of_type("small")) == []


def test_what_only_one_pool_may_not_buy_another_one_may() -> None:
    shop = a_shop((SMALL, Availability.OPEN), closed=frozenset({("all", SMALL.id)}))
    assert closed(shop, of_type("small")) == ["small"]
    assert closed(shop, of_type("small"), pools=(POOL, a_pool("other", types=("small",)))) == []


@pytest.mark.parametrize("pools", [(), (a_pool("other", types=("unknown",)),)], ids=["no pool", "no pool that buys it"])
def test_a_flavor_that_no_offering_matches_is_never_closed(pools: Any) -> None:  # noqa: ANN401
    shop = a_shop((SMALL, Availability.CLOSED))
    assert closed(shop, of_type("small"), a_flavor("rack", room="cellar"), pools=pools) == []


def test_it_says_what_cannot_be_had_and_why() -> None:
    (why,) = out_of_stock([of_type("small")], [POOL], a_shop((SMALL, Availability.CLOSED)), NOW).values()
    assert "small" in why
    assert "sold out" in why
