"""One name: what is remembered, what its node has now, and what a node of that name would be given. Pure.

How one name's memory looks in a terminal: a Story and a width in, facts and a table of keys out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from typing import Final

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_memory import IMPORTED, MARKER, NOTHING, NodeContents, NodeRecord, is_marked, legal
from growth.api.offering import POOL
from growth.api.out_of_service import out_of_service_taint
from growth.api.timestamp import format_time
from growth.api.tolerations import Taint
from growth.cli.formatting import span
from growth.cli.memory_list import MemoryPhase, PendingTransaction, counted, marker_on, standing_of, waiting_of
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
        items=tuple(_record_items(context, node, memory.memento if memory is not None else None, source)),
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


def _record_items(
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


_BADGES: Final = {
    MemoryPhase.UNREADABLE: "bold white on red",
    MemoryPhase.WAITS: "bold black on yellow",
    MemoryPhase.UNSETTLED: "bold black on yellow",
    MemoryPhase.GONE: "bold white on bright_black",
    MemoryPhase.WENT_OVER: "bold white on magenta",
    MemoryPhase.THERE: "bold white on green",
}
_WORDS: Final = {MemoryPhase.WAITS: "THERE, NO MARKER YET", MemoryPhase.UNSETTLED: "GONE, BEING WRITTEN DOWN"}
_FATES: Final = {
    RestoreOutcome.GIVEN: ("+", "green"),
    RestoreOutcome.SAME: ("=", "green"),
    RestoreOutcome.TAKEN: ("-", "red"),
    RestoreOutcome.OWNED: ("·", "dim"),
    RestoreOutcome.STAYS: ("=", ""),
    RestoreOutcome.UNWRITTEN: ("?", "yellow"),
    RestoreOutcome.ILLEGAL: ("!", "red"),
    RestoreOutcome.LOST: ("x", "yellow"),
}
_TITLES: Final = {"label": "LABEL", "annotation": "ANNOTATION", "taint": "TAINT"}
_SHORTEST: Final = 12


def view(story: MemoryHistory, width: int) -> RenderableType:
    """State, facts, every key, what waits, and what to do next."""
    badge = _WORDS.get(story.standing, story.standing.upper())
    parts: list[RenderableType] = [Text.assemble((story.node, "bold"), "  ", (f" {badge} ", _BADGES[story.standing]))]
    parts += [Text(), _facts_table(list(_facts(story)))]
    for _, items in groupby(story.items, key=lambda item: item.kind):
        parts += [Text(), _items(story, list(items), width)]
    if story.waiting:
        parts += [Text(), _waiting(story)]
    parts += [Text(), Text(_hint(story), style="dim")]
    return Group(*parts)


def _facts(story: MemoryHistory) -> Iterator[tuple[str, Text]]:
    """Each as a word and what there is to say; only what there is."""
    if story.live_uid:
        yield "node", Text(f"uid {story.live_uid}" + (f", machine {story.provider_id}" if story.provider_id else ""))
        yield "marker", _marker(story)
    memory = story.memory
    if memory is not None:
        left = "as it was when it left" if memory.uid else "as it was imported"
        what = left if story.is_final else "as it was at the last look"
        removed = f", {counted(len(memory.removed), 'key')} removed" if memory.removed else ""
        yield "remembered", Text(f"{counted(len(memory.labels), 'label')}{removed}, {what}")
        if memory.at is not None:
            yield "written", Text(f"{span(story.at - memory.at)} ago, at {format_time(memory.at)}")
        if memory.uid and memory.uid == story.live_uid:
            yield "of", Text(f"version {memory.version} of this node")
        elif memory.uid:
            machine = f", machine {memory.provider_id}" if memory.provider_id else ""
            yield "of", Text(f"version {memory.version} of uid {memory.uid}{machine}")
        else:
            yield "of", Text("an import: it has no uid here")
    elif not story.problem:
        yield "remembered", Text("nothing")
    if story.claimed_by:
        yield "claimed by", Text(f"{story.claimed_by}: a node of this name is given nothing of it", style="magenta")
    if story.follows:
        yield "follows", Text(f"node {story.follows}: it is given what that one was")
    if story.problem:
        yield "problem", Text(story.problem, style="red")


def _marker(story: MemoryHistory) -> Text:
    match story.marker:
        case "":
            return Text("none yet: it is not safe to edit its labels", style="yellow")
        case value if value == NOTHING:
            return Text("0: nothing was remembered when it came; it may be edited", style="green")
        case value if value == IMPORTED:
            return Text("imported: it was given back an import; it may be edited", style="green")
        case value:
            return Text(f"{value}: it was given back that version; it may be edited", style="green")


def _facts_table(facts: Sequence[tuple[str, Text]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for word, text in facts:
        table.add_row(word, text)
    return table


def _items(story: MemoryHistory, items: Sequence[RecordItem], width: int) -> Table:
    """Keys and values are shown whole, folded where they must be: whoever looks here wants to know."""
    is_there = bool(story.live_uid)
    fate = "THIS NODE" if story.receiver == "it" else "A NEW NODE"
    wide = max(len(fate), *(len(item.fate) + 2 for item in items))
    values = [_longest("REMEMBERED", (item.remembered for item in items))]
    values += [_longest("NOW", (item.now for item in items))] if is_there else []
    free = width - wide - 2 * (len(values) + 1)
    # Values have what they need up to a quarter each, keys the rest.
    values = [min(value, max(_SHORTEST, free // 4)) for value in values]
    key = min(max(len(item.key) for item in items), max(_SHORTEST, free - sum(values)))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(_TITLES[items[0].kind], width=max(key, len(_TITLES[items[0].kind])), overflow="fold")
    for title, value in zip(("REMEMBERED", "NOW"), values, strict=False):
        table.add_column(title, width=value, overflow="fold")
    table.add_column(fate, width=wide, no_wrap=True)
    for item in items:
        mark, style = _FATES[item.fate]
        shade = "dim" if item.fate is RestoreOutcome.OWNED else ""
        now = [_value(item.now, shade if item.now == item.remembered else "yellow")] if is_there else []
        table.add_row(
            Text(item.key, style=shade),
            _value(item.remembered, shade),
            *now,
            Text(f"{mark} {item.fate}", style=style),
        )
    return table


def _longest(title: str, values: Iterable[str | None]) -> int:
    return max(len(title), *(len(value or "") for value in values))


def _value(value: str | None, style: str) -> Text:
    if value is None:
        return Text("-", style="dim")
    return Text(value or '""', style=style)


def _waiting(story: MemoryHistory) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title, justify in (("WAITS", "left"), ("VERSION", "right"), ("FOR", "right")):
        table.add_column(title, no_wrap=True, justify="right" if justify == "right" else "left")
    table.add_column("WHAT", overflow="fold")
    for one in story.waiting:
        what = f"it left with {counted(one.labels, 'label')}" if one.type == "deleted" else "it came"
        age = span(story.at - one.since) if one.since else "-"
        table.add_row(Text(one.type, style="yellow"), str(one.version), age, f"{what} (uid {one.uid})")
    return table


def _hint(story: MemoryHistory) -> str:
    """What follows, and what a person can do."""
    name = story.node
    if story.problem:
        return f"Nothing is given back while it is unreadable. Mend the ConfigMap, or: growth memory forget {name}"
    if story.mode == "off":
        return "memory.mode is off: nothing is written down, and nothing given back."
    if story.waiting:
        return "Transactions are dealt with in this order, within a second or so. Is growth running?"
    owned = "Its own are keys that a new node knows better: growth memory policy"
    return (
        owned
        if any(item.fate is RestoreOutcome.OWNED for item in story.items)
        else f"To drop it: growth memory forget {name}"
    )
