"""The filters in the scheduler's order, for one pod: what it needs to be asked, and nothing else.

Pods of one template ask the same questions, so the answers' bookkeeping (counts per selector, above all) is made once
for all of them and kept up by the Stage.
"""

from growth.api.pod import Pod
from growth.decide.fit import interpod, node_affinity, ports, resources, spread, taints
from growth.decide.fit.site import Check
from growth.decide.fit.stage import PreparedKey, Stage


def prepare(stage: Stage, pod: Pod) -> tuple[Check, ...]:
    """All checks that concern this pod, in the scheduler's order."""
    spec, meta = pod.spec, pod.metadata
    # Claims of ephemeral volumes are named after the pod, so pods with volumes are each their own kind.
    key: PreparedKey = (id(spec), id(meta.labels), meta.namespace, pod.node_name, meta.uid if spec.volumes else "")
    known = stage.prepared.get(key)
    if known is None:
        checks = tuple(check for check in _checks(stage, pod) if check is not None)
        # The pod is kept along, so that no other spec or labels can take over its identity.
        known = stage.prepared[key] = (pod, checks)
    return known[1]


def _checks(stage: Stage, pod: Pod) -> list[Check | None]:
    spec = pod.spec
    return [
        taints.prepare_unschedulable(spec),
        node_affinity.prepare_name(pod),
        taints.prepare(spec),
        node_affinity.prepare(spec),
        ports.prepare(spec),
        resources.prepare(stage.requests(pod)),
        spread.prepare(stage.crowd, pod) if spec.topology_spread_constraints else None,
        interpod.prepare(stage, pod),
    ]
