"""A few nodes and what is remembered of them, after a night of maintenance: for a picture and for tests."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from growth.api.change import Change, ChangeType
from growth.api.kinds import NODES, Kind
from growth.api.meta import ObjectMeta
from growth.api.node import Node, NodeSpec
from growth.api.node_memory import (
    MARKER,
    MEMORIES,
    TRANSACTIONS,
    MemoryData,
    MemoryObject,
    NodeContents,
    TransactionData,
    TransactionObject,
    text_of,
    transaction_name,
)
from growth.api.settings.model import Settings
from growth.cli.memory_reader import MemoryBook
from growth.decide.node_memory.context import NodeMemoryContext
from growth.observe.cache import ClusterCache

NOW: Final = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)
_OWN: Final = {"kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": "fsn1-dc14"}


def a_node(name: str, uid: str, labels: Mapping[str, str], **meta: Any) -> Node:  # noqa: ANN401
    """A node that is there."""
    own = {**_OWN, "kubernetes.io/hostname": name}
    return Node(ObjectMeta(name=name, uid=uid, labels={**own, **labels}, **meta), NodeSpec(f"hcloud://{uid}"))


def a_memento(uid: str, version: int, labels: Mapping[str, str], ago: timedelta, **others: Any) -> NodeContents:  # noqa: ANN401
    """What was written down so long ago."""
    return NodeContents(uid=uid, version=version, labels={**_OWN, **labels}, at=NOW - ago, **others)


def a_memory(name: str, memento: NodeContents, *, is_final: bool = True, claimed_by: str = "") -> MemoryObject:
    """A memory as it stands in the cluster."""
    text = text_of(memento)
    data = MemoryData(memory=text if is_final else "", checkpoint="" if is_final else text, claimed_by=claimed_by)
    return MemoryObject(ObjectMeta(name=name, namespace="growth-memory", resource_version=7), data)


def a_transaction(node: str, memento: NodeContents, ago: timedelta, kind: str = "deleted") -> TransactionObject:
    """A transaction that waits for so long."""
    meta = ObjectMeta(name=transaction_name(node, memento.version), creation_timestamp=NOW - ago)
    return TransactionObject(meta, TransactionData(kind, node, text_of(memento)))


def world_of(objects: Mapping[Kind[Any], list[Any]]) -> ClusterCache:
    """What Growth knows when there is this."""
    world = ClusterCache(lambda: NOW, remembers=True)
    for kind, items in objects.items():
        world.listeners()[kind]([Change(ChangeType.ADDED, one, None) for one in items])
    return world


def book_of(objects: Mapping[Kind[Any], list[Any]]) -> MemoryBook:
    """The same, as the commands read it."""
    memories: list[MemoryObject] = objects.get(MEMORIES, [])
    return MemoryBook(NOW, world_of(objects).past.pages, {one.metadata.name: one for one in memories})


def scene_of(objects: Mapping[Kind[Any], list[Any]], settings: Settings | None = None) -> NodeMemoryContext:
    """The same, as decisions are made on it."""
    return NodeMemoryContext(world_of(objects).snapshot(NOW), settings or Settings())


def a_morning() -> dict[Kind[Any], list[Any]]:
    """Five nodes had maintenance: one is back, one is coming back, two are gone, and one memory was edited by hand."""
    day, minute = timedelta(days=1), timedelta(minutes=1)
    team = {"example.com/team": "blue", "example.com/rack": "r7"}
    there = {**team, MARKER: "8123"}
    return {
        NODES: [
            a_node("worker-1", "a1", there),
            a_node("worker-2", "a2", {**there, "example.com/tested": "yes"}),
            a_node("worker-3", "a3", {"example.com/team": "red", "example.com/image": "v12"}),
            a_node("worker-4", "a4", {**team, MARKER: "0"}),
        ],
        MEMORIES: [
            a_memory("worker-1", a_memento("a1", 8201, there, 3 * day), is_final=False),
            a_memory("worker-2", a_memento("a2", 8202, there, 5 * minute), is_final=False),
            a_memory(
                "worker-3",
                a_memento(
                    "old-3",
                    8340,
                    {**team, "example.com/gpu-driver": "550"},
                    41 * minute,
                    removed=("example.com/image",),
                ),
            ),
            MemoryObject(
                ObjectMeta(name="worker-4", namespace="growth-memory"), MemoryData(checkpoint="{labels: oops")
            ),
            a_memory("worker-5", a_memento("a5", 8355, there, 40 * minute)),
            a_memory("worker-6", a_memento("a6", 7112, there, 12 * day), claimed_by="worker-9/b9"),
        ],
        TRANSACTIONS: [
            a_transaction("worker-3", NodeContents(uid="a3", version=8391), timedelta(seconds=1), "added"),
        ],
    }
