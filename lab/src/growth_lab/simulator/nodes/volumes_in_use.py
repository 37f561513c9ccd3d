"""Which volumes a kubelet says it uses: while it does, they are not detached."""

from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pods_by_node import PodsByNode
from growth_lab.simulator.served_kinds import CLAIMS, NODES, VOLUMES
from growth_lab.simulator.store import Store


class VolumesInUse:
    """Keeps ``status.volumesInUse`` of nodes, and says whose volumes are still to be attached."""

    def __init__(self, store: Store, pods: PodsByNode) -> None:
        self._store, self._pods = store, pods

    def report(self, node_name: str) -> None:
        """Write what the pods of a node use now."""
        node = self._store.get(NODES, node_name)
        if node is None:
            return
        used = sorted({volume for pod in self._pods.on(node_name) if _holds(pod) for volume in self._volumes(pod)})
        if used != sorted(part(node, "status").get("volumesInUse") or ()):
            self._store.patch(NODES, node_name, patch={"status": {"volumesInUse": used or None}})

    def are_attached(self, pod: Json) -> bool:
        """Whether the pod can start as far as its volumes are concerned."""
        wanted = self._volumes(pod)
        if not wanted:
            return True
        node = self._store.get(NODES, pod["spec"]["nodeName"])
        attached = [] if node is None else [known["name"] for known in parts(node, "status", "volumesAttached")]
        return all(volume in attached for volume in wanted)

    def _volumes(self, pod: Json) -> list[str]:
        found: list[str] = []
        for volume in parts(pod, "spec", "volumes"):
            name = part(volume, "persistentVolumeClaim").get("claimName", "")
            claim = self._store.get(CLAIMS, name, pod["metadata"]["namespace"]) if name else None
            known = self._store.get(VOLUMES, part(claim, "spec").get("volumeName", "")) if claim is not None else None
            csi = part(known, "spec", "csi") if known is not None else {}
            if csi:
                found.append(f"kubernetes.io/csi/{csi['driver']}^{csi['volumeHandle']}")
        return found


def _holds(pod: Json) -> bool:
    return part(pod, "status").get("phase") not in ("Succeeded", "Failed")
