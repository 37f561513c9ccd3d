"""How the queues look in a terminal: a Report and a width in, something to look at out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from growth.cli.memory_list import counted, named
from growth.cli.queue_entry import WorkloadPhase, WorkloadRow
from growth.cli.queue_report import Queue, QueueReport
from growth.cli.queue_shares import CohortView, branch
from growth.cli.queue_tables import STYLES, ColumnWidths, OutputLines, closed_flavors, notices, rows_of, usage

_SHOWN_REMEDIES: Final = 3
_STEP: Final = 2
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


def view(report: QueueReport, width: int, rows: int | None = None) -> RenderableType:
    """The whole picture; at most so many workloads of each queue that are admitted, and so many that wait."""
    first = notices(report.notices)
    if not report.queues and not report.homeless and not report.unmade:
        return Group(*first, Text(_no_queues(report), style="yellow" if report.narrowed_to else ""))
    columns = ColumnWidths(list(_shown(report, rows)), width, report.at)
    parts: list[RenderableType] = [*first, _headline(report)]
    drawn = [(branch(one.path), _cohort(one, columns)) for one in report.cohorts]
    drawn += [(branch(one.path, one.name), _queue(one, columns, rows)) for one in report.queues]
    for _, lines in sorted(drawn, key=itemgetter(0)):
        parts += [Text(), *lines]
    if report.homeless:
        parts += [Text(), Text("in no ClusterQueue", style="bold yellow")]
        parts.append(OutputLines(list(rows_of(report.homeless, columns, _STEP, rows))))
    return Group(*parts, Text(), *_hints(report, rows))


def _indent(depth: int, columns: ColumnWidths) -> int:
    """How far in something stands. Cohorts that are very deep stand below each other: there must be room for words."""
    return min(depth * _STEP, columns.width // 8)


def _cohort(cohort: CohortView, columns: ColumnWidths) -> Iterator[RenderableType]:
    indent = _indent(len(cohort.path) - 1, columns)
    line = Text.assemble(("▾ cohort ", "dim"), (cohort.name, "bold"))
    if cohort.trouble:
        line.append(f"  ✕ {cohort.trouble}", style="red")
    elif cohort.shares:
        line.append("  with quota of its own", style="dim")
    yield Padding(line, (0, 0, 0, indent))
    if cohort.shares:
        bars = usage(cohort.shares, columns.width - indent - _STEP)
        yield Padding(bars, (0, 0, 0, indent + _STEP))


def _queue(queue: Queue, columns: ColumnWidths, rows: int | None) -> Iterator[RenderableType]:
    indent = _indent(len(queue.path), columns)
    yield Padding(_title(queue), (0, 0, 0, indent))
    yield Padding(_quota(queue, columns.width - indent - _STEP), (0, 0, 0, indent + _STEP))
    if queue.admitted or queue.pending:
        yield Text()
        yield OutputLines(list(rows_of((*queue.admitted, *queue.pending), columns, indent + _STEP, rows)))


def _no_queues(report: QueueReport) -> str:
    if report.narrowed_to:
        return f"No queue is open to namespace {report.narrowed_to}: no LocalQueue in it, and no workload."
    return _BEGIN


def _shown(report: QueueReport, rows: int | None) -> Iterator[WorkloadRow]:
    for queue in report.queues:
        yield from queue.admitted[:rows]
        yield from queue.pending[:rows]
    yield from report.homeless[:rows]


def _headline(report: QueueReport) -> Text:
    counts = Counter(entry.standing for entry in report.entries)
    line = Text(counted(len(report.queues), "queue"), style="bold")
    if report.narrowed_to:
        line.append(f"   namespace {report.narrowed_to}", style="dim not bold")
    for phase, (mark, style) in STYLES.items():
        if counts[phase]:
            line.append(f"   {mark} {counts[phase]:,} {phase}", f"{style} not bold")
    if not counts:
        line.append("   nobody waits", "green not bold")
    return line.append(f"   {report.finished:,} finished", "dim not bold") if report.finished else line


def _title(queue: Queue) -> Text:
    line = Text.assemble((queue.name, "bold"), (f"  {queue.strategy}", "dim"))
    if not queue.is_reported:
        return line.append("  ? nobody has said yet whether it is at work", style="yellow")
    if queue.is_active:
        return line.append("  ● at work", style="green")
    return line.append(f"  ✕ admits nobody: {queue.why}", style="red")


def _quota(queue: Queue, width: int) -> RenderableType:
    parts: list[RenderableType] = [usage(queue.shares, width)] if queue.shares else []
    for flavor, why in closed_flavors(queue.shares).items():
        parts.append(Text.assemble(("✕ ", "red"), f"flavor {flavor} is closed: {why}"))
    parts += [Text.assemble(("! ", "yellow"), warning) for warning in queue.warnings]
    if not queue.admitted and not queue.pending:
        parts.append(Text("nobody is in it", style="dim"))
    return Group(*parts)


def _hints(report: QueueReport, rows: int | None) -> Iterable[RenderableType]:
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
    if not report.knows_deadlines and any(one.standing is WorkloadPhase.STARTING for one in report.entries):
        yield Text("By when pods must be ready is in Growth's settings: growth queue --settings FILE", style="dim")
    first = next(
        (one.title for one in report.entries if one.standing not in (WorkloadPhase.READY, WorkloadPhase.RUNNING)), ""
    )
    if any(report.entries):
        yield Text(f"All about one of them: growth queue explain {first or 'WORKLOAD'}", style="dim")


def _remedies(entries: Sequence[WorkloadRow]) -> Iterator[RenderableType]:
    yield Text("To let in again what was deactivated:", style="dim")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 2))
    table.add_column(overflow="fold")
    for entry in entries[:_SHOWN_REMEDIES]:
        table.add_row(Text(entry.remedy, style="bold"))
    yield table
