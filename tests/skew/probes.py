"""What a server does, where discovery does not say what it can."""

import asyncio
import time
from typing import Final

from growth.api.kinds import NAMESPACES, NODES, PERSISTENT_VOLUME_CLAIMS, PODS, STORAGE_CLASSES
from growth.api.server_features import FEATURES
from growth.kube.client import Client
from growth.kube.errors import Invalid
from growth.kube.transport import Method, Request
from growth_lab.local_cluster.cluster import LocalCluster

_NAME: Final = "skew"
_BINDING_SECONDS: Final = 20.0
_NOMINATION_SECONDS: Final = 2.0
_SELECTED: Final = "volume.kubernetes.io/selected-node"


async def features_shown(cluster: LocalCluster) -> dict[str, bool]:
    """Every feature for which nothing is served, by name, and whether the server shows it."""
    streaming, nominating = (one.name for one in FEATURES if not one.group_version)
    return {streaming: await _streams_lists(cluster.admin), nominating: await _nominates(cluster)}


async def _streams_lists(client: Client) -> bool:
    query = (
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("sendInitialEvents", "true"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("timeoutSeconds", "1"),
    )
    try:
        async with client.stream(Request(Method.GET, NAMESPACES.collection(), query)):
            return True
    except Invalid:
        return False


async def _nominates(cluster: LocalCluster) -> bool:
    """A pod whose volume is never made: its claim is assigned to a node, and the pod says so or not."""
    client = cluster.admin
    await cluster.add_namespace(_NAME)
    (node,) = await cluster.add_nodes(1, prefix=_NAME)
    never = {
        "metadata": {"name": _NAME},
        "provisioner": "never.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    await client.create(STORAGE_CLASSES, never)
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"storageClassName": _NAME, "accessModes": ["ReadWriteOnce"], "resources": resources}
    await client.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": _NAME}, "spec": spec}, _NAME)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": _NAME}}
    pod = {"containers": [{"name": "main", "image": "main"}], "volumes": [volume]}
    await client.create(PODS, {"metadata": {"name": _NAME}, "spec": pod}, _NAME)
    try:
        await _until_selected(client)
        deadline = time.monotonic() + _NOMINATION_SECONDS
        while time.monotonic() < deadline:
            if (await client.get(PODS, _NAME, _NAME)).status.nominated_node_name:
                return True
            await asyncio.sleep(0.05)
        return False
    finally:
        await client.delete(PODS, _NAME, _NAME, grace_seconds=0)
        await client.delete(NAMESPACES, _NAME)
        await client.delete(STORAGE_CLASSES, _NAME)
        await client.delete(NODES, node)


async def _until_selected(client: Client) -> None:
    deadline = time.monotonic() + _BINDING_SECONDS
    while _SELECTED not in (await client.get(PERSISTENT_VOLUME_CLAIMS, _NAME, _NAME)).metadata.annotations:
        assert time.monotonic() < deadline, "the scheduler assigned the claim to no node"
        await asyncio.sleep(0.05)
