"""What an account holds. Frozen: a change is a new record in the old one's place."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from growth.api.meta import FrozenValue


class Status(StrEnum):
    """How a server is, in the API's words; those that are never reached here are left out."""

    INITIALIZING = "initializing"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    OFF = "off"
    DELETING = "deleting"


class Resource(FrozenValue, frozen=True):
    """Something that an action is about, such as ``server`` 4711."""

    type: str
    id: int


class Action(FrozenValue, frozen=True):
    """Work that takes time. It has failed if ``error`` is there when it is finished."""

    id: int
    command: str
    resources: tuple[Resource, ...]
    started: datetime
    ends_at: datetime
    finished: datetime | None = None
    error: tuple[str, str] | None = None
    """Code and message."""

    @property
    def is_running(self) -> bool:
        """Whether it has yet to end."""
        return self.finished is None

    @property
    def status(self) -> str:
        """In the API's words."""
        return "running" if self.is_running else "error" if self.error else "success"


class PrivateNet(FrozenValue, frozen=True):
    """A server in a network."""

    network: int
    ip: str
    alias_ips: tuple[str, ...]
    mac_address: str


class Server(FrozenValue, frozen=True):
    """A server; what it is made of stands here as ids."""

    id: int
    name: str
    created: datetime
    labels: dict[str, str]
    server_type: int
    location: str
    image: int
    status: Status = Status.INITIALIZING
    user_data: str = ""
    ssh_keys: tuple[int, ...] = ()
    ipv4: tuple[int, str] | None = None
    """The id of the address, and the address."""

    ipv6: tuple[int, str] | None = None
    firewalls: tuple[int, ...] = ()
    private_net: tuple[PrivateNet, ...] = ()
    placement_group: int | None = None
    is_protected: bool = False
    disk_gb: int = 0
    boots: int = 0
    """How often it was started: what tells one life of its system from the next."""


class Image(FrozenValue, frozen=True):
    """What a server boots: a system with a name, or a snapshot with none."""

    id: int
    type: str
    name: str | None
    description: str
    os_flavor: str
    os_version: str | None
    architecture: str
    created: datetime
    labels: dict[str, str]
    disk_gb: int = 5
    status: str = "available"
    created_from: tuple[int, str] | None = None


class SshKey(FrozenValue, frozen=True):
    """A public key."""

    id: int
    name: str
    public_key: str
    fingerprint: str
    created: datetime
    labels: dict[str, str]


class Subnet(FrozenValue, frozen=True):
    """A part of a network, in one zone."""

    type: str
    ip_range: str
    network_zone: str
    gateway: str


class Network(FrozenValue, frozen=True):
    """A private network."""

    id: int
    name: str
    ip_range: str
    created: datetime
    labels: dict[str, str]
    subnets: tuple[Subnet, ...] = ()


class Firewall(FrozenValue, frozen=True):
    """A firewall; which servers it guards stands with the servers."""

    id: int
    name: str
    created: datetime
    labels: dict[str, str]
    rules: tuple[dict[str, Any], ...] = ()


class PlacementGroup(FrozenValue, frozen=True):
    """Servers on different hosts; its members stand with the servers."""

    id: int
    name: str
    type: str
    created: datetime
    labels: dict[str, str]


class Volume(FrozenValue, frozen=True):
    """A disk of its own."""

    id: int
    name: str
    size_gb: int
    location: str
    created: datetime
    labels: dict[str, str]
    server: int | None = None
    format: str | None = None
    status: str = "available"
