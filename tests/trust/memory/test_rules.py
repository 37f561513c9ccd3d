"""The rules that keep memory right when streams lag and replicas are late, one by one."""

from typing import Literal

import msgspec
import pytest

from growth.act.action_runner import carry_out
from growth.api.actions import CreateObject, PatchObject, Precondition, Result
from growth.api.change import Change, ChangeType
from growth.api.kinds import NODES
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_memory import (
    MARKER,
    MEMORIES,
    TRANSACTIONS,
    NodeContents,
    NodeRecord,
    TransactionData,
    TransactionObject,
    transaction_body,
    transaction_name,
)
from growth.api.references import reference_by_name
from growth.api.settings.model import Settings
from growth.decide.node_memory import transactions
from growth.decide.node_memory.carry import PageResult
from growth.decide.node_memory.context import NodeMemoryContext
from growth.decide.node_memory.page_round import look_at
from growth.observe.cache import ClusterCache
from tests.act.workshop import Workshop
from tests.decide.marketplace import NOW
from tests.kube.replica import virtual

OLD, NEW = "old", "new"


def kept(uid: str, version: int, *, is_final: bool, marker: str = "") -> NodeRecord:
    labels = {MARKER: marker} if marker else {}
    return NodeRecord(ObjectMeta(name="a"), NodeContents(uid=uid, version=version, labels=labels), is_final)


@pytest.mark.parametrize(
    ("memory", "memento", "is_news"),
    [
        (None, NodeContents(uid=OLD, version=5), True),
        (kept(OLD, 5, is_final=False), NodeContents(uid=OLD, version=5), True),
        (kept(OLD, 5, is_final=True), NodeContents(uid=OLD, version=5), False),
        (kept(NEW, 9, is_final=True, marker="5"), NodeContents(uid=OLD, version=5, labels={MARKER: "0"}), False),
        (kept(NEW, 9, is_final=False), NodeContents(uid=OLD, version=5, labels={MARKER: "0"}), False),
        (kept(OLD, 5, is_final=True), NodeContents(uid=NEW, version=9), False),
        (kept(OLD, 5, is_final=True), NodeContents(uid=NEW, version=9, labels={MARKER: "5"}), True),
    ],
)
def test_what_becomes_the_memory(memory: NodeRecord | None, memento: NodeContents, is_news: bool) -> None:  # noqa: FBT001
    assert transactions.is_news(memory, memento) is is_news


def a_world() -> ClusterCache:
    """A node of the name left, and another one came."""
    world = ClusterCache(lambda: NOW, remembers=True)
    lives = [Node(ObjectMeta(name="a", uid=uid, resource_version=at)) for uid, at in ((OLD, 5), (NEW, 9))]
    hear = world.listeners()[NODES]
    hear([Change(ChangeType.ADDED, lives[0], None)])
    hear([Change(ChangeType.DELETED, lives[0], lives[0]), Change(ChangeType.ADDED, lives[1], None)])
    return world


def tell(world: ClusterCache, kind: Literal["added", "deleted"], uid: str, version: int) -> None:
    """It is written down."""
    data = transaction_body(kind, "a", NodeContents(uid=uid, version=version))["data"]
    meta = ObjectMeta(name=transaction_name("a", version), uid="t", resource_version=20 + version)
    found = TransactionObject(meta, msgspec.convert(data, TransactionData))
    world.listeners()[TRANSACTIONS]([Change(ChangeType.ADDED, found, None)])


def looked(world: ClusterCache) -> PageResult:
    scene = NodeMemoryContext(world.snapshot(NOW), Settings())
    return look_at(scene, scene.page("a"), PageResult())


def test_nobody_is_given_anything_before_who_left_is_written_down() -> None:
    world = a_world()
    tell(world, "added", NEW, 9)
    assert looked(world).works == ()


def test_a_transaction_stays_until_its_effect_is_seen() -> None:
    world = a_world()
    tell(world, "deleted", OLD, 5)
    assert [type(one) for one in looked(world).works] == [CreateObject]


def test_who_left_is_written_down_before_who_came() -> None:
    records = looked(a_world()).records
    assert [one.body["data"]["type"] for one in records if isinstance(one, CreateObject)] == ["deleted"]


@virtual
async def test_a_node_is_not_given_back_what_is_remembered_no_more() -> None:
    workshop = Workshop()
    memory = reference_by_name(MEMORIES, "a", "growth-memory")
    path = MEMORIES.path("a", "growth-memory")
    workshop.api.objects[path] = {"metadata": {"name": "a", "namespace": "growth-memory", "resourceVersion": "12"}}
    given = PatchObject(
        subject=reference_by_name(NODES, "a"),
        why="give it back",
        body={},
        resource_version=9,
        given=(Precondition(memory, 11),),
    )
    assert (await carry_out(given, workshop.doors)).result is Result.STALE
    assert not any(request.writes for request in workshop.send.sent)
