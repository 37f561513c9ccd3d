"""An Offering: one kind of machine that can be bought in one place, for a price.

Everything that a decision needs to know before the machine exists stands here: what it brings, what its node will be
labelled with, what it costs. Provider x server type x location (x capacity type) is one offering, because stock and
price differ by exactly these.
"""

from collections.abc import Mapping
from datetime import datetime
from itertools import takewhile
from typing import Final

from growth.api.meta import FrozenValue
from growth.api.quantity import canonical, nano_value

ON_DEMAND: Final = "on-demand"
SPOT: Final = "spot"

INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
HOSTNAME: Final = "kubernetes.io/hostname"
CAPACITY_TYPE: Final = "growth.dev/capacity-type"
POOL: Final = "growth.dev/pool"
OFFERING: Final = "growth.dev/offering"


class Offering(FrozenValue, frozen=True):
    """What can be bought; ``id`` is how people and NodeRequests name it, such as ``hetzner-cax11-fsn1``."""

    id: str
    provider: str
    server_type: str
    location: str
    price_per_hour: float
    """Net, with everything that is billed beside the machine itself, in ``currency``."""

    ipv4_per_hour: float = 0.0
    """How much of that is for a public IPv4 address: a pool whose machines have none does not pay it."""

    currency: str = ""
    """Such as EUR; empty if nobody said. Prices of two currencies cannot be compared, so a provider has one."""

    price_per_month: float | None = None
    """At most so much is billed for a whole month, if the provider says so. Shown, and never decided by."""

    resources: dict[str, str] = {}
    """What the machine has, as quantities; any resource, GPUs and disk too."""

    reserved: dict[str, str] = {}
    """What the system keeps of it; the node's allocatable is ``resources`` less this."""

    beyond: dict[str, dict[str, str]] = {}
    """How much more than ``resources`` machines turned out to have, by image: no provider says so, it is learnt."""

    labels: dict[str, str] = {}
    """What its nodes carry beyond the standard labels."""

    zone: str = ""
    region: str = ""
    arch: str = "amd64"
    capacity_type: str = ON_DEMAND
    priority: int = 0
    """Higher is tried first, whatever it costs; a pool's own priorities come before this one."""

    stock: int | None = None
    """How many the provider has; None if it does not say."""

    is_cloud: bool = True
    """Whether the provider's API sells it; a machine that somebody must order by hand is listed and never bought."""

    withdrawn: str = ""
    """Why it is not sold any more, in words; then ``is_cloud`` is false. Empty for what is sold."""

    read_at: datetime | None = None
    """When the provider said all this, if that is not just now: its age tells how stale price and stock may be."""

    @property
    def groups(self) -> tuple[str, str]:
        """What it shares its fate with where the provider refuses more than one offering: all of it, or a family."""
        return self.provider, family_of(self.provider, self.id)

    @property
    def type_id(self) -> str:
        """The server type in all locations, such as ``hetzner-cax11``: what a machine image works on, or does not."""
        return f"{self.provider}-{self.server_type}".lower()

    @property
    def node_labels(self) -> dict[str, str]:
        """The labels of a node on such a machine, but for the hostname, which is the node's own."""
        standard = {INSTANCE_TYPE: self.server_type, ARCH: self.arch, OS: "linux", CAPACITY_TYPE: self.capacity_type}
        # The control plane adds these to every node, and old manifests still ask for them.
        standard |= {f"beta.{ARCH}": self.arch, f"beta.{OS}": "linux"}
        place = {ZONE: self.zone or self.location, REGION: self.region or self.location}
        return {**self.labels, **standard, **place}


def offering_id(provider: str, server_type: str, location: str, capacity_type: str = ON_DEMAND) -> str:
    """The name of an offering: lower case, on-demand unsaid because it is the common case."""
    parts = [provider, server_type, location, *([capacity_type] if capacity_type != ON_DEMAND else [])]
    return "-".join(part for part in parts if part).lower()


def family_of(provider: str, offering: str) -> str:
    """The types whose names begin with the same letters, such as ``hetzner-ccx*`` for ``hetzner-ccx13-fsn1``.

    With the star it is never the id of an offering.
    """
    name = offering.lower().removeprefix(f"{provider}-")
    return f"{provider}-{''.join(takewhile(str.isalpha, name))}*"


def in_pool(pool: str, offering: str) -> str:
    """A name for an offering as far as one pool buys it. With the slash it is no offering, family or provider."""
    return f"{pool}/{offering}"


def left_of(resources: Mapping[str, str], reserved: Mapping[str, str]) -> dict[str, str]:
    """What is left for pods of what a machine has, when the system has taken its share."""
    return {name: _less(text, reserved.get(name)) for name, text in resources.items()}


def with_more(resources: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """What a machine has that turned out to have more."""
    return {
        name: canonical(f"{nano_value(text) + nano_value(more[name])}n") if name in more else text
        for name, text in resources.items()
    }


def _less(text: str, reserved: str | None) -> str:
    if reserved is None:
        return text
    return canonical(f"{max(0, nano_value(text) - nano_value(reserved))}n")
