"""Keys, networks, firewalls and placement groups: what servers are given."""

from typing import Any

import pytest

from lab.tests.hetzner_sandbox.box import KEY, Box, code

MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "/ssh_keys": ("ssh_key", {"public_key": KEY}),
    "/networks": ("network", {"ip_range": "10.0.0.0/16"}),
    "/firewalls": ("firewall", {}),
    "/placement_groups": ("placement_group", {"type": "spread"}),
}


@pytest.mark.parametrize("path", MADE)
def test_each_is_made_found_changed_and_deleted_alike(path: str) -> None:
    box, (root, body) = Box(), MADE[path]
    made = box.post(path, {"name": "one", "labels": {"a": "b"}, **body})[root]
    assert code(box.ask("POST", path, {"name": "one", **body})) == (409, "uniqueness_error")
    assert [one["id"] for one in box.get(f"{path}?name=one")[f"{root}s"]] == [made["id"]]
    assert [one["id"] for one in box.get(f"{path}?label_selector=a%3Db")[f"{root}s"]] == [made["id"]]
    changed = box.ask("PUT", f"{path}/{made['id']}", {"name": "two", "labels": {"c": "d"}}).body
    assert isinstance(changed, dict)
    assert (changed[root]["name"], changed[root]["labels"]) == ("two", {"c": "d"})
    assert box.get(f"{path}/{made['id']}")[root]["name"] == "two"
    assert box.ask("DELETE", f"{path}/{made['id']}").status == 204
    assert code(box.ask("GET", f"{path}/{made['id']}")) == (404, "not_found")
    assert code(box.ask("DELETE", f"{path}/{made['id']}")) == (404, "not_found")


@pytest.mark.parametrize("path", MADE)
def test_each_refuses_an_empty_name_and_a_wrong_label(path: str) -> None:
    box, (_, body) = Box(), MADE[path]
    assert code(box.ask("POST", path, {"name": "", **body})) == (422, "invalid_input")
    assert code(box.ask("POST", path, {"name": "a", "labels": {"-": ""}, **body})) == (422, "invalid_input")


def test_a_key_is_known_by_its_fingerprint() -> None:
    box = Box()
    key = box.post("/ssh_keys", {"name": "me", "public_key": KEY})["ssh_key"]
    assert len(key["fingerprint"].split(":")) == 16
    assert code(box.ask("POST", "/ssh_keys", {"name": "again", "public_key": KEY})) == (409, "uniqueness_error")
    assert code(box.ask("POST", "/ssh_keys", {"name": "no", "public_key": "hello"})) == (422, "invalid_input")
    found = box.get(f"/ssh_keys?fingerprint={key['fingerprint'].replace(':', '%3A')}")["ssh_keys"]
    assert [one["id"] for one in found] == [key["id"]]


def test_subnets_find_their_ranges_and_do_not_overlap() -> None:
    box = Box()
    network = box.post("/networks", {"name": "net", "ip_range": "10.0.0.0/23"})["network"]["id"]
    zone = {"type": "cloud", "network_zone": "eu-central"}
    for _ in range(2):
        box.post(f"/networks/{network}/actions/add_subnet", zone)
        box.pass_by(1)
    found = box.get(f"/networks/{network}")["network"]["subnets"]
    assert [one["ip_range"] for one in found] == ["10.0.0.0/24", "10.0.1.0/24"]
    assert {one["gateway"] for one in found} == {"10.0.0.1"}
    path = f"/networks/{network}/actions/add_subnet"
    assert code(box.ask("POST", path, zone)) == (422, "no_subnet_available")
    assert code(box.ask("POST", path, zone | {"ip_range": "10.0.1.128/25"})) == (422, "networks_overlap")
    assert code(box.ask("POST", path, zone | {"network_zone": "mars"})) == (422, "invalid_input")
    box.post(f"/networks/{network}/actions/delete_subnet", {"ip_range": "10.0.1.0/24"})
    box.pass_by(1)
    assert len(box.get(f"/networks/{network}")["network"]["subnets"]) == 1


def test_a_network_that_goes_lets_its_servers_go_but_a_subnet_holds_them() -> None:
    box = Box()
    subnet = {"type": "cloud", "network_zone": "eu-central", "ip_range": "10.0.0.0/24"}
    network = box.post("/networks", {"name": "net", "ip_range": "10.0.0.0/16", "subnets": [subnet]})["network"]["id"]
    server = box.running(networks=[network])
    path = f"/networks/{network}/actions/delete_subnet"
    assert code(box.ask("POST", path, {"ip_range": "10.0.0.0/24"})) == (422, "invalid_input")
    box.ask("DELETE", f"/networks/{network}")
    assert box.get(f"/servers/{server}")["server"]["private_net"] == []


def test_a_public_range_is_no_private_network() -> None:
    for text in ("8.8.8.0/24", "10.0.0.1/16", "ten"):
        assert code(Box().ask("POST", "/networks", {"name": "net", "ip_range": text})) == (422, "invalid_input")


def test_a_firewall_guards_servers_until_it_is_taken_off() -> None:
    box = Box()
    server = box.running()
    rule = {"direction": "in", "protocol": "tcp", "port": "22", "source_ips": ["0.0.0.0/0"]}
    target = {"type": "server", "server": {"id": server}}
    body = box.post("/firewalls", {"name": "wall", "rules": [rule], "apply_to": [target]})
    wall = body["firewall"]["id"]
    assert [action["command"] for action in body["actions"]] == ["apply_firewall"]
    assert body["firewall"]["rules"] == [{**rule, "destination_ips": [], "description": None}]
    assert body["firewall"]["applied_to"] == [target]
    assert code(box.ask("DELETE", f"/firewalls/{wall}")) == (422, "invalid_input")
    box.post(f"/firewalls/{wall}/actions/remove_from_resources", {"remove_from": [target]})
    assert box.ask("DELETE", f"/firewalls/{wall}").status == 204


def test_a_firewall_has_all_new_rules_or_none_at_all() -> None:
    box = Box()
    wall = box.post("/firewalls", {"name": "wall"})["firewall"]["id"]
    sideways = {"rules": [{"direction": "up", "protocol": "tcp"}]}
    assert code(box.ask("POST", f"/firewalls/{wall}/actions/set_rules", sideways)) == (422, "invalid_input")
    box.post(f"/firewalls/{wall}/actions/set_rules", {"rules": [{"direction": "out", "protocol": "icmp"}]})
    assert [rule["protocol"] for rule in box.get(f"/firewalls/{wall}")["firewall"]["rules"]] == ["icmp"]


def test_groups_spread_and_do_nothing_else() -> None:
    answer = Box().ask("POST", "/placement_groups", {"name": "together", "type": "pack"})
    assert code(answer) == (422, "invalid_input")
