"""How the queues look in a terminal: a Report and a width in, something to look at out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from growth.cli.memory_report import counted, named
from growth.cli.queue_bars import usage
from growth.cli.queue_entry import Entry, Standing
from growth.cli.queue_report import Queue, Report
from growth.cli.queue_rows import STYLES, Columns, rows_of

_SHOWN_REMEDIES: Final = 3
_BEGIN: Final = """\
There is no ClusterQueue, so nobody can wait in one. This makes a queue with room for 40 cores:

kubectl apply -f - <<EOF
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: any, resources: [{name: cpu, nominalQuota: 40}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: jobs, namespace: default}
spec: {clusterQueue: team}
EOF

Jobs wait in it that bear the label kueue.x-k8s.io/queue-name: jobs, once growth run has queue.enabled: docs/queue.md"""
_NOBODY: Final = "does growth run, with queue.enabled?"


def view(report: Report, width: int, rows: int | None = None) -> RenderableType:
    """The whole picture; at most so many workloads of each queue that are admitted, and so many that wait."""
    if not report.queues and not report.homeless and not report.unmade:
        return Text(_no_queues(report), style="yellow" if report.narrowed_to else "")
    columns = Columns(list(_shown(report, rows)), width - 2, report.at)
    parts: list[RenderableType] = [_headline(report)]
    for queue in report.queues:
        parts += [Text(), _title(queue), Padding(_inside(queue, columns, report, rows), (0, 0, 0, 2))]
    if report.homeless:
        parts += [Text(), Text("in no ClusterQueue", style="bold yellow")]
        parts.append(Padding(Group(*rows_of(report.homeless, columns, report.at, rows)), (0, 0, 0, 2)))
    return Group(*parts, Text(), *_hints(report, rows))


def _no_queues(report: Report) -> str:
    if report.narrowed_to:
        return f"No queue is open to namespace {report.narrowed_to}: no LocalQueue in it, and no workload."
    return _BEGIN


def _shown(report: Report, rows: int | None) -> Iterator[Entry]:
    for queue in report.queues:
        yield from queue.admitted[:rows]
        yield from queue.pending[:rows]
    yield from report.homeless[:rows]


def _headline(report: Report) -> Text:
    counts = Counter(entry.standing for entry in report.entries)
    line = Text(counted(len(report.queues), "queue"), style="bold")
    if report.narrowed_to:
        line.append(f"   namespace {report.narrowed_to}", style="dim not bold")
    for standing, (mark, style) in STYLES.items():
        if counts[standing]:
            line.append(f"   {mark} {counts[standing]:,} {standing}", f"{style} not bold")
    if not counts:
        line.append("   nobody waits", "green not bold")
    return line.append(f"   {report.finished:,} finished", "dim not bold") if report.finished else line


def _title(queue: Queue) -> Text:
    line = Text.assemble((queue.name, "bold"), (f"  {queue.strategy}", "dim"))
    if queue.cohort:
        line.append(f"  cohort {queue.cohort}", style="dim")
    if not queue.is_told:
        return line.append("  ? nobody has said yet whether it is at work", style="yellow")
    if queue.is_active:
        return line.append("  ● at work", style="green")
    return line.append(f"  ✕ admits nobody: {queue.why}", style="red")


def _inside(queue: Queue, columns: Columns, report: Report, rows: int | None) -> RenderableType:
    parts: list[RenderableType] = [usage(queue.shares, columns.width)] if queue.shares else []
    parts += [Text.assemble(("! ", "yellow"), warning) for warning in queue.warnings]
    if not queue.admitted and not queue.pending:
        return Group(*parts, Text("nobody is in it", style="dim"))
    parts += [Text(), *rows_of((*queue.admitted, *queue.pending), columns, report.at, rows)]
    return Group(*parts)


def _hints(report: Report, rows: int | None) -> Iterable[RenderableType]:
    """What a person could do, the most pressing first."""
    if report.is_unattended:
        yield Text(f"Nobody has looked at a queue yet: {_NOBODY}", style="yellow")
    if report.unmade:
        verb = "names a queue and has" if len(report.unmade) == 1 else "name a queue and have"
        what = f"{counted(len(report.unmade), 'job')} {verb} no Workload yet ({named(report.unmade, 3)})"
        yield Text(f"{what}: {_NOBODY}", style="yellow")
    remedies = [entry for entry in _shown(report, rows) if entry.remedy]
    if remedies:
        yield from _remedies(remedies)
    if not report.knows_deadlines and any(one.standing is Standing.STARTING for one in report.entries):
        yield Text("By when pods must be ready is in Growth's settings: growth queue --settings FILE", style="dim")
    first = next((one.title for one in report.entries if one.standing not in (Standing.READY, Standing.RUNNING)), "")
    if any(report.entries):
        yield Text(f"All about one of them: growth queue explain {first or 'WORKLOAD'}", style="dim")


def _remedies(entries: Sequence[Entry]) -> Iterator[RenderableType]:
    yield Text("To let in again what was deactivated:", style="dim")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 2))
    table.add_column(overflow="fold")
    for entry in entries[:_SHOWN_REMEDIES]:
        table.add_row(Text(entry.remedy, style="bold"))
    yield table
