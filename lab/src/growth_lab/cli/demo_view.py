"""How the demo looks: pure, from what is known to what is shown."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from growth.cli.snapshot import bar
from growth_lab.cli.demo_frame import COMING, Row, Scene, Stand
from growth_lab.scenarios.cost_report import Bill, Item
from growth_lab.scenarios.trace import Seen

_SHOWN_HAPPENINGS: Final = 5
_LOOKED_AT: Final = 120
_LEVELS: Final = "▁▂▃▄▅▆▇█"
_STANDS: Final = {
    Stand.PENDING: ("○", "yellow"),
    Stand.PROVISIONING: ("◔", "cyan"),
    Stand.STARTING: ("◑", "cyan"),
    Stand.READY: ("●", "green"),
    Stand.EMPTY: ("○", "dim"),
    Stand.LEAVING: ("✗", "dim"),
    Stand.UNMET: ("✗", "red"),
    Stand.DEPROVISIONING: ("✗", "magenta"),
}
_STYLES: Final = {
    "Running": "green",
    "Ready": "green",
    "ready": "green",
    "registered": "cyan",
    "asks for": "cyan",
    "refused": "yellow",
    "Unmet": "red",
    "Deprovisioning": "magenta",
}
# What goes along with everything else and is no news.
_UNTOLD: Final = re.compile(r"Pod \S+ ready|Node \S+ (un)?tainted (node.kubernetes.io|node-role)")
# So long one column of the curves lasts: the whole demo fits beside its labels in 80 columns.
_STEP_SECONDS: Final = 0.5
_WIDEST_BILL: Final = 84
_BOUND: Final = (
    "The bound is proven: no machines that hold all these pods cost less, were they bought at once with the whole day "
    "known and nothing sold out."
)


def frame(
    context: Scene, past: Sequence[Scene], acts: Sequence[str], seen: Sequence[Seen], width: int
) -> RenderableType:
    """The act, the machines, the curves of the day so far, and what happened last."""
    act = acts[-1] if acts else "the curtain rises"
    lines = _happenings(seen)
    return Group(
        Panel(
            Text(act, style="bold"),
            title=f"{_seconds([*past, context]):5.1f} s",
            title_align="left",
            border_style="cyan",
        ),
        _machines(context, width),
        *(Text(f"✗ given up: {why}", style="magenta", no_wrap=True, overflow="ellipsis") for why in context.given_up),
        Text(),
        _curves([*past, context], width),
        Text(),
        *lines,
        *[Text()] * (_SHOWN_HAPPENINGS - len(lines)),
    )


def line(scenes: Sequence[Scene], act: str) -> str:
    """One act where nobody looks at a terminal."""
    context = scenes[-1]
    counts = f"{context.ready} machines ready, {context.running} pods run, {context.waiting} wait"
    return f"{_seconds(scenes):5.1f} s  {counts:46}  {act}"


def _seconds(scenes: Sequence[Scene]) -> float:
    """Since the first of them."""
    return (scenes[-1].at - scenes[0].at).total_seconds()


def _machines(context: Scene, width: int) -> Table:
    # Two bars share what the names, signs and phases leave, within what looks like a bar at all.
    long = max(6, min(24, (width - 68) // 2))
    table = Table(box=None, pad_edge=False, header_style="dim")
    # As wide as it may become, so that nothing jumps.
    for name, least in (
        ("OFFERING", 9),
        ("MACHINES", 8),
        ("NODEREQUESTS", 28),
        ("CPU", long + 5),
        ("MEMORY", long + 5),
    ):
        table.add_column(name, no_wrap=True, min_width=least)
    for row in context.rows:
        signs = Text.assemble(*(_STANDS[stand] for stand in row.stands))
        bars = [bar(filled, long) if filled.total else "" for filled in (row.cpu_millis, row.memory_bytes)]
        table.add_row(row.offering.partition("-")[2], signs, _phases(row, context), *bars)
    if not context.rows:
        table.add_row(Text("none yet", style="dim"))
    return table


def _phases(row: Row, context: Scene) -> Text:
    """Of all that are not ready; that the others are is seen."""
    counts = Counter(row.stands)
    ready = counts.pop(Stand.READY, 0)
    if not counts:
        return Text(f"{ready} Ready", style=_STANDS[Stand.READY][1])
    text = Text()
    for stand, count in counts.items():
        age = f" {(context.at - row.since).total_seconds():.0f} s" if row.since and stand in COMING else ""
        text.append(f"{', ' if text else ''}{count} {stand}{age}", style=_STANDS[stand][1])
    return text


def _curves(scenes: Sequence[Scene], width: int) -> Table:
    shown = _by_step(scenes)[-(width - 28) :]  # what the names and the present values leave
    rows: list[tuple[str, list[float], str, str]] = [
        ("pods wait", [context.waiting for context in shown], "yellow", f"{scenes[-1].waiting}"),
        ("pods run", [scene.running for scene in shown], "green", f"{scenes[-1].running}"),
        ("cost", [scene.cost_per_hour for scene in shown], "cyan", f"{scenes[-1].cost_per_hour:.4f} an hour"),
    ]
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    for name, values, style, now in rows:
        table.add_row(name, Text(_curve(values), style=style), Text(now, style=f"bold {style}"))
    return table


def _by_step(scenes: Sequence[Scene]) -> list[Scene]:
    """The last scene of each step of time."""
    began = scenes[0].at
    steps = groupby(scenes, key=lambda context: (context.at - began).total_seconds() // _STEP_SECONDS)
    return [list(alike)[-1] for _, alike in steps]


def _curve(values: Sequence[float]) -> str:
    """One character per value; only nothing at all looks like nothing."""
    most, top = max(values, default=0.0) or 1.0, len(_LEVELS) - 1
    return "".join(_LEVELS[max(1, round(value / most * top)) if value else 0] for value in values)


def _happenings(seen: Sequence[Seen]) -> list[Text]:
    """The newest last; one line for what happens to many at once."""
    told = [(one.subject, one.what) for one in seen[-_LOOKED_AT:] if not _UNTOLD.match(f"{one.subject} {one.what}")]
    runs = [(words, len(list(alike))) for words, alike in groupby(told)]
    return [_happening(*words, count) for words, count in runs[-_SHOWN_HAPPENINGS:]]


def _happening(subject: str, what: str, count: int) -> Text:
    style = next((style for word, style in _STYLES.items() if what.startswith(word)), "dim")
    times = f" ({count} times)" if count > 1 else ""
    return Text(f"  {subject} {what}{times}", style=style, no_wrap=True, overflow="ellipsis")


def last_words(bill: Bill, width: int, seconds: float, *, real: bool, seed: int) -> RenderableType:
    """The bill of the day, and where it was run up."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for item in bill.items:
        table.add_row(f"{item.count}", _bought(item), f"{item.cost_per_hour:.4f}")
    sums = (f"{bill.machines}", "machines", f"{bill.cost_per_hour:.4f}", f"{bill.currency} an hour")
    table.add_row(*(Text(words, style="bold green") for words in sums))
    table.add_row(
        "", "bound", f"{bill.bound_per_hour:.4f}", f"at least; the machines are {bill.above_bound:.1%} above it"
    )
    for item in bill.given_up:
        table.add_row(f"{item.count}", _bought(item), f"{item.cost_per_hour:.4f}", "never came, and was given back")
    waits = f"waited for {bill.median_wait:.1f} s (median), {bill.worst_wait:.1f} s (worst)"
    table.add_row(f"{len(bill.waited)}", "pods", "", Text(waits, style="yellow"))
    where = "on a real control plane" if real else f"on the virtual cluster, seed {seed}"
    title = Text.assemble(("The bill of the day", "bold green"), f": {seconds:.0f} s {where}")
    return Panel(
        Group(table, Text(f"\n{_BOUND}", style="dim")),
        title=title, title_align="left", border_style="green", width=min(width, _WIDEST_BILL),
    )  # fmt: skip


def _bought(item: Item) -> str:
    return f"{item.offering.server_type} {item.offering.location}"
