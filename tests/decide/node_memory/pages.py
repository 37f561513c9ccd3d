"""One page, and one look at it: what is known is written down in a line, and so is what comes of it."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from growth.api.actions import Action, CreateObject, DeleteObject, PatchObject
from growth.api.meta import ObjectMeta
from growth.api.node import Node, NodeSpec
from growth.api.node_memory import MARKER, RESTORED_TO, NodeContents, NodeRecord, Transaction, transaction_name
from growth.api.settings.model import MemorySettings, Settings
from growth.api.tolerations import Taint
from growth.decide.node_memory.carry import PageResult
from growth.decide.node_memory.context import NodeMemoryContext
from growth.decide.node_memory.page_round import look_at
from growth.observe.cache import ClusterCache
from growth.observe.node_history import NodePage
from growth_lab.simulator.clock import BEGINNING as NOW

NAME = "worker-1"


def a_node(
    uid: str = "new",
    version: int = 50,
    *,
    labels: dict[str, str] | None = None,
    is_marked: bool = False,
    taints: tuple[Taint, ...] = (),
    **meta: Any,  # noqa: ANN401 - whatever metadata takes
) -> Node:
    """A node; with its marker, if ``is_marked``."""
    marks = {MARKER: "7"} if is_marked else {}
    known = ObjectMeta(name=NAME, uid=uid, resource_version=version, labels={**(labels or {}), **marks}, **meta)
    return Node(known, NodeSpec(taints=taints))


def a_memory(
    uid: str = "old",
    version: int = 20,
    *,
    is_final: bool = True,
    at: datetime | None = None,
    removed: tuple[str, ...] = (),
    **labels: str,
) -> NodeRecord:
    """What is remembered, of a node that had its marker."""
    memento = NodeContents(uid=uid, version=version, labels={MARKER: "7", **labels}, at=at, removed=removed)
    return NodeRecord(
        ObjectMeta(name=NAME, namespace="growth-memory", uid="m", resource_version=900), memento, is_final
    )


def a_transaction(
    kind: str, uid: str, version: int, labels: dict[str, str] | None = None, *, is_marked: bool = True
) -> Transaction:
    """Something that happened."""
    marks = {MARKER: "7"} if is_marked and kind == "deleted" else {}
    meta = ObjectMeta(transaction_name(NAME, version), "growth-transactions", f"t-{version}", 901, NOW)
    memento = NodeContents(uid=uid, version=version, labels={**(labels or {}), **marks})
    return Transaction(meta, "added" if kind == "added" else "deleted", NAME, memento)


def after_end(memory: NodeRecord | None, transaction: Transaction) -> NodePage:
    """What is known once an end is written down and not dealt with."""
    written = {transaction.memento.uid: transaction.version}
    return NodePage(NAME, record=memory, transactions=(transaction,), written=written)


def page_pass(
    page: NodePage,
    *,
    before: PageResult | None = None,
    after: float = 0,
    observed: int = 1_000,
    **memory: Any,  # noqa: ANN401
) -> PageResult:
    """What comes of it, so many seconds later, for one who has heard of nodes up to that version."""
    world = ClusterCache(lambda: NOW, remembers=True)
    world.past.nodes_version = observed
    world.past.pages[page.name] = page
    settings = Settings(memory=MemorySettings(**memory))
    return look_at(
        NodeMemoryContext(world.snapshot(NOW + timedelta(seconds=after)), settings), page, before or PageResult()
    )


def waited(page: NodePage, seconds: float, **memory: Any) -> PageResult:  # noqa: ANN401
    """The second look at it, so much later."""
    return page_pass(page, before=page_pass(page, **memory), after=seconds, **memory)


def deeds(actions: tuple[Action, ...]) -> list[str]:
    """In short."""
    words = {CreateObject.__name__: "create", PatchObject.__name__: "patch", DeleteObject.__name__: "delete"}
    return [
        f"{words[type(one).__name__]} {one.subject.kind} {one.subject.name.removeprefix(DIGEST)}" for one in actions
    ]


def reasons(found: PageResult) -> list[str]:
    """What people are told about."""
    return sorted({one.reason for one in found.told})


def remembered(found: PageResult) -> NodeContents:
    """What the one action would write down."""
    (action,) = (*found.records, *found.works)
    assert isinstance(action, CreateObject | PatchObject)
    texts = [
        value for key, value in action.body["data"].items() if key in ("memory", "checkpoint", "memento") and value
    ]
    return msgspec.json.decode(texts[0], type=NodeContents)


def given_back(found: PageResult) -> dict[str, Any]:
    """What the one action would change of the node's metadata; the uid beside the marker is left out."""
    (action,) = found.works
    assert isinstance(action, PatchObject)
    meta = dict(action.body["metadata"])
    annotations = {key: value for key, value in meta.pop("annotations", {}).items() if key != RESTORED_TO}
    return meta | ({"annotations": annotations} if annotations else {})


DIGEST = transaction_name(NAME, 0)[:-1]
