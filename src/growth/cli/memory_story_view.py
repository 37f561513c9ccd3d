"""How one name's memory looks in a terminal: a Story and a width in, facts and a table of keys out."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.api.node_memory import IMPORTED, NOTHING
from growth.api.timestamp import format_time
from growth.cli.memory_report import MemoryPhase, counted
from growth.cli.memory_story import MemoryHistory, RecordItem, RestoreOutcome
from growth.cli.spans import span

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
