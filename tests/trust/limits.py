"""Whether a pool has more than it may have, counted by the checker itself: at the provider, machine by machine."""

from growth.api.node_pool import NodePoolSpec
from growth.api.quantity import nano_value
from growth.cloud.kwok.machine_record import MachineRecord
from tests.trust.picture import Picture, has_vanished


def passed_limits(spec: NodePoolSpec, newest: MachineRecord, picture: Picture) -> str:
    """What there is too much of when this machine has been bought, in words; empty if all is within its limits.

    A machine whose node turned out smaller than promised uses up what the node has; one that vanished uses up nothing,
    whether or not the played cloud has forgotten it already.
    """
    pool = newest.request.pool
    there = [one for one in picture.machines.values() if one == newest or not has_vanished(one)]
    machines = [one for one in there if one.request.pool == pool]
    limits = spec.limits
    sums = {
        "nodes": (10**9 * len(machines), limits.nodes),
        "cpu": (sum(_amount(one, "cpu", picture) for one in machines), limits.cpu),
        "memory": (sum(_amount(one, "memory", picture) for one in machines), limits.memory),
        "an hour": (sum(_price(one) for one in machines), limits.cost_per_hour),
    }
    too_much = [
        f"{used / 10**9:g} {what} of {limit}"
        for what, (used, limit) in sums.items()
        if limit is not None and used > nano_value(str(limit))
    ]
    kind = newest.request.offering.server_type.lower()
    count = sum(one.request.offering.server_type.lower() == kind for one in machines)
    too_much += [
        f"{count} {kind} of {one.max}"
        for one in spec.server_types
        if one.name.lower() == kind and one.max is not None and count > one.max
    ]
    return ", ".join(too_much)


def _amount(machine: MachineRecord, resource: str, picture: Picture) -> int:
    promised = nano_value(machine.request.offering.resources.get(resource, "0"))
    node = picture.nodes.get(machine.name)
    has = node.status.capacity.get(resource) if node is not None else None
    return promised if has is None else min(promised, nano_value(has))


def _price(machine: MachineRecord) -> int:
    return round(machine.request.offering.price_per_hour * 10**9)
