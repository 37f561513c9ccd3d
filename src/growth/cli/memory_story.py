"""One name: what is remembered, what its node has now, and what a node of that name would be given. Pure."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_memory import MARKER, NodeContents, NodeRecord, is_marked, legal
from growth.api.offering import POOL
from growth.api.out_of_service import out_of_service_taint
from growth.api.tolerations import Taint
from growth.cli.memory_report import MemoryPhase, PendingTransaction, marker_on, standing_of, waiting_of
from growth.decide.node_memory.claims import claimant, claimed_for
from growth.decide.node_memory.context import NodeMemoryContext
from growth.decide.node_memory.restore_policy import template_of


class RestoreOutcome(StrEnum):
    """What becomes of a key on the node that is given its memory."""

    GIVEN = "given back"
    SAME = "has it already"
    TAKEN = "taken away"
    OWNED = "its own"
    """A key that a new node knows better."""
    STAYS = "stays"
    """The node brings it, and nothing is remembered of it."""
    ILLEGAL = "not a label"
    UNWRITTEN = "not written down"
    """It came after the last look at the node: the next one follows soon."""
    LOST = "not given"
    """Nobody of this name is given anything: another node was, or memory is off."""


class RecordItem(msgspec.Struct, frozen=True):
    """A label, an annotation or a taint."""

    kind: str
    key: str
    remembered: str | None
    now: str | None
    """What the live node has."""
    fate: RestoreOutcome


class MemoryHistory(msgspec.Struct, frozen=True):
    """All about one name."""

    node: str
    at: datetime
    standing: MemoryPhase
    mode: str
    live_uid: str = ""
    marker: str = ""
    provider_id: str = ""
    memory: NodeContents | None = None
    is_final: bool = False
    claimed_by: str = ""
    problem: str = ""
    receiver: str = ""
    """Who is meant by the fates: ``it``, the live node that waits for its memory; or ``a new node``."""
    follows: str = ""
    """Whose memory it is given in place of its own."""
    items: tuple[RecordItem, ...] = ()
    waiting: tuple[PendingTransaction, ...] = ()


def story_of(context: NodeMemoryContext, name: str) -> MemoryHistory:
    """What there is to say about this name now."""
    page = context.page(name)
    node, memory = page.node, page.record
    receives = node is not None and not is_marked(node)
    source, follows = _source(context, name, node if receives else None)
    return MemoryHistory(
        node=name,
        at=context.now,
        standing=standing_of(page),
        mode=context.settings.mode,
        live_uid=page.uid,
        marker=marker_on(node) if node is not None else "",
        provider_id=node.spec.provider_id if node is not None else "",
        memory=memory.memento if memory is not None else None,
        is_final=memory.is_final if memory is not None else False,
        claimed_by=memory.claimed_by if memory is not None else "",
        problem=page.problem,
        receiver="it" if receives else "a new node",
        follows=follows,
        items=tuple(_items(context, node, memory.memento if memory is not None else None, source)),
        waiting=tuple(waiting_of(page)),
    )


def _source(context: NodeMemoryContext, name: str, receiver: Node | None) -> tuple[NodeContents | None, str]:
    """What is given to a node of this name, and whose it is if not its own."""
    memory = context.page(name).record
    if context.settings.mode == "off" or (memory is not None and memory.claimed_by):
        return None, ""
    if memory is not None:
        return memory.memento, ""
    before = context.page(context.predecessor_of(name))
    if before.record is None or receiver is None or not _may_have(receiver, before.record, before.node):
        return None, ""
    return before.record.memento, before.name


def _may_have(node: Node, memory: NodeRecord, predecessor: Node | None) -> bool:
    """Whether nobody else has it, and the one that it was of does not work any more."""
    if memory.claimed_by == claimant(node):
        return True
    is_lost = (
        predecessor is None
        or predecessor.metadata.deletion_timestamp is not None
        or out_of_service_taint(predecessor) is not None
    )
    return is_lost and claimed_for(memory) in ("", node.metadata.name)


def _items(
    context: NodeMemoryContext, node: Node | None, memento: NodeContents | None, source: NodeContents | None
) -> Iterator[RecordItem]:
    """Labels, then annotations and taints that are remembered."""
    known = source or memento
    if known is None:
        return
    receiver = node if node is not None and not is_marked(node) else _fresh(known)
    patch = context.policy.restored(receiver, known, template_of(receiver, context.snapshot))
    yield from _labels(context, node, receiver, known, patch["metadata"]["labels"] if source else None)
    has, brings = node.metadata.annotations if node is not None else {}, receiver.metadata.annotations
    given: Mapping[str, str] = patch["metadata"].get("annotations", {}) if source else {}
    for key, value in sorted(known.annotations.items()):
        yield RecordItem("annotation", key, value, has.get(key), _fate(key in given, brings.get(key) == value))
    bears = node.spec.taints if node is not None else ()
    after = msgspec.convert(patch.get("spec", {}).get("taints", []), tuple[Taint, ...]) if source else ()
    for taint in known.taints:
        is_there = taint in receiver.spec.taints
        yield RecordItem(
            "taint", taint.key, _worded(taint), _same(taint, bears), _fate(taint in after or is_there, is_there)
        )


def _labels(
    context: NodeMemoryContext,
    node: Node | None,
    receiver: Node,
    known: NodeContents,
    changes: Mapping[str, str | None] | None,
) -> Iterator[RecordItem]:
    """Those first that memory is about, then those that a node knows better."""
    policy, now, template = (
        context.policy,
        node.metadata.labels if node else {},
        template_of(receiver, context.snapshot),
    )
    takeable = legal(known.labels)

    def fate(key: str) -> RestoreOutcome:
        if policy.is_owned(key, template):
            return RestoreOutcome.OWNED
        if key in known.labels and key not in takeable:
            return RestoreOutcome.ILLEGAL
        if key not in known.labels and receiver is not node and key in now:
            return RestoreOutcome.UNWRITTEN
        if changes is None:
            return RestoreOutcome.LOST
        if key in known.labels:
            return RestoreOutcome.GIVEN if key in changes else RestoreOutcome.SAME
        return RestoreOutcome.STAYS if key in now and key not in changes else RestoreOutcome.TAKEN

    fates = {key: fate(key) for key in {*known.labels, *known.removed, *now} - {MARKER}}
    for key in sorted(fates, key=lambda key: (fates[key] is RestoreOutcome.OWNED, key)):
        yield RecordItem("label", key, known.labels.get(key), now.get(key), fates[key])


def _fate(is_given: bool, is_there: bool) -> RestoreOutcome:  # noqa: FBT001
    if not is_given:
        return RestoreOutcome.LOST
    return RestoreOutcome.SAME if is_there else RestoreOutcome.GIVEN


def _fresh(memento: NodeContents) -> Node:
    """A node of that name as it may come: nothing is known of it but its pool."""
    pool = {POOL: memento.labels[POOL]} if POOL in memento.labels else {}
    return Node(ObjectMeta(labels=pool))


def _same(taint: Taint, others: tuple[Taint, ...]) -> str | None:
    return next((_worded(one) for one in others if (one.key, one.effect) == (taint.key, taint.effect)), None)


def _worded(taint: Taint) -> str:
    return f"{taint.value}:{taint.effect}" if taint.value else f":{taint.effect}"
