"""What ``growth cluster`` shows: a value and a width in, text out."""

import io
from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from growth_lab.local_cluster.status import ClusterStatus, Condition

_COLOURS = {
    Condition.UP: "green",
    Condition.STARTING: "yellow",
    Condition.PAUSED: "yellow",
    Condition.HURT: "red",
    Condition.UNWELL: "red",
    Condition.ENDED: "red",
    Condition.ABANDONED: "red",
}
_MEBIBYTE = 1 << 20


def render_up(status: ClusterStatus, nodes: int, seconds: float) -> str:
    """What to do with a cluster that has just come up."""
    with_nodes = f" with {nodes} node{'s' if nodes != 1 else ''}" if nodes else ""
    name = "" if status.name == "default" else f" --name {status.name}"
    return (
        f"cluster {status.name} is up after {seconds:.1f} s{with_nodes}: {status.server}\n\n"
        f"  export KUBECONFIG={status.kubeconfig}\n"
        f"  {status.kubectl} get nodes\n\n"
        f"It stays until you run: growth cluster down{name}\n"
    )


def render_list(statuses: Sequence[ClusterStatus], width: int, *, colour: bool = False) -> str:
    """All clusters, one line each."""
    if not statuses:
        return "no clusters; `growth cluster up` starts one\n"
    table = _table("NAME", "STATE", "SERVER", "SINCE", "MEMORY", "USED BY")
    for status in statuses:
        table.add_row(
            status.name,
            _word(status.condition),
            status.server.removeprefix("https://") or "-",
            status.created_at[:16].replace("T", " ") or "-",
            _memory(status.memory_bytes),
            f"pid {status.held_by}" if status.held_by else "-",
        )
    return _drawn(table, width, colour=colour)


def render_status(status: ClusterStatus, width: int, *, colour: bool = False) -> str:
    """One cluster, one line per component."""
    head = f"cluster {status.name} is {status.condition}: {status.server or 'it has no ports yet'}\n"
    table = _table("COMPONENT", "STATE", "PID", "PORT", "MEMORY")
    for component in status.components:
        table.add_row(
            component.name,
            _word(component.condition),
            str(component.pid or "-"),
            str(component.port),
            _memory(component.memory_bytes),
        )
    return head + (_drawn(table, width, colour=colour) if status.components else "")


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        is_number = title in {"PID", "PORT", "MEMORY"}
        table.add_column(title, justify="right" if is_number else "left", no_wrap=True, overflow="ellipsis")
    return table


def _word(condition: Condition) -> Text:
    return Text(condition, style=_COLOURS[condition])


def _memory(size: int) -> str:
    return f"{size / _MEBIBYTE:.0f} MiB" if size else "-"


def _drawn(what: RenderableType, width: int, *, colour: bool) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=colour, no_color=not colour, highlight=False)
    with console.capture() as captured:
        console.print(what)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"
