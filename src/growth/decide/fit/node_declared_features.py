"""NodeDeclaredFeatures: the few pods that need something which not every kubelet of a cluster can do yet."""

from typing import Final

from growth.api.pod import PodSpec
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo

FILTER: Final = "NodeDeclaredFeatures"

RESTART_ALL: Final = "RestartAllContainersOnContainerExits"
HOST_NETWORK_USERS: Final = "UserNamespacesHostNetworkSupport"


def needed(spec: PodSpec) -> tuple[str, ...]:
    """The features that a pod of this spec needs of its node (Kubernetes 1.36 knows two)."""
    found: list[str] = []
    containers = (*spec.containers, *spec.init_containers)
    if any(rule.action == "RestartAllContainers" for known in containers for rule in known.restart_policy_rules):
        found.append(RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        found.append(HOST_NETWORK_USERS)
    return tuple(found)


def prepare(spec: PodSpec) -> Check | None:
    """The check for such pods; None for all others."""
    wanted = needed(spec)
    if not wanted:
        return None

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        for feature in wanted:
            if feature not in node_info.node.status.declared_features:
                return FilterRefusal(FILTER, f"needs a node that declares {feature}", is_permanent=True)
        return None

    return check
