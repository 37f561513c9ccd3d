"""After a story in which Growth acted: machines, nodes and objects are taken away, so that the next one begins anew.

Admission policies of the API server: by them who names a queue is held back from the first instant.
"""

from contextlib import suppress
from typing import Any, Final

from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS, NODES, PODS, VOLUME_ATTACHMENTS, Kind
from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.node_memory import SHARD_LABEL, SHARD_LEASES, SHARD_OF
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.settings.model import Settings
from growth.cloud.kwok.machine_record import SELECTOR
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.kube.patches import MergePatch

_USUAL: Final = Settings()
_GROWTHS_NAMESPACE: Final = _USUAL.namespace


async def sweep(client: Client) -> None:
    """Take everything away. Nobody else is on this cluster, and Growth has stopped."""
    for pool in (await client.list(NODE_POOLS)).items:
        name = pool.metadata.name
        with suppress(NotFound):
            await client.patch(NODE_POOLS, name, MergePatch({"metadata": {"finalizers": None}}))
            await client.delete(NODE_POOLS, name)
    await _delete_all(client, NODE_MOVES)
    await _delete_all(client, NODE_REQUESTS)
    await _delete_all(client, NODE_REMOVAL_REQUESTS)
    for own in QUEUE_KINDS:
        await _delete_all(client, own.kind)
    with suppress(NotFound):  # before Kubernetes 1.36 there is no such kind
        await _delete_all(client, POLICY_BINDINGS)
        await _delete_all(client, POLICIES)
    await _end_all(client)
    await _unregister_all(client)
    await _detach_all(client)
    await _forget_all(client)
    with suppress(NotFound):  # a next Growth would go on from an unhealthy cluster
        await client.delete(CONFIG_MAPS, GROWTH_STATUS, _GROWTHS_NAMESPACE)
    for machine in (await client.list(CONFIG_MAPS, _GROWTHS_NAMESPACE, label_selector=SELECTOR)).items:
        with suppress(NotFound):
            await client.delete(CONFIG_MAPS, machine.metadata.name, _GROWTHS_NAMESPACE)


async def _end_all(client: Client) -> None:
    """Pods first: as long as one of them is there, its volume would be attached again, though its node is gone."""
    for pod in (await client.list(PODS)).items:
        name, space = pod.metadata.name, pod.metadata.namespace
        with suppress(NotFound):
            if pod.metadata.finalizers:
                await client.patch(PODS, name, MergePatch({"metadata": {"finalizers": None}}), space)
            await client.delete(PODS, name, space, grace_seconds=0)


async def _unregister_all(client: Client) -> None:
    """Nobody is there any more who would let nodes go that memory holds."""
    for node in (await client.list(NODES)).items:
        name = node.metadata.name
        with suppress(NotFound):
            if node.metadata.finalizers:
                await client.patch(NODES, name, MergePatch({"metadata": {"finalizers": None}}))
            await client.delete(NODES, name)


async def _forget_all(client: Client) -> None:
    """What is remembered, and who worked on it: the next Growth would wait until that Lease has run out."""
    for namespace in (_USUAL.memory.transaction_namespace, _USUAL.memory.namespace):
        for thing in (await client.list(CONFIG_MAPS, namespace)).items:
            with suppress(NotFound):
                await client.delete(CONFIG_MAPS, thing.metadata.name, namespace)
    shards = await client.list(SHARD_LEASES, _GROWTHS_NAMESPACE, label_selector=f"{SHARD_LABEL}={SHARD_OF}")
    for lease in shards.items:
        with suppress(NotFound):
            await client.delete(SHARD_LEASES, lease.metadata.name, _GROWTHS_NAMESPACE)


async def _detach_all(client: Client) -> None:
    """Volumes of a node that is gone are detached minutes later, and a driver that a story silenced lets none go."""
    for attachment in (await client.list(VOLUME_ATTACHMENTS)).items:
        name = attachment.metadata.name
        with suppress(NotFound):
            await client.delete(VOLUME_ATTACHMENTS, name)
            await client.patch(VOLUME_ATTACHMENTS, name, MergePatch({"metadata": {"finalizers": None}}))


async def _delete_all(client: Client, kind: Kind[Any]) -> None:
    for thing in (await client.list(kind)).items:
        with suppress(NotFound):
            await client.delete(kind, thing.metadata.name, thing.metadata.namespace)


class AdmissionObject(FrozenValue, frozen=True):
    """A policy or its binding. Nothing in it is decided on: it is put there and taken away."""

    metadata: ObjectMeta


_GROUP: Final = "admissionregistration.k8s.io"
POLICIES: Final = Kind(
    _GROUP, "v1", "mutatingadmissionpolicies", "MutatingAdmissionPolicy", namespaced=False, type=AdmissionObject
)
POLICY_BINDINGS: Final = Kind(
    _GROUP,
    "v1",
    "mutatingadmissionpolicybindings",
    "MutatingAdmissionPolicyBinding",
    namespaced=False,
    type=AdmissionObject,
)
