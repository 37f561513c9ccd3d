"""Machines: what we ask a provider for, and what it says about those that it has.

A machine is not a node. It exists, costs money and has power at the provider, whether or not a node ever registered
from it; only the provider can say so, and everything it says carries the instant at which it was read.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from growth.api.meta import FrozenValue
from growth.api.node_pool import NodePool, Reserved, UserDataSecret
from growth.api.offering import HOSTNAME, OFFERING, POOL, Offering, left_of
from growth.api.taints import closed
from growth.api.tolerations import Taint


class Power(StrEnum):
    """What a provider says about a machine. Only ``OFF``, ``FAILED`` and ``GONE`` mean that nothing runs on it."""

    STARTING = "starting"
    ON = "on"
    STOPPING = "stopping"
    OFF = "off"
    FAILED = "failed"
    """Its hardware broke, and it does not run."""

    GONE = "gone"
    """The provider answered, and has no such machine. Never said by a provider that could not be asked."""

    UNKNOWN = "unknown"
    """The machine is there and the provider does not say how it is (it is being moved, for example)."""


_DEAD: Final = frozenset({Power.OFF, Power.FAILED, Power.GONE})


class PowerReading(FrozenValue, frozen=True):
    """One look at one machine's power."""

    machine_id: str
    power: Power
    read_at: datetime
    is_changing: bool = False
    """Whether the provider is just doing something to the machine; then the reading proves nothing."""

    @property
    def is_dead(self) -> bool:
        """Whether nothing ran on the machine when this was read, and nobody was about to change that."""
        return self.power in _DEAD and not self.is_changing


class Machine(FrozenValue, frozen=True):
    """A machine that a provider has for us."""

    id: str
    """The provider's own name for it: another machine of the same name has another id."""

    provider_id: str
    """What stands in ``spec.providerID`` of its node, such as ``hcloud://4711``: a prefix of the provider's, the id."""

    name: str
    """The name of the NodeRequest, of the machine and of its node: all three are the same."""

    offering: str
    pool: str
    created_at: datetime
    power: Power
    read_at: datetime
    is_changing: bool = False

    @property
    def reading(self) -> PowerReading:
        """Its power, as evidence."""
        return PowerReading(self.id, self.power, self.read_at, self.is_changing)


class MachineRequest(FrozenValue, frozen=True):
    """Everything that a provider must know to make a machine whose node is the one that was planned."""

    name: str
    offering: Offering
    pool: str
    labels: dict[str, str] = {}
    """What the pool wants its nodes to be labelled with, beyond what ``node_labels`` adds."""

    taints: tuple[Taint, ...] = ()
    """What the pool wants its nodes to be tainted with, beyond what ``node_taints`` adds."""

    reserved: dict[str, str] = {}
    """What the system keeps of the machine's resources."""

    image: str = ""
    network: str = ""
    ssh_keys: tuple[str, ...] = ()
    firewalls: tuple[str, ...] = ()
    spread: bool = False
    public_ipv4: bool = True
    public_ipv6: bool = True
    user_data_secret: UserDataSecret | None = None
    """Where the start-up script is kept. Who decides must not read secrets, and a request is shown to many."""

    uid: str = ""
    """The NodeRequest's own: what is made for this machine alone (a join token) belongs to it and goes with it."""

    @property
    def node_labels(self) -> dict[str, str]:
        """All labels that its node must register with."""
        own = {HOSTNAME: self.name, POOL: self.pool, OFFERING: self.offering.id}
        return {**self.labels, **self.offering.node_labels, **own}

    @property
    def node_taints(self) -> tuple[Taint, ...]:
        """All taints that its node must register with: it is closed until provision opens it."""
        return (*self.taints, closed(self.name))

    @property
    def allocatable(self) -> dict[str, str]:
        """What its node has for pods."""
        return left_of(self.offering.resources, self.reserved)


def request_for(name: str, pool: NodePool, offering: Offering, *, uid: str = "") -> MachineRequest:
    """What to ask for, so that a node of this pool on this offering comes out of it."""
    spec, machine = pool.spec, pool.spec.machine
    return MachineRequest(
        name=name,
        offering=offering,
        pool=pool.metadata.name,
        labels=spec.labels,
        taints=(*spec.taints, *spec.startup_taints),
        reserved={**offering.reserved, **reserved_by(machine.reserved)},
        image=machine.image,
        network=machine.network,
        ssh_keys=machine.ssh_keys,
        firewalls=machine.firewalls,
        spread=machine.spread,
        public_ipv4=machine.public_ipv4,
        public_ipv6=machine.public_ipv6,
        user_data_secret=machine.user_data_secret,
        uid=uid,
    )


def reserved_by(stated: Reserved) -> dict[str, str]:
    """What a pool says that the system keeps; what it leaves unsaid, the offering knows."""
    amounts = {"cpu": stated.cpu, "memory": stated.memory, "ephemeral-storage": stated.ephemeral_storage}
    return {name: str(amount) for name, amount in amounts.items() if amount is not None}
