"""NodePorts: two pods cannot listen on the same port of one host.

A port is taken for an address and a protocol. No address means 0.0.0.0, which collides with every address; ``::`` is
an address like any other. Ports of plain init containers do not count: those have ended when the pod runs.
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from growth.api.pod import Container, PodSpec
from growth.decide.fit.filter_result import FilterRefusal

if TYPE_CHECKING:
    from growth.decide.fit.node_info import Check, NodeInfo

FILTER: Final = "NodePorts"
ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - compared, never listened on

HostPort = tuple[str, str, int]
"""Address, protocol and number."""


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """The ports that a pod of this spec takes on its host: of containers and sidecars."""
    found: list[HostPort] = []
    for container in spec.containers:
        if container.ports:
            found += _of(container)
    for container in spec.init_containers:
        if container.ports and container.restart_policy == "Always":
            found += _of(container)
    return tuple(found)


def _of(container: Container) -> list[HostPort]:
    return [
        (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for port in container.ports
        if port.host_port > 0
    ]


class PortsInUse:
    """The ports taken on one node, each by any number of pods (those that never asked the scheduler may collide)."""

    __slots__ = ("_addresses",)

    def __init__(self) -> None:
        self._addresses: dict[tuple[str, int], Counter[str]] = {}

    def take(self, ports: Iterable[HostPort]) -> None:
        """A pod takes these."""
        for address, protocol, number in ports:
            self._addresses.setdefault((protocol, number), Counter())[address] += 1

    def collision(self, wanted: HostPort) -> bool:
        """Whether this port is taken for this address, for all addresses, or (if all are wanted) for any."""
        address, protocol, number = wanted
        taken = self._addresses.get((protocol, number))
        if not taken:
            return False
        return address == ANY_ADDRESS or ANY_ADDRESS in taken or address in taken


def prepare(spec: PodSpec) -> "Check | None":
    """The check for pods of this spec; None if they take no port."""
    wanted = host_ports(spec)
    if not wanted:
        return None

    def check(node_info: "NodeInfo") -> FilterRefusal | None:
        ports = node_info.ports
        for port in wanted:
            if ports.collision(port):
                return _misfit(port)
        return None

    return check


@lru_cache(1024)
def _misfit(port: HostPort) -> FilterRefusal:
    address, protocol, number = port
    where = "" if address == ANY_ADDRESS else f" on {address}"
    reason = f"needs host port {number}/{protocol}{where}; another pod of the node has it"
    return FilterRefusal(FILTER, reason, is_permanent=False)
