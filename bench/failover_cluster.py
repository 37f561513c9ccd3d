"""A cluster of servers that Growth bought, with databases: one pod with one volume each, no two on one node."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from bench.crowd import tell
from bench.failover_sandbox import SandboxProcess, sandbox_running
from bench.failover_witness import Home, Witness, witnessing
from bench.growth_process import GrowthProcess, growth_started, install
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import CSI_DRIVERS, NODES, PERSISTENT_VOLUMES, SECRETS, STORAGE_CLASSES
from growth.kube.client import Client
from growth.kube.patches import MergePatch
from growth.run.shipped_manifests import ACCOUNT
from growth_lab.hetzner_sandbox.sandbox import TOKEN
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.timings import Timings
from growth_lab.scenarios.attacher import Attacher
from growth_lab.scenarios.workloads import STATEFUL_SETS

NAMESPACE: Final = "failover"
_BOOT_SECONDS: Final = 1.0
_DRIVER: Final = "disk.example.com"
_CLASS: Final = "disk"
_USER_DATA: Final = "--node-labels=__GROWTH_LABELS__ --register-with-taints=__GROWTH_TAINTS__"
# Kubelets set it; without it nobody attaches anything. kwok and the sandbox do not.
_MANAGED: Final = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
_AT_ONCE: Final = 16
_PATIENCE_SECONDS: Final = 60.0  # without anything that changes
_LINE_SECONDS: Final = 5.0


class Scene:
    """What is there. Growth is started and ended by whoever measures."""

    def __init__(self, cluster: LocalCluster, sandbox: SandboxProcess, witness: Witness, kubeconfig: Path) -> None:
        self.cluster, self.sandbox, self.witness, self.kubeconfig = cluster, sandbox, witness, kubeconfig

    def growth(self, *, mode: str, speed: str) -> AbstractAsyncContextManager[GrowthProcess]:
        """Growth as a process of its own, under the shipped role."""
        return growth_started(self.cluster, self.kubeconfig, self.settings(mode=mode, speed=speed))

    def settings(self, *, mode: str, speed: str) -> dict[str, Any]:
        """What Growth must be started with to work here; all else is its default."""
        return {
            "providers": {"enabled": "hetzner"},
            "hetzner": {
                "clusterName": "bench",
                "endpoint": self.sandbox.endpoint,
                "tokenSecret": "growth-hetzner",
            },
            "failover": {"mode": mode, "speed": speed},
        }

    async def launch(self, nodes: int, growth: GrowthProcess) -> None:
        """Let Growth buy so many machines that it keeps, and wait until pods can go there."""
        spec = {
            "serverTypes": [{"name": "cx23", "min": nodes}],
            "locations": ["fsn1", "nbg1", "hel1"],
            "machine": {"image": "debian-13", "userDataSecret": {"name": "growth-user-data"}},
        }
        await self.cluster.admin.create(NODE_POOLS, {"metadata": {"name": "default"}, "spec": spec})
        await until(lambda: len(self.witness.open_nodes), nodes, "nodes work", growth)
        names = list(self.witness.nodes)
        await _for_each(names, lambda name: self._patch_node(name, {"metadata": {"annotations": _MANAGED}}))

    async def add_databases(self, pods: Sequence[str], growth: GrowthProcess) -> None:
        """Each a StatefulSet of one pod, and wait until all run with their volumes attached."""
        await _for_each(pods, lambda pod: _create_database(self.cluster.admin, pod.removesuffix("-0")))
        await until(lambda: len(self.homes(pods)), len(pods), "databases run", growth)

    def homes(self, pods: Sequence[str]) -> list[Home]:
        """Where they run."""
        return [home for pod in pods if (home := self.witness.home_of(pod)) is not None]

    async def mount(self, homes: Sequence[Home]) -> None:
        """Say of each volume that its node uses it, as kubelets do: nobody may detach it then without proof."""

        async def say(home: Home) -> None:
            in_use = [f"kubernetes.io/csi/{_DRIVER}^{home.volume}"]
            await self._patch_node(home.node, {"status": {"volumesInUse": in_use}}, subresource="status")

        await _for_each(homes, say)

    async def _patch_node(self, name: str, patch: dict[str, Any], subresource: str = "") -> None:
        await self.cluster.admin.patch(NODES, name, MergePatch(patch), subresource=subresource)


@asynccontextmanager
async def a_scene(pods: Sequence[str], timings: Timings | None = None) -> AsyncGenerator[Scene]:
    """A control plane (with stock timings), a sandbox and an attacher of volumes, until the context ends."""
    async with LocalCluster(timings=timings) as cluster, sandbox_running(cluster, _BOOT_SECONDS) as sandbox:
        kubeconfig = await install(cluster)
        await _add_secrets(cluster.admin)
        await cluster.add_namespace(NAMESPACE)
        await _add_storage(cluster.admin)
        volumes = {pod: f"volume-of-{pod}" for pod in pods}
        attaching = asyncio.create_task(Attacher(cluster.admin).run(), name="attacher")
        try:
            async with witnessing(cluster.admin, volumes, NAMESPACE, ACCOUNT[0]) as witness:
                yield Scene(cluster, sandbox, witness, kubeconfig)
        finally:
            attaching.cancel()
            await asyncio.gather(attaching, return_exceptions=True)


async def until(look: Callable[[], int], wanted: int, what: str, growth: GrowthProcess) -> None:
    """Wait for so many, and say every few seconds how many there are. Raises TimeoutError if nothing changes."""
    seconds, seen, since = 0.0, look(), 0.0
    while seen < wanted:
        await asyncio.sleep(0.1)
        growth.check()
        seconds += 0.1
        if (now := look()) != seen:
            seen, since = now, seconds
        if seconds > since + _PATIENCE_SECONDS:
            raise TimeoutError(f"{seen} of {wanted} {what}, and no more come; of Growth: {growth.last_words()}")
        if seconds % _LINE_SECONDS < 0.1:
            tell(f"    {seconds:4.0f} s: {seen} of {wanted} {what}")


async def _for_each(items: Sequence[Any], do: Callable[[Any], Any]) -> None:
    """Some at a time: the control plane shares this machine with us."""
    rest = iter(items)

    async def work() -> None:
        for item in rest:
            await do(item)

    async with asyncio.TaskGroup() as working:
        for _ in range(_AT_ONCE):
            working.create_task(work())


async def _add_secrets(client: Client) -> None:
    for name, key, text in (("growth-hetzner", "token", TOKEN), ("growth-user-data", "user-data", _USER_DATA)):
        data = {key: base64.b64encode(text.encode()).decode()}
        await client.create(SECRETS, {"metadata": {"name": name}, "data": data}, ACCOUNT[0])


async def _add_storage(client: Client) -> None:
    storage_class = {"metadata": {"name": _CLASS}, "provisioner": "kubernetes.io/no-provisioner"}
    await client.create(STORAGE_CLASSES, storage_class)
    await client.create(CSI_DRIVERS, {"metadata": {"name": _DRIVER}, "spec": {"attachRequired": True}})


async def _create_database(client: Client, name: str) -> None:
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": _CLASS,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": _CLASS,
        "csi": {"driver": _DRIVER, "volumeHandle": f"volume-of-{name}-0"},
        "claimRef": {"namespace": NAMESPACE, "name": f"data-{name}-0"},
    }
    await client.create(PERSISTENT_VOLUMES, {"metadata": {"name": f"volume-of-{name}-0"}, "spec": volume})
    labels = {"app": name, "kind": "database"}
    apart = {"labelSelector": {"matchLabels": {"kind": "database"}}, "topologyKey": "kubernetes.io/hostname"}
    container = {
        "name": "main",
        "image": "none",
        "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    spec = {
        "containers": [container],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}},
    }
    body = {
        "replicas": 1,
        "serviceName": name,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": labels}, "spec": spec},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
    }
    await client.create(STATEFUL_SETS, {"metadata": {"name": name}, "spec": body}, NAMESPACE)
