"""Claims, volumes, classes and nodes for tests of the storage controllers."""

from typing import Any

from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import ATTACHMENTS, CLAIMS, NODES, PODS, STORAGE_CLASSES, VOLUMES
from growth_lab.simulator.volumes import Volumes
from lab.tests.simulator.rehearsal import Rehearsal

DRIVER = "csi.example.org"
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}


def a_class(name: str, provisioner: str = "kubernetes.io/no-provisioner", **fields: Any) -> Json:  # noqa: ANN401
    return {"metadata": {"name": name}, "provisioner": provisioner, **fields}


def a_volume(name: str, size: str = "10Gi", *, storage_class: str = "manual", **spec: Any) -> Json:  # noqa: ANN401
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": DRIVER, "volumeHandle": name},
            **spec,
        },
    }


def a_claim(name: str, size: str = "1Gi", *, storage_class: str | None = "manual", **spec: Any) -> Json:  # noqa: ANN401
    wanted: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    if storage_class is not None:
        wanted["storageClassName"] = storage_class
    return {"metadata": {"name": name, "namespace": "default"}, "spec": wanted}


class Disks:
    """Two nodes, one bound volume, and the hands that failover tests need."""

    def __init__(self, scene: Rehearsal, **volume: Any) -> None:  # noqa: ANN401
        self.scene, self.store = scene, scene.store
        self.volumes = Volumes(scene.clock, scene.store, scene.timings)
        self.in_use = f"kubernetes.io/csi/{DRIVER}^disk"
        scene.store.create(STORAGE_CLASSES, a_class("manual"))
        scene.store.create(VOLUMES, a_volume("disk", **volume))
        scene.store.create(CLAIMS, a_claim("data", accessModes=volume.get("accessModes", ["ReadWriteOnce"])))
        for name in ("node-1", "node-2"):
            self.add_node(name)

    def add_node(self, name: str) -> None:
        marks = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
        ready = [{"type": "Ready", "status": "True"}]
        self.scene.add_node(name, metadata={"annotations": marks}, status={"conditions": ready})

    def start_pod(self, name: str = "db-0", node: str = "node-1") -> Json:
        """Assigned and running; the claim may still have to be bound."""
        spec = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
        pod = self.store.create(PODS, {"metadata": {"name": name, "namespace": "default", "labels": {}}, "spec": spec})
        return self.scene.run(pod, node)

    async def run_on_node_1(self) -> Json:
        """A pod that runs on node-1 with the volume attached and in use."""
        pod = self.start_pod()
        await self.scene.wait(2)
        self.use("node-1")
        return pod

    def use(self, node: str, *, is_used: bool = True) -> None:
        """What a kubelet says of the volumes that it has mounted."""
        in_use = [self.in_use] if is_used else None
        self.store.patch(NODES, node, patch={"status": {"volumesInUse": in_use}})

    def silence(self, node: str) -> None:
        """What the node lifecycle controller says of a node that died."""
        unknown = [{"type": "Ready", "status": "Unknown"}]
        self.store.patch(NODES, node, patch={"status": {"conditions": unknown}})

    def taint(self, node: str, effect: str = "NoExecute") -> None:
        self.store.patch(NODES, node, patch={"spec": {"taints": [{**OUT_OF_SERVICE, "effect": effect}]}})

    def untaint(self, node: str) -> None:
        self.store.patch(NODES, node, patch={"spec": {"taints": None}})

    def attachments(self) -> dict[str, bool]:
        """Where the volume is, and whether it is attached there; what is on its way out is not."""
        return {
            known["spec"]["nodeName"]: bool(part(known, "status").get("attached"))
            and "deletionTimestamp" not in known["metadata"]
            for known in self.store.all(ATTACHMENTS)
        }

    def reported(self, node: str) -> list[str]:
        known = self.store.get(NODES, node)
        assert known is not None
        return [volume["name"] for volume in part(known, "status").get("volumesAttached", ())]
