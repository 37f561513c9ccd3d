"""How servers come into networks and placement groups, and what keeps them out."""

import ipaddress
from collections.abc import Callable
from typing import Final

from growth_lab.hetzner_sandbox.account import Account
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid_field
from growth_lab.hetzner_sandbox.locations import LOCATIONS
from growth_lab.hetzner_sandbox.records import Network, PrivateNet, Server, Subnet

_MOST_IN_GROUP: Final = 10


def check_room_in_group(account: Account, group: int) -> None:
    """A spread group takes ten servers."""
    members = sum(one.placement_group == group for one in account.servers.values())
    if members >= _MOST_IN_GROUP:
        raise Refusal("placement_group_member_limit_reached", "placement group member limit reached")


def free_address(
    account: Account,
    network: Network,
    zone: str,
    *,
    server: int = 0,
    ip: str | None = None,
    ip_range: str | None = None,
) -> str:
    """The address that a server of this zone can have: the one that was asked for, or the first that is free."""
    subnets = [one for one in network.subnets if one.network_zone == zone and ip_range in (None, one.ip_range)]
    if not subnets:
        raise Refusal("no_subnet_available", f"network {network.id} has no subnet for {zone}")
    taken = {one.ip for other in account.servers.values() for one in other.private_net if one.network == network.id}
    taken |= {address for (one, address), owner in account.promised.items() if one == network.id and owner != server}
    if ip is not None:
        return _wanted(subnets, ip, taken)
    for subnet in subnets:
        for address in ipaddress.ip_network(subnet.ip_range).hosts():
            if str(address) not in taken and str(address) != subnet.gateway:
                return str(address)
    raise Refusal("ip_not_available", f"no address is free in network {network.id}")


def _wanted(subnets: list[Subnet], ip: str, taken: set[str]) -> str:
    try:
        address = ipaddress.ip_address(ip)
    except ValueError as error:
        raise invalid_field("ip", str(error)) from error
    fitting = [one for one in subnets if address in ipaddress.ip_network(one.ip_range)]
    if not fitting or ip in taken or ip == fitting[0].gateway:
        raise Refusal("ip_not_available", f"ip {ip} is not available")
    return ip


def joining(
    account: Account,
    server: Server,
    network: Network,
    *,
    ip: str | None = None,
    alias_ips: tuple[str, ...] = (),
    ip_range: str | None = None,
) -> Callable[[], None]:
    """Promise a server its address; gives what happens when the action ends that brings it in."""
    zone = LOCATIONS[server.location].network_zone
    address = free_address(account, network, zone, server=server.id, ip=ip, ip_range=ip_range)
    account.promised[network.id, address] = server.id

    def happen() -> None:
        mac = f"86:00:00:{server.id >> 16 & 255:02x}:{server.id >> 8 & 255:02x}:{server.id & 255:02x}"
        del account.promised[network.id, address]
        now = account.servers[server.id].private_net
        account.change(server, private_net=(*now, PrivateNet(network.id, address, alias_ips, mac)))

    return happen
