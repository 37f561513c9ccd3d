"""``POST /servers``: everything is checked before anything is made, and what is made comes to life by itself."""

import ipaddress
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from growth.api.meta import FrozenValue
from growth_lab.hetzner_sandbox.account import Account, check_name_free, found_by
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid, invalid_field
from growth_lab.hetzner_sandbox.locations import LOCATIONS, Location
from growth_lab.hetzner_sandbox.memberships import check_room_in_group, free_address, joining
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.names import check_hostname
from growth_lab.hetzner_sandbox.records import Action, Image, Network, Resource, Server, Status, Volume
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import action_json, server_json
from growth_lab.hetzner_sandbox.server_types import SERVER_TYPES, ServerType
from growth_lab.hetzner_sandbox.stock import check_is_sold, check_quota, check_stock, take_one
from growth_lab.hetzner_sandbox.volumes import check_room_for_volumes, put_volume

T = TypeVar("T")

_MOST_USER_DATA_BYTES: Final = 32 * 1024
_MOST_FIREWALLS: Final = 5
_MOST_NETWORKS: Final = 3
# Ranges that nobody has on the internet.
_IPV4_BASE: Final = ipaddress.IPv4Address("198.18.0.0")
_IPV6_BASE: Final = ipaddress.IPv6Address("2001:db8::")


class _FirewallReference(Body, frozen=True):
    firewall: int


class _PublicNet(Body, frozen=True):
    enable_ipv4: bool = True
    enable_ipv6: bool = True
    ipv4: int | None = None
    ipv6: int | None = None


class _CreateServer(Body, frozen=True):
    name: str
    server_type: int | str
    image: int | str
    location: int | str | None = None
    ssh_keys: tuple[int | str, ...] = ()
    networks: tuple[int, ...] = ()
    firewalls: tuple[_FirewallReference, ...] = ()
    placement_group: int | None = None
    user_data: str = ""
    labels: dict[str, str] | None = None
    volumes: tuple[int, ...] = ()
    automount: bool = False
    start_after_create: bool = True
    public_net: _PublicNet = _PublicNet()


class _Parts(FrozenValue, frozen=True):
    """What the body's names and numbers mean."""

    server_type: ServerType
    location: Location
    image: Image
    ssh_keys: tuple[int, ...]
    networks: tuple[Network, ...]
    volumes: tuple[Volume, ...]


def create_server(account: Account, request: Request) -> Answer:
    """A server, ``initializing``, and the actions that bring it to life."""
    asked = read_body(request, _CreateServer)
    _check_shape(asked)
    parts = _parts(account, asked)
    check_name_free(account.servers, asked.name, "server")
    check_quota(account, parts.server_type)
    check_stock(account, parts.server_type, parts.location.name)
    take_one(account, parts.server_type, parts.location.name)
    server = _made(account, asked, parts)
    create, following = _bring_to_life(account, server, asked, parts)
    body = {
        "server": server_json(account, server),
        "action": action_json(account, create),
        "next_actions": [action_json(account, one) for one in following],
        "root_password": None if parts.ssh_keys else f"sandbox-{server.id}",
    }
    return Answer(201, body)


# Checking


def _check_shape(asked: _CreateServer) -> None:
    check_hostname(asked.name)
    check_labels(asked.labels or {})
    if len(asked.user_data.encode()) > _MOST_USER_DATA_BYTES:
        raise invalid_field("user_data", f"is too long: expected at most {_MOST_USER_DATA_BYTES} bytes")
    if len(asked.firewalls) > _MOST_FIREWALLS:
        raise invalid_field("firewalls", f"are too many: expected at most {_MOST_FIREWALLS}")
    if len(asked.networks) > _MOST_NETWORKS:
        raise invalid_field("networks", f"are too many: expected at most {_MOST_NETWORKS}")
    if asked.public_net.ipv4 is not None or asked.public_net.ipv6 is not None:
        raise invalid("primary ip not found")  # there are none to choose from in the sandbox


def _parts(account: Account, asked: _CreateServer) -> _Parts:
    server_type = _needed(found_by(SERVER_TYPES, asked.server_type), "server type")
    volumes = tuple(_needed(account.volumes.get(one), "volume") for one in asked.volumes)
    location = _location(account, asked, server_type, volumes)
    check_is_sold(server_type, location.name)
    networks = tuple(_needed(account.networks.get(one), "network") for one in asked.networks)
    for network in networks:
        free_address(account, network, location.network_zone)
    for reference in asked.firewalls:
        _needed(account.firewalls.get(reference.firewall), "firewall")
    if asked.placement_group is not None:
        _needed(account.placement_groups.get(asked.placement_group), "placement group")
        check_room_in_group(account, asked.placement_group)
    check_room_for_volumes(account, volumes, location.name)
    for volume in volumes:
        account.check_unlocked(Resource("volume", volume.id))
    return _Parts(
        server_type=server_type,
        location=location,
        image=_image(account, asked.image, server_type),
        ssh_keys=tuple(_needed(found_by(account.ssh_keys, one), "SSH key").id for one in asked.ssh_keys),
        networks=networks,
        volumes=volumes,
    )


def _location(account: Account, asked: _CreateServer, server_type: ServerType, volumes: Sequence[Volume]) -> Location:
    """The one that was asked for, that of the volumes, or the first that has one: the API picks."""
    if asked.location is not None:
        by_id = {place.id: place for place in LOCATIONS.values()}
        return _needed(found_by(by_id, asked.location), "location")
    if volumes:
        return LOCATIONS[volumes[0].location]
    for place in server_type.sales:
        try:
            check_is_sold(server_type, place)
            check_stock(account, server_type, place)
        except Refusal:
            continue
        return LOCATIONS[place]
    return LOCATIONS[next(iter(server_type.sales))]


def _image(account: Account, wanted: int | str, server_type: ServerType) -> Image:
    """By id, or by a name that stands for one image on each architecture."""
    fitting = {one.id: one for one in account.images.values() if one.architecture == server_type.architecture}
    image = _needed(found_by(fitting, wanted), "image")
    if image.status != "available":
        raise invalid("image is not available")
    if image.disk_gb > server_type.disk_gb:
        raise invalid("image disk is bigger than server type disk")
    return image


def _needed(found: T | None, what: str) -> T:
    if found is None:
        raise invalid(f"{what} not found")
    return found


# Making


def _made(account: Account, asked: _CreateServer, parts: _Parts) -> Server:
    server_id = account.new_id()
    has_ipv4, has_ipv6 = asked.public_net.enable_ipv4, asked.public_net.enable_ipv6
    server = Server(
        id=server_id,
        name=asked.name,
        created=account.now,
        labels=asked.labels or {},
        server_type=parts.server_type.id,
        location=parts.location.name,
        image=parts.image.id,
        user_data=asked.user_data,
        ssh_keys=parts.ssh_keys,
        ipv4=(account.new_id(), str(_IPV4_BASE + server_id % 2**17)) if has_ipv4 else None,
        ipv6=(account.new_id(), f"{_IPV6_BASE + (server_id << 64)}/64") if has_ipv6 else None,
        firewalls=tuple(one.firewall for one in asked.firewalls),
        placement_group=asked.placement_group,
        disk_gb=parts.server_type.disk_gb,
    )
    account.servers[server_id] = server
    return server


def _bring_to_life(
    account: Account, server: Server, asked: _CreateServer, parts: _Parts
) -> tuple[Action, Sequence[Action]]:
    """Create it, join what it shall join, start it. All are under way at once; if creating fails, all fail."""
    myself = Resource("server", server.id)
    lasts = account.timings.create_seconds
    following: list[Action] = []

    def give_up() -> None:
        reason = account.actions[create.id].error
        for action in following:
            account.end(action, reason)
        account.change(server, status=Status.OFF)

    def created() -> None:
        account.change(server, status=Status.STARTING if asked.start_after_create else Status.OFF)

    create = account.begin("create_server", [myself], lasts, created, give_up)

    def begin(command: str, others: Sequence[Resource], happen: Callable[[], object] | None = None) -> None:
        following.append(account.begin(command, [myself, *others], lasts, happen))

    for network in parts.networks:
        begin("attach_to_network", [Resource("network", network.id)], joining(account, server, network))
    for reference in asked.firewalls:
        begin("apply_firewall", [Resource("firewall", reference.firewall)])
    for volume in parts.volumes:
        begin("attach_volume", [Resource("volume", volume.id)], put_volume(account, volume, server.id))
    if asked.start_after_create:
        following.append(
            account.begin(
                "start_server",
                [myself],
                account.timings.start_seconds,
                lambda: account.change(server, status=Status.RUNNING, boots=1),
                lambda: account.change(server, status=Status.OFF),
                waits_seconds=lasts,
            )
        )
    return create, following
