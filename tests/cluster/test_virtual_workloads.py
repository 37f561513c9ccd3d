"""The virtual controllers of workloads and storage, and the real ones: the same scenes, the same decisions."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final

import pytest

from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.simulator.api.rbac import ADMIN
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.nodes import Machine
from growth_lab.simulator.served_kinds import NAMESPACES
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cluster.workload_scenes import APPS, BATCH, POLICY, SCENE, STORAGE, Json, World, a_budget

pytestmark = pytest.mark.cluster

Scene = Callable[[World], AsyncGenerator[str]]
NEW: Final = {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "shop/app:2"}]}}}}
ROOM: Final = {"cpu": "8", "memory": "32Gi", "pods": "110"}


async def deployments(world: World) -> AsyncGenerator[str]:
    await world.post(APPS, "deployments", world.workload("web", replicas=3))
    await world.post(POLICY, "poddisruptionbudgets", a_budget("few", "web", maxUnavailable="30%"))
    yield "made"
    await world.patch(APPS, "deployments/web", {"spec": {"replicas": 6}})
    yield "scaled up"
    await world.delete("/api/v1", f"pods/{(await world.pods('web'))[0]['metadata']['name']}")
    await world.end_a_pod("web", "Failed")
    yield "one pod deleted, one failed"
    await world.patch(APPS, "deployments/web", NEW)
    yield "updated"
    await world.patch(APPS, "deployments/web", {"spec": {"template": world.template("web")}})
    yield "turned back"
    await world.patch(APPS, "deployments/web", {"spec": {"replicas": 0}})
    yield "scaled to nothing"
    await world.delete(APPS, "deployments/web", propagationPolicy="Foreground")
    yield "deleted in the foreground"


async def stateful_sets(world: World) -> AsyncGenerator[str]:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    claims = [{"metadata": {"name": "data"}, "spec": claim}]
    await world.post(APPS, "statefulsets", world.workload("db", replicas=2, volumeClaimTemplates=claims))
    await world.post(APPS, "statefulsets", world.workload("all", replicas=3, podManagementPolicy="Parallel"))
    await world.post(POLICY, "poddisruptionbudgets", a_budget("all", "all", maxUnavailable=1))
    yield "made"
    await world.delete("/api/v1", "pods/all-1")
    yield "one pod deleted"
    await world.patch(APPS, "statefulsets/all", NEW)
    yield "updated"
    await world.patch(APPS, "statefulsets/all", {"spec": {"replicas": 1}})
    yield "scaled down"
    await world.delete(APPS, "statefulsets/db")
    yield "deleted, but for its claims"


async def jobs(world: World) -> AsyncGenerator[str]:
    template = world.template("batch", restartPolicy="Never")
    spec = {"parallelism": 2, "completions": 3, "template": template}
    await world.post(BATCH, "jobs", {"metadata": {"name": "batch"}, "spec": spec})
    await world.post(POLICY, "poddisruptionbudgets", a_budget("batch", "batch", maxUnavailable=1))
    yield "made"
    await world.patch(BATCH, "jobs/batch", {"spec": {"suspend": True}})
    yield "suspended"
    await world.patch(BATCH, "jobs/batch", {"spec": {"suspend": False}})
    yield "resumed"
    await world.end_a_pod("batch", "Succeeded")
    yield "one pod succeeded"
    await world.end_a_pod("batch", "Succeeded")
    yield "two pods succeeded"
    await world.end_a_pod("batch", "Succeeded")
    yield "complete"
    await world.post(BATCH, "jobs", {"metadata": {"name": "lost"}, "spec": {**spec, "backoffLimit": 0}})
    yield "another one"
    await world.end_a_pod("batch", "Failed")
    yield "failed"
    await world.delete(BATCH, "jobs/batch", propagationPolicy="Orphan")
    yield "orphaned"
    await world.delete(BATCH, "jobs/lost", propagationPolicy="Background")
    yield "deleted in the background"


async def daemon_sets(world: World) -> AsyncGenerator[str]:
    wanted = {SCENE: world.namespace, "wanted": "yes"}
    template = world.template("agent", nodeSelector=wanted)
    await world.post(APPS, "daemonsets", world.workload("agent", template=template))
    yield "made, and no node is wanted"
    await world.label_nodes(wanted="yes")
    yield "two nodes are wanted"
    await world.end_a_pod("agent", "Failed")
    yield "one pod failed"
    await world.patch(APPS, "daemonsets/agent", NEW)
    yield "updated"
    await world.label_nodes(wanted=None)
    yield "no node is wanted any more"


def a_claim(name: str, storage_class: str, size: str = "1Gi", **spec: object) -> Json:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": name}, "spec": {"storageClassName": storage_class, **wanted, **spec}}


def a_volume(name: str, storage_class: str, size: str, **spec: object) -> Json:
    shape = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class}
    source = {"csi": {"driver": "csi.example.org", "volumeHandle": name}}
    return {"metadata": {"name": name}, "spec": {**shape, **source, **spec}}


async def claims(world: World) -> AsyncGenerator[str]:
    manual, waiting = f"{world.namespace}-manual", f"{world.namespace}-waiting"
    for name, mode in ((manual, "Immediate"), (waiting, "WaitForFirstConsumer")):
        body = {"metadata": {"name": name}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode}
        await world.post_for_all(STORAGE, "storageclasses", body)
    for size in ("20Gi", "5Gi", "1Gi"):
        volume = a_volume(f"{manual}-{size.lower()}", manual, size, persistentVolumeReclaimPolicy="Delete")
        await world.post_for_all("/api/v1", "persistentvolumes", volume)
    await world.post_for_all("/api/v1", "persistentvolumes", a_volume(f"{waiting}-1", waiting, "3Gi"))
    yield "volumes made"
    await world.post("/api/v1", "persistentvolumeclaims", a_claim("middle", manual, "2Gi"))
    await world.post("/api/v1", "persistentvolumeclaims", a_claim("huge", manual, "100Gi"))
    await world.post("/api/v1", "persistentvolumeclaims", a_claim("late", waiting))
    yield "claims made"
    for name, claim in (("one", "middle"), ("two", "late")):
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        pod = world.template(name, volumes=volumes)
        await world.post("/api/v1", "pods", {**pod, "metadata": {**pod["metadata"], "name": name}})
    yield "pods use them"
    for name in ("middle", "late", "huge"):
        await world.delete("/api/v1", f"persistentvolumeclaims/{name}")
    await world.delete_for_all("/api/v1", f"persistentvolumes/{waiting}-1")
    await world.end_a_pod("one", "Succeeded")
    yield "deleted while in use"
    for name in ("one", "two"):
        await world.delete("/api/v1", f"pods/{name}")
    yield "no longer in use"
    await world.post("/api/v1", "persistentvolumeclaims", a_claim("middle", manual, "2Gi"))
    yield "the same name again"
    for size in ("20gi", "5gi", "1gi"):
        await world.delete_for_all("/api/v1", f"persistentvolumes/{manual}-{size}")
    for name in (manual, waiting):
        await world.delete_for_all(STORAGE, f"storageclasses/{name}")
    yield "the volumes deleted, but for one that is bound"


SCENES: Final[dict[str, Scene]] = {
    "deployments": deployments,
    "stateful sets": stateful_sets,
    "jobs": jobs,
    "daemon sets": daemon_sets,
    "claims": claims,
}


def play_virtually(scene: Scene, namespace: str) -> list[tuple[str, Json]]:
    """What the virtual cluster makes of each step, a few seconds after it."""

    async def play() -> list[tuple[str, Json]]:
        cluster = VirtualCluster(1)
        names = ("node-1", "node-2")
        for name in names:
            meta = {"name": name, "labels": {SCENE: namespace}}
            cluster.kubelets.boot(Machine(node={"metadata": meta, "status": {"capacity": ROOM, "allocatable": ROOM}}))
        cluster.store.create(NAMESPACES, {"metadata": {"name": namespace}})
        await asyncio.sleep(10)
        world = World(cluster.api.connect(ADMIN), namespace, names)
        seen: list[tuple[str, Json]] = []
        async for step in scene(world):
            await asyncio.sleep(4)
            seen.append((step, await world.view()))
        return seen

    return run_virtually(play())


@pytest.mark.parametrize("name", SCENES)
async def test_both_worlds_decide_alike(control_plane: LocalCluster, namespace: str, name: str) -> None:
    expected = iter(await asyncio.to_thread(play_virtually, SCENES[name], namespace))
    nodes = await control_plane.add_nodes(2, prefix=namespace, labels={SCENE: namespace})
    world = World(control_plane.admin.transport, namespace, nodes)
    async for step in SCENES[name](world):
        done, wanted = next(expected)
        assert step == done
        shown: Json = {}
        for _ in range(300):
            shown = await world.view()
            if shown == wanted:
                break
            await asyncio.sleep(0.1)
        assert shown == wanted, f"after: {step}"
