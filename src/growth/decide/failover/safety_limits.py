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
from growth.decide.elapsed import CLOCKS_DIFFER, counts_from
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

    def __init__(self, context: FailoverContext) -> None:
        self.members = 0
        self.bad: Counter[str] = Counter()
        """By zone, those that do not work although they neither come nor go."""
        self.zones: Counter[str] = Counter()
        self.pools: Counter[str] = Counter()
        for node in context.snapshot.nodes.values():
            labels = node.metadata.labels
            self.members += 1
            self.zones[labels.get(_ZONE, "")] += 1
            self.pools[labels.get(POOL, "")] += 1
            if _is_unwell(context, node):
                self.bad[labels.get(_ZONE, "")] += 1
        marked = context.snapshot.out_of_service.values()
        self.under_way = Counter(one.metadata.labels.get(POOL, "") for one in marked if _is_under_way(context, one))
        self._doubts: dict[str, str] = {}
        self.under_way.update(
            context.snapshot.nodes[context.cases[uid].name].metadata.labels.get(POOL, "") for uid in context.fencing
        )

    def doubt(self, context: FailoverContext, provider: str, provider_id: str) -> str:
        """Why a provider is not believed when it says that a machine is gone; empty if it is. The same for all."""
        if provider not in self._doubts:
            nodes = context.snapshot.nodes.values()
            working = (one for one in nodes if _works(context, one) and not context.is_foreign(one))
            self._doubts[provider] = why_not_believed(context.machines, provider_id, working)
        return self._doubts[provider]


def guard_of(context: FailoverContext, census: NodeCensus, node: Node, case: NodeCase) -> Guard | None:
    """What keeps this node in service; None if nothing does."""
    return (
        _wish(node)
        or _kind(context, node)
        or _disbelief(context, census, node, case)
        or _cluster(context, census)
        or _zone(census, node)
        or (None if case.uid in context.fencing else _turn(context, census, node))
    )


def _wish(node: Node) -> Guard | None:
    if annotation := forbids(node):
        return Guard("DoNotDisrupt", f"it bears {annotation}")
    if node.spec.unschedulable and MAINTENANCE in node.metadata.annotations:
        return Guard("Maintenance", f"a person works on it: it is cordoned and bears {MAINTENANCE}")
    if PROOF in node.metadata.annotations and out_of_service_taint(node) is None:
        return Guard("TaintRemoved", "a person took our taint off; it is not set again before the node was heard of")
    return None


def _kind(context: FailoverContext, node: Node) -> Guard | None:
    if CONTROL_PLANE not in node.metadata.labels:
        return None
    if not context.terms.control_plane:
        return Guard("ControlPlane", "it belongs to the control plane, and failover.controlPlane is false")
    members = [one for one in context.snapshot.nodes.values() if CONTROL_PLANE in one.metadata.labels]
    working = sum(_works(context, one) for one in members)
    if 2 * working <= len(members):
        why = f"{working} of {len(members)} nodes of the control plane work, which is no majority"
        return Guard("Quorum", why)
    return None


def _disbelief(context: FailoverContext, census: NodeCensus, node: Node, case: NodeCase) -> Guard | None:
    place = context.machines.place(case.provider_id)
    if place is None:
        return Guard("NotBelieved", "its provider does not say any more that it has machines")
    if case.answers is None or case.answers.power is not Power.GONE:
        return None
    if context.is_foreign(node):
        return Guard("NotBelieved", "its provider says that it has no such machine, and it may never have had it")
    doubt = census.doubt(context, place.provider, case.provider_id)
    return Guard("NotBelieved", doubt) if doubt else None


def _cluster(context: FailoverContext, census: NodeCensus) -> Guard | None:
    if context.cluster.is_halted:
        return Guard("ClusterUnhealthy", f"the cluster is unhealthy: {context.cluster.health.alarm}", is_alarming=False)
    # Who is silent is not unready yet, and the registry learns of it half a minute later.
    registry, bad = context.settings.registry, census.bad.total()
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


def _turn(context: FailoverContext, census: NodeCensus, node: Node) -> Guard | None:
    """Only so many at once; who is silent for longest is asked first, and so comes first."""
    pool = node.metadata.labels.get(POOL, "")
    limit = max(_AT_ONCE, int(_AT_ONCE_SHARE * census.pools[pool]))
    begun = sum(one.metadata.labels.get(POOL, "") == pool for one in context.begun)
    busy = census.under_way[pool] + begun
    if busy < limit:
        return None
    where = f"pool {pool}" if pool else "the nodes without a pool"
    why = f"{busy} nodes of {where} are being failed over, and {limit} may be at once"
    return Guard("TooMany", why, is_alarming=False)


def _is_under_way(context: FailoverContext, node: Node) -> bool:
    proof = proof_on(node)
    if proof is None or out_of_service_taint(node) is None or _is_in_vain(context, proof.tainted_at):
        return False
    return bool(left_on(context.snapshot, node).all)


def _is_in_vain(context: FailoverContext, tainted_at: datetime) -> bool:
    """Whether it takes so long that others need not wait for it. What was written by a clock that was set back since
    counts from then; where nobody saw that, nobody knows how long ago it was."""
    if context.clock.steady_since is None and tainted_at > context.now + CLOCKS_DIFFER:
        return True
    return context.now - counts_from(tainted_at, context.now, context.clock.steady_since) > IN_THE_WAY


def _is_unwell(context: FailoverContext, node: Node) -> bool:
    if _works(context, node):
        return False
    unit = context.unit(node)
    return unit is None or unit.is_unjustified or node.metadata.uid in context.unreachable


def _works(context: FailoverContext, node: Node) -> bool:
    return node.is_ready and node.metadata.uid not in context.unreachable
