"""DaemonSet pods: which of them will be on a node, and how much room they take there.

The DaemonSet controller chooses nodes by name, selector, required affinity and taints, never by room. Its pods tolerate
more than their template says. A template is not a pod: what the API server fills in when a pod is made (requests from
limits, host ports on the host's network) is filled in here. RuntimeClasses and LimitRanges are not known here, so what
they would add is not reserved.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from growth.api.kinds import DAEMON_SETS
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.pod import (
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    ResourceRequirements,
    TemplateContainer,
    TemplateSpec,
)
from growth.api.tolerations import NO_EXECUTE, NO_SCHEDULE, Toleration, untolerated
from growth.api.workloads import DaemonSet
from growth.decide.fit import node_affinity
from growth.decide.fit.node_info import NodeInfo
from growth.decide.fit.simulated_cluster import SimulatedCluster

_ADDED: Final = tuple(
    Toleration(f"node.kubernetes.io/{key}", "Exists", "", effect)
    for key, effect in (
        ("not-ready", NO_EXECUTE),
        ("unreachable", NO_EXECUTE),
        ("disk-pressure", NO_SCHEDULE),
        ("memory-pressure", NO_SCHEDULE),
        ("pid-pressure", NO_SCHEDULE),
        ("unschedulable", NO_SCHEDULE),
    )
)
_ADDED_ON_HOST_NETWORK: Final = Toleration("node.kubernetes.io/network-unavailable", "Exists", "", NO_SCHEDULE)
_POD_LEVEL: Final = ("cpu", "memory")


class _Daemon:
    """One DaemonSet, ready to be asked about many nodes."""

    def __init__(self, daemon_set: DaemonSet) -> None:
        template = daemon_set.spec.template
        self.uid = daemon_set.metadata.uid
        self.name = daemon_set.metadata.name
        self.namespace = daemon_set.metadata.namespace
        self.labels = template.metadata.labels
        self.spec = daemon_spec(template.spec)
        self._node_name = template.spec.node_name
        self._matches = node_affinity.matcher(template.spec)

    def runs_on(self, node: Node) -> bool:
        name = node.metadata.name
        if self._node_name not in ("", name):
            return False
        if self._matches is not None and not self._matches(node.metadata.labels, name):
            return False
        return untolerated(node.spec.taints, self.spec.tolerations) is None

    def pod_on(self, node_name: str) -> Pod:
        meta = ObjectMeta(
            name=f"{self.name}-on-{node_name}",
            namespace=self.namespace,
            uid=f"{self.uid}/{node_name}",
            labels=self.labels,
        )
        return Pod(meta, self.spec)


class DaemonSets:
    """All DaemonSets of a cluster."""

    def __init__(self, daemon_sets: Iterable[DaemonSet]) -> None:
        alive = [known for known in daemon_sets if known.metadata.deletion_timestamp is None]
        alive.sort(key=lambda known: (known.metadata.namespace, known.metadata.name))
        self._daemons = [_Daemon(known) for known in alive]

    @staticmethod
    def of(simulated: SimulatedCluster) -> "DaemonSets":
        """Those that the stage's cluster has."""
        return DaemonSets(simulated.all(DAEMON_SETS))

    def pods_for(self, node: Node) -> tuple[Pod, ...]:
        """The pods that will be made for a node."""
        return tuple(daemon.pod_on(node.metadata.name) for daemon in self._daemons if daemon.runs_on(node))

    def missing_on(self, node_info: NodeInfo) -> Sequence[Pod]:
        """The pods that are still to be made for a node that exists: their room is not free, only not taken yet."""
        owners = {owner.uid for pod in node_info.pods.values() if (owner := pod.metadata.controller) is not None}
        return [
            daemon.pod_on(node_info.name)
            for daemon in self._daemons
            if daemon.uid not in owners
            and f"{daemon.uid}/{node_info.name}" not in node_info.pods
            and daemon.runs_on(node_info.node)
        ]


def daemon_spec(template: TemplateSpec) -> PodSpec:
    """The spec of the pods that are made from a DaemonSet's template."""
    added = (*_ADDED, _ADDED_ON_HOST_NETWORK) if template.host_network else _ADDED
    return msgspec.structs.replace(pod_spec(template), tolerations=(*template.tolerations, *added))


def pod_spec(template: TemplateSpec) -> PodSpec:
    """The spec of a pod made from a template, with the API server's defaults."""
    containers = tuple(_container(known, template) for known in template.containers)
    init_containers = tuple(_container(known, template) for known in template.init_containers)
    fields = {name: getattr(template, name) for name in PodSpec.__struct_fields__}
    fields |= {"containers": containers, "init_containers": init_containers}
    fields["resources"] = _pod_level(template, (*containers, *init_containers))
    return PodSpec(**fields)


def _container(template: TemplateContainer, spec: TemplateSpec) -> Container:
    requests = {**template.resources.limits, **template.resources.requests}
    return Container(
        name=template.name,
        resources=ResourceRequirements(requests),
        ports=tuple(
            ContainerPort(
                port.host_port or (port.container_port if spec.host_network else 0), port.host_ip, port.protocol
            )
            for port in template.ports
        ),
        restart_policy=template.restart_policy,
        restart_policy_rules=template.restart_policy_rules,
    )


def _pod_level(template: TemplateSpec, containers: Sequence[Container]) -> ResourceRequirements | None:
    """Pod-level requests; a limit stands for one if no container says how much of that resource it wants."""
    written = template.resources
    if written is None:
        return None
    asked = {name for known in containers for name in known.resources.requests}
    limits = {
        name: amount
        for name, amount in written.limits.items()
        if name not in asked and (name in _POD_LEVEL or name.startswith("hugepages-"))
    }
    return ResourceRequirements({**limits, **written.requests})
