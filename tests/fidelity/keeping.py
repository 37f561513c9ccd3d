"""Two ways to keep places for the pods that a plan is about; the product uses keys, nomination is here to compare.

A *key* is a toleration of the node's own start-up taint (``growth.api.taints``). It wakes the pod, outlives failed
attempts, and nobody else can get in. A *nomination* (``status.nominatedNodeName``) is only a wish: a failed attempt
clears it, and a pod whose node is still closed may stray to any other node that opened before.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from growth.api.kinds import NODES, PODS
from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.taints import closed, key_to, tolerations_of
from growth.kube.client import Client
from growth.kube.errors import ApiError
from growth.kube.patches import JsonPatch, MergePatch

Homes = Mapping[str, str]
"""Which pod (uid) is meant for which new node."""


class Keeping(Protocol):
    """A way to make a plan come true, once its nodes are there and closed."""

    again: int
    """How often something had to be done anew."""

    async def hand_over(self, kept: Homes, pods: Mapping[str, Pod], nodes: Sequence[str]) -> None:
        """Keep the places, and open ``nodes`` as far as this way needs them open."""
        ...

    async def tend(self, kept: Homes, pods: Mapping[str, Pod]) -> None:
        """Look after pods that still wait."""
        ...


class ByKey:
    """Nodes stay closed, and each pod holds the key to its own."""

    def __init__(self, client: Client) -> None:
        self._client, self.again = client, 0

    async def hand_over(self, kept: Homes, pods: Mapping[str, Pod], nodes: Sequence[str]) -> None:
        """Nodes where nobody holds a key are opened to all."""
        free = set(nodes) - set(kept.values())
        await asyncio.gather(*(open_up(self._client, node) for node in free))
        await asyncio.gather(*(self._give_key(pods[uid], node) for uid, node in kept.items()))

    async def tend(self, kept: Homes, pods: Mapping[str, Pod]) -> None:
        """Nothing: a key is never lost."""

    async def _give_key(self, pod: Pod, node: str) -> None:
        meta, key = pod.metadata, msgspec.to_builtins(key_to(node))
        add = {"op": "add", "path": "/spec/tolerations/-", "value": key}
        if not tolerations_of(pod):
            add = {"op": "add", "path": "/spec/tolerations", "value": [key]}
        await self._client.patch(PODS, meta.name, JsonPatch([add]), meta.namespace)


class ByNomination:
    """Pods are nominated, then all nodes open, and who lost its nomination is nominated again."""

    def __init__(self, client: Client) -> None:
        self._client, self.again = client, 0

    async def hand_over(self, kept: Homes, pods: Mapping[str, Pod], nodes: Sequence[str]) -> None:
        """Nominate, then open all at once."""
        await asyncio.gather(*(self._nominate(pods[uid], node) for uid, node in kept.items()))
        await asyncio.gather(*(open_up(self._client, node) for node in nodes))

    async def tend(self, kept: Homes, pods: Mapping[str, Pod]) -> None:
        """A failed attempt clears the nomination."""
        for uid, node in kept.items():
            if not pods[uid].node_name and pods[uid].status.nominated_node_name != node:
                self.again += 1
                await self._nominate(pods[uid], node)

    async def _nominate(self, pod: Pod, node: str) -> None:
        meta = pod.metadata
        patch = MergePatch({"status": {"nominatedNodeName": node}})
        try:
            await self._client.patch(PODS, meta.name, patch, meta.namespace, subresource="status")
        except ApiError as error:  # bound meanwhile: the API server refuses to nominate such a pod
            if "nominatedNodeName" not in str(error):
                raise


async def open_up(client: Client, node: str) -> None:
    """Let everybody in."""
    await client.patch(NODES, node, MergePatch({"spec": {"taints": None}}))


def closed_manifest(node: Node) -> dict[str, Any]:
    """The node as it registers, with the start-up taint that keeps the scheduler off it."""
    manifest: dict[str, Any] = json.loads(msgspec.json.encode(node))
    manifest["metadata"].pop("uid", None)
    taints = manifest.setdefault("spec", {}).setdefault("taints", [])
    taints.append(msgspec.to_builtins(closed(node.metadata.name)))
    return manifest
