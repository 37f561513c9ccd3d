"""What is left of a node's old life: pods and volumes, and why each of them is still there."""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from growth.api.node import Node
from growth.api.out_of_service import SHUTDOWN, out_of_service_taint
from growth.api.pod import Pod
from growth.api.pod_classification import is_static
from growth.api.storage import VolumeAttachment
from growth.api.tolerations import Taint, tolerates
from growth.observe.snapshot import Snapshot


class RemainingObjects(msgspec.Struct, frozen=True, dict=True):
    """Pods and volumes of one node."""

    pods: tuple[Pod, ...]
    """Those that must go: they do not tolerate the taint, and have not ended."""
    staying: tuple[Pod, ...]
    """Those that tolerate the taint: nobody ends them."""
    lingering: tuple[Pod, ...]
    """Those that have ended, and that a finalizer keeps."""
    attachments: tuple[VolumeAttachment, ...]

    @cached_property
    def all(self) -> Sequence[Pod | VolumeAttachment]:
        """What must be gone before the node is free of its old life."""
        return (*self.pods, *self.lingering, *self.attachments)


def left_on(snapshot: Snapshot, node: Node) -> RemainingObjects:
    """What is left on this node."""
    name, taint = node.metadata.name, out_of_service_taint(node) or SHUTDOWN
    here = snapshot.pods_by_node.get(name, {}).values()
    return RemainingObjects(
        pods=tuple(sorted((pod for pod in here if not _stays(pod, taint)), key=_place)),
        staying=tuple(pod for pod in here if _stays(pod, taint)),
        lingering=tuple(pod for pod in snapshot.lingering.values() if pod.node_name == name),
        attachments=tuple(snapshot.attachments_by_node.get(name, ())),
    )


def why_kept(leftovers: RemainingObjects) -> list[tuple[str, str]]:
    """Why something is still there, each as a word and a sentence."""
    said: list[tuple[str, str]] = []
    for pod in (*leftovers.lingering, *leftovers.pods):
        if pod.metadata.deletion_timestamp is not None and pod.metadata.finalizers:
            keepers = ", ".join(pod.metadata.finalizers)
            said.append(("HeldByFinalizer", f"pod {_shown(pod)} ended, and is kept by {keepers}"))
    staying = [pod for pod in leftovers.staying if any(volume.is_claim for volume in pod.spec.volumes)]
    if leftovers.attachments:
        said += [
            ("HeldByToleration", f"pod {_shown(pod)} tolerates the taint, and keeps its volumes") for pod in staying
        ]
    for one in leftovers.attachments:
        volume = one.spec.source.persistent_volume_name or one.metadata.name
        if one.metadata.deletion_timestamp is not None:
            said.append(("DriverSilent", f"volume {volume}: the driver {one.spec.attacher} does not confirm"))
        elif not staying and not leftovers.pods:
            said.append(("NotDetached", f"volume {volume} is still attached: kube-controller-manager has not begun"))
    return said


def what_is_left(left: RemainingObjects) -> str:
    """It, counted."""
    parts = [
        _counted(left.pods, "pod") if left.pods else "",
        f"{len(left.lingering)} that ended and are kept" if left.lingering else "",
        _counted(left.attachments, "volume") if left.attachments else "",
    ]
    return f"left of its old life: {', '.join(part for part in parts if part)}"


def _counted(things: Sequence[object], what: str) -> str:
    return f"{len(things)} {what}s" if len(things) != 1 else f"a {what}"


def _stays(pod: Pod, taint: Taint) -> bool:
    return is_static(pod) or any(tolerates(toleration, taint) for toleration in pod.spec.tolerations)


def _place(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name


def _shown(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
