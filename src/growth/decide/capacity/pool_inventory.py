"""What each pool has: each of its machines counted once, whatever form it has now.

A machine is a request first, then a node, and to its provider it is a machine until it is gone. As long as it costs
something it uses up its pool's limits; one that is leaving keeps nothing warm.
"""

from collections.abc import Iterable, Mapping

import msgspec

from growth.api.actions import CreateMachine
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.offering import INSTANCE_TYPE, OFFERING, POOL, Offering
from growth.api.quantity import milli_value, value
from growth.decide.capacity.offering_catalog import OfferingCatalog, as_billed, offering_for
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.capacity.upcoming_nodes import is_live
from growth.decide.contract import Outcomes
from growth.observe.snapshot import Snapshot


class PoolMachine(msgspec.Struct, frozen=True):
    """One machine of a pool: a node, a request whose node is yet to come, or what only its provider knows of."""

    pool: str
    name: str
    server_type: str
    offering: Offering | None
    """What it was bought as, with the pool's price; None if nobody sells that any more."""
    node: Node | None = None
    is_terminating: bool = False

    @property
    def launched(self) -> PoolUsage:
        """What it uses up of its pool's limits: what the machine has, as far as one can know."""
        price = self.offering.price_per_hour if self.offering else 0.0
        capacity: Mapping[str, str] = self.node.status.capacity if self.node else {}
        if not capacity:
            return (
                PoolUsage.of(self.pool, self.offering) if self.offering else PoolUsage(self.pool, self.server_type, 1)
            )
        cpu, memory = milli_value(capacity.get("cpu", "0")), value(capacity.get("memory", "0"))
        return PoolUsage(self.pool, self.server_type, 1, cpu, memory, price)


class Shortage(msgspec.Struct, frozen=True):
    """So many machines of a type are missing in a pool."""

    pool: str
    server_type: str
    missing: int

    @property
    def name(self) -> str:
        """What it goes by where pods go by their uids."""
        return f"{self.pool}/{self.server_type}/{self.missing}"


class NodeOwnership:
    """Which nodes that bear a pool's label are machines of ours. Where a provider cannot say, they count as ours."""

    def __init__(self, snapshot: Snapshot) -> None:
        clouds = snapshot.clouds.values()
        self._requests = snapshot.table(NODE_REQUESTS)
        self._is_unknown = not clouds or not all(cloud.answers for cloud in clouds)
        self._read_at = min((cloud.read_at for cloud in clouds if cloud.read_at is not None), default=None)
        self._ids = {machine.provider_id for cloud in clouds for machine in cloud.machines}
        self._names = {machine.name for cloud in clouds for machine in cloud.machines}

    def is_ours(self, node: Node) -> bool:
        """Whether a provider has this machine for us, or a request still speaks for it."""
        name, provider_id = node.metadata.name, node.spec.provider_id
        if provider_id in self._ids:
            return True  # nearly everybody
        born = node.metadata.creation_timestamp
        # A provider that was asked before the node came has said nothing about it.
        is_untold = born is not None and (self._read_at is None or born >= self._read_at)
        if self._is_unknown or is_untold or ("", name) in self._requests:
            return True
        return not provider_id and name in self._names


def just_launched(snapshot: Snapshot, outcomes: Outcomes) -> list[Machine]:
    """Machines that we bought and their providers had no time to list: somebody may have deleted their requests."""
    found: list[Machine] = []
    for outcome in outcomes.of(CreateMachine):
        if outcome.machine is None or not isinstance(outcome.action, CreateMachine):
            continue
        cloud, now = snapshot.clouds.get(outcome.action.provider), snapshot.now
        # A list from the future was read before the clock was set back; of a purchase from there nobody knows how old
        # it is, and it would count until the clock is there again.
        is_unlisted = cloud is None or cloud.read_at is None or not outcome.at < cloud.read_at <= now
        if outcome.at <= now and is_unlisted:
            found.append(outcome.machine)
    return found


def holdings(snapshot: Snapshot, catalog: OfferingCatalog, launched: Iterable[Machine] = ()) -> list[PoolMachine]:
    """All machines of all pools; ``bought`` are those that only we know of."""
    requests, ownership = snapshot.table(NODE_REQUESTS), NodeOwnership(snapshot)
    terminating = snapshot.terminating_nodes | {
        one.metadata.name for one in requests.values() if one.status.phase == "Deprovisioning"
    }
    pools = {pool.metadata.name: pool for pool in snapshot.table(NODE_POOLS).values()}

    def held(pool: str, name: str, offering: Offering | None) -> PoolMachine:
        server_type = offering.server_type if offering is not None else ""
        billed = as_billed(offering, pools.get(pool)) if offering is not None else None
        return PoolMachine(pool, name, server_type, billed, None, name in terminating)

    found: dict[str, PoolMachine] = {}
    # Thousands of nodes were bought as a few dozen offerings, and are gone through in nearly every pass.
    billed: dict[tuple[str, str], Offering | None] = {}
    for name, node in snapshot.nodes.items():
        labels = node.metadata.labels
        pool = labels.get(POOL)
        if pool is None or not ownership.is_ours(node):
            continue
        launched_as = (pool, labels.get(OFFERING, ""))
        if launched_as not in billed:
            offering = catalog.get(launched_as[1])
            billed[launched_as] = as_billed(offering, pools.get(pool)) if offering is not None else None
        offering = billed[launched_as]
        server_type = offering.server_type if offering is not None else labels.get(INSTANCE_TYPE, "")
        found[name] = PoolMachine(pool, name, server_type, offering, node, name in terminating)
    for request in requests.values():
        name = request.metadata.name
        if is_live(request) and name not in found:
            found[name] = held(request.pool, name, offering_for(request, catalog))
    for machine in (*(one for cloud in snapshot.clouds.values() for one in cloud.machines), *launched):
        if machine.name not in found:
            found[machine.name] = held(machine.pool, machine.name, catalog.get(machine.offering))
    return list(found.values())


def shortages(pools: Iterable[NodePool], held: Iterable[PoolMachine]) -> tuple[Shortage, ...]:
    """What is missing of the machines that pools want even without load."""
    counts: dict[tuple[str, str], int] = {}
    for one in held:
        if one.is_terminating:
            continue
        key = (one.pool, one.server_type.lower())
        counts[key] = counts.get(key, 0) + 1
    return tuple(
        Shortage(pool.metadata.name, wanted.name, missing)
        for pool in sorted(pools, key=lambda one: one.metadata.name)
        for wanted in pool.spec.server_types
        if (missing := wanted.min - counts.get((pool.metadata.name, wanted.name.lower()), 0)) > 0
    )
