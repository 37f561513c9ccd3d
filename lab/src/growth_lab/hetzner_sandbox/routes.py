"""The calls that exist, in one table: whatever is not here is not there, for anybody."""

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from growth_lab.hetzner_sandbox import (
    action_list,
    catalog,
    firewalls,
    networks,
    placement_groups,
    server_actions,
    server_creation,
    servers,
    ssh_keys,
    volumes,
)
from growth_lab.hetzner_sandbox.messages import Answer

PREFIX: Final = "/v1"
Handler = Callable[..., Answer]

# Path, then method and handler; ``{id}`` is a number, given to the handler in the order of the path.
_TABLE: Final[dict[str, dict[str, Handler]]] = {
    "/locations": {"GET": catalog.list_locations},
    "/locations/{id}": {"GET": catalog.get_location},
    "/server_types": {"GET": catalog.list_server_types},
    "/server_types/{id}": {"GET": catalog.get_server_type},
    "/datacenters": {"GET": catalog.gone_datacenters},
    "/datacenters/{id}": {"GET": catalog.gone_datacenters},
    "/pricing": {"GET": catalog.get_pricing},
    "/images": {"GET": catalog.list_images},
    "/images/{id}": {
        "GET": catalog.get_image,
        "PUT": catalog.update_image,
        "DELETE": catalog.delete_image,
    },
    "/ssh_keys": {"GET": ssh_keys.list_ssh_keys, "POST": ssh_keys.create_ssh_key},
    "/ssh_keys/{id}": {
        "GET": ssh_keys.get_ssh_key,
        "PUT": ssh_keys.update_ssh_key,
        "DELETE": ssh_keys.delete_ssh_key,
    },
    "/networks": {"GET": networks.list_networks, "POST": networks.create_network},
    "/networks/{id}": {
        "GET": networks.get_network,
        "PUT": networks.update_network,
        "DELETE": networks.delete_network,
    },
    "/networks/{id}/actions/add_subnet": {"POST": networks.add_subnet},
    "/networks/{id}/actions/delete_subnet": {"POST": networks.delete_subnet},
    "/firewalls": {"GET": firewalls.list_firewalls, "POST": firewalls.create_firewall},
    "/firewalls/{id}": {
        "GET": firewalls.get_firewall,
        "PUT": firewalls.update_firewall,
        "DELETE": firewalls.delete_firewall,
    },
    "/firewalls/{id}/actions/set_rules": {"POST": firewalls.set_rules},
    "/firewalls/{id}/actions/apply_to_resources": {"POST": firewalls.apply_to},
    "/firewalls/{id}/actions/remove_from_resources": {"POST": firewalls.remove_from},
    "/placement_groups": {"GET": placement_groups.list_groups, "POST": placement_groups.create_group},
    "/placement_groups/{id}": {
        "GET": placement_groups.get_group,
        "PUT": placement_groups.update_group,
        "DELETE": placement_groups.delete_group,
    },
    "/servers": {"GET": servers.list_servers, "POST": server_creation.create_server},
    "/servers/{id}": {
        "GET": servers.get_server,
        "PUT": servers.update_server,
        "DELETE": servers.delete_server,
    },
    "/servers/{id}/actions/poweron": {"POST": server_actions.poweron},
    "/servers/{id}/actions/poweroff": {"POST": server_actions.poweroff},
    "/servers/{id}/actions/shutdown": {"POST": server_actions.shutdown},
    "/servers/{id}/actions/reboot": {"POST": server_actions.reboot},
    "/servers/{id}/actions/reset": {"POST": server_actions.reset},
    "/servers/{id}/actions/attach_to_network": {"POST": server_actions.attach_to_network},
    "/servers/{id}/actions/detach_from_network": {"POST": server_actions.detach_from_network},
    "/servers/{id}/actions/add_to_placement_group": {"POST": server_actions.add_to_placement_group},
    "/servers/{id}/actions/remove_from_placement_group": {"POST": server_actions.remove_from_placement_group},
    "/servers/{id}/actions/change_type": {"POST": server_actions.change_type},
    "/servers/{id}/actions/change_protection": {"POST": server_actions.change_protection},
    "/servers/{id}/actions/create_image": {"POST": server_actions.create_image},
    "/volumes": {"GET": volumes.list_volumes, "POST": volumes.create_volume},
    "/volumes/{id}": {
        "GET": volumes.get_volume,
        "PUT": volumes.update_volume,
        "DELETE": volumes.delete_volume,
    },
    "/volumes/{id}/actions/attach": {"POST": volumes.attach},
    "/volumes/{id}/actions/detach": {"POST": volumes.detach},
    "/volumes/{id}/actions/resize": {"POST": volumes.resize},
    "/actions": {"GET": action_list.list_actions},
    "/actions/{id}": {"GET": action_list.get_action},
}
_WITH_ACTIONS: Final = {"servers": "server", "volumes": "volume", "networks": "network", "firewalls": "firewall"}


def _all_routes() -> dict[str, dict[str, Handler]]:
    about: dict[str, dict[str, Handler]] = {}
    for collection, kind in _WITH_ACTIONS.items():
        about[f"/{collection}/actions"] = {"GET": partial(action_list.list_actions_about, kind=kind)}
        about[f"/{collection}/actions/{{id}}"] = {"GET": action_list.get_action}
        about[f"/{collection}/{{id}}/actions"] = {"GET": partial(action_list.list_actions_about, kind=kind)}
    return _TABLE | about


_ROUTES: Final = [
    (path, re.compile(PREFIX + path.replace("{id}", r"(\d+)")), methods) for path, methods in _all_routes().items()
]


def every_call() -> frozenset[tuple[str, str]]:
    """Method and path of all calls that there are."""
    return frozenset((method, path) for path, _, methods in _ROUTES for method in methods)


def route(path: str) -> tuple[str, dict[str, Handler], tuple[int, ...]] | None:
    """The path as the reference writes it, its methods, and the numbers in it; None if there is no such path."""
    for name, pattern, methods in _ROUTES:
        if found := pattern.fullmatch(path):
            return name, methods, tuple(int(number) for number in found.groups())
    return None
