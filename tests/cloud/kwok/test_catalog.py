"""Catalogues: what is read, and in which words a wrong one is refused."""

from datetime import timedelta

import pytest

from growth.api.offering import INSTANCE_TYPE, REGION, ZONE
from growth.cloud.kwok.catalog import CatalogError, read_catalogue, shipped_catalogue
from growth.cloud.kwok.faults import FaultType, faults_text, find

_GOOD = """
provider: shop
currency: USD
locations:
  here: {zone: here-1, region: home}
  there:
serverTypes:
  - name: small
    resources: {cpu: 2, memory: 4Gi, example.org/gpu: 1}
    reserved: {cpu: 100m}
    labels: {disk: fast}
    stock: {there: 3}
    prices: {here: 0.5, there: 0.25}
    bootDelay: 45s
    faults: [slowBoot=10m, powerOff=1h]
"""


def test_a_server_type_is_one_offering_in_each_place_with_a_price() -> None:
    catalogue = read_catalogue(_GOOD)
    assert (catalogue.provider, catalogue.currency) == ("shop", "USD")
    assert [(o.id, o.price_per_hour, o.stock) for o in catalogue.offerings] == [
        ("shop-small-here", 0.5, None),
        ("shop-small-there", 0.25, 3),
    ]
    first = catalogue.offerings[0]
    assert first.resources == {"cpu": "2", "memory": "4Gi", "example.org/gpu": "1", "pods": "110"}
    assert first.node_labels[INSTANCE_TYPE] == "small"
    assert (first.node_labels[ZONE], first.node_labels[REGION]) == ("here-1", "home")
    assert first.node_labels["disk"] == "fast"


@pytest.mark.parametrize(
    ("wrong", "right", "sentence"),
    [
        (
            "locatoins:",
            "locations:",
            "line 4: locatoins: has no meaning: there is no such name, the closest is locations",
        ),
        ("cpu: 2x", "cpu: 2,", "line 9: serverTypes[0].resources.cpu: '2x' is not possible: expected a quantity"),
        (
            "ther: 3",
            "there: 3",
            "line 12: serverTypes[0].stock.ther: has no meaning: there is no such name, the closest is",
        ),
        ("there: -1", "there: 0.25", "line 13: serverTypes[0].prices.there: '-1' is not possible: expected a price"),
        (
            "ram: 4Gi",
            "memory: 4Gi",
            "line 8: serverTypes[0].resources: this is not possible: expected at least cpu and",
        ),
        ("title: small", "name: small", "line 8: serverTypes[0].name: is missing"),
        ("- name: [", "- name: small", "line 10: not YAML"),
        ("provder: shop", "provider: shop", "line 1: provider is missing"),
        ("stock: {there: -3}", "stock: {there: 3}", "line 12: serverTypes[0].stock.there: '-3' is not possible"),
        ("cpu: -100m", "cpu: 100m", "line 10: serverTypes[0].reserved.cpu: '-100m' is not possible: expected a quant"),
        ("disk: very fast", "disk: fast", "line 11: serverTypes[0].labels.disk: 'very fast' is not possible"),
        ("slowBot=10m", "slowBoot=10m", "line 15: serverTypes[0].faults[0]: 'slowBot' is no fault: the closest is slo"),
        ("powerOff=soon", "powerOff=1h", "line 15: serverTypes[0].faults[1]: powerOff cannot have the amount 'soon'"),
        ("bootDelay: -1s", "bootDelay: 45s", "line 14: serverTypes[0].bootDelay: '-1s' is not possible: expected a d"),
        (
            "botDelay: 45s",
            "bootDelay: 45s",
            "line 14: serverTypes[0].botDelay: has no meaning: there is no such name, ",
        ),
        (
            "isCloud: ture",
            "bootDelay: 45s",
            "line 14: serverTypes[0].isCloud: 'ture' is not possible: expected true or",
        ),
        ("prices: {here: 1}", "bootDelay: 45s", "line 14: serverTypes[0].prices: is given twice"),
        ("extends: hetsner", "currency: USD", "line 3: extends: 'hetsner' is not possible: expected a catalogue that"),
        (f"name: {'s' * 60}", "name: small", f"line 8: serverTypes[0]: its name would be 'shop-{'s' * 60}-here'"),
    ],
)
def test_what_is_wrong_is_told_with_line_field_and_closest_name(wrong: str, right: str, sentence: str) -> None:
    text = _GOOD.replace(right, wrong, 1) if right != "cpu: 2," else _GOOD.replace("cpu: 2,", "cpu: 2x,", 1)
    with pytest.raises(CatalogError) as raised:
        read_catalogue(text, file_name="shop.yaml")
    assert sentence in str(raised.value)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(CatalogError) as raised:
        read_catalogue(_GOOD.replace("0.25", "-1").replace("powerOff", "powerOf").replace("stock", "stok"))
    assert len(raised.value.problems) == 3


def test_a_catalogue_that_sells_nothing_is_none() -> None:
    with pytest.raises(CatalogError, match="serverTypes is missing: nothing is sold"):
        read_catalogue("provider: shop\n")


def test_how_played_machines_behave_stands_beside_what_is_sold() -> None:
    behaviour = read_catalogue(_GOOD).behaviours["shop-small-here"]
    assert behaviour.boot_delay == timedelta(seconds=45)
    assert faults_text(behaviour.faults) == "slowBoot=10m, powerOff=1h"


def test_what_holds_for_all_types_is_stated_once_and_overruled_by_a_type() -> None:
    catalogue = read_catalogue(_GOOD.replace("currency: USD", "bootDelay: 9s\nfaults: [slowBoot=1m, noStock]"))
    behaviour = catalogue.behaviours["shop-small-here"]
    assert behaviour.boot_delay == timedelta(seconds=45)
    slow = find(behaviour.faults, FaultType.SLOW_BOOT)
    assert slow is not None
    assert slow.duration == timedelta(minutes=10)
    assert find(behaviour.faults, FaultType.NO_STOCK)


def test_a_catalogue_may_change_and_add_to_one_that_comes_with_growth() -> None:
    catalogue = read_catalogue("""
provider: mine
extends: hetzner
labels: {}
locations: {attic: {zone: attic-1}}
serverTypes:
  - name: cx23
    prices: {attic: 0.001}
    stock: {attic: 2}
  - name: old-laptop
    resources: {cpu: 2, memory: 8Gi}
    prices: {attic: 0}
""")
    by_id = {offering.id: offering for offering in catalogue.offerings}
    assert by_id["mine-cx23-attic"].resources["memory"] == "4Gi"
    assert (by_id["mine-cx23-attic"].zone, by_id["mine-cx23-attic"].stock) == ("attic-1", 2)
    assert "mine-cx23-fsn1" not in by_id
    assert by_id["mine-cx33-fsn1"].price_per_hour == 0.0136
    assert catalogue.offerings[-1].id == "mine-old-laptop-attic"


def test_a_catalogue_may_extend_one_that_extends_another() -> None:
    quick = read_catalogue("{provider: kwok, extends: kwok, bootDelay: 1s}")
    assert quick.offerings == shipped_catalogue("kwok").offerings
    assert {behaviour.boot_delay for behaviour in quick.behaviours.values()} == {timedelta(seconds=1)}


@pytest.mark.parametrize("base", ["", "extends: hetzner\n"])
def test_a_server_type_that_is_listed_twice_is_told(base: str) -> None:
    entry = "  - {name: cx23, resources: {cpu: 1, memory: 1Gi}, prices: {here: 1}}\n"
    text = f"provider: shop\n{base}locations: {{here: }}\nserverTypes:\n{entry}{entry}"
    with pytest.raises(CatalogError) as raised:
        read_catalogue(text)
    line = 5 + bool(base)
    assert f"line {line}: serverTypes[1].name: shop-cx23-here is listed twice" in str(raised.value)


def test_the_shipped_catalogue_of_kwok_sells_what_hetzner_does_and_the_gpu_machine() -> None:
    hetzner, kwok = shipped_catalogue("hetzner"), shipped_catalogue("kwok")
    assert [(o.server_type, o.location, o.price_per_hour, o.resources) for o in kwok.offerings] == [
        (o.server_type, o.location, o.price_per_hour, o.resources) for o in hetzner.offerings
    ]
    by_id = {offering.id: offering for offering in kwok.offerings}
    assert by_id["kwok-gex44-fsn1"].resources["nvidia.com/gpu"] == "1"
    assert all(offering.is_cloud and not offering.labels for offering in kwok.offerings)
    assert all(behaviour.boot_delay and not behaviour.faults for behaviour in kwok.behaviours.values())


def test_the_shipped_catalogue_of_hetzner_is_whole_and_its_names_are_unique() -> None:
    offerings = shipped_catalogue("hetzner").offerings
    assert len({offering.id for offering in offerings}) == len(offerings) > 80
    by_id = {offering.id: offering for offering in offerings}
    assert by_id["hetzner-cax11-fsn1"].arch == "arm64"
    assert by_id["hetzner-cx53-nbg1"].price_per_hour == 0.0473
    assert not by_id["hetzner-gex44-fsn1"].is_cloud
    assert all(offering.price_per_hour > 0 for offering in offerings)
