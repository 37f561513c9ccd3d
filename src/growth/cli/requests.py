"""How requests look in a terminal: objects in, lines out, and something to look at.

``growth request``: what Growth has asked for, and removals that it has given up.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final

import click
import msgspec
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.node_removal_request import RETRY, NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.settings.loading import EffectiveSettings
from growth.api.status import StatusEvent
from growth.api.timestamp import format_time
from growth.cli.client_session import asking
from growth.cli.errors import UsageError
from growth.cli.formatting import span
from growth.cli.settings_options import with_settings_of
from growth.kube.client import Client
from growth.kube.errors import Conflict, NotFound
from growth.kube.patches import MergePatch

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


@click.group()
def request() -> None:
    """See what Growth has asked for, and try removals again that failed.

    \b
    Example:
      growth request list
      growth request retry default-93c5d7e118
    """


@request.command(name="list")
@with_settings_of("kube")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_requests(effective: EffectiveSettings, output: str) -> None:
    """List NodeRequests and NodeRemovalRequests: how far each is, and what happened last.

    A NodeRequest is a machine that is wanted, a NodeRemovalRequest one that is to go.

    \b
    Example:
      growth request list
      growth request list --output json
    """
    lines = asking(effective.settings.kube, _lines)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(lines)).decode())
    else:
        console = Console(highlight=False)
        console.print(view(lines, datetime.now(UTC), console.width))


async def _lines(client: Client) -> list[RequestRow]:
    requests = await client.list(NODE_REQUESTS)
    removals = await client.list(NODE_REMOVAL_REQUESTS)
    return lines_of(requests.items, removals.items)


@request.command()
@with_settings_of("kube")
@click.argument("name")
def retry(effective: EffectiveSettings, name: str) -> None:
    """Try a removal again that failed.

    NAME is that of a NodeRemovalRequest in the phase RemovalFailed: Growth asked the provider again and again to delete
    the machine, and stopped. Mend what stands in the way first (the reason is in `growth top`). It needs the verbs list
    and patch on noderemovalrequests.

    \b
    Example:
      growth request retry default-93c5d7e118
    """

    async def ask(client: Client) -> str:
        return await ask_for_retry(client, name, datetime.now(UTC))

    click.echo(asking(effective.settings.kube, ask))


async def ask_for_retry(client: Client, name: str, now: datetime) -> str:
    """Write onto a removal that it is to be tried again; says what will happen."""
    removal = _found(name, (await client.list(NODE_REMOVAL_REQUESTS)).items)
    phase, meta = removal.status.phase, removal.metadata
    if phase != "RemovalFailed":
        meaning = {"Pending": "its provider has not been asked yet", "Deprovisioning": "its provider is being asked"}
        raise UsageError(f"{name} is in the phase {phase}, expected RemovalFailed: {meaning[phase]}, nothing to retry")
    if RETRY in meta.annotations:
        return f"{name} is to be tried again already: Growth begins as soon as it looks at it. Is it running?"
    # Of this version only: in another one, Growth or somebody else may have begun.
    body = {"metadata": {"resourceVersion": str(meta.resource_version), "annotations": {RETRY: format_time(now)}}}
    try:
        await client.patch(NODE_REMOVAL_REQUESTS, name, MergePatch(body))
    except Conflict as error:
        raise UsageError(
            f"{name} has just been changed by somebody else: look at it, and ask again if need be"
        ) from error
    except NotFound as error:
        raise UsageError(f"{name} has just gone: there is nothing to retry") from error
    return (
        f"{name} will be tried again. Growth sets it back to Pending, makes sure once more that nobody needs\n"
        f"node {removal.node_name}, and asks its provider to delete the machine; attempts count from one.\n"
        "Watch it: growth top --follow"
    )


def _found(name: str, removals: list[NodeRemovalRequest]) -> NodeRemovalRequest:
    by_name = {removal.metadata.name: removal for removal in removals}
    if name in by_name:
        return by_name[name]
    failed = sorted(known for known, removal in by_name.items() if removal.status.phase == "RemovalFailed")
    close = get_close_matches(name, by_name, 1)
    hint = f", the closest is {close[0]!r}" if close else ""
    known = f"those that failed are {', '.join(failed)}" if failed else "none has failed"
    raise UsageError(f"there is no NodeRemovalRequest {name!r}{hint}; {known}")
