"""Where admitted pods go: to the nodes of the flavors that their workload was given, with labels that tell of it."""

from typing import Any, Final

import msgspec

from growth.api.actions import Hold
from growth.api.kinds import Kind
from growth.api.meta import ObjectMeta
from growth.api.queue.workload import MAIN, Workload
from growth.api.references import reference_to
from growth.decide.queue.context import QueueContext
from growth.decide.queue.failure_notes import flavors_of
from growth.decide.queue.pod_sets import Json, part

POD_SET: Final = "kueue.x-k8s.io/podset"
LOCAL_QUEUE: Final = "kueue.x-k8s.io/local-queue-name"
CLUSTER_QUEUE: Final = "kueue.x-k8s.io/cluster-queue-name"
WORKLOAD: Final = "kueue.x-k8s.io/workload"
_LABEL_AT_MOST: Final = 63


def is_lost(context: QueueContext, kind: Kind[Any], meta: ObjectMeta, workload: Workload) -> bool:
    """Whether one of its flavors is gone, so that nobody knows its nodes; that is said."""
    missing = [name for name in flavors_of(workload) if name not in context.flavors]
    if missing:
        why = f"there is no ResourceFlavor {', '.join(missing)} any more, so its nodes are not known: create it again"
        context.said.append(Hold(subject=reference_to(kind, meta), why=why, reason="FlavorNotFound"))
    return bool(missing)


def placed(context: QueueContext, workload: Workload, template: Json) -> Json:
    """What a merge patch changes in pods that are made like this, so that they go where they were admitted to."""
    flavors = [context.flavors[name] for name in flavors_of(workload)]
    selector = {key: value for flavor in flavors for key, value in flavor.spec.node_labels.items()}
    added = [msgspec.to_builtins(one) for flavor in flavors for one in flavor.spec.tolerations]
    has: list[Json] = part(template, "spec").get("tolerations") or []
    return {
        "metadata": {"labels": _labels(workload), "annotations": {WORKLOAD: workload.metadata.name}},
        "spec": {
            **({"nodeSelector": selector} if selector else {}),
            **({"tolerations": [*has, *(one for one in added if one not in has)]} if added else {}),
        },
    }


def _labels(workload: Workload) -> Json:
    """What its pods tell of the queue, as far as a label can hold it."""
    admission = workload.status.admission
    queue = admission.cluster_queue if admission is not None else ""
    labels = {POD_SET: MAIN, LOCAL_QUEUE: workload.spec.queue_name, CLUSTER_QUEUE: queue}
    return {key: value for key, value in labels.items() if len(value) <= _LABEL_AT_MOST}
