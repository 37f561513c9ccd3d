"""Records as the API writes them. Whoever reads this should find the reference's own words and order."""

from datetime import datetime
from typing import Any

from growth_lab.hetzner_sandbox.account import Account
from growth_lab.hetzner_sandbox.images import image_json
from growth_lab.hetzner_sandbox.locations import LOCATIONS
from growth_lab.hetzner_sandbox.prices import prices
from growth_lab.hetzner_sandbox.records import (
    Action,
    Firewall,
    Network,
    PlacementGroup,
    Resource,
    Server,
    SshKey,
    Volume,
)
from growth_lab.hetzner_sandbox.server_types import DEPRECATED_AT, SERVER_TYPES, UNAVAILABLE_AFTER, ServerType
from growth_lab.hetzner_sandbox.stock import is_listed_as_available

Json = dict[str, Any]


def instant(when: datetime) -> str:
    """ISO 8601 with an offset."""
    return when.isoformat(timespec="seconds")


def action_json(account: Account, action: Action) -> Json:
    """An action; its progress grows with time."""
    lasts = (action.ends_at - action.started).total_seconds()
    share = (account.now - action.started).total_seconds() / lasts if lasts else 0.0
    code, message = action.error or ("", "")
    return {
        "id": action.id,
        "command": action.command,
        "status": action.status,
        "progress": min(99, int(100 * share)) if action.is_running else 100,
        "started": instant(action.started),
        "finished": instant(action.finished) if action.finished else None,
        "resources": [{"id": one.id, "type": one.type} for one in action.resources],
        "error": {"code": code, "message": message} if action.error else None,
    }


def server_type_json(account: Account, server_type: ServerType) -> Json:
    """A type, with what is to be had of it where."""
    dead = {"announced": instant(DEPRECATED_AT), "unavailable_after": instant(UNAVAILABLE_AFTER)}
    return {
        "id": server_type.id,
        "name": server_type.name,
        "description": server_type.description,
        "category": server_type.category,
        "cores": server_type.cores,
        "memory": float(server_type.memory_gb),
        "disk": server_type.disk_gb,
        "architecture": server_type.architecture,
        "cpu_type": server_type.cpu_type,
        "storage_type": "local",
        "prices": prices(server_type.id),
        "deprecation": None,
        "locations": [
            {
                "id": LOCATIONS[place].id,
                "name": place,
                "available": (available := is_listed_as_available(account, server_type, place)),
                "recommended": available,
                "deprecation": dead if sale.is_dead else None,
            }
            for place, sale in server_type.sales.items()
        ],
    }


def server_json(account: Account, server: Server) -> Json:
    """A server, with its type, place, image and group in whole."""
    group = account.placement_groups.get(server.placement_group or 0)
    image = account.images.get(server.image)
    traffic = SERVER_TYPES[server.server_type].sales[server.location].traffic_bytes
    return {
        "id": server.id,
        "name": server.name,
        "status": server.status,
        "created": instant(server.created),
        "public_net": {
            "ipv4": _address(server.ipv4, f"static.{server.id}.clients.your-server.de"),
            "ipv6": _address(server.ipv6, []),
            "floating_ips": [],
            "firewalls": [{"id": one, "status": "applied"} for one in server.firewalls],
        },
        "private_net": [
            {
                "network": one.network,
                "ip": one.ip,
                "alias_ips": list(one.alias_ips),
                "mac_address": one.mac_address,
            }
            for one in server.private_net
        ],
        "server_type": server_type_json(account, SERVER_TYPES[server.server_type]),
        "location": LOCATIONS[server.location].json,
        "image": image_json(image) if image else None,
        "iso": None,
        "rescue_enabled": False,
        "locked": bool(account.running_on(Resource("server", server.id))),
        "backup_window": None,
        "outgoing_traffic": 0,
        "ingoing_traffic": 0,
        "included_traffic": traffic,
        "protection": {"delete": server.is_protected, "rebuild": server.is_protected},
        "labels": server.labels,
        "volumes": [one.id for one in account.volumes.values() if one.server == server.id],
        "load_balancers": [],
        "primary_disk_size": server.disk_gb,
        "placement_group": placement_group_json(account, group) if group else None,
    }


def _address(address: tuple[int, str] | None, dns_ptr: str | list[Json]) -> Json | None:
    if address is None:
        return None
    return {"id": address[0], "ip": address[1], "blocked": False, "dns_ptr": dns_ptr}


def placement_group_json(account: Account, group: PlacementGroup) -> Json:
    """A group and who is in it."""
    return {
        "id": group.id,
        "name": group.name,
        "labels": group.labels,
        "type": group.type,
        "created": instant(group.created),
        "servers": [one.id for one in account.servers.values() if one.placement_group == group.id],
    }


def ssh_key_json(key: SshKey) -> Json:
    """A public key."""
    return {
        "id": key.id,
        "name": key.name,
        "fingerprint": key.fingerprint,
        "public_key": key.public_key,
        "labels": key.labels,
        "created": instant(key.created),
    }


def network_json(account: Account, network: Network) -> Json:
    """A network and who is in it."""
    return {
        "id": network.id,
        "name": network.name,
        "ip_range": network.ip_range,
        "subnets": [
            {
                "type": one.type,
                "ip_range": one.ip_range,
                "network_zone": one.network_zone,
                "gateway": one.gateway,
                "vswitch_id": None,
            }
            for one in network.subnets
        ],
        "routes": [],
        "servers": [
            server.id
            for server in account.servers.values()
            if any(one.network == network.id for one in server.private_net)
        ],
        "load_balancers": [],
        "protection": {"delete": False},
        "labels": network.labels,
        "created": instant(network.created),
        "expose_routes_to_vswitch": False,
    }


def firewall_json(account: Account, firewall: Firewall) -> Json:
    """A firewall and whom it guards."""
    guarded = [one.id for one in account.servers.values() if firewall.id in one.firewalls]
    return {
        "id": firewall.id,
        "name": firewall.name,
        "labels": firewall.labels,
        "created": instant(firewall.created),
        "rules": list(firewall.rules),
        "applied_to": [{"type": "server", "server": {"id": one}} for one in guarded],
    }


def volume_json(volume: Volume) -> Json:
    """A volume and where it is attached."""
    return {
        "id": volume.id,
        "name": volume.name,
        "server": volume.server,
        "location": LOCATIONS[volume.location].json,
        "size": volume.size_gb,
        "linux_device": f"/dev/disk/by-id/scsi-0HC_Volume_{volume.id}",
        "protection": {"delete": False},
        "labels": volume.labels,
        "status": volume.status,
        "format": volume.format,
        "created": instant(volume.created),
    }
