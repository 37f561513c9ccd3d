"""What is left on a node whose machine is gone: released, so that it can start elsewhere.

Whoever calls this has proof that nothing runs there any more: Growth deleted the machine itself, or its provider says
that it is off. Without that, two copies of a pod could write to one volume.

The order is Kubernetes' own: the out-of-service taint (which lets volumes be detached at once), pods deleted without
waiting for a kubelet that will never answer, and the Node object only when no volume hangs on it any more: a volume of
a node that was deleted first is detached six minutes later (docs/removing.md).
"""

from datetime import datetime

from growth.api.actions import Action, DeleteObject, Hold
from growth.api.kinds import NODES, PODS, VOLUME_ATTACHMENTS
from growth.api.node import Node
from growth.api.out_of_service import SHUTDOWN, out_of_service_taint
from growth.api.pod import Pod
from growth.api.pod_classification import is_daemon
from growth.api.references import reference_to
from growth.api.storage import VolumeAttachment
from growth.decide.writes.node_patches import edited, taint_added
from growth.observe.snapshot import Snapshot


def released(snapshot: Snapshot, node: Node) -> list[Action | Hold]:
    """What has to happen next; nothing if nothing is left."""
    name = node.metadata.name
    pods, attached = _left_on(snapshot, name)
    if not pods and not attached:
        return []
    if out_of_service_taint(node) is None:
        return [edited(node, [taint_added(node, SHUTDOWN)], "its machine is gone, and something is left on it")]
    said: list[Action | Hold] = [*_deleted(pods, name)]
    if attached:
        why = f"{len(attached)} volumes still hang on it" if len(attached) > 1 else "a volume still hangs on it"
        said.append(Hold(subject=reference_to(NODES, node.metadata), why=why, reason="Detaching"))
    return said


def orphans_released(snapshot: Snapshot, name: str) -> list[Action]:
    """Pods whose Node object went before we could release them, because a cloud controller was quicker. Kubernetes
    collects them, too, a minute later."""
    return _deleted(_left_on(snapshot, name)[0], name)


def is_free(snapshot: Snapshot, node: Node, gone_at: datetime | None) -> bool:
    """Whether the Node object may go: nothing is left on it, or only pods that were made when its machine was gone.

    A pod that tolerates everything may be put there again as often as it is deleted, until there is no node any more.
    """
    pods, attached = _left_on(snapshot, node.metadata.name)
    return not attached and all(_is_younger(pod, gone_at) for pod in pods)


def _deleted(pods: list[Pod], name: str) -> list[Action]:
    return [
        DeleteObject(subject=reference_to(PODS, pod.metadata), why=f"its machine {name} is gone", grace_seconds=0)
        for pod in sorted(pods, key=lambda one: (one.metadata.namespace, one.metadata.name))
    ]


def _is_younger(pod: Pod, gone_at: datetime | None) -> bool:
    born = pod.metadata.creation_timestamp
    return born is not None and gone_at is not None and born > gone_at


def _left_on(snapshot: Snapshot, name: str) -> tuple[list[Pod], list[VolumeAttachment]]:
    attached = [one for one in snapshot.table(VOLUME_ATTACHMENTS).values() if one.spec.node_name == name]
    here = snapshot.pods_by_node.get(name, {}).values()
    return [pod for pod in here if _must_go(pod, keeps_volumes=bool(attached))], attached


def _must_go(pod: Pod, *, keeps_volumes: bool) -> bool:
    """Daemons go with their node, and would come back before that; but not as long as they may keep a volume there.

    One that is going and held by a finalizer is somebody else's business.
    """
    is_held = pod.metadata.deletion_timestamp is not None and bool(pod.metadata.finalizers)
    keeps_one = keeps_volumes and any(volume.is_claim for volume in pod.spec.volumes)
    return not is_held and (not is_daemon(pod) or keeps_one)
