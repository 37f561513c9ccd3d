"""What keeps a node in service although its machine is dead: a brake for each way in which we could be wrong at scale.

Kubernetes' own brakes (zones, eviction rates) do not hold back what the out-of-service taint does, so these must.
"""

from collections import Counter
from datetime import datetime
from typing import Final

import msgspec

from growth.api.machine import Power
from growth.api.node import Node
from growth.api.offering import POOL
from growth.api.out_of_service import MAINTENANCE, PROOF, out_of_service_taint, proof_on
from growth.api.pod_classification import forbids
from growth.decide.capacity.provider_failures import CLOCKS_DIFFER
from growth.decide.elapsed import counts_from
from growth.decide.failover.context import IN_THE_WAY, FailoverContext
from growth.decide.failover.evidence import NodeCase, why_not_believed
from growth.decide.failover.remaining_objects import left_on

CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"
_ZONE: Final = "topology.kubernetes.io/zone"
# As kube-controller-manager takes it: more than this share of a zone, and at least so many nodes, is a broken zone.
_ZONE_SHARE: Final = 0.55
_ZONE_NODES: Final = 3
_AT_ONCE: Final = 2
_AT_ONCE_SHARE: Final = 0.1


class Guard(msgspec.Struct, frozen=True):
    """Why a node stays in service."""

    reason: str
    why: str
    is_alarming: bool = True
    """Whether a person should hear of it."""


class NodeCensus:
    """How many nodes there are, by zone and by pool, and how many of them do not work: counted once in a pass."""

    def __init__(self, scene: FailoverContext) -> None:
        self.members = 0
        self.bad: Counter[str] = Counter()
        """By zone, those that do not work although they neither come nor go."""
        self.zones: Counter[str] = Counter()
        self.pools: Counter[str] = Counter()
        for node in scene.snapshot.nodes.values():
            labels = node.metadata.labels
            self.members += 1
            self.zones[labels.get(_ZONE, "")] += 1
            self.pools[labels.get(POOL, "")] += 1
            if _is_unwell(scene, node):
                self.bad[labels.get(_ZONE, "")] += 1
        marked = scene.snapshot.out_of_service.values()
        self.under_way = Counter(one.metadata.labels.get(POOL, "") for one in marked if _is_under_way(scene, one))
        self._doubts: dict[str, str] = {}
        self.under_way.update(
            scene.snapshot.nodes[scene.cases[uid].name].metadata.labels.get(POOL, "") for uid in scene.fencing
        )

    def doubt(self, scene: FailoverContext, provider: str, provider_id: str) -> str:
        """Why a provider is not believed when it says that a machine is gone; empty if it is. The same for all."""
        if provider not in self._doubts:
            nodes = scene.snapshot.nodes.values()
            working = (one for one in nodes if _works(scene, one) and not scene.is_foreign(one))
            self._doubts[provider] = why_not_believed(scene.machines, provider_id, working)
        return self._doubts[provider]


def guard_of(scene: FailoverContext, census: NodeCensus, node: Node, case: NodeCase) -> Guard | None:
    """What keeps this node in service; None if nothing does."""
    return (
        _wish(node)
        or _kind(scene, node)
        or _disbelief(scene, census, node, case)
        or _cluster(scene, census)
        or _zone(census, node)
        or (None if case.uid in scene.fencing else _turn(scene, census, node))
    )


def _wish(node: Node) -> Guard | None:
    if annotation := forbids(node):
        return Guard("DoNotDisrupt", f"it bears {annotation}")
    if node.spec.unschedulable and MAINTENANCE in node.metadata.annotations:
        return Guard("Maintenance", f"a person works on it: it is cordoned and bears {MAINTENANCE}")
    if PROOF in node.metadata.annotations and out_of_service_taint(node) is None:
        return Guard("TaintRemoved", "a person took our taint off; it is not set again before the node was heard of")
    return None


def _kind(scene: FailoverContext, node: Node) -> Guard | None:
    if CONTROL_PLANE not in node.metadata.labels:
        return None
    if not scene.terms.control_plane:
        return Guard("ControlPlane", "it belongs to the control plane, and failover.controlPlane is false")
    members = [one for one in scene.snapshot.nodes.values() if CONTROL_PLANE in one.metadata.labels]
    working = sum(_works(scene, one) for one in members)
    if 2 * working <= len(members):
        why = f"{working} of {len(members)} nodes of the control plane work, which is no majority"
        return Guard("Quorum", why)
    return None


def _disbelief(scene: FailoverContext, census: NodeCensus, node: Node, case: NodeCase) -> Guard | None:
    place = scene.machines.place(case.provider_id)
    if place is None:
        return Guard("NotBelieved", "its provider does not say any more that it has machines")
    if case.answers is None or case.answers.power is not Power.GONE:
        return None
    if scene.is_foreign(node):
        return Guard("NotBelieved", "its provider says that it has no such machine, and it may never have had it")
    doubt = census.doubt(scene, place.provider, case.provider_id)
    return Guard("NotBelieved", doubt) if doubt else None


def _cluster(scene: FailoverContext, census: NodeCensus) -> Guard | None:
    if scene.cluster.is_halted:
        return Guard("ClusterUnhealthy", f"the cluster is unhealthy: {scene.cluster.health.alarm}", is_alarming=False)
    # Who is silent is not unready yet, and the registry learns of it half a minute later.
    registry, bad = scene.settings.registry, census.bad.total()
    if bad > registry.ok_unready and 100 * bad > registry.unready_percent * census.members:
        return Guard("ClusterUnhealthy", f"{bad} of {census.members} nodes are unready or silent")
    return None


def _zone(census: NodeCensus, node: Node) -> Guard | None:
    zone = node.metadata.labels.get(_ZONE, "")
    bad, members = census.bad[zone], census.zones[zone]
    if bad >= _ZONE_NODES and bad > _ZONE_SHARE * members:
        where = f"zone {zone}" if zone else "the zone without a name"
        return Guard("ZoneFailure", f"{bad} of {members} nodes of {where} are unready or silent")
    return None


def _turn(scene: FailoverContext, census: NodeCensus, node: Node) -> Guard | None:
    """Only so many at once; who is silent for longest is asked first, and so comes first."""
    pool = node.metadata.labels.get(POOL, "")
    limit = max(_AT_ONCE, int(_AT_ONCE_SHARE * census.pools[pool]))
    begun = sum(one.metadata.labels.get(POOL, "") == pool for one in scene.begun)
    busy = census.under_way[pool] + begun
    if busy < limit:
        return None
    where = f"pool {pool}" if pool else "the nodes without a pool"
    why = f"{busy} nodes of {where} are being failed over, and {limit} may be at once"
    return Guard("TooMany", why, is_alarming=False)


def _is_under_way(scene: FailoverContext, node: Node) -> bool:
    proof = proof_on(node)
    if proof is None or out_of_service_taint(node) is None or _is_in_vain(scene, proof.tainted_at):
        return False
    return bool(left_on(scene.snapshot, node).all)


def _is_in_vain(scene: FailoverContext, tainted_at: datetime) -> bool:
    """Whether it takes so long that others need not wait for it. What was written by a clock that was set back since
    counts from then; where nobody saw that, nobody knows how long ago it was."""
    if scene.state.steady_since is None and tainted_at > scene.now + CLOCKS_DIFFER:
        return True
    return scene.now - counts_from(tainted_at, scene.now, scene.state.steady_since) > IN_THE_WAY


def _is_unwell(scene: FailoverContext, node: Node) -> bool:
    if _works(scene, node):
        return False
    unit = scene.unit(node)
    return unit is None or unit.is_unjustified or node.metadata.uid in scene.silent


def _works(scene: FailoverContext, node: Node) -> bool:
    return node.is_ready and node.metadata.uid not in scene.silent
