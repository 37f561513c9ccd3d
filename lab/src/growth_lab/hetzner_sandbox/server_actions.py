"""``POST /servers/{id}/actions/...``: each gives an action, and most want the server to themselves."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from growth_lab.hetzner_sandbox.account import Account, found_by
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid, invalid_field
from growth_lab.hetzner_sandbox.images import image_json
from growth_lab.hetzner_sandbox.memberships import check_room_in_group, joining
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.records import Image, Network, Resource, Server, Status
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import action_json
from growth_lab.hetzner_sandbox.server_types import SERVER_TYPES
from growth_lab.hetzner_sandbox.stock import check_is_sold, check_stock, take_one

_MOST_NETWORKS: Final = 3


class _Attach(Body, frozen=True):
    network: int
    ip: str | None = None
    alias_ips: tuple[str, ...] = ()
    ip_range: str | None = None


class _Detach(Body, frozen=True):
    network: int


class _JoinGroup(Body, frozen=True):
    placement_group: int


class _ChangeType(Body, frozen=True):
    server_type: int | str
    upgrade_disk: bool


class _Protect(Body, frozen=True):
    delete: bool | None = None
    rebuild: bool | None = None


class _CreateImage(Body, frozen=True):
    description: str | None = None
    type: str = "snapshot"
    labels: dict[str, str] | None = None


# Power


def poweron(account: Account, _: Request, server_id: int) -> Answer:
    """Start it; one that runs goes on running."""
    server = _free(account, server_id)
    if server.status is Status.RUNNING:
        return _began(account, server, "start_server", account.timings.other_seconds)
    account.change(server, status=Status.STARTING)
    return _began(
        account,
        server,
        "start_server",
        account.timings.start_seconds,
        lambda: _runs(account, server),
        otherwise=lambda: account.change(server, status=Status.OFF),
    )


def poweroff(account: Account, _: Request, server_id: int) -> Answer:
    """Cut its power, whatever it does."""
    server = _free(account, server_id)
    before = server.status
    if before is not Status.OFF:
        account.change(server, status=Status.STOPPING)
    return _began(
        account,
        server,
        "stop_server",
        account.timings.stop_seconds,
        lambda: account.change(server, status=Status.OFF),
        otherwise=lambda: account.change(server, status=before),
    )


def shutdown(account: Account, _: Request, server_id: int) -> Answer:
    """Ask its system to stop. The action only means that it was asked; it is off later."""
    server = _free(account, server_id)
    boots = server.boots

    def stop() -> None:
        now = account.servers.get(server_id)
        if now and now.status is Status.RUNNING and now.boots == boots:
            account.change(now, status=Status.OFF)

    account.after(account.timings.shutdown_seconds, stop)
    return _began(account, server, "shutdown_server", account.timings.other_seconds)


def reboot(account: Account, _: Request, server_id: int) -> Answer:
    """Ask its system to start anew."""
    server = _running(account, server_id)
    return _began(account, server, "reboot_server", account.timings.other_seconds, lambda: _runs(account, server))


def reset(account: Account, _: Request, server_id: int) -> Answer:
    """Cut its power and start it again."""
    server = _running(account, server_id)
    return _began(account, server, "reset_server", account.timings.other_seconds, lambda: _runs(account, server))


# What it has and belongs to


def attach_to_network(account: Account, request: Request, server_id: int) -> Answer:
    """Into a network that has a subnet in its zone."""
    server, asked = _free(account, server_id), read_body(request, _Attach)
    network = _network(account, asked.network)
    if any(one.network == network.id for one in server.private_net):
        raise Refusal("server_already_attached", "server is already attached to the network")
    if len(server.private_net) >= _MOST_NETWORKS:
        raise invalid(f"server cannot be in more than {_MOST_NETWORKS} networks")
    return _began(
        account,
        server,
        "attach_to_network",
        account.timings.other_seconds,
        joining(account, server, network, ip=asked.ip, alias_ips=asked.alias_ips, ip_range=asked.ip_range),
        others=[Resource("network", network.id)],
    )


def detach_from_network(account: Account, request: Request, server_id: int) -> Answer:
    """Out of a network."""
    server, asked = _free(account, server_id), read_body(request, _Detach)
    rest = tuple(one for one in server.private_net if one.network != asked.network)
    if rest == server.private_net:
        raise invalid("server is not attached to the network")
    return _began(
        account,
        server,
        "detach_from_network",
        account.timings.other_seconds,
        lambda: account.change(server, private_net=rest),
        others=[Resource("network", asked.network)],
    )


def add_to_placement_group(account: Account, request: Request, server_id: int) -> Answer:
    """Into a group with room; only while it is off, because it may have to move."""
    server, asked = _free(account, server_id), read_body(request, _JoinGroup)
    if asked.placement_group not in account.placement_groups:
        raise invalid("placement group not found")
    if server.placement_group is not None:
        raise Refusal("already_in_placement_group", "server is already in a placement group")
    _check_off(server)
    check_room_in_group(account, asked.placement_group)
    # At once, so that two who come together do not both take the last place.
    account.change(server, placement_group=asked.placement_group)
    return _began(
        account,
        server,
        "add_to_placement_group",
        account.timings.other_seconds,
        otherwise=lambda: account.change(server, placement_group=None),
        others=[Resource("placement_group", asked.placement_group)],
    )


def remove_from_placement_group(account: Account, _: Request, server_id: int) -> Answer:
    """Out of its group."""
    server = _free(account, server_id)
    if server.placement_group is None:
        raise invalid("server is in no placement group")
    return _began(
        account,
        server,
        "remove_from_placement_group",
        account.timings.other_seconds,
        lambda: account.change(server, placement_group=None),
    )


def change_type(account: Account, request: Request, server_id: int) -> Answer:
    """Another size of the same architecture, on a disk that is not smaller."""
    server, asked = _free(account, server_id), read_body(request, _ChangeType)
    wanted = found_by(SERVER_TYPES, asked.server_type)
    if wanted is None:
        raise invalid("server type not found")
    has = SERVER_TYPES[server.server_type]
    if wanted.id == has.id or wanted.architecture != has.architecture or wanted.disk_gb < server.disk_gb:
        raise Refusal("invalid_server_type", f"server type cannot be changed from {has.name} to {wanted.name}")
    _check_off(server)
    check_is_sold(wanted, server.location)
    check_stock(account, wanted, server.location)
    take_one(account, wanted, server.location)
    disk_gb = wanted.disk_gb if asked.upgrade_disk else server.disk_gb
    return _began(
        account,
        server,
        "change_server_type",
        account.timings.create_seconds,
        lambda: account.change(server, server_type=wanted.id, disk_gb=disk_gb),
    )


def change_protection(account: Account, request: Request, server_id: int) -> Answer:
    """Whether it can be deleted; both kinds of protection go together."""
    server, asked = _free(account, server_id), read_body(request, _Protect)
    if asked.delete is None or asked.delete != asked.rebuild:
        raise invalid_field("delete", "delete and rebuild must be given and the same")
    return _began(
        account,
        server,
        "change_protection",
        0.0,
        lambda: account.change(server, is_protected=asked.delete),
    )


def create_image(account: Account, request: Request, server_id: int) -> Answer:
    """A snapshot of its disk."""
    server, asked = _free(account, server_id), read_body(request, _CreateImage)
    check_labels(asked.labels or {})
    if asked.type != "snapshot":
        raise invalid_field("type", f"{asked.type!r} is not possible: expected 'snapshot'")
    source = account.images.get(server.image)
    image = Image(
        id=account.new_id(),
        type="snapshot",
        name=None,
        description=asked.description or f"snapshot of {server.name}",
        os_flavor=source.os_flavor if source else "unknown",
        os_version=source.os_version if source else None,
        architecture=SERVER_TYPES[server.server_type].architecture,
        created=account.now,
        labels=asked.labels or {},
        disk_gb=server.disk_gb,
        status="creating",
        created_from=(server.id, server.name),
    )
    account.images[image.id] = image

    def finish() -> None:
        account.images[image.id] = msgspec.structs.replace(image, status="available")

    action = account.begin(
        "create_image",
        [Resource("server", server.id), Resource("image", image.id)],
        account.timings.snapshot_seconds,
        finish,
    )
    return Answer(201, {"image": image_json(image), "action": action_json(account, action)})


# What they share


def _free(account: Account, server_id: int) -> Server:
    server = account.server(server_id)
    account.check_unlocked(Resource("server", server_id))
    return server


def _running(account: Account, server_id: int) -> Server:
    server = _free(account, server_id)
    if server.status is not Status.RUNNING:
        raise invalid("server is not running")
    return server


def _check_off(server: Server) -> None:
    if server.status is not Status.OFF:
        raise Refusal("server_not_stopped", "server is not stopped")


def _network(account: Account, network_id: int) -> Network:
    if network_id not in account.networks:
        raise invalid("network not found")
    return account.networks[network_id]


def _runs(account: Account, server: Server) -> None:
    account.change(server, status=Status.RUNNING, boots=account.servers[server.id].boots + 1)


def _began(
    account: Account,
    server: Server,
    command: str,
    seconds: float,
    happen: Callable[[], object] | None = None,
    *,
    otherwise: Callable[[], object] | None = None,
    others: Iterable[Resource] = (),
) -> Answer:
    action = account.begin(command, [Resource("server", server.id), *others], seconds, happen, otherwise)
    return Answer(201, {"action": action_json(account, action)})
