"""What an offering costs in a pool whose machines have no public IPv4, wherever a price counts."""

import msgspec
import pytest

from growth.api.node_pool import NodePool
from growth.api.settings.model import Settings
from growth.decide.capacity.offering_catalog import OfferingCatalog, as_billed
from growth.decide.capacity.pool_inventory import holdings
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.node_requests.carry import NodeRequestsCarry
from growth.decide.node_requests.context import NodeRequestsContext as ProvisionScene
from growth.decide.node_requests.limit_check import too_many
from growth.decide.scale_down.carry import ScaleDownCarry
from growth.decide.scale_down.context import ScaleDownContext
from growth.decide.solver.node_options import node_options_of
from tests.decide.marketplace import Thing, a_cloud, a_machine, a_node, a_pool, a_request, a_snapshot
from tests.decide.marketplace import an_offering as plain
from tests.decide.passes import Given, facts_in

OFFERING = msgspec.structs.replace(plain(price=0.0096), ipv4_per_hour=0.0008, price_per_month=5.99)
WITH, WITHOUT = a_pool(), a_pool(machine={"publicIPv4": False})
CLOUD = a_cloud(OFFERING, machines=[a_machine()])


def limited(pool: NodePool) -> NodePool:
    limits = msgspec.structs.replace(pool.spec.limits, cost_per_hour="0.0180")
    return msgspec.structs.replace(pool, spec=msgspec.structs.replace(pool.spec, limits=limits))


def test_an_address_that_is_not_there_is_not_billed() -> None:
    billed = as_billed(OFFERING, WITHOUT)
    assert (billed.price_per_hour, billed.ipv4_per_hour, billed.price_per_month) == (0.0088, 0.0, None)
    assert as_billed(billed, WITHOUT) == billed
    assert as_billed(OFFERING, WITH) is OFFERING
    assert as_billed(plain(), WITHOUT) == plain()


def test_of_a_pool_that_is_gone_everything_is_counted() -> None:
    assert as_billed(OFFERING, None) is OFFERING


def test_no_machine_costs_less_than_nothing() -> None:
    assert as_billed(msgspec.structs.replace(OFFERING, ipv4_per_hour=1.0), WITHOUT).price_per_hour == 0.0


def test_a_plan_sees_the_price_of_each_pool() -> None:
    dear, cheap = a_pool("a"), a_pool("b", machine={"publicIPv4": False})
    market = node_options_of(SimulatedCluster.copy_of(a_snapshot(dear, cheap)), [dear, cheap], [OFFERING])
    found = [(kind.pool.metadata.name, kind.offering.price_per_hour) for kind in market.options]
    assert found == [("b", 0.0088), ("a", 0.0096)]


@pytest.mark.parametrize(("pool", "price"), [(WITH, 0.0096), (WITHOUT, 0.0088)], ids=["with", "without"])
@pytest.mark.parametrize(
    "things", [[CLOUD, a_node()], [CLOUD], [a_cloud(OFFERING), a_request()]], ids=["node", "machine", "request"]
)
def test_what_a_pool_has_costs_what_it_pays(things: list[Thing], pool: NodePool, price: float) -> None:
    snapshot = a_snapshot(pool, *things)
    (held,) = holdings(snapshot, facts_in(snapshot, Settings()).get(OfferingCatalog))
    assert held.launched.cost_per_hour == price


def test_a_node_that_goes_saves_what_its_pool_pays() -> None:
    node = a_node()
    scenes = [
        ScaleDownContext(Given().inputs(a_snapshot(pool, node, CLOUD), Settings(), ScaleDownCarry()))
        for pool in (WITH, WITHOUT)
    ]
    assert [scene.price(node) for scene in scenes] == [0.0096, 0.0088]


def test_without_addresses_a_second_machine_is_within_the_limit() -> None:
    snapshots = [a_snapshot(limited(pool), CLOUD, a_request("default-2")) for pool in (WITH, WITHOUT)]
    found = [too_many(ProvisionScene(Given().inputs(one, Settings(), NodeRequestsCarry()))) for one in snapshots]
    assert found == [{"default-2": "pool default may cost 0.0180 an hour"}, {}]
