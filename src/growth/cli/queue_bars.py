"""How full a queue is: a bar for each resource of each flavor."""

from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from growth.cli.queue_report import Share
from growth.cli.queue_words import figure, short
from growth.cli.world_view import bar
from growth.observe.summary import Filled

_SHORTEST_BAR: Final = 6
_LONGEST_BAR: Final = 20
_GAP: Final = 3


def usage(shares: Sequence[Share], width: int) -> Table:
    """One line for each flavor where its resources fit beside each other, else one for each resource."""
    flavors = list(dict.fromkeys(share.flavor for share in shares))
    resources = list(dict.fromkeys(share.resource for share in shares))
    cells = {(share.flavor, share.resource): share for share in shares}
    name = max(len(flavor) for flavor in flavors)
    words = [max(len(_words(share)) for share in shares if share.resource == resource) for resource in resources]
    words = [size + len(short(resource)) + 2 for size, resource in zip(words, resources, strict=True)]
    free = (width - name - sum(words) - _GAP * len(resources)) // len(resources)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis", style="cyan")
    if free >= _SHORTEST_BAR:
        for flavor in flavors:
            row = [cells.get((flavor, resource)) for resource in resources]
            long = min(free, _LONGEST_BAR)
            table.add_row(flavor, *(_drawn(share, long) if share is not None else Text() for share in row))
        return table
    widest = max(len(_words(share)) + len(short(share.resource)) + 2 for share in shares)
    table.columns[0].max_width = max(8, width // 4)
    long = max(_SHORTEST_BAR, min(_LONGEST_BAR, width - min(name, max(8, width // 4)) - _GAP - widest))
    before = ""
    for share in shares:
        table.add_row("" if share.flavor == before else share.flavor, _drawn(share, long, len(_longest(shares))))
        before = share.flavor
    return table


def _longest(shares: Sequence[Share]) -> str:
    return max((short(share.resource) for share in shares), key=len)


def _drawn(share: Share, long: int, name: int = 0) -> Text:
    drawn = bar(Filled(share.used, share.nominal), long)[:long]
    line = Text.assemble((f"{short(share.resource).ljust(name)} ", "dim"), drawn, f" {_figures(share)}")
    if share.borrowed:
        line.append(_borrowed(share), style="magenta")
    line.no_wrap = True
    return line


def _words(share: Share) -> str:
    return f"{_figures(share)}{_borrowed(share) if share.borrowed else ''}"


def _figures(share: Share) -> str:
    return f"{figure(share.resource, share.used)} of {figure(share.resource, share.nominal)}"


def _borrowed(share: Share) -> str:
    return f", {figure(share.resource, share.borrowed)} borrowed"
