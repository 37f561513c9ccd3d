"""Power, locks, types, groups, networks, protection, deletion: in time."""

import pytest

from lab.tests.hetzner_sandbox.box import Box, code, message, wanted


def act(box: Box, server_id: int, name: str, **body: object) -> int:
    """The id of the action that began."""
    return box.post(f"/servers/{server_id}/actions/{name}", body or None)["action"]["id"]


def test_power_off_cuts_and_power_on_starts() -> None:
    box = Box()
    server = box.running()
    off = act(box, server, "poweroff")
    assert (box.status(server), box.action(off)["command"]) == ("stopping", "stop_server")
    box.pass_by(1)
    assert (box.status(server), box.action(off)["status"]) == ("off", "success")
    on = act(box, server, "poweron")
    assert (box.status(server), box.action(on)["command"]) == ("starting", "start_server")
    box.pass_by(3)
    assert box.status(server) == "running"


def test_doing_again_what_is_done_succeeds_and_changes_nothing() -> None:
    box = Box()
    server = box.running()
    act(box, server, "poweron")
    assert box.status(server) == "running"
    box.pass_by(1)
    for _ in range(2):
        act(box, server, "poweroff")
        box.pass_by(1)
    assert box.status(server) == "off"


def test_a_shutdown_that_succeeded_only_means_that_the_system_was_asked() -> None:
    box = Box()
    server = box.running()
    asked = act(box, server, "shutdown")
    box.pass_by(1)
    assert (box.action(asked)["status"], box.status(server)) == ("success", "running")
    box.pass_by(2)
    assert box.status(server) == "off"


def test_an_old_shutdown_does_not_stop_a_new_life() -> None:
    box = Box()
    server = box.running()
    act(box, server, "shutdown")
    box.pass_by(0.5)
    act(box, server, "reset")
    box.pass_by(10)
    assert box.status(server) == "running"


@pytest.mark.parametrize("name", ["reboot", "reset"])
def test_a_new_start_is_another_boot(name: str) -> None:
    box = Box()
    server = box.running()
    act(box, server, name)
    box.pass_by(1)
    assert (box.status(server), box.sandbox.servers()[0].boots) == ("running", 2)


def test_a_server_does_one_thing_at_a_time() -> None:
    box = Box()
    server = box.create()["server"]["id"]
    for method, path in (("POST", "/actions/poweroff"), ("POST", "/actions/reboot"), ("DELETE", "")):
        assert code(box.ask(method, f"/servers/{server}{path}")) == (423, "locked")
    box.pass_by(5)
    act(box, server, "poweroff")
    assert code(box.ask("POST", f"/servers/{server}/actions/poweron")) == (423, "locked")


def test_a_deleted_server_is_deleting_and_then_gone_and_its_actions_stay() -> None:
    box = Box()
    server = box.running()
    answer = box.ask("DELETE", f"/servers/{server}")
    assert answer.status == 200
    assert isinstance(answer.body, dict)
    action = answer.body["action"]
    assert (box.status(server), action["command"]) == ("deleting", "delete_server")
    box.pass_by(1)
    assert code(box.ask("GET", f"/servers/{server}")) == (404, "not_found")
    assert code(box.ask("DELETE", f"/servers/{server}")) == (404, "not_found")
    assert box.action(action["id"])["status"] == "success"


def test_a_protected_server_stays() -> None:
    box = Box()
    server = box.running()
    act(box, server, "change_protection", delete=True, rebuild=True)
    assert code(box.ask("DELETE", f"/servers/{server}")) == (423, "protected")
    act(box, server, "change_protection", delete=False, rebuild=False)
    assert box.ask("DELETE", f"/servers/{server}").status == 200
    one_alone = box.ask("POST", f"/servers/{server}/actions/change_protection", {"delete": True})
    assert code(one_alone) == (423, "locked")


def test_another_name_and_a_whole_new_map_of_labels() -> None:
    box = Box()
    server = box.running(labels={"a": "1", "b": "2"})
    box.create("taken")
    answer = box.ask("PUT", f"/servers/{server}", {"name": "web-2", "labels": {"c": "3"}})
    assert isinstance(answer.body, dict)
    assert (answer.body["server"]["name"], answer.body["server"]["labels"]) == ("web-2", {"c": "3"})
    assert code(box.ask("PUT", f"/servers/{server}", {"name": "taken"})) == (409, "uniqueness_error")
    assert box.ask("PUT", f"/servers/{server}", {"name": "web-2"}).status == 200


def test_a_type_is_changed_only_when_off_and_only_to_one_that_fits() -> None:
    box = Box()
    server = box.running()
    path = f"/servers/{server}/actions/change_type"
    assert code(box.ask("POST", path, {"server_type": "cax21", "upgrade_disk": True})) == (422, "server_not_stopped")
    act(box, server, "poweroff")
    box.pass_by(1)
    for wrong in ("cax11", "cx33"):
        answer = box.ask("POST", path, {"server_type": wrong, "upgrade_disk": True})
        assert code(answer) == (422, "invalid_server_type")
    act(box, server, "change_type", server_type="cax21", upgrade_disk=False)
    box.pass_by(2)
    changed = box.get(f"/servers/{server}")["server"]
    assert (changed["server_type"]["name"], changed["primary_disk_size"]) == ("cax21", 40)


def test_into_a_group_only_when_off_and_only_one() -> None:
    box = Box()
    server = box.running()
    group = box.post("/placement_groups", {"name": "apart", "type": "spread"})["placement_group"]["id"]
    path, body = f"/servers/{server}/actions/add_to_placement_group", {"placement_group": group}
    assert code(box.ask("POST", path, body)) == (422, "server_not_stopped")
    act(box, server, "poweroff")
    box.pass_by(1)
    act(box, server, "add_to_placement_group", placement_group=group)
    box.pass_by(1)
    assert code(box.ask("POST", path, body)) == (422, "already_in_placement_group")
    assert code(box.ask("DELETE", f"/placement_groups/{group}")) == (422, "invalid_input")
    act(box, server, "remove_from_placement_group")
    box.pass_by(1)
    assert box.ask("DELETE", f"/placement_groups/{group}").status == 204


def test_into_networks_by_address_and_range() -> None:
    box = Box()
    subnets = [
        {"type": "cloud", "network_zone": "eu-central", "ip_range": "10.0.1.0/24"},
        {"type": "cloud", "network_zone": "eu-central", "ip_range": "10.0.2.0/24"},
    ]
    network = box.post("/networks", {"name": "net", "ip_range": "10.0.0.0/16", "subnets": subnets})["network"]["id"]
    first, second, third = (box.running(name) for name in ("a", "b", "c"))
    act(box, first, "attach_to_network", network=network, ip="10.0.1.7", alias_ips=["10.0.1.8"])
    act(box, second, "attach_to_network", network=network, ip_range="10.0.2.0/24")
    path = f"/servers/{third}/actions/attach_to_network"
    assert code(box.ask("POST", path, {"network": network, "ip": "10.0.1.7"})) == (422, "ip_not_available")
    assert code(box.ask("POST", path, {"network": network, "ip": "10.9.0.1"})) == (422, "ip_not_available")
    no_such = box.ask("POST", path, {"network": network, "ip_range": "10.0.3.0/24"})
    assert code(no_such) == (422, "no_subnet_available")
    box.pass_by(1)
    nets = [box.get(f"/servers/{one}")["server"]["private_net"][0] for one in (first, second)]
    assert [net["ip"] for net in nets] == ["10.0.1.7", "10.0.2.1"]
    assert (nets[0]["alias_ips"], len(nets[0]["mac_address"])) == (["10.0.1.8"], 17)
    again = box.ask("POST", f"/servers/{first}/actions/attach_to_network", {"network": network})
    assert code(again) == (422, "server_already_attached")
    act(box, first, "detach_from_network", network=network)
    box.pass_by(1)
    assert box.get(f"/servers/{first}")["server"]["private_net"] == []


def test_a_server_is_in_three_networks_at_most() -> None:
    box = Box()
    server = box.running()
    for number in range(4):
        subnet = {"type": "cloud", "network_zone": "eu-central"}
        body = {"name": f"net-{number}", "ip_range": f"10.{number}.0.0/16", "subnets": [subnet]}
        network = box.post("/networks", body)["network"]["id"]
        answer = box.ask("POST", f"/servers/{server}/actions/attach_to_network", {"network": network})
        assert answer.status == (201 if number < 3 else 422)
        box.pass_by(1)


def test_a_snapshot_of_a_server_can_be_used_when_it_is_finished() -> None:
    box = Box()
    server = box.running()
    body = box.post(f"/servers/{server}/actions/create_image", {"labels": {"os": "talos"}, "type": "snapshot"})
    image = body["image"]
    assert (image["status"], image["type"], image["architecture"]) == ("creating", "snapshot", "arm")
    assert message(box.ask("POST", "/servers", wanted("b", image=image["id"]))) == "image is not available"
    box.pass_by(5)
    assert box.create("b", image=image["id"])["server"]["image"]["created_from"] == {"id": server, "name": "web-1"}


def test_a_snapshot_outlives_the_image_that_its_server_was_made_of() -> None:
    box = Box()
    first = box.sandbox.add_snapshot({"a": "b"}, "arm").id
    server = box.running(image=first)
    box.ask("DELETE", f"/images/{first}")
    assert box.get(f"/servers/{server}")["server"]["image"] is None
    assert box.post(f"/servers/{server}/actions/create_image")["image"]["architecture"] == "arm"


def test_actions_are_found_by_id_by_thing_and_by_kind() -> None:
    box = Box()
    one, other = box.running("a"), box.running("b")
    stop = act(box, one, "poweroff")
    commands = [action["command"] for action in box.get(f"/servers/{one}/actions")["actions"]]
    assert commands == ["create_server", "start_server", "stop_server"]
    assert len(box.get("/servers/actions")["actions"]) == 5
    assert [action["id"] for action in box.get("/servers/actions?status=running")["actions"]] == [stop]
    assert box.get(f"/servers/actions/{stop}")["action"]["resources"] == [{"id": one, "type": "server"}]
    created = box.get(f"/servers/{other}/actions")["actions"][0]["id"]
    asked = box.get(f"/actions?id={stop}&id={created}&sort=status&sort=id")["actions"]
    assert [action["id"] for action in asked] == [stop, created]


def test_actions_about_what_is_not_there_are_not_found() -> None:
    assert code(Box().ask("GET", "/servers/7/actions")) == (404, "not_found")


def test_a_free_list_of_all_actions_is_not_to_be_had() -> None:
    assert code(Box().ask("GET", "/actions")) == (422, "invalid_input")
