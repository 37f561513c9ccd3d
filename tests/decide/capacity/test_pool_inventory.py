"""Each machine of a pool is counted once, whatever form it has."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.actions import CreateMachine, Outcome, Result, key_of
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.machine import request_for
from growth.api.provider_state import ProviderState
from growth.api.references import reference_by_name
from growth.decide.capacity.offering_catalog import shop_of
from growth.decide.capacity.pool_inventory import PoolMachine, Shortage, holdings, just_launched, shortages
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.contract import Outcomes
from tests.decide.marketplace import (
    NOW,
    PROVISION,
    SECOND,
    Thing,
    a_cloud,
    a_failed_request,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_request,
    a_snapshot,
    an_offering,
)

LISTED = a_cloud(machines=[a_machine()])
UNLISTED = a_cloud(read_at=NOW - SECOND)


def held(*things: Thing) -> list[PoolMachine]:
    snapshot = a_snapshot(*things)
    return holdings(snapshot, shop_of(snapshot.clouds, [], [], NOW, PROVISION))


def words(holding: PoolMachine) -> str:
    form = "node" if holding.node is not None else "machine"
    return f"{holding.name}: {form} of {holding.server_type}{', leaving' if holding.is_terminating else ''}"


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param([UNLISTED], [], id="nothing"),
        pytest.param([UNLISTED, a_request()], ["default-1: machine of small"], id="asked for"),
        pytest.param([LISTED, a_request(phase="Provisioning")], ["default-1: machine of small"], id="bought"),
        pytest.param([LISTED, a_request(phase="Provisioning"), a_node()], ["default-1: node of small"],
                     id="registered"),
        pytest.param([LISTED, a_request(phase="Provisioning"), a_node(pool="")], ["default-1: machine of small"],
                     id="registered, not labelled yet"),
        pytest.param([LISTED, a_request(phase="Ready"), a_node()], ["default-1: node of small"], id="ready"),
        pytest.param([LISTED, a_node()], ["default-1: node of small"], id="its request is deleted"),
        pytest.param([LISTED, a_request(phase="Ready")], ["default-1: machine of small"],
                     id="somebody deleted its node"),
        pytest.param([LISTED], ["default-1: machine of small"], id="only its provider knows of it"),
        pytest.param([LISTED, a_request(phase="Deprovisioning")], ["default-1: machine of small, leaving"],
                     id="it is given back, and costs something until it is gone"),
        pytest.param([LISTED, a_node(), a_removal()], ["default-1: node of small, leaving"], id="being removed"),
        pytest.param([UNLISTED, a_failed_request()], [], id="it could not be had"),
        pytest.param([UNLISTED, a_node()], [], id="a node that is no machine of ours"),
        pytest.param([UNLISTED, a_request(offering="kwok-small")], ["default-1: machine of small"],
                     id="a request that leaves the location open"),
        pytest.param([UNLISTED, a_request(offering="kwok-old-fsn1")], ["default-1: machine of "],
                     id="a request for what nobody sells any more"),
    ],
)  # fmt: skip
def test_a_machine_is_counted_once(things: Sequence[Thing], expected: list[str]) -> None:
    assert [words(one) for one in held(*things)] == expected


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param([UNLISTED, a_request()],
                     PoolUsage("default", "small", 1, 2000, 4 * 2**30, 1.0), id="what is sold"),
        pytest.param([LISTED, a_node(has={"cpu": "1", "memory": "2Gi"})],
                     PoolUsage("default", "small", 1, 1000, 2 * 2**30, 1.0), id="what its node really has"),
        pytest.param([UNLISTED, a_request(offering="kwok-old-fsn1")],
                     PoolUsage("default", "", 1), id="a node at least"),
    ],
)  # fmt: skip
def test_what_a_machine_uses_up_of_its_pools_limits(things: Sequence[Thing], expected: PoolUsage) -> None:
    assert [one.launched for one in held(*things)] == [expected]


@pytest.mark.parametrize(
    ("things", "missing"),
    [
        pytest.param([UNLISTED], 2, id="none is there"),
        pytest.param([UNLISTED, a_request()], 1, id="one is coming"),
        pytest.param([LISTED, a_request(phase="Ready"), a_node()], 1, id="one is there, in two forms"),
        pytest.param([LISTED, a_request("default-2"), a_node()], 0, id="one is there, one is coming"),
        pytest.param([LISTED, a_request("default-2"), a_request("default-3"), a_node()], 0, id="more than enough"),
        pytest.param([LISTED, a_node(), a_removal()], 2, id="one that leaves keeps nothing warm"),
        pytest.param([LISTED, a_node(pool="gpu")], 2, id="another pool's"),
    ],
)
def test_what_is_missing_of_the_minimum(things: Sequence[Thing], missing: int) -> None:
    pool = a_pool(types=[{"name": "SMALL", "min": 2}, {"name": "large"}])
    expected = (Shortage("default", "SMALL", missing),) if missing else ()
    assert shortages([pool], held(*things)) == expected


_FORMS = st.fixed_dictionaries(
    {
        "request": st.sampled_from(["", "Pending", "Provisioning", "Ready", "Deprovisioning"]),
        "node": st.booleans(),
        "machine": st.booleans(),
        "removal": st.booleans(),
    }
)


@given(st.lists(_FORMS, max_size=4))
def test_no_machine_is_ever_counted_twice(forms: list[dict[str, object]]) -> None:
    things: list[Thing] = []
    machines = [a_machine(f"default-{number}") for number, form in enumerate(forms) if form["machine"]]
    for number, form in enumerate(forms):
        name = f"default-{number}"
        things += [a_request(name, form["request"])] if form["request"] else []  # type: ignore[arg-type]
        things += [a_node(name)] if form["node"] else []
        things += [a_removal(name)] if form["removal"] else []
    names = [one.name for one in held(a_cloud(an_offering(), machines=machines), *things)]
    assert len(names) == len(set(names))
    assert {machine.name for machine in machines} <= {*names}  # and none that costs something is forgotten


@pytest.mark.parametrize(
    ("cloud", "counts"),
    [
        pytest.param(a_cloud(read_at=NOW - 3 * SECOND), True, id="its provider was asked before: only we know of it"),
        pytest.param(a_cloud(read_at=NOW - SECOND), False, id="its provider was asked since, and has no such machine"),
        pytest.param(a_cloud(read_at=NOW + SECOND), True, id="that was read before the clock was set back"),
    ],
)
def test_a_machine_that_was_just_bought_counts_although_its_request_was_deleted(
    cloud: ProviderState, *, counts: bool
) -> None:
    offering = an_offering()
    purchase = CreateMachine(
        subject=reference_by_name(NODE_REQUESTS, "default-1"),
        why="",
        provider=cloud.provider,
        request=request_for("default-1", a_pool(), offering),
    )
    outcome = Outcome(action=purchase, result=Result.DONE, at=NOW - 2 * SECOND, machine=a_machine())
    snapshot = a_snapshot(a_pool(), cloud)
    launched = just_launched(snapshot, Outcomes({key_of(purchase): outcome}))
    found = holdings(snapshot, shop_of(snapshot.clouds, [], [], NOW, PROVISION), launched)
    assert [one.name for one in found] == (["default-1"] if counts else [])
