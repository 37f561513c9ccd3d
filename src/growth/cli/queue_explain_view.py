"""How one workload's story looks in a terminal: an Explained and a width in, something to look at out."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from growth.cli.formatting import amounts, clock, figure, short, span
from growth.cli.memory_list import counted
from growth.cli.queue_entry import WorkloadPhase
from growth.cli.queue_explain_report import PodView, WorkloadReport
from growth.cli.queue_messages import told
from growth.cli.queue_offers import FlavorOffer
from growth.cli.queue_tables import STYLES, notices

_SHOWN_PODS: Final = 10
_WIDE: Final = 80
_BADGES: Final = {
    WorkloadPhase.READY: "bold white on green",
    WorkloadPhase.RUNNING: "bold white on green",
    WorkloadPhase.STARTING: "bold black on cyan",
    WorkloadPhase.LEAVING: "bold white on magenta",
    WorkloadPhase.QUEUED: "bold black on yellow",
    WorkloadPhase.BACKOFF: "bold white on blue",
    WorkloadPhase.HELD: "bold black on yellow",
    WorkloadPhase.INACTIVE: "bold white on red",
    WorkloadPhase.FINISHED: "bold white on bright_black",
}


def view(found: WorkloadReport, width: int) -> RenderableType:
    """How it stands, its story, what it lacks, its pods, and what happens next."""
    entry = found.entry
    badge = (f" {entry.standing.upper()} ", _BADGES[entry.standing])
    parts: list[RenderableType] = [*notices(found.notices), Text.assemble((entry.title, "bold"), "  ", badge)]
    parts += [Text(), _facts(found)]
    parts += [Text(), Text("What happened", style="dim"), Padding(_story(found, width), (0, 0, 0, 2))]
    if found.offers:
        parts += [Text(), Text("What it asks for, and what is left", style="dim")]
        parts += [Padding(_offers(found, width), (0, 0, 0, 2))]
    if found.holders:
        parts += [Text(), Text("Who holds most of what is short", style="dim")]
        parts += [Padding(Text(line), (0, 0, 0, 2)) for line in found.holders]
    if found.changes:
        parts += [Text(), Text("What would help", style="dim")]
        parts += [Padding(_listed(line), (0, 0, 0, 2)) for line in found.changes]
    if found.pods:
        parts += [Text(), Text("Its pods", style="dim"), Padding(_pods(found), (0, 0, 0, 2))]
    return Group(*parts, Text(), Text.assemble(("Next  ", "dim"), (found.next, "bold")))


def _listed(line: str) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(width=1)
    table.add_column(overflow="fold")
    table.add_row(Text("-", style="yellow"), line)
    return table


def _facts(found: WorkloadReport) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for word, text in _facts_of(found):
        table.add_row(word, text)
    return table


def _facts_of(found: WorkloadReport) -> Iterator[tuple[str, str | Text]]:
    entry = found.entry
    if entry.standing is not WorkloadPhase.FINISHED:
        yield "state", Text(told(entry, found.at), style=STYLES[entry.standing][1])
    strategy = f" ({found.strategy})" if found.strategy else ""
    behind = f"ClusterQueue {entry.cluster_queue}{strategy}" if entry.cluster_queue else "no ClusterQueue"
    yield "queue", f"{entry.namespace}/{entry.local_queue}, {behind}"
    if entry.position:
        yield "place", f"{entry.position} of {found.line}{_ahead(found)}"
    if found.held_up_by:
        yield "held up by", found.held_up_by
    if found.victims:
        yield "waits for", ", ".join(found.victims)
    yield "priority", f"{entry.priority:,}"
    if entry.pods:
        yield "asks for", f"{amounts(entry.asks)} in {counted(entry.pods, 'pod')}"
    for flavor, held in found.holds.items():
        yield "holds", f"{held} of flavor {flavor}"
    yield "workload", f"{entry.namespace}/{entry.name}"
    if found.job:
        yield "job", found.job


def _ahead(found: WorkloadReport) -> str:
    if not found.ahead:
        return ": it is the first"
    more = found.entry.position - 1 - len(found.ahead)
    others = f"{more:,} others, " if more else ""
    return f", behind {others}{', '.join(found.ahead)}"


def _story(found: WorkloadReport, width: int) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(no_wrap=True, style="dim", justify="right")
    table.add_column(overflow="fold")
    for step in found.steps:
        away = f"in {span(step.at - found.at)}" if step.is_to_come else f"{span(found.at - step.at)} ago"
        when = clock(step.at, found.at) if width >= _WIDE else ""
        table.add_row(when, away, Text(step.words, style="bold" if step.is_to_come else ""))
    return table


def _offers(found: WorkloadReport, width: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("FLAVOR", no_wrap=True, overflow="ellipsis", max_width=width // 4)
    table.add_column("RESOURCE", no_wrap=True)
    for title in ("ASKED", "LEFT", "AT MOST"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    is_one = len({offer.pod_set for offer in found.offers}) == 1
    for offer in found.offers:
        name = offer.flavor if is_one else f"{offer.flavor} for {offer.pod_set}"
        for resource, asked in offer.asked.items():
            figures = [figure(resource, value) for value in (asked, offer.left[resource], offer.at_most[resource])]
            table.add_row(name, short(resource), *figures, _verdict(offer, resource))
            name = ""
    return table


def _verdict(offer: FlavorOffer, resource: str) -> Text:
    limits = "; ".join(one.words for one in offer.limits.get(resource, ()))
    if offer.asked[resource] > offer.at_most[resource]:
        return Text(f"✕ never enough{f': {limits}' if limits else ''}", style="red")
    if offer.is_closed:
        return Text("✕ out of stock", style="red")
    if resource in offer.lacks:
        return Text(f"◌ too little{f': {limits}' if limits else ''}", style="yellow")
    if offer.failed:
        return Text(f"● enough, but it failed here: {offer.failed}", style="yellow")
    if offer.why and not offer.lacks and not offer.is_too_small:
        return Text(f"✕ {offer.why}", style="red")
    return Text("● enough", style="green")


def _pods(found: WorkloadReport) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in ("POD", "PHASE", "NODE"):
        table.add_column(title, no_wrap=True, overflow="ellipsis")
    table.add_column("", overflow="fold")
    for pod in _worst_first(found.pods)[:_SHOWN_PODS]:
        words = Text("ready", style="green") if pod.is_ready else Text(pod.why, style="yellow")
        table.add_row(pod.name, pod.phase, pod.node or "-", words)
    hidden = len(found.pods) - _SHOWN_PODS
    more = [Text(f"and {counted(hidden, 'pod')} more", style="dim")] if hidden > 0 else []
    return Group(table, *more)


def _worst_first(pods: Sequence[PodView]) -> list[PodView]:
    return sorted(pods, key=lambda pod: (pod.is_ready, not pod.why, pod.name))
