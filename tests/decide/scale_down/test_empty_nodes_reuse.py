"""A marked node is free room: demand that fits takes it back, and nothing is bought. What leaves is paid for."""

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.phases import REMOVAL_MOVES
from growth.api.pod import Pod
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.capacity.pool_inventory import holdings, shortages
from tests.decide.marketplace import a_cloud as a_provider
from tests.decide.passes import facts_in
from tests.decide.scale_down.stage import (
    ANOTHER,
    NAME,
    NOW,
    SETTINGS,
    a_cloud,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_snapshot,
)
from tests.decide.scale_up.town import LARGE, SECOND, SMALL, Town, a_crowd, a_pod

MARKED = a_node(at=NOW + 60 * SECOND)
SELLS = a_provider(SMALL, LARGE, machines=[a_machine(), a_machine(ANOTHER)])


POOL = a_pool(types=("small", "large"))


def a_town(*things: Pod | Node | NodePool) -> Town:
    return Town(POOL, SELLS, *things)


def test_demand_that_fits_a_marked_node_takes_it_back_and_nothing_is_bought() -> None:
    town = a_town(MARKED, a_pod("app", "1500m"))
    town.run()
    assert (town.launched, town.taken_back) == ([], {NAME})
    assert (NAME, "ScaleDownCancelled") in town.told


def test_only_as_many_are_taken_back_as_are_needed() -> None:
    town = a_town(MARKED, a_node(ANOTHER, at=NOW + 60 * SECOND), a_pod("app", "1500m"))
    town.run()
    assert (town.launched, len(town.taken_back)) == ([], 1)


def test_what_does_not_fit_is_bought() -> None:
    town = a_town(MARKED, *a_crowd(2, "1500m"))
    town.run()
    assert [offering for offering, _ in town.launched] == ["kwok-small-fsn1"]
    assert town.taken_back == {NAME}


def test_a_node_whose_removal_is_asked_for_is_no_room_any_more() -> None:
    town = a_town(MARKED, a_pod("app", "1500m"))
    town.world.tables[NODE_REMOVAL_REQUESTS].hear([Change(ChangeType.ADDED, a_removal(), None)])
    town.run()
    assert (len(town.launched), town.taken_back) == (1, set())


def test_a_node_of_a_pool_that_is_deleted_is_no_room_any_more() -> None:
    going = a_pool("going", types=("small",), deleted_at=NOW)
    town = a_town(going, a_node(at=NOW, pool="going"), a_pod("app", "1500m"))
    town.run()
    assert (len(town.launched), town.taken_back) == (1, set())


def test_what_leaves_costs_and_counts_until_it_is_gone_and_keeps_nothing_warm() -> None:
    for phase in REMOVAL_MOVES:
        snapshot = a_snapshot(a_cloud(a_machine()), MARKED, a_removal(phase=phase))
        (held,) = holdings(snapshot, facts_in(snapshot, SETTINGS).get(OfferingCatalog))
        assert (held.is_terminating, held.launched.nodes, held.launched.cost_per_hour) == (True, 1, 1.0)
        assert [one.missing for one in shortages([a_pool(types=[{"name": "small", "min": 1}])], [held])] == [1]
