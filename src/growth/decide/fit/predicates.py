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


def prepare(stage: SimulatedCluster, pod: Pod) -> tuple[Check, ...]:
    """All checks that concern this pod, in the scheduler's order."""
    spec, meta = pod.spec, pod.metadata
    # Claims of ephemeral volumes are named after the pod, so pods with volumes are each their own kind.
    own = meta.uid if spec.volumes else ""
    key: PreparedKey = (id(spec), id(meta.labels), meta.namespace, pod.node_name, pod.keys, own)
    known = stage.prepared.get(key)
    if known is None:
        checks = tuple(check for check in _checks(stage, pod) if check is not None)
        # The pod is kept along, so that no other spec or labels can take over its identity.
        known = stage.prepared[key] = (pod, checks)
    return known[1]


def hindrance(stage: SimulatedCluster, pod: Pod) -> FilterRefusal | None:
    """What the scheduler refuses before it looks at any node, in its order."""
    spec = pod.spec
    if spec.affinity is not None and node_affinity.contradicts_itself(spec):
        return node_affinity.CONTRADICTION
    claims = sort_claims(stage, pod) if spec.volumes else None
    return claims if isinstance(claims, FilterRefusal) else None


def _checks(stage: SimulatedCluster, pod: Pod) -> list[Check | None]:
    refusal = hindrance(stage, pod)
    if refusal is not None:
        return [lambda _: refusal]
    spec = pod.spec
    return [
        taint_toleration.prepare_unschedulable(spec),
        node_affinity.prepare_name(pod),
        taint_toleration.prepare(tolerations_of(pod)),
        node_affinity.prepare(spec),
        node_ports.prepare(spec),
        node_resources.prepare(stage.requests(pod)),
        volume_restrictions.prepare(stage, pod) if spec.volumes else None,
        node_volume_limits.prepare(stage, pod) if spec.volumes else None,
        volume_binding.prepare(stage, pod) if spec.volumes else None,
        volume_zone.prepare(stage, pod) if spec.volumes else None,
        topology_spread.prepare(stage.crowd, pod) if spec.topology_spread_constraints else None,
        inter_pod_affinity.prepare(stage, pod),
        node_declared_features.prepare(spec),
    ]


def fit(stage: SimulatedCluster, pod: Pod, node_name: str) -> FilterRefusal | None:
    """None if the pod fits; else the first filter that refuses, in the scheduler's order.

    If other pods are nominated to the node and at least as important, the pod must fit with them and without them.
    Raises KeyError for a node that is not on the stage.
    """
    return _answer(stage, pod, prepare(stage, pod), stage.site(node_name))


def fits_anywhere(stage: SimulatedCluster, pod: Pod) -> FitResult:
    """All nodes that would take the pod, or why none does."""
    refusal = unplaceable(stage, pod)
    if refusal is not None:
        return FitResult((), (), refusal)
    checks = prepare(stage, pod)
    fitting: list[str] = []
    misfits: dict[str, FilterRefusal] = {}
    for site in stage.sites():
        misfit = _answer(stage, pod, checks, site)
        if misfit is None:
            fitting.append(site.name)
        else:
            misfits[site.name] = misfit
    return verdict_from(fitting, misfits)


def unplaceable(stage: SimulatedCluster, pod: Pod) -> FilterRefusal | None:
    """What holds before any node is looked at: no machine that we could buy would help."""
    refusal = hindrance(stage, pod)
    if refusal is not None or not pod.spec.volumes:
        return refusal
    return in_use(stage, single_pod_claims(stage, pod))


def _answer(stage: SimulatedCluster, pod: Pod, checks: tuple[Check, ...], site: NodeInfo) -> FilterRefusal | None:
    nominated = stage.nominated_to(site.name, pod)
    if nominated:
        # First with them, as the scheduler does: its reason is then the one that names their room.
        mark = stage.mark()
        for other in nominated:
            stage.place(other, site.name)
        misfit = _first_misfit(checks, site) or crowded_out(stage.crowd, pod, nominated, site)
        stage.back_to(mark)
        if misfit is not None:
            return misfit
    return _first_misfit(checks, site)


def _first_misfit(checks: tuple[Check, ...], site: NodeInfo) -> FilterRefusal | None:
    for check in checks:
        misfit = check(site)
        if misfit is not None:
            return misfit
    return None
