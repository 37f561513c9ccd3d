"""Whether there is more to be had than when a pod found no place: what is written on it must tell any later process."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import OfferingCatalog, OfferingInCatalog
from growth.decide.capacity.pool_inventory import PoolMachine
from growth.decide.capacity.retry_fingerprint import RetryFingerprint, circumstances_of
from tests.decide.marketplace import a_pool
from tests.decide.scale_up.town import LARGE, SMALL


def a_shop(*offered: OfferingInCatalog) -> OfferingCatalog:
    return OfferingCatalog({one.offering.id: one for one in offered or (OfferingInCatalog(SMALL, Availability.OPEN),)})


def with_(offering: Offering = SMALL, **fields: object) -> Offering:
    return msgspec.structs.replace(offering, **fields)


def facts(shop: OfferingCatalog | None = None, *pools: NodePool) -> str:
    return circumstances_of(pools or (a_pool(),), shop or a_shop(), ()).facts


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda: facts(None, a_pool(), a_pool("gpu")), id="another pool"),
        pytest.param(lambda: facts(None, a_pool(types=("small", "large"))), id="another type in the pool"),
        pytest.param(lambda: facts(None, a_pool(limits={"nodes": 3})), id="another limit"),
        pytest.param(lambda: facts(None, a_pool(taints=[{"key": "a", "effect": "NoSchedule"}])), id="another taint"),
        pytest.param(
            lambda: facts(
                a_shop(OfferingInCatalog(SMALL, Availability.OPEN), OfferingInCatalog(LARGE, Availability.OPEN))
            ),
            id="more is sold",
        ),
        pytest.param(lambda: facts(a_shop(OfferingInCatalog(SMALL, Availability.CLOSED))), id="it cannot be had"),
        pytest.param(lambda: facts(a_shop(OfferingInCatalog(SMALL, Availability.ON_TRIAL))), id="it may be tried"),
        pytest.param(
            lambda: facts(a_shop(OfferingInCatalog(with_(resources={"cpu": "4"}), Availability.OPEN))),
            id="it has grown",
        ),
        pytest.param(
            lambda: facts(a_shop(OfferingInCatalog(with_(price_per_hour=0.5), Availability.OPEN))), id="it costs less"
        ),
    ],
)
def test_these_are_other_circumstances(change: Callable[[], str]) -> None:
    assert change() != facts()


def test_on_trial_it_counts_whether_any_are_listed() -> None:
    listed, unlisted = (
        OfferingInCatalog(SMALL, Availability.ON_TRIAL, is_listed=is_listed) for is_listed in (True, False)
    )
    assert facts(a_shop(listed)) != facts(a_shop(unlisted))


def test_stock_that_was_used_up_and_is_there_again_is_another_circumstance() -> None:
    def stocked(stock: int | None, **fields: Any) -> RetryFingerprint:  # noqa: ANN401
        return circumstances_of(
            (a_pool(),), a_shop(OfferingInCatalog(with_(stock=stock), Availability.OPEN, **fields)), ()
        )

    used_up = stocked(2).after([(a_pool(), SMALL), (a_pool(), SMALL)]).text
    assert used_up == f"{facts()} !kwok-small-fsn1"
    assert stocked(0).hold_what(used_up)
    assert stocked(0, is_listed=False).hold_what(used_up), "that the list has caught up is no news"
    assert not stocked(1).hold_what(used_up)
    assert not stocked(None).hold_what(used_up)
    assert stocked(0).hold_what(stocked(5).text), "less than there was is no reason to try again"


def test_how_many_there_are_is_no_other_circumstance() -> None:
    assert facts(a_shop(OfferingInCatalog(with_(stock=7), Availability.OPEN))) == facts(
        a_shop(OfferingInCatalog(with_(stock=3), Availability.OPEN))
    )


def test_the_status_of_a_pool_is_no_other_circumstance() -> None:
    counted = msgspec.structs.replace(a_pool().status, cost_per_hour="3.0")
    assert facts(None, a_pool(status=counted)) == facts()


@pytest.mark.parametrize(
    ("saw", "holds"),
    [
        pytest.param("abc default/small=3", True, id="the same"),
        pytest.param("abc default/small=2", True, id="one more machine was bought: that is no more room"),
        pytest.param("abc default/small=4", False, id="a machine has gone: there is room below the limit"),
        pytest.param("abc default/large=1 default/small=3", False, id="one of another type has gone"),
        pytest.param("abc", True, id="nothing had been bought"),
        pytest.param("abd default/small=3", False, id="other facts"),
        pytest.param("", False, id="nothing was written"),
        pytest.param("abc !kwok-small-fsn1", False, id="something was used up that is not known to be so now"),
        pytest.param("abc rubbish", False, id="somebody wrote rubbish"),
        pytest.param("abc default/small=-3", False, id="somebody wrote less than none"),
        pytest.param("abc default/small=³", False, id="somebody wrote what only looks like a number"),
    ],
)
def test_what_was_written_holds_as_long_as_there_is_no_more_to_be_had(saw: str, *, holds: bool) -> None:
    assert RetryFingerprint("abc", {"default/small": 3}).hold_what(saw) is holds


def test_machines_count_only_where_there_is_a_limit() -> None:
    limited, free = a_pool(types=[{"name": "small", "max": 3}]), a_pool("free")
    held = [PoolMachine("default", "a", "SMALL", None), PoolMachine("free", "b", "small", None)]
    now = circumstances_of((limited, free), a_shop(), held)
    assert now.machines == {"default/small": 1}
    launched = now.after([(limited, SMALL), (limited, LARGE), (free, SMALL)])
    assert launched.text == f"{now.facts} default/large=1 default/small=2"
    assert launched.hold_what(now.text)
    assert not now.hold_what(launched.text)
