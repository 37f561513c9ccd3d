"""From a server to a machine: what it is, whose it is, and what its status proves."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from growth.api.machine import Machine, MachineRequest, Power, PowerReading
from growth.api.offering import OFFERING, POOL
from growth.cloud.errors import Invalid
from growth.cloud.hetzner.wire import Server

CLUSTER: Final = "growth.dev/cluster"
REQUEST: Final = "growth.dev/request"
_SCHEME: Final = "hcloud://"

DELETING: Final = "deleting"
_POWERS: Final = {
    "initializing": Power.STARTING,
    "starting": Power.STARTING,
    "running": Power.ON,
    "stopping": Power.STOPPING,
    "off": Power.OFF,
    DELETING: Power.STOPPING,
    # rebuilding, migrating, unknown and whatever comes later: it is there, and nobody knows how it is.
}
_SETTLED: Final = ("running", "off")


def labels_for(request: MachineRequest, cluster: str) -> dict[str, str]:
    """What tells everybody whose server it is, and what it was bought as."""
    return {CLUSTER: cluster, POOL: request.pool, REQUEST: request.name, OFFERING: request.offering.id}


def is_ours(labels: Mapping[str, str], cluster: str) -> bool:
    """Whether this cluster's Growth made what has these labels, whatever its name is."""
    return labels.get(CLUSTER) == cluster


def machine_from(server: Server, read_at: datetime) -> Machine:
    """What we say about it. Some other field than the labels could lie, but only the labels are ours."""
    return Machine(
        id=str(server.id),
        provider_id=f"{_SCHEME}{server.id}",
        name=server.name,
        offering=server.labels.get(OFFERING, ""),
        pool=server.labels.get(POOL, ""),
        created_at=server.created,
        power=power_of(server),
        read_at=read_at,
        is_changing=is_changing(server),
    )


def reading_from(server: Server, read_at: datetime) -> PowerReading:
    """Its power, as evidence."""
    return PowerReading(str(server.id), power_of(server), read_at, is_changing(server))


def power_of(server: Server) -> Power:
    """In our words."""
    return _POWERS.get(server.status, Power.UNKNOWN)


def is_changing(server: Server) -> bool:
    """Whether something is under way: a server that is off while it is being started proves nothing."""
    return server.locked or server.status not in _SETTLED


def check_is_asked_for(server: Server, request: MachineRequest, cluster: str) -> None:
    """Refuse to hand out a server of this name that is another's, or was made as something else."""
    if not is_ours(server.labels, cluster):
        owner = server.labels.get(CLUSTER)
        whose = f"of the cluster {owner!r}" if owner else f"without the label {CLUSTER}"
        raise Invalid(
            f"there is a server {server.name!r} already ({server.id}), {whose}: expected none, or one of {cluster!r}"
        )
    offering = request.offering
    location = server.location.name if server.location else None
    there = (server.labels.get(OFFERING), server.labels.get(POOL), (server.server_type.name or "").lower(), location)
    wanted = (offering.id, request.pool, offering.server_type.lower(), offering.location)
    if there != wanted:
        raise Invalid(
            f"there is a server {server.name!r} already ({server.id}), {_shown(*there)}: expected {_shown(*wanted)}"
        )


def _shown(offering: str | None, pool: str | None, server_type: str | None, location: str | None) -> str:
    return f"a {server_type} in {location}, bought as {offering} for the pool {pool!r}"


def number_of(machine_id: str) -> int | None:
    """The id as the API counts it; None for what can be no id of a server."""
    is_number = machine_id.isascii() and machine_id.isdecimal() and 0 < len(machine_id) < 19
    return (int(machine_id) or None) if is_number else None
