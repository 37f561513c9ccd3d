"""How one node's story looks in a terminal: a Report and a width in, a timeline out."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.api.timestamp import format_time
from growth.cli.explain_disruption import MoveReport
from growth.cli.explain_failover import FailoverPhase, NodeReport, TimelineEntry
from growth.cli.formatting import span

_BADGES: Final = {
    FailoverPhase.IN_SERVICE: "bold white on green",
    FailoverPhase.SILENT: "bold black on yellow",
    FailoverPhase.UNREADY: "bold black on yellow",
    FailoverPhase.LEAVING: "bold white on red",
    FailoverPhase.FREE: "bold white on magenta",
    FailoverPhase.BACK: "bold white on blue",
    FailoverPhase.GONE: "bold white on bright_black",
}
# By the word of a step, up to a hyphen: its mark and its colour.
_GOOD, _BAD, _DEED = ("✓", "green"), ("●", "red"), ("◆", "bold magenta")
MARKS: Final = {
    "LastSign": ("○", "green"),
    "Silent": ("●", "yellow"),
    "Off": ("●", "yellow"),
    "Changing": ("●", "yellow"),
    "Running": ("●", "yellow"),
    "Dead": _BAD,
    "Fencing": _DEED,
    "Tainted": _DEED,
    "TaintedByHand": _DEED,
    "NodeDeleted": _DEED,
    "Releasing": ("●", "cyan"),
    "Released": _GOOD,
    "Recovered": _GOOD,
    "BackAgain": _GOOD,
    "InService": _GOOD,
    "HeardAgain": _GOOD,
}
_HELD: Final = ("!", "yellow")
# A line is drawn between steps that are so far apart.
_APART: Final = timedelta(seconds=10)
_SHOWN: Final = 6
_NO_STORY: Final = "There is no story about it: nothing happened to it in the last day that Growth has noticed."


def view(report: NodeReport, width: int) -> RenderableType:
    """State, facts, timeline, and what to do next."""
    parts: list[RenderableType] = [_headline(report)]
    if facts := list(_facts(report)):
        parts += [Text(), _table_of(facts)]
    if report.steps:
        parts += [Text(), *_timeline(report, width)]
    else:
        parts += [Text(), Text(_NO_STORY, style="dim")]
    if hint := _hint(report):
        parts += [Text(), Text(hint, style="dim")]
    return Group(*parts)


def _headline(report: NodeReport) -> Text:
    badge = Text.assemble((report.node, "bold"), "  ", (f" {report.standing.upper()} ", _BADGES[report.standing]))
    if report.taken_out_by:
        since = report.taken_out_at
        when = f" for {span(report.at - since)}, since {format_time(since)}," if since else ""
        badge.append(f" {when} by {report.taken_out_by}")
    return badge


def _facts(report: NodeReport) -> Iterator[tuple[str, Text]]:
    """Each as a word and what there is to say; only what there is."""
    if report.provider_id:
        yield "machine", Text(report.provider_id)
    if report.heard_at is not None and not report.taint:
        yield "heard", Text(f"{span(report.at - report.heard_at)} ago, when it renewed its Lease")
    if report.taint:
        yield "taint", Text(report.taint)
    if (proof := report.proof) is not None:
        if proof.is_forced:
            yield "proof", Text("none: it was forced, and data may have been lost", style="bold red")
        else:
            times = f"from {proof.first_reading:%H:%M:%S} to {proof.last_reading:%H:%M:%S}"
            words = f"{proof.power.value} in {proof.readings} answers {times}, none to the contrary"
            yield "proof", Text(f"{words}; last sign of life at {proof.last_sign:%H:%M:%S}")
    if report.was_graceful is not None:
        yield "shutdown", Text("in good order" if report.was_graceful else "not in good order: nobody saw it stopping")
    if report.pods or report.volumes:
        yield "left", Text("; ".join(filter(None, (_some("pods", report.pods), _some("volumes", report.volumes)))))
    if report.staying:
        yield "staying", Text(f"{_some('pods', report.staying)}: they tolerate the taint")
    for why in report.stuck:
        yield "stuck", Text(why, style="red")
    for why in report.held:
        yield "held", Text(why, style="yellow")
    if report.moving is not None and report.standing is FailoverPhase.IN_SERVICE:
        yield from _moving(report.moving, report.at)


def _moving(moving: MoveReport, at: datetime) -> Iterator[tuple[str, Text]]:
    if moving.wish:
        yield "wish", Text(f"a person wants it to go: {moving.wish}")
    if moving.move:
        since = f" for {span(at - moving.since)}" if moving.since is not None else ""
        yield "move", Text(f"{moving.move}, {moving.phase}{since}: {moving.words}")
    for why in moving.kept_by:
        yield "move", Text(why, style="yellow")
    if moving.stays:
        yield "stays", Text(moving.stays)
    for told in moving.told:
        yield "stays", Text(f"{told.words} (said {span(at - told.at)} ago)")


def _some(what: str, names: Sequence[str]) -> str:
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{what} {', '.join(names[:_SHOWN])}{rest}" if names else ""


def _table_of(facts: Sequence[tuple[str, Text]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for index, (word, text) in enumerate(facts):
        table.add_row("" if index and facts[index - 1][0] == word else word, text)
    return table


def _timeline(report: NodeReport, width: int) -> Iterator[RenderableType]:
    if report.is_of_earlier_node:
        yield Text("This happened to an earlier node of this name.", style="yellow")
    for number, steps in groupby(report.steps, key=lambda step: step.story):
        if number:
            yield Text()
        yield _story(list(steps), width)


def _story(steps: Sequence[TimelineEntry], width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", width=width)
    table.add_column(f"{steps[0].at:%Y-%m-%d} UTC", no_wrap=True, style="dim")
    table.add_column("AFTER", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", overflow="fold", ratio=1)
    for before, step in zip((None, *steps), steps, strict=False):
        if before is not None and step.at - before.at >= _APART:
            table.add_row("", "", Text("│", style="dim"), "")
        mark, style = MARKS.get(step.what.partition("-")[0], _HELD)
        table.add_row(_time(step.at), _after(step), Text(mark, style=style), Text(step.words, style=style))
    return table


def _time(at: datetime) -> str:
    return f"{at:%H:%M:%S}"


def _after(step: TimelineEntry) -> str:
    return f"+{step.seconds:.1f}s" if step.seconds < 600 else f"+{span(timedelta(seconds=step.seconds))}"


def _hint(report: NodeReport) -> str:
    """What a person can do, if anything."""
    name, is_ours = report.node, report.taken_out_by == "Growth"
    match report.standing:
        case FailoverPhase.LEAVING if report.is_ready:
            return f"When what is left on it has gone: growth node in-service {name}"
        case FailoverPhase.BACK if is_ours:
            return f"Growth takes it back by itself (failover.mode act); by hand: growth node in-service {name}"
        case FailoverPhase.BACK:
            return f"To take it back: growth node in-service {name}"
        case FailoverPhase.FREE if is_ours:
            return "Growth takes it back by itself when its machine runs again, or deletes it if that is gone for good."
        case FailoverPhase.FREE:
            return f"When its machine runs again: growth node in-service {name}"
        case FailoverPhase.UNREADY | FailoverPhase.SILENT:
            return f"If its machine is dead: growth node out-of-service {name}"
        case _:
            return ""
