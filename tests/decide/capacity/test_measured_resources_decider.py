"""What nodes teach about the sizes of their types, as it is written into their pool's status."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.node import Node
from growth.api.node_pool import NodePool, OfferingStatus
from growth.api.node_request import NodeRequest
from growth.api.phases import RequestPhase
from growth.api.quantity import nano_value
from growth.decide.capacity.offering_catalog import shop_of
from growth.decide.capacity.offering_history import SMALLER
from growth.decide.fit.template_node import allocatable_from
from tests.decide.lessons import lesson_of
from tests.decide.marketplace import (
    MINUTE,
    NOW,
    PROMISED,
    PROVISION,
    SMALL,
    a_cloud,
    a_node,
    a_pool,
    a_request,
    an_entry,
    an_offering,
)

GPU = {**PROMISED, "nvidia.com/gpu": "1"}

# Nodes that are smaller than was promised


def test_a_node_that_is_smaller_corrects_what_is_believed() -> None:
    entries = lesson_of([a_request(phase="Ready")], nodes=[a_node(has={"cpu": "1"})])
    message = "node default-1 has 1 less cpu than promised"
    assert entries == (
        OfferingStatus(SMALL, since=NOW, reason=SMALLER, message=message, lacks={"cpu": "1"}, surprises=1),
    )


def test_the_second_surprise_stops_buying_and_says_so() -> None:
    known = lesson_of([a_request(phase="Ready")], nodes=[a_node(has={"cpu": "1"})])
    node = a_node("default-2", has={"cpu": "500m"})
    (entry,) = lesson_of([a_request("default-2", "Ready")], known, nodes=[node], now=NOW + MINUTE)
    assert (entry.surprises, entry.lacks, entry.since) == (2, {"cpu": "1500m"}, NOW + MINUTE)
    assert entry.message == (
        "node default-2 has 1500m less cpu than promised; it is not the first time, so it is not bought any more"
    )


@pytest.mark.parametrize(
    ("has", "lacks", "surprises"),
    [
        pytest.param([{"cpu": "2"}], None, 0, id="what was promised"),
        pytest.param([{"cpu": "3"}], None, 0, id="much more than was promised"),
        pytest.param([{"memory": "4170Mi"}], None, 0, id="a little more memory than was promised"),
        pytest.param([{"memory": "4080Mi"}], {"memory": "16777216"}, 0, id="a little less: believed without a word"),
        pytest.param([{"cpu": "1"}, {"cpu": "1"}], {"cpu": "1"}, 1, id="two of one purchase that are equally small"),
        pytest.param([{"cpu": "1"}, {"cpu": "995m"}], {"cpu": "1005m"}, 1, id="or nearly so"),
        pytest.param([{"cpu": "1"}, {"cpu": "500m"}], {"cpu": "1500m"}, 2, id="the second is much smaller"),
        pytest.param([{"cpu": "1"}, {"memory": "2Gi"}], {"cpu": "1", "memory": "2147483648"}, 2, id="in another way"),
    ],
)  # fmt: skip
def test_how_much_smaller_is_a_surprise(
    has: list[Mapping[str, str]], lacks: dict[str, str] | None, surprises: int
) -> None:
    nodes = [a_node(f"default-{number}", has=one) for number, one in enumerate(has)]
    requests = [a_request(node.metadata.name, "Ready") for node in nodes]
    entries = lesson_of(requests, nodes=nodes)
    assert [(one.lacks, one.surprises) for one in entries] == ([] if lacks is None else [(lacks, surprises)])


def test_a_node_teaches_once() -> None:
    requests, nodes = [a_request(phase="Ready")], [a_node(has={"cpu": "1"})]
    known = lesson_of(requests, nodes=nodes)
    assert lesson_of(requests, known, nodes=nodes, now=NOW + MINUTE) == known


def test_a_purchase_that_is_as_small_as_was_believed_is_no_surprise() -> None:
    known = lesson_of([a_request(phase="Ready")], nodes=[a_node(has={"cpu": "1"})])
    again = a_node("default-2", has={"cpu": "1"})
    assert lesson_of([a_request("default-2", "Ready")], known, nodes=[again]) == known


@pytest.mark.parametrize(
    ("request_", "node"),
    [
        pytest.param(a_request(phase="Provisioning"), a_node(ready=False, has={"cpu": "0"}), id="it is not ready"),
        pytest.param(a_request(phase="Deprovisioning"), a_node(has={"cpu": "1"}), id="it is given back"),
        pytest.param(a_request(phase="Ready", offering="old"), a_node(offering="old", has={"cpu": "1"}), id="not sold"),
        pytest.param(a_request("default-2", "Ready"), a_node(has={"cpu": "1"}), id="it is another request's"),
    ],
)  # fmt: skip
def test_a_node_that_teaches_nothing(request_: NodeRequest, node: Node) -> None:
    lessons = lesson_of([request_], nodes=[node])
    assert [one for one in lessons if one.lacks] == []


def test_a_node_teaches_about_what_it_is_even_if_its_request_left_the_location_open() -> None:
    cloud = a_cloud(an_offering(), an_offering(location="nbg1", price=2.0))
    anywhere, node = a_request(phase="Ready", offering="kwok-small"), a_node(has={"cpu": "1"})
    known = lesson_of([anywhere], [an_entry(until=None, surprises=1)], nodes=[node], cloud=cloud)
    assert [(one.offering, one.surprises) for one in known] == [(SMALL, 2)]
    assert lesson_of([anywhere], known, nodes=[node], cloud=cloud) == known  # now the other location would be cheapest


def test_devices_are_missed_only_once_the_node_has_settled() -> None:
    cloud = a_cloud(an_offering(resources=GPU))
    node = a_node()
    assert lesson_of([a_request(phase="Provisioning")], nodes=[node], cloud=cloud) == ()
    (entry,) = lesson_of([a_request(phase="Ready")], nodes=[node], cloud=cloud)
    assert (entry.lacks, entry.surprises) == ({"nvidia.com/gpu": "1"}, 1)


# Nodes that are larger than was estimated

LARGER = {"memory": "4300Mi"}  # 5 % more than was promised
MORE = {"memory": "-168820736"}  # a hundredth less of it, rounded down to bytes


def measured(
    *has: Mapping[str, str],
    known: Sequence[OfferingStatus] = (),
    pool: NodePool | None = None,
    phase: RequestPhase = "Ready",
) -> list[tuple[dict[str, str], int]]:
    """What is noted after nodes that have this came, in this order and at once: what they lack, and surprises."""
    nodes = [a_node(f"default-{number}", has=one) for number, one in enumerate(has)]
    requests = [a_request(node.metadata.name, phase) for node in nodes]
    return [(one.lacks, one.surprises) for one in lesson_of(requests, known, nodes=nodes, pool=pool)]


def allocatable(known: Sequence[OfferingStatus], *, image: str = "", others: Sequence[OfferingStatus] = ()) -> str:
    """How much memory is believed to be there for pods of a pool with this image."""
    pool, another = a_pool(learnt=known, machine={"image": image}), a_pool("another", learnt=others)
    shop = shop_of({"kwok": a_cloud()}, [pool, another], [], NOW, PROVISION)
    return allocatable_from(shop.offered[SMALL].offering, pool)["memory"]


def test_the_first_node_that_is_larger_raises_the_estimate_by_a_hundredth_less() -> None:
    known = lesson_of([a_request(phase="Ready")], nodes=[a_node(has=LARGER)])
    assert known == (OfferingStatus(SMALL, lacks=MORE),)
    assert int(allocatable(known)) == int(4300 * 1024**2 * 0.99)
    assert lesson_of([a_request(phase="Ready")], known, nodes=[a_node(has=LARGER)]) == known


@pytest.mark.parametrize(
    ("has", "noted"),
    [
        pytest.param([LARGER, LARGER], [(MORE, 0)], id="several that are alike"),
        pytest.param([LARGER, {}], [], id="one is as promised: that counts"),
        pytest.param([{}, LARGER], [], id="in whatever order"),
        pytest.param([LARGER, {"memory": "4270Mi"}], [({"memory": "-137678028"}, 0)], id="the least counts"),
        pytest.param([LARGER, {"memory": "3Gi"}], [({"memory": "1073741824"}, 1)], id="one is smaller than promised"),
        pytest.param([{"memory": "8Gi"}], [], id="one that is no such machine is not believed"),
        pytest.param([{"cpu": "2100m"}], [({"cpu": "-79m"}, 0)], id="any resource"),
        pytest.param([{"nvidia.com/gpu": "1"}], [], id="devices that nobody promised are not counted on"),
    ],
)
def test_what_is_believed_of_nodes_that_come_together(
    has: list[Mapping[str, str]], noted: list[tuple[dict[str, str], int]]
) -> None:
    assert measured(*has) == noted


def test_a_node_that_still_starts_is_not_praised() -> None:
    assert measured(LARGER, phase="Provisioning") == []


@pytest.mark.parametrize(
    ("has", "lacks", "surprises"),
    [
        pytest.param({"memory": "4290Mi"}, MORE, 0, id="a little smaller than the first: it was believed to be so"),
        pytest.param({"memory": "4200Mi"}, {"memory": "-109051904"}, 0, id="smaller, and no promise is broken"),
        pytest.param({}, {"memory": "0"}, 0, id="as was promised at first"),
        pytest.param({"memory": "4400Mi"}, MORE, 0, id="larger still: the first one has spoken"),
        pytest.param({"memory": "3Gi"}, {"memory": "1073741824"}, 1, id="smaller than was promised: a surprise"),
    ],
)
def test_after_the_first_only_smaller_ones_count(has: Mapping[str, str], lacks: dict[str, str], surprises: int) -> None:
    assert measured(has, known=[OfferingStatus(SMALL, lacks=MORE)]) == [(lacks, surprises)]


def test_what_was_smaller_once_is_never_believed_to_be_larger() -> None:
    known = [OfferingStatus(SMALL, lacks={"memory": "1073741824"})]
    assert measured(LARGER, known=known) == [({"memory": "1073741824"}, 0)]


def test_with_another_image_it_is_measured_anew() -> None:
    pool = a_pool(machine={"image": "talos"})
    known = [an_entry(until=None, surprises=2, lacks={"memory": "1073741824"}, image="debian-13")]
    (entry,) = lesson_of([a_request(phase="Ready")], known, nodes=[a_node(has=LARGER)], pool=pool)
    assert (entry.lacks, entry.surprises, entry.image) == (MORE, 0, "talos")


def test_a_pool_with_another_image_believes_in_less_and_not_in_more() -> None:
    promised, talos = str(4 * 1024**3), OfferingStatus(SMALL, lacks=MORE, image="talos")
    assert nano_value(allocatable((), image="debian-13", others=[talos])) == nano_value(promised)
    smaller = OfferingStatus(SMALL, lacks={"memory": "1Gi"}, image="talos")
    assert allocatable((), image="debian-13", others=[smaller]) == str(3 * 1024**3)
    own = OfferingStatus(SMALL, lacks=MORE, image="debian-13")
    assert int(allocatable([own], image="debian-13", others=[smaller])) == int(4300 * 1024**2 * 0.99)


@given(st.lists(st.integers(3000, 4600), min_size=1, max_size=8))
def test_no_node_is_believed_to_have_more_than_the_least_of_its_type_had(sizes: list[int]) -> None:
    known, nodes = tuple[OfferingStatus, ...](), list[Node]()
    for number, size in enumerate(sizes):
        nodes.append(a_node(f"default-{number}", has={"memory": f"{size}Mi"}))
        known = lesson_of([a_request(f"default-{number}", "Ready")], known, nodes=nodes)
        assert nano_value(allocatable(known)) <= max(nano_value("4Gi"), nano_value(f"{min(sizes[: number + 1])}Mi"))
