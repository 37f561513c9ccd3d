"""How many machines could be launched for a flavor."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.offering import POOL
from growth.api.settings.model import ProvisionSettings
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import OfferingCatalog, shop_of
from growth.decide.queue.flavor_stock import FlavorOfferings, FlavorSupply, backing_in, supply_of
from growth.observe.snapshot import Snapshot
from tests.builders import a_node
from tests.decide.queue.stage import Stage, snapshot_of
from tests.decide.queue.test_flavor_migration import TYPE, a_stage, in_stock
from tests.decide.queue.test_flavor_stock import a_flavor

FLAVORS = {"small": a_flavor("small", **{TYPE: "small"}), "both": a_flavor("both"), "none": a_flavor("none", no="such")}


def look(stage: Stage) -> Snapshot:
    return msgspec.structs.replace(snapshot_of(stage.objects, stage.now), clouds=stage.clouds)


def shop(seen: Snapshot, **access: Availability) -> OfferingCatalog:
    found = shop_of(seen.clouds, (), (), seen.now, ProvisionSettings())
    offered = dict(found.offered)
    for name, one in access.items():
        key = f"kwok-{name}-fsn1"
        offered[key] = msgspec.structs.replace(offered[key], access=one)
    return msgspec.structs.replace(found, offered=offered)


def supply(stage: Stage, flavor: str = "small", **access: Availability) -> FlavorSupply:
    seen = look(stage)
    found = supply_of(flavor, backing_in(seen, FLAVORS, FlavorOfferings()), seen, shop(seen, **access))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("flavor", "stock", "access", "machines"),
    [
        pytest.param("small", {"small": 3}, {}, 3, id="what is in stock"),
        pytest.param("both", {"small": 3, "large": 2}, {}, 5, id="of all offerings behind it"),
        pytest.param("both", {"small": 3}, {}, None, id="no bound if one offering has none"),
        pytest.param("both", {"small": 3}, {"large": Availability.CLOSED}, 3, id="but for those in backoff"),
        pytest.param("small", {}, {"small": Availability.CLOSED}, 0, id="none if all are in backoff"),
    ],
)
def test_supply_counts_what_may_be_launched(
    flavor: str, stock: Mapping[str, int], access: Mapping[str, Availability], machines: int | None
) -> None:
    stage = a_stage()
    in_stock(stage, **stock)
    assert supply(stage, flavor, **access).machines == machines


def test_supply_of_a_flavor_that_no_offering_matches_is_unknown() -> None:
    seen = look(a_stage())
    backing = backing_in(seen, FLAVORS, FlavorOfferings())
    assert (backing.pairs["none"], supply_of("none", backing, seen, shop(seen))) == ((), None)


def test_machines_count_where_a_pool_has_limits() -> None:
    stage = a_stage()
    stage.put(NODES, a_node("node", labels={POOL: "p"}))
    stage.put(NODE_REQUESTS, {"metadata": {"name": "coming"}, "spec": {"pool": "p"}, "status": {"phase": "Pending"}})
    stage.put(NODE_REQUESTS, {"metadata": {"name": "unmet"}, "spec": {"pool": "p"}, "status": {"phase": "Unmet"}})
    assert supply(stage).held == 0
    stage.change(NODE_POOLS, "p", {"spec": {"limits": {"nodes": 2}}})
    assert supply(stage).held == 2


def a_supply(facts: str = "facts", machines: int | None = 2, held: int = 3) -> FlavorSupply:
    return FlavorSupply(facts, machines, held)


@pytest.mark.parametrize(
    ("now", "is_more"),
    [
        pytest.param(a_supply(), False, id="the same"),
        pytest.param(a_supply(machines=3), True, id="more in stock"),
        pytest.param(a_supply(machines=1), False, id="less in stock"),
        pytest.param(a_supply(machines=None), True, id="no bound any more"),
        pytest.param(a_supply(held=2), True, id="a machine less below the limit"),
        pytest.param(a_supply(held=4), False, id="a machine more below the limit"),
        pytest.param(a_supply("other"), True, id="another pool or offering"),
    ],
)
def test_more_supply_is_seen_from_what_was_written_down(now: FlavorSupply, is_more: bool) -> None:  # noqa: FBT001 - a table
    assert now.is_more_than(a_supply().text) is is_more


@pytest.mark.parametrize("text", ["", "facts", "facts:2", "facts:many:3", "facts:2:many", "::"])
def test_text_that_was_not_written_by_growth_is_tried_again(text: str) -> None:
    assert a_supply().is_more_than(text)


def test_nothing_is_more_than_no_bound() -> None:
    assert not a_supply(machines=7).is_more_than(a_supply(machines=None).text)


@pytest.mark.parametrize(
    ("patch", "is_kept"),
    [({"status": {"machines": 7}}, True), ({"spec": {"serverTypes": [{"name": "large"}]}}, False)],
)
def test_backing_is_found_out_again_when_something_has_changed(*, patch: Any, is_kept: bool) -> None:  # noqa: ANN401
    stage = a_stage()
    before = backing_in(look(stage), FLAVORS, FlavorOfferings())
    in_stock(stage, small=7)
    assert backing_in(look(stage), FLAVORS, before) is before
    stage.change(NODE_POOLS, "p", patch)
    assert (backing_in(look(stage), FLAVORS, before) is before) is is_kept
