"""The filters in the scheduler's order, for one pod: what it needs to be asked, and nothing else.

Pods of one template ask the same questions, so the answers' bookkeeping (counts per selector, above all) is made once
for all of them and kept up by the Stage.

Would kube-scheduler place this pod on this node? On any? If not, why?
"""

from growth.api.pod import Pod
from growth.api.taints import tolerations_of
from growth.decide.fit import (
    inter_pod_affinity,
    node_affinity,
    node_declared_features,
    node_ports,
    node_resources,
    node_volume_limits,
    taint_toleration,
    topology_spread,
    volume_binding,
    volume_restrictions,
    volume_zone,
)
from growth.decide.fit.filter_result import FilterRefusal, FitResult, verdict_from
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.simulated_cluster import PreparedKey, SimulatedCluster
from growth.decide.fit.topology_spread import crowded_out
from growth.decide.fit.volume_claims import single_pod_claims, sort_claims
from growth.decide.fit.volume_restrictions import in_use


def prepare(simulated: SimulatedCluster, pod: Pod) -> tuple[Check, ...]:
    """All checks that concern this pod, in the scheduler's order."""
    spec, meta = pod.spec, pod.metadata
    # Claims of ephemeral volumes are named after the pod, so pods with volumes are each their own kind.
    own = meta.uid if spec.volumes else ""
    key: PreparedKey = (id(spec), id(meta.labels), meta.namespace, pod.node_name, pod.keys, own)
    known = simulated.prepared.get(key)
    if known is None:
        checks = tuple(check for check in _checks(simulated, pod) if check is not None)
        # The pod is kept along, so that no other spec or labels can take over its identity.
        known = simulated.prepared[key] = (pod, checks)
    return known[1]


def hindrance(simulated: SimulatedCluster, pod: Pod) -> FilterRefusal | None:
    """What the scheduler refuses before it looks at any node, in its order."""
    spec = pod.spec
    if spec.affinity is not None and node_affinity.contradicts_itself(spec):
        return node_affinity.CONTRADICTION
    claims = sort_claims(simulated, pod) if spec.volumes else None
    return claims if isinstance(claims, FilterRefusal) else None


def _checks(simulated: SimulatedCluster, pod: Pod) -> list[Check | None]:
    refusal = hindrance(simulated, pod)
    if refusal is not None:
        return [lambda _: refusal]
    spec = pod.spec
    return [
        taint_toleration.prepare_unschedulable(spec),
        node_affinity.prepare_name(pod),
        taint_toleration.prepare(tolerations_of(pod)),
        node_affinity.prepare(spec),
        node_ports.prepare(spec),
        node_resources.prepare(simulated.requests(pod)),
        volume_restrictions.prepare(simulated, pod) if spec.volumes else None,
        node_volume_limits.prepare(simulated, pod) if spec.volumes else None,
        volume_binding.prepare(simulated, pod) if spec.volumes else None,
        volume_zone.prepare(simulated, pod) if spec.volumes else None,
        topology_spread.prepare(simulated.counts, pod) if spec.topology_spread_constraints else None,
        inter_pod_affinity.prepare(simulated, pod),
        node_declared_features.prepare(spec),
    ]


def fit(simulated: SimulatedCluster, pod: Pod, node_name: str) -> FilterRefusal | None:
    """None if the pod fits; else the first filter that refuses, in the scheduler's order.

    If other pods are nominated to the node and at least as important, the pod must fit with them and without them.
    Raises KeyError for a node that is not on the stage.
    """
    return _answer(simulated, pod, prepare(simulated, pod), simulated.node_info(node_name))


def fits_anywhere(simulated: SimulatedCluster, pod: Pod) -> FitResult:
    """All nodes that would take the pod, or why none does."""
    refusal = unplaceable(simulated, pod)
    if refusal is not None:
        return FitResult((), (), refusal)
    checks = prepare(simulated, pod)
    fitting: list[str] = []
    misfits: dict[str, FilterRefusal] = {}
    for node_info in simulated.sites():
        misfit = _answer(simulated, pod, checks, node_info)
        if misfit is None:
            fitting.append(node_info.name)
        else:
            misfits[node_info.name] = misfit
    return verdict_from(fitting, misfits)


def unplaceable(simulated: SimulatedCluster, pod: Pod) -> FilterRefusal | None:
    """What holds before any node is looked at: no machine that we could buy would help."""
    refusal = hindrance(simulated, pod)
    if refusal is not None or not pod.spec.volumes:
        return refusal
    return in_use(simulated, single_pod_claims(simulated, pod))


def _answer(
    simulated: SimulatedCluster, pod: Pod, checks: tuple[Check, ...], node_info: NodeInfo
) -> FilterRefusal | None:
    nominated = simulated.nominated_to(node_info.name, pod)
    if nominated:
        # First with them, as the scheduler does: its reason is then the one that names their room.
        mark = simulated.mark()
        for other in nominated:
            simulated.place(other, node_info.name)
        misfit = _first_misfit(checks, node_info) or crowded_out(simulated.counts, pod, nominated, node_info)
        simulated.back_to(mark)
        if misfit is not None:
            return misfit
    return _first_misfit(checks, node_info)


def _first_misfit(checks: tuple[Check, ...], node_info: NodeInfo) -> FilterRefusal | None:
    for check in checks:
        misfit = check(node_info)
        if misfit is not None:
            return misfit
    return None
