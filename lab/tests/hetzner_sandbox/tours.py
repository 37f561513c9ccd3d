"""What the official client can do with each collection, done once, with a look at what it makes of the answers."""

from collections.abc import Iterable
from typing import Any

import pytest
from hcloud import APIException
from hcloud.firewalls import FirewallResource, FirewallRule
from hcloud.images import Image
from hcloud.locations import Location
from hcloud.networks import NetworkSubnet
from hcloud.server_types import ServerType
from hcloud.servers import ServerCreatePublicNetwork

from lab.tests.hetzner_sandbox.box import KEY

Official = Any
"""The client and what it gives: its own annotations say None wherever an object might not have been loaded."""

CAX11, CAX21 = ServerType(name="cax11"), ServerType(name="cax21")
DEBIAN, FSN1 = Image(name="debian-12"), Location(name="fsn1")


def finished(actions: Iterable[Official]) -> None:
    for action in actions:
        action.wait_until_finished()
        assert (action.status, action.progress, action.error) == ("success", 100, None)


def a_server(client: Official, name: str, **wishes: Official) -> Official:
    made = client.servers.create(name, CAX11, DEBIAN, location=FSN1, **wishes)
    finished([made.action, *made.next_actions])
    made.server.reload()
    return made.server


def locations(client: Official) -> None:
    assert [one.name for one in client.locations.get_all()] == ["fsn1", "nbg1", "hel1", "ash", "hil", "sin"]
    found = client.locations.get_by_name("hel1")
    assert found
    assert client.locations.get_by_id(found.id).network_zone == "eu-central"


def server_types(client: Official) -> None:
    found = {one.name: one for one in client.server_types.get_all()}
    assert len(found) == 25
    assert (found["cax11"].cores, found["cax11"].memory, found["cax11"].architecture) == (2, 4.0, "arm")
    places = found["cpx11"].locations
    assert places
    assert [(one.location.name, one.available) for one in places][:4] == [
        ("fsn1", False),
        ("nbg1", False),
        ("hel1", False),
        ("ash", True),
    ]
    assert places[0].deprecation
    assert places[0].deprecation.unavailable_after.year == 2026
    assert client.server_types.get_by_id(found["cx23"].id).name == "cx23"
    assert client.server_types.get_by_name("cx22") is None


def pricing(client: Official) -> None:
    found = client.request("GET", "/pricing")["pricing"]
    assert (found["currency"], found["vat_rate"]) == ("EUR", "19.000000")


def datacenters(client: Official) -> None:
    for path in ("/datacenters", "/datacenters/4"):
        with pytest.raises(APIException) as refused:
            client.request("GET", path)
        assert refused.value.code == "deprecated_api_endpoint"


def images(client: Official) -> None:
    assert len(client.images.get_all(type=["system"], architecture=["arm"])) == 5
    debian = client.images.get_by_name_and_architecture("debian-12", "arm", include_deprecated=True)
    assert debian
    assert client.images.get_by_id(debian.id).os_flavor == "debian"
    server = a_server(client, "model")
    made = server.create_image(description="mine", labels={"os": "talos"}, type="snapshot")
    finished([made.action])
    [snapshot] = client.images.get_all(label_selector="os=talos", sort=["created:desc"])
    assert (snapshot.name, snapshot.status, snapshot.description) == (None, "available", "mine")
    assert snapshot.update(labels={"os": "flatcar"}).labels == {"os": "flatcar"}
    assert snapshot.delete()
    finished([server.delete()])


def ssh_keys(client: Official) -> None:
    key = client.ssh_keys.create("me", KEY, labels={"a": "b"})
    assert [one.id for one in client.ssh_keys.get_all(label_selector="a=b")] == [key.id]
    assert client.ssh_keys.get_by_fingerprint(key.fingerprint or "")
    assert key.update(name="myself").name == "myself"
    assert client.ssh_keys.get_by_id(key.id).name == "myself"
    assert key.delete()


def networks(client: Official) -> None:
    subnet = NetworkSubnet(type="cloud", network_zone="eu-central", ip_range="10.0.0.0/24")
    network = client.networks.create("net", "10.0.0.0/16", subnets=[subnet], labels={"a": "b"})
    finished([network.add_subnet(NetworkSubnet(type="cloud", network_zone="us-east", ip_range="10.0.1.0/24"))])
    found = client.networks.get_by_name("net")
    assert found
    assert found.subnets
    assert [(one.ip_range, one.network_zone) for one in found.subnets] == [
        ("10.0.0.0/24", "eu-central"),
        ("10.0.1.0/24", "us-east"),
    ]
    finished([network.delete_subnet(found.subnets[1])])
    server = a_server(client, "inside", networks=[network])
    private = server.private_net
    assert private
    assert (private[0].ip, private[0].network.name) == ("10.0.0.2", "net")
    assert [one.id for one in client.networks.get_by_id(network.id).servers] == [server.id]
    finished([server.detach_from_network(network)])
    finished([server.attach_to_network(network, ip="10.0.0.9", alias_ips=["10.0.0.10"])])
    begun = client.networks.actions.get_all(sort=["id:desc"])
    assert begun[0].command == "attach_to_network"
    assert client.networks.actions.get_by_id(begun[0].id).status == "success"
    assert len(network.get_actions()) == 5
    assert network.update(name="other").name == "other"
    finished([server.delete()])
    assert network.delete()


def firewalls(client: Official) -> None:
    rule = FirewallRule(direction="in", protocol="tcp", port="22", source_ips=["0.0.0.0/0"])
    wall = client.firewalls.create("wall", rules=[rule], labels={"a": "b"}).firewall
    finished(wall.set_rules([rule, FirewallRule(direction="out", protocol="icmp", destination_ips=["::/0"])]))
    server = a_server(client, "guarded", firewalls=[wall])
    guards = server.public_net.firewalls if server.public_net else None
    assert guards
    assert [(one.firewall.id, one.status) for one in guards] == [(wall.id, "applied")]
    target = [FirewallResource(type="server", server=server)]
    finished(wall.remove_from_resources(target))
    finished(wall.apply_to_resources(target))
    found = client.firewalls.get_by_id(wall.id)
    assert [one.server.id for one in found.applied_to if one.server] == [server.id]
    assert len(found.rules) == 2
    assert [one.command for one in wall.get_actions()] == [
        "set_firewall_rules",
        "apply_firewall",
        "remove_firewall",
        "apply_firewall",
    ]
    begun = client.firewalls.actions.get_all()
    assert client.firewalls.actions.get_by_id(begun[0].id).status == "success"
    assert wall.update(name="moat").name == "moat"
    assert client.firewalls.get_by_name("moat")
    finished([server.delete()])
    assert wall.delete()


def placement_groups(client: Official) -> None:
    group = client.placement_groups.create("apart", "spread", labels={"a": "b"}).placement_group
    server = a_server(client, "alone", placement_group=group)
    found = client.placement_groups.get_by_id(group.id)
    assert found.servers == [server.id]
    assert server.placement_group
    assert server.placement_group.name == "apart"
    finished([server.power_off()])
    finished([server.remove_from_placement_group()])
    finished([server.add_to_placement_group(group)])
    assert group.update(name="away").name == "away"
    assert client.placement_groups.get_by_name("away")
    finished([server.delete()])
    assert group.delete()


def servers(client: Official) -> None:
    made = client.servers.create(
        "web-1",
        CAX11,
        DEBIAN,
        location=FSN1,
        labels={"growth.dev/cluster": "shop", "pool": "default"},
        user_data="#cloud-config\n",
        start_after_create=False,
        automount=False,
        public_net=ServerCreatePublicNetwork(enable_ipv4=True, enable_ipv6=False),
    )
    server = made.server
    assert (server.status, server.locked, bool(made.root_password)) == ("initializing", True, True)
    assert made.next_actions == []
    finished([made.action])
    finished([server.change_type(CAX21, upgrade_disk=True)])
    finished([server.power_on()])
    finished([server.reboot()])
    finished([server.reset()])
    finished([server.change_protection(delete=True, rebuild=True)])
    with pytest.raises(APIException) as refused:
        server.delete()
    assert refused.value.code == "protected"
    finished([server.change_protection(delete=False, rebuild=False)])
    a_server(client, "web-2", labels={"growth.dev/cluster": "other"})
    mine = client.servers.get_all(label_selector="growth.dev/cluster=shop", status=["running"])
    assert [one.name for one in mine] == ["web-1"]
    net = mine[0].public_net
    assert net
    assert net.ipv4
    assert (net.ipv6, net.floating_ips) == (None, [])
    assert mine[0].server_type
    assert (mine[0].server_type.name, mine[0].primary_disk_size) == ("cax21", 80)
    assert mine[0].location
    assert mine[0].location.name == "fsn1"
    assert server.update(name="web-3", labels={"a": "b"}).labels == {"a": "b"}
    found = client.servers.get_by_name("web-3")
    assert found
    assert client.servers.get_by_name("web-1") is None
    finished([found.shutdown()])
    finished([found.power_off()])
    assert client.servers.get_by_id(found.id).status == "off"
    for one in client.servers.get_all():
        finished([one.delete()])
    assert client.servers.get_all() == []


def actions(client: Official) -> None:
    server = a_server(client, "busy")
    begun = [server.power_off()]
    asked = client.request("GET", "/actions", params={"id": [one.id for one in begun], "sort": ["status", "id"]})
    assert [one["command"] for one in asked["actions"]] == ["stop_server"]
    finished(begun)
    assert client.actions.get_by_id(begun[0].id).command == "stop_server"
    assert client.servers.actions.get_by_id(begun[0].id).resources == [{"id": server.id, "type": "server"}]
    assert server.get_actions(sort=["id:desc"])[0].command == "stop_server"
    assert client.servers.actions.get_all(status=["error"]) == []
    finished([server.delete()])


def volumes(client: Official) -> None:
    server = a_server(client, "holder")
    made = client.volumes.create(10, "data", location=FSN1, format="ext4")
    finished([made.action, *made.next_actions])
    volume = made.volume
    finished([volume.attach(server)])
    volume.reload()
    assert volume.server
    assert volume.server.name == "holder"
    assert [one.name for one in client.servers.get_by_id(server.id).volumes] == ["data"]
    finished([volume.resize(20)])
    finished([volume.detach()])
    volume.reload()
    assert (volume.size, volume.status, volume.format) == (20, "available", "ext4")
    assert [one.command for one in volume.get_actions()][-2:] == ["resize_volume", "detach_volume"]
    other = client.volumes.create(10, "logs", server=server)
    finished([other.action, *other.next_actions])
    assert other.volume.update(name="old-logs", labels={"a": "b"}).name == "old-logs"
    assert client.volumes.get_by_name("old-logs")
    finished([server.delete()])
    assert [one.delete() for one in client.volumes.get_all()] == [True, True]
    assert client.volumes.actions.get_by_id(made.action.id).command == "create_volume"
    assert len(client.volumes.actions.get_all()) >= 6


TOURS = [
    locations,
    server_types,
    pricing,
    datacenters,
    images,
    ssh_keys,
    networks,
    firewalls,
    placement_groups,
    servers,
    actions,
    volumes,
]
