"""What can be launched now, and which nodes are no capacity although they are there."""

import msgspec

from growth.api.growth_kinds import NODE_POOLS
from growth.api.node_pool import NodePool
from growth.api.out_of_service import out_of_service_taint
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.capacity.pool_validation import usable
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.observe.snapshot import Snapshot


class ProvisioningOptions(msgspec.Struct, frozen=True):
    """Pools, offerings and nodes, as plans see them."""

    pools: tuple[NodePool, ...]
    """All pools, by name."""
    usable: tuple[NodePool, ...]
    """Those for which machines may be launched now."""
    closed: frozenset[tuple[str, str]]
    """Pools and offerings that this pool must not launch."""
    dead: frozenset[str]
    """Nodes that are out of service."""
    terminating: frozenset[str]
    """Nodes with a NodeRemovalRequest."""


def provisioning_options(
    snapshot: Snapshot, cluster: ClusterState, catalog: OfferingCatalog, replacements: ReplacementPods
) -> ProvisioningOptions:
    """Return what a plan may count on."""
    pools = tuple(pool for _, pool in sorted(snapshot.table(NODE_POOLS).items()))
    unhealthy = cluster.closed_pools
    tainted = {name for name, node in snapshot.out_of_service.items() if out_of_service_taint(node) is not None}
    return ProvisioningOptions(
        pools=pools,
        usable=tuple(pool for pool in pools if usable(pool, snapshot.clouds) and pool.metadata.name not in unhealthy),
        closed=cluster.closed_offerings | catalog.closed,
        dead=replacements.dead_nodes | tainted,
        terminating=snapshot.terminating_nodes,
    )
