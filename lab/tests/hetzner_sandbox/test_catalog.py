"""What is sold where, for how much, and in whose words."""

import re
from decimal import Decimal
from typing import Any

from growth.api.not_offered import withdrawn_types
from growth_lab.hetzner_sandbox.faults import SoldOut
from lab.tests.hetzner_sandbox.box import Box, Json, code


def types(box: Box) -> dict[str, Any]:
    return {one["name"]: one for one in box.get("/server_types?per_page=50")["server_types"]}


def places(server_type: Json) -> dict[str, Any]:
    return {one["name"]: one for one in server_type["locations"]}


def test_places_have_their_ids_and_zones() -> None:
    found = {one["name"]: (one["id"], one["network_zone"]) for one in Box().get("/locations")["locations"]}
    assert found["fsn1"] == (1, "eu-central")
    assert found["hel1"] == (3, "eu-central")
    assert found["sin"] == (6, "ap-southeast")
    assert len(found) == 6


def test_sizes_are_whole_numbers_where_other_clients_need_them() -> None:
    for one in types(Box()).values():
        assert all(type(one[field]) is int for field in ("id", "cores", "disk"))


def test_a_type_is_sold_where_its_price_is_known() -> None:
    found = types(Box())
    assert list(places(found["cax11"])) == ["fsn1", "nbg1", "hel1"]
    assert list(places(found["ccx13"])) == ["fsn1", "nbg1", "hel1", "ash", "hil"]
    assert list(places(found["cpx22"])) == ["fsn1", "nbg1", "hel1", "sin"]
    assert (found["cax11"]["architecture"], found["cx23"]["architecture"]) == ("arm", "x86")
    assert "cx22" not in found


def test_types_that_are_not_offered_any_more_are_unlisted_and_their_successors_are_offered() -> None:
    box = Box()
    found = types(box)
    assert {"cx31", "cx32"} < withdrawn_types().keys()
    for name, one in withdrawn_types().items():
        assert name not in found
        assert all(place["deprecation"] is None for place in places(found[one.successor]).values())
        assert found[one.successor]["memory"] >= {"1": 4, "2": 4, "3": 8, "4": 16, "5": 32}[name[2]]
    body = {"name": "one", "server_type": "cx31", "image": "debian-12", "location": "fsn1"}
    assert code(box.ask("POST", "/servers", body)) == (422, "invalid_input")


def test_a_type_that_is_dead_in_some_places_is_listed_with_its_end() -> None:
    box = Box()
    cpx11 = types(box)["cpx11"]
    dead, alive = places(cpx11)["fsn1"], places(cpx11)["ash"]
    assert dead["available"] is False
    assert dead["deprecation"]["unavailable_after"] < box.now.isoformat()
    assert (alive["available"], alive["deprecation"]) == (True, None)
    assert cpx11["deprecation"] is None
    assert {"fsn1", "ash"} <= {price["location"] for price in cpx11["prices"]}


def test_prices_are_decimal_strings_net_and_gross() -> None:
    price = types(Box())["cx23"]["prices"][0]
    assert price["price_hourly"]["net"] == "0.0088000000"
    assert Decimal(price["price_hourly"]["gross"]) == Decimal("0.0088") * Decimal("1.19")
    assert price["price_monthly"]["net"] == "5.4900000000"
    assert price["included_traffic"] == 20 * 1024**4


def test_pricing_names_the_currency_and_says_the_same_as_the_types() -> None:
    box = Box()
    found = box.get("/pricing")["pricing"]
    assert found["currency"] == "EUR"
    assert {one["name"]: one["prices"] for one in found["server_types"]} == {
        name: one["prices"] for name, one in types(box).items()
    }
    ipv4 = next(one for one in found["primary_ips"] if one["type"] == "ipv4")
    assert ipv4["prices"][0]["price_hourly"]["net"] == "0.0008000000"


def test_what_is_sold_out_is_not_available_unless_the_hint_lies() -> None:
    box = Box()
    box.sandbox.order(SoldOut(server_type="cax*", location="fsn1"))
    box.sandbox.order(SoldOut(server_type="cx23", is_listed=True))
    found = types(box)
    assert [places(found["cax21"])[place]["available"] for place in ("fsn1", "nbg1")] == [False, True]
    assert places(found["cx23"])["fsn1"]["available"] is True


def test_a_system_has_one_name_and_an_image_for_each_architecture() -> None:
    box = Box()
    both = box.get("/images?name=debian-12&type=system")["images"]
    assert sorted(one["architecture"] for one in both) == ["arm", "x86"]
    arm = box.get("/images?name=debian-12&architecture=arm&include_deprecated=true")["images"]
    assert [one["architecture"] for one in arm] == ["arm"]


def test_snapshots_have_labels_and_no_name() -> None:
    box = Box()
    made = box.sandbox.add_snapshot({"os": "talos"}, "arm")
    found = box.get("/images?type=snapshot&label_selector=os%3Dtalos")["images"]
    assert [(one["id"], one["name"]) for one in found] == [(made.id, None)]
    assert box.create(image=made.id)["server"]["image"]["id"] == made.id


def test_a_snapshot_can_be_changed_and_deleted_and_a_system_cannot() -> None:
    box = Box()
    path = f"/images/{box.sandbox.add_snapshot({'a': 'b'}).id}"
    changed = box.ask("PUT", path, {"description": "mine", "labels": {"c": "d"}}).body
    assert isinstance(changed, dict)
    assert (changed["image"]["description"], changed["image"]["labels"]) == ("mine", {"c": "d"})
    assert box.ask("DELETE", path).status == 204
    assert code(box.ask("GET", path)) == (404, "not_found")
    system = box.get("/images?name=rocky-9")["images"][0]["id"]
    assert code(box.ask("DELETE", f"/images/{system}")) == (422, "invalid_input")
    assert code(box.ask("PUT", f"/images/{system}", {"labels": {}})) == (422, "invalid_input")


def test_instants_have_an_offset() -> None:
    created = Box().get("/images")["images"][0]["created"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", created)
