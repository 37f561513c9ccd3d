"""How full a queue is: a bar for each resource of each flavor.

██████▓▓▓  6 of its own are used, and 3 that are borrowed
████▒▒▒··  4 are used, 3 lent to others, 2 are free
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from rich.table import Table
from rich.text import Text

from growth.cli.queue_shares import QuotaShare
from growth.cli.queue_words import figure, short
from growth.cli.reports.cluster_summary import ResourceUse
from growth.cli.world_view import bar

_SHORTEST_BAR: Final = 6
_LONGEST_BAR: Final = 20
_GAP: Final = 3
_OWN: Final = ("█", "green")
_BORROWED: Final = ("▓", "magenta")
_LENT: Final = ("▒", "cyan")


def usage(shares: Sequence[QuotaShare], width: int) -> Table:
    """One line for each flavor where its resources fit beside each other, else one for each resource."""
    flavors = list(dict.fromkeys(share.flavor for share in shares))
    resources = list(dict.fromkeys(share.resource for share in shares))
    cells = {(share.flavor, share.resource): share for share in shares}
    name = max(len(_name(shares, flavor)) for flavor in flavors)
    words = [max(len(_words(share)) for share in shares if share.resource == resource) for resource in resources]
    words = [size + len(short(resource)) + 2 for size, resource in zip(words, resources, strict=True)]
    free = (width - name - sum(words) - _GAP * len(resources)) // len(resources)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis", style="cyan")
    if free >= _SHORTEST_BAR:
        for flavor in flavors:
            row = [cells.get((flavor, resource)) for resource in resources]
            long = min(free, _LONGEST_BAR)
            drawn = [_drawn(share, long) if share is not None else Text() for share in row]
            table.add_row(_name(shares, flavor), *drawn)
        return table
    widest = max(len(_words(share)) + len(short(share.resource)) + 2 for share in shares)
    table.columns[0].max_width = max(8, width // 4)
    long = max(_SHORTEST_BAR, min(_LONGEST_BAR, width - min(name, max(8, width // 4)) - _GAP - widest))
    before = ""
    for share in shares:
        name_of = Text() if share.flavor == before else _name(shares, share.flavor)
        table.add_row(name_of, _drawn(share, long, len(_longest(shares))))
        before = share.flavor
    return table


def _longest(shares: Sequence[QuotaShare]) -> str:
    return max((short(share.resource) for share in shares), key=len)


def closed_flavors(shares: Sequence[QuotaShare]) -> dict[str, str]:
    """Flavors on which nobody is admitted now, and why."""
    return {share.flavor: share.closed for share in shares if share.closed}


def _name(shares: Sequence[QuotaShare], flavor: str) -> Text:
    is_closed = flavor in closed_flavors(shares)
    return Text(f"✕ {flavor}", style="red") if is_closed else Text(flavor)


def _drawn(share: QuotaShare, long: int, name: int = 0) -> Text:
    line = Text.assemble((f"{short(share.resource).ljust(name)} ", "dim"), _bar(share, long), f" {_figures(share)}")
    if share.borrowed:
        line.append(_borrowed(share), style=_BORROWED[1])
    if share.lent:
        line.append(_lent(share), style=_LENT[1])
    line.no_wrap = True
    return line


def _bar(share: QuotaShare, long: int) -> Text:
    if not share.borrowed and not share.lent:
        return bar(ResourceUse(share.used, share.nominal), long)[:long]
    own = share.used - share.borrowed
    parts = [(own, _OWN), (share.borrowed, _BORROWED), (share.lent, _LENT)]
    whole = max(share.nominal, share.used, 1)
    line, drawn = Text(), 0
    for (amount, (mark, style)), end in zip(parts, accumulate(amount for amount, _ in parts), strict=True):
        # Whatever there is can be seen, however little it is.
        cells = max(1, round(long * end / whole) - drawn) if amount else 0
        cells = min(cells, long - drawn)
        line.append(mark * cells, style)
        drawn += cells
    return line.append("·" * (long - drawn), _OWN[1])


def _words(share: QuotaShare) -> str:
    return "".join(
        (_figures(share), _borrowed(share) if share.borrowed else "", _lent(share) if share.lent else ""),
    )


def _figures(share: QuotaShare) -> str:
    return f"{figure(share.resource, share.used)} of {figure(share.resource, share.nominal)}"


def _borrowed(share: QuotaShare) -> str:
    return f", {figure(share.resource, share.borrowed)} borrowed"


def _lent(share: QuotaShare) -> str:
    return f", {figure(share.resource, share.lent)} lent"
