"""What the stories of memory have in common: nodes that leave and come back, and what is written about them."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.kinds import NODES
from growth.api.node_memory import (
    MARKER,
    MEMORIES,
    SHARD_LABEL,
    SHARD_LEASES,
    SHARD_OF,
    TRANSACTIONS,
    NodeRecord,
    Transaction,
    TransactionObject,
    read_memory,
    read_transaction,
    shard_name,
    shard_of,
)
from growth.api.settings.model import Settings
from growth.api.timestamp import format_micro_time
from growth.kube.errors import AlreadyExists, Conflict, NotFound
from growth.kube.informer import Informer
from growth.kube.patches import MergePatch
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK
from tests.stories.troubles import SHORT_TERMS

TEAM: Final = "example.com/team"
RACK: Final = "example.com/rack"
CHANCE: Final = "ready,unknown,unreachable"
"""Left to chance where nodes come and go: whether and when their kubelets are heard. Memory does not ask for it."""
UNSEEN: Final = "what happens in the moment in which nobody watches is known by its last checkpoint only"
"""Why a story may end differently if Growth is stopped; with ``memory.finalizer`` none does."""
_NEVER: Final = 3600
_RUN_OUT: Final = timedelta(seconds=2)


def remembering(**terms: Any) -> Settings:  # noqa: ANN401 - those of MemorySettings
    """The settings of these stories. Leases run out soon, so that who comes next need not wait for long."""
    return msgspec.structs.replace(SHORT_TERMS, memory=msgspec.structs.replace(QUICK.memory, **terms))


# Nodes


def named(play: Play, name: str) -> str:
    """What a node is called in the cluster: one that Growth bought for the pool ``default`` has its whole name."""
    return name if name.startswith("default-") else play.full(name)


async def label(play: Play, name: str, labels: Mapping[str, str | None]) -> None:
    """A person sets labels, or takes them away."""
    await play.change(NODES, named(play, name), {"metadata": {"labels": labels}})


async def labels_of(play: Play, name: str) -> dict[str, str]:
    """The labels of a node; none if it is not there."""
    try:
        return (await play.client.get(NODES, named(play, name))).metadata.labels
    except NotFound:
        return {}


async def until_marked(play: Play, *names: str) -> None:
    """Wait until these nodes have their memory back, or are known to have had none."""

    async def have_markers() -> bool:
        return all([MARKER in await labels_of(play, name) for name in names])

    await play.until_found(have_markers, f"{', '.join(names)}: the marker is there")


async def leave(play: Play, *names: str) -> None:
    """Nodes are deleted, and gone."""
    for name in names:
        await play.delete(NODES, named(play, name))
    await play.until(lambda: not set(names) & set(play.trace.nodes), f"{', '.join(names)}: gone")


# What is written


async def memory_of(play: Play, name: str) -> NodeRecord | None:
    """What is remembered of a node; None if nothing is."""
    try:
        return read_memory(await play.client.get(MEMORIES, named(play, name), QUICK.memory.namespace))
    except NotFound:
        return None


async def until_saved(play: Play, name: str, labels: Mapping[str, str | None]) -> None:
    """Wait until these labels are written down; None is one that the node has lost."""

    async def is_saved() -> bool:
        memory = await memory_of(play, name)
        return memory is not None and labels == {key: memory.memento.labels.get(key) for key in labels}

    await play.until_found(is_saved, f"it is written down that {name} has {dict(labels)}")


async def until_remembered(play: Play, name: str) -> None:
    """Wait until a node that left is remembered as one that left, and nothing is left to be done about it."""

    async def is_remembered() -> bool:
        memory = await memory_of(play, name)
        return memory is not None and memory.is_final and not await transactions(play, name)

    await play.until_found(is_remembered, f"{name} is remembered")


async def transactions(play: Play, name: str) -> list[Transaction]:
    """What happened to a node and is not dealt with yet, in its order."""
    objects = (await play.client.list(TRANSACTIONS, QUICK.memory.transaction_namespace)).items
    found = [read_transaction(one) for one in objects]
    return sorted((one for one in found if one and one.node == named(play, name)), key=lambda one: one.version)


async def until_written(play: Play, name: str, *types: str) -> None:
    """Wait until just this is written down about a node, and not dealt with."""

    async def is_written() -> bool:
        return [one.type for one in await transactions(play, name)] == list(types)

    await play.until_found(is_written, f"{name}: {', '.join(types) or 'nothing'} is to be dealt with")


@asynccontextmanager
async def following_transactions(play: Play) -> AsyncGenerator[dict[str, TransactionObject]]:
    """All transactions that are made from now on, by name, and also those that were there."""
    made: dict[str, TransactionObject] = {}

    def hear(changes: list[Change[TransactionObject]]) -> None:
        for change in changes:
            if change.happened is not ChangeType.DELETED and read_transaction(change.now):
                made[change.now.metadata.name] = change.now

    informer = Informer(play.client, TRANSACTIONS, hear, namespace=QUICK.memory.transaction_namespace)
    running = asyncio.create_task(informer.run())
    try:
        await informer.synced.wait()
        yield made
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def write_again(play: Play, found: TransactionObject) -> None:
    """Somebody makes a transaction that was dealt with long ago."""
    body = {"metadata": {"name": found.metadata.name}, "data": msgspec.to_builtins(found.data)}
    await play.client.create(TRANSACTIONS, body, QUICK.memory.transaction_namespace)


# Who works


@asynccontextmanager
async def held_back(play: Play, name: str) -> AsyncGenerator[None]:
    """Nobody works on this node: somebody who does nothing holds the Lease of its shard.

    Whoever held it before may believe to do so until it has run out; so it is taken then, and only then.
    """
    await play.until_found(lambda: _take(play, name), f"the Lease of {name} has run out")
    try:
        yield
    finally:
        spec = {"spec": {"holderIdentity": None}}
        await play.client.patch(SHARD_LEASES, lease_of(play, name), MergePatch(spec), QUICK.namespace)


def lease_of(play: Play, name: str) -> str:
    """The Lease of the shard that a node is in."""
    shards = QUICK.memory.shards
    return shard_name(shard_of(named(play, name), shards), shards)


async def _take(play: Play, name: str) -> bool:
    lease, now = lease_of(play, name), play.now()
    spec = {"holderIdentity": "idle", "leaseDurationSeconds": _NEVER, "renewTime": format_micro_time(now)}
    with suppress(AlreadyExists):
        body = {"metadata": {"name": lease, "labels": {SHARD_LABEL: SHARD_OF}}, "spec": spec}
        await play.client.create(SHARD_LEASES, body, QUICK.namespace)
        return True
    found = await play.client.get(SHARD_LEASES, lease, QUICK.namespace)
    if found.spec.renew_time is not None and now - found.spec.renew_time < _RUN_OUT:
        return False
    version = {"resourceVersion": str(found.metadata.resource_version)}
    try:
        await play.client.patch(SHARD_LEASES, lease, MergePatch({"metadata": version, "spec": spec}), QUICK.namespace)
    except Conflict:
        return False
    return True
