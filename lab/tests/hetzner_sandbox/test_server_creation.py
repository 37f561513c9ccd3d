"""What a create asks for, what it gives, and everything that keeps it from giving."""

from typing import Any

import msgspec
import pytest

from growth_lab.hetzner_sandbox.faults import Quota, SoldOut
from growth_lab.hetzner_sandbox.messages import request_from
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Sandbox
from lab.tests.hetzner_sandbox.box import KEY, Box, code, message, wanted


def test_a_create_answers_at_once_and_comes_to_life_later() -> None:
    box = Box()
    body = box.create()
    assert set(body) == {"server", "action", "next_actions", "root_password"}
    server_id = body["server"]["id"]
    assert (body["server"]["status"], body["server"]["locked"]) == ("initializing", True)
    assert (body["action"]["command"], body["action"]["status"]) == ("create_server", "running")
    assert [action["command"] for action in body["next_actions"]] == ["start_server"]
    seen: list[str] = []
    for _ in range(6):
        seen.append(box.status(server_id))
        box.pass_by(1)
    assert seen == ["initializing", "initializing", "starting", "starting", "starting", "running"]
    assert box.get(f"/servers/{server_id}")["server"]["locked"] is False


def test_progress_grows_and_ends_at_a_hundred() -> None:
    box = Box()
    action = box.create()["action"]
    box.pass_by(1)
    assert (box.action(action["id"])["progress"], box.action(action["id"])["finished"]) == (50, None)
    box.pass_by(60)
    done = box.action(action["id"])
    assert (done["status"], done["progress"], done["error"]) == ("success", 100, None)
    assert done["finished"] == "2026-03-02T09:00:02+00:00"  # when it was due, not when somebody looked


def test_a_server_that_shall_not_start_ends_off() -> None:
    box = Box()
    body = box.create(start_after_create=False)
    assert body["next_actions"] == []
    box.pass_by(3)
    assert box.status(body["server"]["id"]) == "off"


def test_everything_at_once() -> None:
    box = Box()
    key = box.post("/ssh_keys", {"name": "me", "public_key": KEY})["ssh_key"]
    subnet = {"type": "cloud", "network_zone": "eu-central", "ip_range": "10.0.1.0/24"}
    network = box.post("/networks", {"name": "net", "ip_range": "10.0.0.0/16", "subnets": [subnet]})["network"]
    firewall = box.post("/firewalls", {"name": "wall"})["firewall"]
    group = box.post("/placement_groups", {"name": "apart", "type": "spread"})["placement_group"]
    volume = box.post("/volumes", {"name": "data", "size": 10, "location": "fsn1"})["volume"]
    box.pass_by(1)
    body = box.create(
        server_type="45",
        image=114690389,
        ssh_keys=["me", key["id"]],
        networks=[network["id"]],
        firewalls=[{"firewall": firewall["id"]}],
        placement_group=group["id"],
        volumes=[volume["id"]],
        automount=False,
        labels={"growth.dev/pool": "default", "empty": ""},
        user_data="#cloud-config\n",
        public_net={"enable_ipv4": False, "enable_ipv6": True},
    )
    assert body["root_password"] is None
    assert [action["command"] for action in body["next_actions"]] == [
        "attach_to_network",
        "apply_firewall",
        "attach_volume",
        "start_server",
    ]
    assert body["server"]["private_net"] == []
    box.pass_by(5)
    server = box.get(f"/servers/{body['server']['id']}")["server"]
    assert server["status"] == "running"
    assert (server["server_type"]["name"], server["location"]["name"]) == ("cax11", "fsn1")
    assert [net["ip"] for net in server["private_net"]] == ["10.0.1.1"]
    assert server["public_net"]["ipv4"] is None
    assert server["public_net"]["ipv6"]["ip"].endswith("/64")
    assert server["public_net"]["firewalls"] == [{"id": firewall["id"], "status": "applied"}]
    assert server["placement_group"]["servers"] == [server["id"]]
    assert server["volumes"] == [volume["id"]]
    assert server["labels"] == {"growth.dev/pool": "default", "empty": ""}
    assert box.get(f"/networks/{network['id']}")["network"]["servers"] == [server["id"]]
    assert "datacenter" not in server
    assert "user_data" not in server


def test_without_a_place_the_api_picks_one_that_has_it() -> None:
    box = Box()
    box.sandbox.order(SoldOut(server_type="cax11", location="fsn1"))
    body = box.post("/servers", {"name": "a", "server_type": "cax11", "image": "debian-12"})
    assert body["server"]["location"]["name"] == "nbg1"


def test_a_name_is_used_once_until_its_server_is_gone() -> None:
    box = Box()
    first = box.running()
    again = box.ask("POST", "/servers", wanted())
    assert (code(again), message(again)) == ((409, "uniqueness_error"), "server name is already used")
    box.ask("DELETE", f"/servers/{first}")
    assert code(box.ask("POST", "/servers", wanted())) == (409, "uniqueness_error")
    box.pass_by(1)
    assert box.create()["server"]["id"] != first


REFUSED: dict[str, tuple[dict[str, Any], tuple[int, str], str]] = {
    "a place that never sold it": ({"location": "ash"}, (422, "invalid_input"), "unsupported location for server type"),
    "a type that is dead there": ({"server_type": "cpx11"}, (422, "invalid_input"), "server type 22 is deprecated"),
    "a type that nobody knows": ({"server_type": "cx31"}, (422, "invalid_input"), "server type not found"),
    "an image that nobody knows": ({"image": "debian-1"}, (422, "invalid_input"), "image not found"),
    "an image of the other architecture": ({"image": 114690387}, (422, "invalid_input"), "image not found"),
    "a place that nobody knows": ({"location": "mars"}, (422, "invalid_input"), "location not found"),
    "a key that is not there": ({"ssh_keys": ["me"]}, (422, "invalid_input"), "SSH key not found"),
    "a network that is not there": ({"networks": [1]}, (422, "invalid_input"), "network not found"),
    "a firewall that is not there": ({"firewalls": [{"firewall": 1}]}, (422, "invalid_input"), "firewall not found"),
    "a group that is not there": ({"placement_group": 1}, (422, "invalid_input"), "placement group not found"),
    "a volume that is not there": ({"volumes": [1]}, (422, "invalid_input"), "volume not found"),
    "a name that is no host name": ({"name": "web_1"}, (422, "invalid_input"), "invalid input in field 'name'"),
    "a label that is too long": (
        {"labels": {"a": "x" * 64}},
        (422, "invalid_input"),
        "invalid input in field 'labels'",
    ),
    "a label of Hetzner's own": (
        {"labels": {"hetzner.cloud/a": "b"}},
        (422, "invalid_input"),
        "invalid input in field 'labels'",
    ),
    "too many firewalls": (
        {"firewalls": [{"firewall": 1}] * 6},
        (422, "invalid_input"),
        "invalid input in field 'firewalls'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_made_is_refused_and_leaves_nothing(case: str) -> None:
    wishes, expected, sentence = REFUSED[case]
    box = Box()
    answer = box.ask("POST", "/servers", wanted() | wishes)
    assert (code(answer), message(answer)) == (expected, sentence)
    assert box.get("/servers")["servers"] == []


def test_user_data_has_32_kib_in_bytes() -> None:
    box = Box()
    assert box.ask("POST", "/servers", wanted("a", user_data="x" * 32768)).status == 201
    answer = box.ask("POST", "/servers", wanted("b", user_data="ü" * 16385))
    assert message(answer) == "invalid input in field 'user_data'"


def test_sold_out_is_resource_unavailable_until_a_type_or_place_has_some() -> None:
    box = Box()
    box.sandbox.order(SoldOut(server_type="cax11", location="fsn1", left=1))
    box.create("a")
    answer = box.ask("POST", "/servers", wanted("b"))
    assert (code(answer), message(answer)) == ((412, "resource_unavailable"), "error during placement")
    box.create("b", location="nbg1")
    box.create("c", server_type="cax21")


def test_quotas_count_servers_and_dedicated_cores() -> None:
    box = Box()
    box.sandbox.order(Quota(servers=3, dedicated_cores=4))
    box.create("a", server_type="ccx13")
    too_many = box.ask("POST", "/servers", wanted("b", server_type="ccx23"))
    assert (code(too_many), message(too_many)) == ((403, "resource_limit_exceeded"), "dedicated core limit exceeded")
    box.create("b")
    box.create("c", start_after_create=False)
    full = box.ask("POST", "/servers", wanted("d"))
    assert message(full) == "server limit exceeded"
    assert isinstance(full.body, dict)
    assert full.body["error"]["details"] == {"limits": [{"name": "server_limit"}]}


def test_a_spread_group_takes_ten() -> None:
    box = Box()
    group = box.post("/placement_groups", {"name": "apart", "type": "spread"})["placement_group"]["id"]
    for number in range(10):
        box.create(f"web-{number}", placement_group=group)
    answer = box.ask("POST", "/servers", wanted("one-more", placement_group=group))
    assert code(answer)[1] == "placement_group_member_limit_reached"


def test_a_network_without_a_subnet_in_the_zone_takes_nobody() -> None:
    box = Box()
    subnet = {"type": "cloud", "network_zone": "us-east"}
    network = box.post("/networks", {"name": "net", "ip_range": "10.0.0.0/16", "subnets": [subnet]})["network"]
    answer = box.ask("POST", "/servers", wanted(networks=[network["id"]]))
    assert code(answer) == (422, "no_subnet_available")


def test_an_id_is_never_used_again_even_by_a_later_sandbox() -> None:
    box = Box()
    first = [box.create(name)["server"]["id"] for name in "abc"]
    box.pass_by(60)
    later = Sandbox(lambda: box.now).answer(
        request_from("POST", "/v1/servers", f"Bearer {TOKEN}", msgspec.json.encode(wanted("a")))
    )
    assert isinstance(later.body, dict)
    assert later.body["server"]["id"] > max(first)


def test_two_cannot_have_one_volume() -> None:
    box = Box()
    volume = box.post("/volumes", {"name": "data", "size": 10, "location": "fsn1"})["volume"]["id"]
    box.pass_by(1)
    box.create("a", volumes=[volume])
    assert code(box.ask("POST", "/servers", wanted("b", volumes=[volume]))) == (423, "locked")
    box.pass_by(5)
    assert code(box.ask("POST", "/servers", wanted("b", volumes=[volume])))[1] == "volume_already_attached"


def test_servers_that_come_together_get_addresses_of_their_own() -> None:
    box = Box()
    subnet = {"type": "cloud", "network_zone": "eu-central"}
    network = box.post("/networks", {"name": "net", "ip_range": "10.0.0.0/16", "subnets": [subnet]})["network"]["id"]
    made = [box.create(f"web-{number}", networks=[network])["server"]["id"] for number in range(5)]
    box.pass_by(5)
    found = [box.get(f"/servers/{one}")["server"]["private_net"][0]["ip"] for one in made]
    assert found == ["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"]  # .1 is the gateway's
