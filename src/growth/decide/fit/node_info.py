"""A site: one node of a what-if cluster, with the pods that are on it right now.

What only few pods ask for (host ports, volumes) is worked out when the first one asks, and forgotten when a pod that
has such things comes or goes.
"""

from collections.abc import Callable, Mapping

from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.quantity import nano_value
from growth.api.storage import CsiNode
from growth.api.tolerations import BLOCKING_EFFECTS, Taint
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_ports import PortsInUse, host_ports
from growth.observe.pod_requests import Requests, counted


class NodeInfo:
    """One node and its pods. Only its Stage changes it."""

    __slots__ = (
        "_pods_are_own",
        "_ports",
        "attached",
        "blocking_taints",
        "free",
        "is_planned",
        "labels",
        "name",
        "node",
        "planned_drivers",
        "pods",
    )

    def __init__(
        self,
        node: Node,
        free: dict[str, int],
        pods: Mapping[str, Pod],
        *,
        is_planned: bool = False,
        planned_drivers: CsiNode | None = None,
    ) -> None:
        self.node = node
        self.name = node.metadata.name
        self.labels = node.metadata.labels
        taints = node.spec.taints
        self.blocking_taints: tuple[Taint, ...] = (
            tuple([taint for taint in taints if taint.effect in BLOCKING_EFFECTS]) if taints else ()
        )
        self.free = free
        self.pods = pods
        self.is_planned = is_planned
        self.planned_drivers = planned_drivers
        self.attached: frozenset[tuple[str, str]] | None = None
        self._ports: PortsInUse | None = None
        self._pods_are_own = False

    def total(self, resource: str) -> int:
        """How much the node has of a resource for all its pods together, in the units that requests are counted in."""
        text = self.node.status.allocatable.get(resource)
        return 0 if text is None else counted(resource, nano_value(text))

    @property
    def ports(self) -> PortsInUse:
        """Ports that pods have taken on the host."""
        if self._ports is None:
            self._ports = PortsInUse()
            for pod in self.pods.values():
                self._ports.take(host_ports(pod.spec))
        return self._ports

    def put(self, pod: Pod, requests: Requests) -> None:
        """A pod comes."""
        self._own_pods()[pod.metadata.uid] = pod
        free = self.free
        for name, amount in requests.items():
            free[name] = free.get(name, 0) - amount
        self._forget(pod)

    def take(self, pod: Pod, requests: Requests) -> None:
        """A pod goes."""
        del self._own_pods()[pod.metadata.uid]
        free = self.free
        for name, amount in requests.items():
            free[name] = free.get(name, 0) + amount
        self._forget(pod)

    def _forget(self, pod: Pod) -> None:
        if self._ports is not None and host_ports(pod.spec):
            self._ports = None
        if pod.spec.volumes:
            self.attached = None

    def _own_pods(self) -> dict[str, Pod]:
        """The pods as a dict of our own: the one we were given belongs to the World."""
        if not self._pods_are_own or not isinstance(self.pods, dict):
            self.pods = dict(self.pods)
            self._pods_are_own = True
        return self.pods


Check = Callable[[NodeInfo], FilterRefusal | None]
"""What is left of a filter once it knows the pod."""
