"""From server types and prices to offerings."""

from datetime import UTC, datetime
from typing import Final

import msgspec
import pytest

from growth.api.offering import Offering, left_of
from growth.api.quantity import nano_value
from growth.cloud.hetzner.catalog import offerings_from
from growth.cloud.hetzner.wire import AddressPrices, Amount, Deprecation, Location, Price, Pricing, WireServerType
from growth_lab.hetzner_sandbox.node_manifest import node_manifest
from growth_lab.hetzner_sandbox.records import Server

NOW: Final = datetime(2026, 11, 15, tzinfo=UTC)
ANNOUNCED: Final = datetime(2026, 9, 1, tzinfo=UTC)


def a_price(location: str, hourly: str, monthly: str = "5.49") -> Price:
    return Price(location, Amount(hourly), Amount(monthly))


PRICING: Final = Pricing("EUR", (AddressPrices("ipv4", (a_price("fsn1", "0.0008000000000000", "0.50"),)),))


def a_type(*places: Location, architecture: str = "x86", memory: float = 4.0) -> WireServerType:
    prices = (a_price("fsn1", "0.0088000000000000"), a_price("nbg1", "0.0089"), a_price("ash", "0.01"))
    return WireServerType(114, "cx23", 2, memory, 40, architecture, prices, places)


def the_offering(server_type: WireServerType, pricing: Pricing = PRICING) -> Offering:
    (offering,) = offerings_from([server_type], pricing, NOW)
    return offering


def test_an_offering_is_a_type_in_a_location_with_all_that_is_billed() -> None:
    assert the_offering(a_type(Location("fsn1"))) == Offering(
        id="hetzner-cx23-fsn1",
        provider="hetzner",
        server_type="cx23",
        location="fsn1",
        price_per_hour=0.0096,
        ipv4_per_hour=0.0008,
        currency="EUR",
        price_per_month=5.99,
        resources={"cpu": "2", "memory": "3768Mi", "ephemeral-storage": "36800M", "pods": "110"},
        reserved={"memory": "100Mi", "ephemeral-storage": "3680M"},
        labels={"csi.hetzner.cloud/location": "fsn1"},
        zone="fsn1",
        region="fsn1",
        arch="amd64",
        read_at=NOW,
    )


def test_the_currency_is_the_accounts_own() -> None:
    assert the_offering(a_type(Location("fsn1")), msgspec.structs.replace(PRICING, currency="USD")).currency == "USD"


def test_where_no_address_is_billed_the_server_alone_is() -> None:
    alone = the_offering(a_type(Location("nbg1")))
    assert (alone.price_per_hour, alone.ipv4_per_hour) == (0.0089, 0.0)


@pytest.mark.parametrize(("architecture", "label"), [("x86", "amd64"), ("arm", "arm64"), ("riscv", "riscv")])
def test_the_architecture_is_told_as_nodes_tell_it(architecture: str, label: str) -> None:
    assert the_offering(a_type(Location("fsn1"), architecture=architecture)).node_labels["kubernetes.io/arch"] == label


def test_a_place_that_lists_a_price_and_does_not_sell_it_is_left_out() -> None:
    found = offerings_from([a_type(Location("fsn1"), Location("nbg1"), Location("sin"))], PRICING, NOW)
    assert [offering.location for offering in found] == ["fsn1", "nbg1"]


def test_what_is_sold_out_is_listed_without_stock() -> None:
    assert the_offering(a_type(Location("fsn1", available=False))).stock == 0
    assert the_offering(a_type(Location("fsn1"))).stock is None


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        (datetime(2026, 11, 1, tzinfo=UTC), "cx23 in fsn1 is deprecated since 2026-09-01, gone since 2026-11-01"),
        (datetime(2027, 1, 1, tzinfo=UTC), "cx23 in fsn1 is deprecated since 2026-09-01, to be had until 2027-01-01"),
    ],
    ids=["gone", "announced"],
)
def test_what_is_deprecated_is_not_bought_and_said_so(ends: datetime, sentence: str) -> None:
    offering = the_offering(a_type(Location("fsn1", deprecation=Deprecation(ANNOUNCED, ends))))
    assert (offering.withdrawn, offering.is_cloud, offering.stock) == (sentence, False, 0)


@pytest.mark.parametrize("seen_percent", [92, 95, 98], ids=lambda percent: f"a guest that sees {percent} %")
@pytest.mark.parametrize("memory", [2, 4, 8, 16, 192])
def test_no_guest_sees_less_memory_than_is_planned_with(memory: float, seen_percent: int) -> None:
    offering = the_offering(a_type(Location("fsn1"), memory=memory))
    kubelet_says = memory * 1024**3 * seen_percent / 100 - 100 * 1024**2
    planned = nano_value(left_of(offering.resources, offering.reserved)["memory"]) / 1e9
    assert planned <= kubelet_says
    assert planned >= 0.9 * memory * 1024**3 - 100 * 1024**2


def test_a_node_of_the_sandbox_is_no_smaller_than_planned() -> None:
    """Every surprise is learnt, but each costs a purchase."""
    server = Server(id=1, name="web-1", created=NOW, labels={}, server_type=114, location="fsn1", image=1, disk_gb=40)
    offering = the_offering(a_type(Location("fsn1")))
    planned = left_of(offering.resources, offering.reserved)
    has = node_manifest(server)["status"]["allocatable"]
    assert {name: amount for name, amount in planned.items() if nano_value(has[name]) < nano_value(amount)} == {}
