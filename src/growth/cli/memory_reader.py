"""What is remembered, read for a person: the same pages that Growth decides on, from a few lists."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from difflib import get_close_matches
from typing import TypeVar

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import NODES, Kind
from growth.api.node import Node
from growth.api.node_memory import MEMORIES, TRANSACTIONS, MemoryObject
from growth.api.offering import POOL
from growth.api.settings.model import MemorySettings, Settings
from growth.cli.errors import UsageError
from growth.decide.node_memory.context import NodeMemoryContext
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.observe.cache import ClusterCache
from growth.observe.node_history import NodePage

T = TypeVar("T")
Now = Callable[[], datetime]


class MemoryBook(msgspec.Struct, frozen=True):
    """All names, and each memory as it stands in the cluster, readable or not."""

    at: datetime
    pages: Mapping[str, NodePage]
    memories: Mapping[str, MemoryObject]


async def read_book(client: Client, settings: MemorySettings, now: Now) -> MemoryBook:
    """What is known about every name."""
    world = ClusterCache(now, remembers=True)
    nodes = await client.list(NODES)
    transactions = await client.list(TRANSACTIONS, settings.transaction_namespace)
    # Last: what a transaction says may have become a memory meanwhile, and then it is seen twice, not never.
    memories = await client.list(MEMORIES, settings.namespace)
    _tell(world, NODES, nodes.items)
    _tell(world, TRANSACTIONS, transactions.items)
    ours = [one for one in memories.items if _is_ours(one) or one.metadata.name in world.past.pages]
    _tell(world, MEMORIES, ours)
    return MemoryBook(now(), world.past.pages, {one.metadata.name: one for one in ours})


def _is_ours(found: MemoryObject) -> bool:
    """Whether it is a memory at all: Kubernetes puts a ConfigMap of its own into every namespace, kube-root-ca.crt."""
    return bool(found.data.memory or found.data.checkpoint)


async def read_scene(client: Client, settings: Settings, name: str, now: Now) -> NodeMemoryContext:
    """What is known about one name, and about the node whose place it takes: a few objects, not all of them."""
    world, where = ClusterCache(now, remembers=True), settings.memory
    node = await found(client, NODES, name)
    _tell(world, NODES, [node] if node is not None else [])
    _tell(world, TRANSACTIONS, (await client.list(TRANSACTIONS, where.transaction_namespace)).items)
    memories = [await found(client, MEMORIES, name, where.namespace)]
    request = await found(client, NODE_REQUESTS, name)
    if request is not None:
        _tell(world, NODE_REQUESTS, [request])
        if request.spec.replaces:
            memories.append(await found(client, MEMORIES, request.spec.replaces, where.namespace))
            before = await found(client, NODES, request.spec.replaces)
            _tell(world, NODES, [before] if before is not None else [])
    _tell(world, MEMORIES, [one for one in memories if one is not None])
    memory = world.past.pages[name].record if name in world.past.pages else None
    labels = node.metadata.labels if node is not None else memory.memento.labels if memory is not None else {}
    if pool := labels.get(POOL):
        pools = await found(client, NODE_POOLS, pool)
        _tell(world, NODE_POOLS, [pools] if pools is not None else [])
    return NodeMemoryContext(world.snapshot(now()), settings)


async def read_node(client: Client, settings: Settings, name: str, now: Now) -> tuple[Node, NodeMemoryContext]:
    """A node that is there, with its pool; refused with the closest name if it is not."""
    context = await read_scene(client, settings, name, now)
    node = context.page(name).node
    if node is None:
        names = [one.metadata.name for one in (await client.list(NODES)).items]
        raise unknown(f"there is no node {name!r}", name, names)
    return node, context


async def found(client: Client, kind: Kind[T], name: str, namespace: str = "") -> T | None:
    """An object; None if it is not there, or its whole kind is not (memory also runs without ours)."""
    try:
        return await client.get(kind, name, namespace)
    except NotFound:
        return None


def unknown(what: str, name: str, names: Collection[str]) -> UsageError:
    """What to say about a name that nobody bears."""
    close = get_close_matches(name, names, 1)
    hint = f"the closest is {close[0]!r}" if close else f"there are {len(names)} names: growth memory list"
    return UsageError(f"{what}; {hint}")


def _tell(world: ClusterCache, kind: Kind[T], objects: list[T]) -> None:
    world.listeners()[kind]([Change(ChangeType.ADDED, one, None) for one in objects])
