"""How requests look in a terminal: objects in, lines out, and something to look at."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.status import StatusEvent
from growth.cli.spans import span

_WIDE: Final = 100
_TITLES: Final = ("WANTED", "NAME", "PHASE", "SINCE", "ATTEMPTS", "LAST")
_STYLES: Final = {
    "Pending": "cyan",
    "Provisioning": "cyan",
    "Ready": "green",
    "Unmet": "yellow",
    "Deprovisioning": "magenta",
    "RemovalFailed": "bold red",
}


class RequestRow(msgspec.Struct, frozen=True):
    """One request."""

    kind: str
    name: str
    pool: str
    phase: str
    since: datetime | None
    """Since when it is in this phase; for a removal, since when it is wanted."""
    attempts: int
    last: str
    """What happened last: why, where there was something to say."""
    last_at: datetime | None


def lines_of(requests: Iterable[NodeRequest], removals: Iterable[NodeRemovalRequest]) -> list[RequestRow]:
    """All of them: what is to go first, then what is wanted, each by name."""
    terminating = [_removal(removal) for removal in removals]
    coming = [_request(request) for request in requests]
    return [*sorted(terminating, key=lambda line: line.name), *sorted(coming, key=lambda line: line.name)]


def _request(request: NodeRequest) -> RequestRow:
    status, meta = request.status, request.metadata
    since = status.phase_since or meta.creation_timestamp
    return RequestRow("NodeRequest", meta.name, request.pool, status.phase, since, 0, *_last(status.events))


def _removal(removal: NodeRemovalRequest) -> RequestRow:
    status, meta = removal.status, removal.metadata
    words, at = _last(status.events)
    return RequestRow(
        "NodeRemovalRequest", meta.name, removal.spec.pool, status.phase, meta.creation_timestamp,
        status.removal_attempt, words or removal.spec.reason, at,
    )  # fmt: skip


def _last(events: Sequence[StatusEvent]) -> tuple[str, datetime | None]:
    if not events:
        return "", None
    last = events[-1]
    return last.reason or last.name, last.at


def view(lines: Sequence[RequestRow], now: datetime, width: int) -> RenderableType:
    """One line each; what happened last has the room that is left."""
    if not lines:
        return Text("Growth has asked for nothing: there are no NodeRequests and no NodeRemovalRequests.", style="dim")
    cells = [_cells(line, now) for line in lines]
    gap = 2 if width >= _WIDE else 1
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
    left = width
    for title, column in zip(_TITLES, zip(*cells, strict=True), strict=True):
        # A name may be long, and what happened last too: whoever wants all of it asks for JSON.
        wide = left if title == _TITLES[-1] else min(width // 2, max(len(title), *(len(cell) for cell in column)))
        is_number = title in {"SINCE", "ATTEMPTS"}
        justify = "right" if is_number else "left"
        table.add_column(title, no_wrap=True, overflow="ellipsis", width=max(1, wide), justify=justify)
        left -= wide + gap
    for row in cells:
        table.add_row(*row)
    return table


def _cells(line: RequestRow, now: datetime) -> tuple[str | Text, ...]:
    is_removal = line.kind == "NodeRemovalRequest"
    return (
        "gone" if is_removal else "here",
        line.name,
        Text(line.phase, style=_STYLES.get(line.phase, "")),
        span(now - line.since) if line.since else "-",
        f"{line.attempts}" if is_removal else "",
        line.last,
    )
