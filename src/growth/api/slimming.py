"""From a pod as it is on the wire to the pod that we keep.

The API server sends what the kubelet, the scheduler and three controllers each need. We keep what we read, drop the
volumes, annotations and conditions that decide nothing, and share the rest with the pod's siblings.
"""

import sys
from typing import Final

from growth.api.meta import Condition, ObjectMeta
from growth.api.pod import ContainerStatus, Pod, PodSpec, PodStatus, TemplateSpec
from growth.api.sharing import Sharing
from growth.api.slim import Slim

# Scheduled and ready are what we judge pods by; the others change what a pod holds or why it goes.
USED_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "DisruptionTarget", "PodResizePending"})
# Ours, the two autoscalers' whose wishes we honour, and the mark of a static pod.
USED_ANNOTATIONS: Final = (
    "growth.dev/",
    "karpenter.sh/",
    "cluster-autoscaler.kubernetes.io/",
    "kubernetes.io/config.mirror",
)


class WireStatus(PodStatus, frozen=True):
    """A status as it is sent, with the init containers (some of them sidecars) in a list of their own."""

    init_container_statuses: tuple[ContainerStatus, ...] = ()


class WirePod(Slim, frozen=True):
    """A pod as the API server sends it."""

    metadata: ObjectMeta
    spec: TemplateSpec = TemplateSpec()
    status: WireStatus = WireStatus()


def slim_pod(wire: WirePod, sharing: Sharing) -> Pod:
    """The pod that we keep of one that was sent."""
    return Pod(
        metadata=_metadata(wire.metadata, sharing),
        spec=sharing.value(_spec(wire.spec)),
        node_name=sys.intern(wire.spec.node_name),
        status=_status(wire.status, sharing),
    )


def _metadata(wire: ObjectMeta, sharing: Sharing) -> ObjectMeta:
    annotations = wire.annotations
    if annotations:
        annotations = {key: value for key, value in annotations.items() if key.startswith(USED_ANNOTATIONS)}
    return ObjectMeta(
        name=wire.name,
        namespace=sys.intern(wire.namespace),
        uid=wire.uid,
        resource_version=wire.resource_version,
        creation_timestamp=wire.creation_timestamp,
        deletion_timestamp=wire.deletion_timestamp,
        labels=sharing.mapping(wire.labels),
        annotations=sharing.mapping(annotations),
        finalizers=wire.finalizers,
        owner_references=tuple([sharing.value(owner) for owner in wire.owner_references]),
    )


def _spec(wire: TemplateSpec) -> PodSpec:
    return PodSpec(
        containers=wire.containers,
        init_containers=wire.init_containers,
        resources=wire.resources,
        overhead=wire.overhead,
        node_selector=wire.node_selector,
        affinity=wire.affinity,
        tolerations=wire.tolerations,
        topology_spread_constraints=wire.topology_spread_constraints,
        volumes=tuple([volume for volume in wire.volumes if volume.persistent_volume_claim or volume.ephemeral]),
        resource_claims=wire.resource_claims,
        scheduling_gates=wire.scheduling_gates,
        scheduler_name=wire.scheduler_name,
        priority=wire.priority,
        preemption_policy=wire.preemption_policy,
        restart_policy=wire.restart_policy,
        termination_grace_period_seconds=wire.termination_grace_period_seconds,
        host_network=wire.host_network,
    )


def _status(wire: WireStatus, sharing: Sharing) -> PodStatus:
    return PodStatus(
        phase=sys.intern(wire.phase),
        nominated_node_name=wire.nominated_node_name,
        start_time=wire.start_time,
        conditions=tuple([_condition(known) for known in wire.conditions if known.type in USED_CONDITIONS]),
        container_statuses=tuple(
            [sharing.value(status) for status in (*wire.container_statuses, *wire.init_container_statuses)]
        ),
        resources=wire.resources,
        allocated_resources=wire.allocated_resources,
    )


def _condition(wire: Condition) -> Condition:
    return Condition(
        type=sys.intern(wire.type),
        status=sys.intern(wire.status),
        reason=sys.intern(wire.reason),
        last_transition_time=wire.last_transition_time,
    )
