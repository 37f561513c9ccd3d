"""What can be had: of a type in a place, and by this account. Ordered faults decide, and what the account has."""

import msgspec

from growth_lab.hetzner_sandbox.account import Account
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid
from growth_lab.hetzner_sandbox.faults import SoldOut
from growth_lab.hetzner_sandbox.server_types import SERVER_TYPES, ServerType


def is_listed_as_available(account: Account, server_type: ServerType, location: str) -> bool:
    """What the list of types says, which is not always true."""
    if server_type.sales[location].is_dead:
        return False
    scarce = _scarce(account, server_type, location)
    return scarce is None or scarce.left > 0 or scarce.is_listed


def check_is_sold(server_type: ServerType, location: str) -> None:
    """Whether this place has ever sold it, and still does."""
    if location not in server_type.sales:
        raise invalid("unsupported location for server type")
    if server_type.sales[location].is_dead:
        raise invalid(f"server type {server_type.id} is deprecated")


def check_stock(account: Account, server_type: ServerType, location: str) -> None:
    """Whether one is left."""
    scarce = _scarce(account, server_type, location)
    if scarce is not None and scarce.left <= 0:
        raise Refusal("resource_unavailable", "error during placement")


def take_one(account: Account, server_type: ServerType, location: str) -> None:
    """One less is left, if they are counted."""
    scarce = _scarce(account, server_type, location)
    if scarce is not None:
        place = next(index for index, one in enumerate(account.sold_out) if one is scarce)
        account.sold_out[place] = msgspec.structs.replace(scarce, left=scarce.left - 1)


def check_quota(account: Account, server_type: ServerType) -> None:
    """Whether the account may have one more; servers that are off count, too."""
    limits, types = account.quota, [SERVER_TYPES[one.server_type] for one in account.servers.values()]
    if limits.servers is not None and len(types) >= limits.servers:
        raise _exceeded("server")
    if limits.dedicated_cores is not None and server_type.is_dedicated:
        cores = sum(one.cores for one in types if one.is_dedicated)
        if cores + server_type.cores > limits.dedicated_cores:
            raise _exceeded("dedicated core")


def _exceeded(what: str) -> Refusal:
    name = f"{what.replace(' ', '_')}_limit"
    return Refusal("resource_limit_exceeded", f"{what} limit exceeded", {"limits": [{"name": name}]})


def _scarce(account: Account, server_type: ServerType, location: str) -> SoldOut | None:
    """The newest order that is about this."""
    for one in reversed(account.sold_out):
        if one.is_about(server_type.name, location):
            return one
    return None
