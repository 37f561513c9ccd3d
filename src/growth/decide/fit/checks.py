"""The filters in the scheduler's order, for one pod: what it needs to be asked, and nothing else.

Pods of one template ask the same questions, so the answers' bookkeeping (counts per selector, above all) is made once
for all of them and kept up by the Stage.
"""

from growth.api.pod import Pod
from growth.api.taints import tolerations_of
from growth.decide.fit import (
    declared_features,
    disks,
    interpod,
    node_affinity,
    ports,
    resources,
    spread,
    taints,
    volume_binding,
    volume_limits,
    volume_zone,
)
from growth.decide.fit.claims import sort_claims
from growth.decide.fit.misfit import Misfit
from growth.decide.fit.site import Check
from growth.decide.fit.stage import PreparedKey, Stage


def prepare(stage: Stage, pod: Pod) -> tuple[Check, ...]:
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


def hindrance(stage: Stage, pod: Pod) -> Misfit | None:
    """What the scheduler refuses before it looks at any node, in its order."""
    spec = pod.spec
    if spec.affinity is not None and node_affinity.contradicts_itself(spec):
        return node_affinity.CONTRADICTION
    claims = sort_claims(stage, pod) if spec.volumes else None
    return claims if isinstance(claims, Misfit) else None


def _checks(stage: Stage, pod: Pod) -> list[Check | None]:
    refusal = hindrance(stage, pod)
    if refusal is not None:
        return [lambda _: refusal]
    spec = pod.spec
    return [
        taints.prepare_unschedulable(spec),
        node_affinity.prepare_name(pod),
        taints.prepare(tolerations_of(pod)),
        node_affinity.prepare(spec),
        ports.prepare(spec),
        resources.prepare(stage.requests(pod)),
        disks.prepare(stage, pod) if spec.volumes else None,
        volume_limits.prepare(stage, pod) if spec.volumes else None,
        volume_binding.prepare(stage, pod) if spec.volumes else None,
        volume_zone.prepare(stage, pod) if spec.volumes else None,
        spread.prepare(stage.crowd, pod) if spec.topology_spread_constraints else None,
        interpod.prepare(stage, pod),
        declared_features.prepare(spec),
    ]
