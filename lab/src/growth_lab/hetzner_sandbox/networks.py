"""Private networks and their subnets. Routes and vSwitches are not imitated."""

import ipaddress
from collections.abc import Sequence
from typing import Final

import msgspec

from growth_lab.hetzner_sandbox.account import Account, check_name_free, found
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid, invalid_field
from growth_lab.hetzner_sandbox.locations import ZONES
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.names import check_name
from growth_lab.hetzner_sandbox.pagination import listed
from growth_lab.hetzner_sandbox.records import Network, Resource, Subnet
from growth_lab.hetzner_sandbox.request_bodies import Body, check_labels, read_body
from growth_lab.hetzner_sandbox.response_bodies import action_json, network_json

_TYPES: Final = ("cloud", "server")
_SUBNET_BITS: Final = 24


class _Subnet(Body, frozen=True):
    type: str
    network_zone: str
    ip_range: str | None = None


class _Create(Body, frozen=True):
    name: str
    ip_range: str
    subnets: tuple[_Subnet, ...] = ()
    labels: dict[str, str] | None = None


class _Update(Body, frozen=True):
    name: str | None = None
    labels: dict[str, str] | None = None


class _DeleteSubnet(Body, frozen=True):
    ip_range: str


def list_networks(account: Account, request: Request) -> Answer:
    """All of them."""
    return listed(request, "networks", account.networks.values(), lambda one: network_json(account, one))


def get_network(account: Account, _: Request, network_id: int) -> Answer:
    """One of them."""
    return _one(account, found(account.networks, network_id, "network"))


def create_network(account: Account, request: Request) -> Answer:
    """A network, with the subnets that are asked for."""
    asked = read_body(request, _Create)
    check_name(asked.name)
    check_labels(asked.labels or {})
    whole = _range("ip_range", asked.ip_range)
    if not whole.is_private:
        raise invalid_field("ip_range", f"{asked.ip_range} is not private")
    check_name_free(account.networks, asked.name, "network")
    subnets: list[Subnet] = []
    for wanted in asked.subnets:
        subnets.append(_subnet(whole, subnets, wanted))
    network = Network(
        id=account.new_id(),
        name=asked.name,
        ip_range=str(whole),
        created=account.now,
        labels=asked.labels or {},
        subnets=tuple(subnets),
    )
    account.networks[network.id] = network
    return Answer(201, {"network": network_json(account, network)})


def update_network(account: Account, request: Request, network_id: int) -> Answer:
    """Another name, other labels."""
    network, asked = found(account.networks, network_id, "network"), read_body(request, _Update)
    if asked.name is not None:
        check_name(asked.name)
        check_name_free(account.networks, asked.name, "network", network_id)
        network = msgspec.structs.replace(network, name=asked.name)
    if asked.labels is not None:
        check_labels(asked.labels)
        network = msgspec.structs.replace(network, labels=asked.labels)
    account.networks[network_id] = network
    return _one(account, network)


def delete_network(account: Account, _: Request, network_id: int) -> Answer:
    """Servers in it are detached; while some are on their way into it, it stays."""
    found(account.networks, network_id, "network")
    account.check_unlocked(Resource("network", network_id))
    for server in list(account.servers.values()):
        rest = tuple(one for one in server.private_net if one.network != network_id)
        account.change(server, private_net=rest)
    del account.networks[network_id]
    return Answer(204)


def add_subnet(account: Account, request: Request, network_id: int) -> Answer:
    """One more, in a range that is free."""
    network, asked = found(account.networks, network_id, "network"), read_body(request, _Subnet)
    subnet = _subnet(_range("ip_range", network.ip_range), network.subnets, asked)
    return _resubnetted(account, network, (*network.subnets, subnet), "add_subnet")


def delete_subnet(account: Account, request: Request, network_id: int) -> Answer:
    """One less, if nobody is in it."""
    network, asked = found(account.networks, network_id, "network"), read_body(request, _DeleteSubnet)
    rest = tuple(one for one in network.subnets if one.ip_range != asked.ip_range)
    if rest == network.subnets:
        raise invalid("subnet not found")
    gone = _range("ip_range", asked.ip_range)
    members = [one for server in account.servers.values() for one in server.private_net if one.network == network_id]
    if any(ipaddress.ip_address(one.ip) in gone for one in members):
        raise invalid("subnet is in use")
    return _resubnetted(account, network, rest, "delete_subnet")


def _resubnetted(account: Account, network: Network, subnets: tuple[Subnet, ...], command: str) -> Answer:
    account.check_unlocked(Resource("network", network.id))
    account.networks[network.id] = msgspec.structs.replace(network, subnets=subnets)
    action = account.begin(command, [Resource("network", network.id)], account.timings.other_seconds)
    return Answer(201, {"action": action_json(account, action)})


def _subnet(whole: ipaddress.IPv4Network, others: Sequence[Subnet], wanted: _Subnet) -> Subnet:
    if wanted.type not in _TYPES:
        raise invalid_field("type", f"{wanted.type!r} is not possible: expected one of {', '.join(_TYPES)}")
    if wanted.network_zone not in ZONES:
        raise invalid_field("network_zone", f"{wanted.network_zone!r}: expected one of {', '.join(sorted(ZONES))}")
    taken = [_range("ip_range", one.ip_range) for one in others]
    if wanted.ip_range is None:
        bits = max(_SUBNET_BITS, whole.prefixlen)
        free = (one for one in whole.subnets(new_prefix=bits) if not any(one.overlaps(other) for other in taken))
        chosen = next(free, None)
        if chosen is None:
            raise Refusal("no_subnet_available", "no range is left for a subnet")
    else:
        chosen = _range("ip_range", wanted.ip_range)
        if not chosen.subnet_of(whole) or any(chosen.overlaps(other) for other in taken):
            raise Refusal("networks_overlap", f"{chosen} is not free in {whole}")
    # All subnets share the first address of the network as their gateway.
    return Subnet(wanted.type, str(chosen), wanted.network_zone, str(whole[1]))


def _range(field: str, text: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError as error:
        raise invalid_field(field, str(error)) from error


def _one(account: Account, network: Network) -> Answer:
    return Answer(200, {"network": network_json(account, network)})
