"""Catalogues: what is read, and in which words a wrong one is refused."""

import pytest

from growth.api.catalogue import CatalogueError, read_catalogue, shipped_catalogue
from growth.api.offering import INSTANCE_TYPE, REGION, ZONE

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
        ("title: small", "name: small", "serverTypes[0].name is missing"),
        ("- name: [", "- name: small", "not YAML"),
    ],
)
def test_what_is_wrong_is_told_with_line_field_and_closest_name(wrong: str, right: str, sentence: str) -> None:
    text = _GOOD.replace(right, wrong, 1) if right != "cpu: 2," else _GOOD.replace("cpu: 2,", "cpu: 2x,", 1)
    with pytest.raises(CatalogueError) as raised:
        read_catalogue(text, file_name="shop.yaml")
    assert sentence in str(raised.value)


def test_the_shipped_catalogue_of_hetzner_is_whole_and_its_names_are_unique() -> None:
    offerings = shipped_catalogue("hetzner").offerings
    assert len({offering.id for offering in offerings}) == len(offerings) > 80
    by_id = {offering.id: offering for offering in offerings}
    assert by_id["hetzner-cax11-fsn1"].arch == "arm64"
    assert by_id["hetzner-cx53-nbg1"].price_per_hour == 0.0473
    assert not by_id["hetzner-gex44-fsn1"].is_cloud
    assert all(offering.price_per_hour > 0 for offering in offerings)
