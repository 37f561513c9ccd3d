"""Machines that pools want even without load."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from growth.api.offering import Offering
from growth.decide.capacity.pool_inventory import Shortage
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.solver.minimum_nodes import closed_by, less_launched, warmed
from growth.decide.solver.node_options import NodeOptions, node_options_of
from tests.decide.marketplace import a_pool, an_offering
from tests.decide.stages import a_stage

FSN1 = an_offering(price=1.0)
NBG1 = an_offering(location="nbg1", price=0.5)
HEL1 = an_offering(location="hel1", price=2.0, priority=1)
LARGE = an_offering("large", price=0.1)
TWO = Shortage("default", "small", 2)


def a_market(
    *offerings: Offering,
    launched: Sequence[PoolUsage] = (),
    trials: Sequence[str] = (),
    **pool: Any,  # noqa: ANN401
) -> NodeOptions:
    stated: dict[str, Any] = {"types": ["small", "large"], **pool}
    return node_options_of(a_stage(), [a_pool(**stated)], offerings, launched, trials)


def plan_of(node_options: NodeOptions, *shortages: Shortage) -> tuple[list[str], list[tuple[str, str]]]:
    warm, cold = warmed(node_options, shortages)
    return [option.offering.id for option in warm], [(shortage.name, why) for shortage, why in cold]


def stock(offering: Offering, left: int) -> Offering:
    return an_offering(offering.server_type, offering.location, price=offering.price_per_hour, stock=left)


@pytest.mark.parametrize(
    ("offerings", "expected"),
    [
        pytest.param([FSN1, NBG1, LARGE], [NBG1, NBG1], id="in the cheapest location"),
        pytest.param([FSN1, stock(NBG1, 1)], [NBG1, FSN1], id="in the next one when it is sold out"),
        pytest.param([FSN1, NBG1, HEL1], [HEL1, HEL1], id="what is preferred comes first, whatever it costs"),
    ],
)
def test_a_minimum_is_bought(offerings: list[Offering], expected: list[Offering]) -> None:
    assert plan_of(a_market(*offerings), TWO) == ([one.id for one in expected], [])


def test_no_shortage_buys_nothing() -> None:
    assert plan_of(a_market(FSN1)) == ([], [])


ONE = PoolUsage("default", "small", 1, 2000, 4 * 2**30, 1.0)


@pytest.mark.parametrize(
    ("fields", "launched", "count", "why"),
    [
        pytest.param({"types": [{"name": "small", "max": 2}]}, [ONE], 1, "pool default may have 2 of small", id="max"),
        pytest.param({"limits": {"nodes": 1}}, [], 1, "pool default may have 1 nodes", id="nodes"),
        pytest.param({"limits": {"cpu": "3"}}, [], 1, "pool default may have 3 CPU", id="cpu"),
        pytest.param({"limits": {"memory": "7Gi"}}, [], 1, "pool default may have 7Gi memory", id="memory"),
        pytest.param({"limits": {"costPerHour": "1.9"}}, [], 1, "pool default may cost 1.9 an hour", id="cost"),
        pytest.param({"limits": {"nodes": 1}}, [ONE], 0, "pool default may have 1 nodes", id="all is used up"),
    ],
)
def test_limits_hold_and_the_rest_says_why(
    fields: Mapping[str, Any], launched: list[PoolUsage], count: int, why: str
) -> None:
    assert plan_of(a_market(FSN1, launched=launched, **fields), TWO) == ([FSN1.id] * count, [("default/small/2", why)])


def test_a_price_that_fits_exactly_fits() -> None:
    node_options = a_market(an_offering(price=0.1), limits={"costPerHour": "0.3"})
    assert plan_of(node_options, Shortage("default", "small", 3)) == ([FSN1.id] * 3, [])


def test_all_that_hinders_is_said() -> None:
    node_options = a_market(stock(FSN1, 0), stock(NBG1, 0))
    assert plan_of(node_options, TWO) == (
        [],
        [("default/small/2", "kwok-small-nbg1 has 0 in stock; kwok-small-fsn1 has 0 in stock")],
    )


def test_what_nobody_sells_now_is_said() -> None:
    assert plan_of(a_market(LARGE), TWO) == ([], [("default/small/2", "no location sells small now")])


def test_two_shortages_share_a_limit() -> None:
    node_options = a_market(FSN1, LARGE, limits={"nodes": 3})
    assert plan_of(node_options, TWO, Shortage("default", "LARGE", 2)) == (
        [FSN1.id, FSN1.id, LARGE.id],
        [("default/LARGE/2", "pool default may have 3 nodes")],
    )


def test_of_a_provider_on_trial_one_machine_is_bought() -> None:
    why = "of kwok one machine comes first, to see whether it works"
    node_options = a_market(FSN1, LARGE, trials=["kwok"])
    assert plan_of(node_options, TWO, Shortage("default", "large", 1)) == (
        [FSN1.id],
        [("default/small/2", why), ("default/large/1", why)],
    )


def test_of_a_family_on_trial_one_machine_is_bought_and_of_others_as_many_as_are_missing() -> None:
    why = "of kwok-small* one machine comes first, to see whether it works"
    node_options = a_market(FSN1, LARGE, trials=["kwok-small*"])
    assert plan_of(node_options, TWO, Shortage("default", "large", 2)) == (
        [FSN1.id, LARGE.id, LARGE.id],
        [("default/small/2", why)],
    )


def test_what_was_bought_to_keep_warm_is_not_sold_again_in_the_same_plan() -> None:
    offerings = (stock(FSN1, 3), NBG1)
    warm, _ = warmed(a_market(*offerings[:1]), [TWO])
    assert less_launched(offerings, warm, ()) == (stock(FSN1, 1), NBG1)
    assert less_launched(offerings, warm, ["kwok"]) == ()
    assert less_launched((*offerings, LARGE), warm, ["kwok-small*"]) == (LARGE,)


def test_an_offering_on_trial_in_one_pool_is_closed_there_once_it_has_one() -> None:
    warm, _ = warmed(a_market(FSN1, LARGE), [Shortage("default", "small", 1)])
    offered = (FSN1, NBG1, LARGE)
    assert closed_by(warm, [f"default/{FSN1.id}", f"other/{FSN1.id}"], offered) == {("default", FSN1.id)}
    assert closed_by(warm, [f"default/{LARGE.id}", "kwok"], offered) == frozenset()
    assert closed_by(warm, ["default/kwok-small"], offered) == {("default", FSN1.id), ("default", NBG1.id)}
