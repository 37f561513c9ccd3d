"""How ``growth doctor`` looks in a terminal: a Report in, something to print out."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.api.growth_kinds import GROUP
from growth.api.queue.kinds import GROUP as QUEUE_GROUP
from growth.api.server_features import NEWEST, OLDEST
from growth.cli.doctor_report import DoctorReport, FoundKind, KindState

_STATES = {KindState.DIFFERENT: "is of another version of Growth", KindState.MISSING: "is not served"}
_NEXT = {
    GROUP: "growth crds | kubectl apply --server-side -f -",
    QUEUE_GROUP: "growth crds --queue | kubectl create -f -",
}


def view(report: DoctorReport) -> RenderableType:
    """First the verdict, then what is missing, then what to do."""
    parts: list[RenderableType] = [_verdict(report), _about(report)]
    if not report.is_tested:
        tested = f"Growth is tested on Kubernetes {OLDEST} to {NEWEST}, and not on this release."
        parts += [Text(), Text(tested, style="yellow")]
    if report.missing_features:
        parts += [Text(), Text("What this server lacks, and what follows", style="bold"), _features(report)]
    if report.unusable_kinds:
        parts += [Text(), Text("Kinds", style="bold"), _kinds(report.unusable_kinds)]
    if unknown := [one.kind for one in report.kinds if one.state is KindState.UNKNOWN]:
        why = f"Not compared, since you may not get customresourcedefinitions: {', '.join(unknown)}."
        parts += [Text(), Text(why, style="dim")]
    if report.missing_permissions:
        parts += [Text(), Text("Missing permissions", style="bold"), _permissions(report)]
    if steps := _steps(report):
        parts += [Text(), Text("Next", style="bold"), *(Text(f"  {step}") for step in steps)]
    return Group(*parts)


def _verdict(report: DoctorReport) -> Text:
    if report.stopped:
        badge = (" INCOMPLETE ", "bold white on red")
        return Text.assemble(badge, f" without what follows these do not work: {', '.join(report.stopped)}")
    return Text.assemble((" COMPLETE ", "bold white on green"), " nothing stops an enabled capability")


def _about(report: DoctorReport) -> Text:
    served = sum(one.state is not KindState.MISSING for one in report.kinds)
    granted = report.permissions - len(report.missing_permissions)
    return Text(
        f"Growth {report.growth}, Kubernetes {report.version} at {report.server}, as {report.user}\n"
        f"Capabilities: {', '.join(report.capabilities)}\n"
        f"{served} of {len(report.kinds)} kinds are served, {granted} of {report.permissions} permissions are granted",
        style="dim",
    )


def _features(report: DoctorReport) -> Table:
    table = _table("FEATURE", "SINCE", "FOR", "WITHOUT IT")
    for one in report.missing_features:
        users = "all" if one.capabilities == report.capabilities else ", ".join(one.capabilities)
        table.add_row(one.name, one.since, users, one.without)
    return table


def _kinds(kinds: Sequence[FoundKind]) -> Table:
    table = _table("KIND", "SERVED AS", "STATE", "STOPS")
    for one in kinds:
        state = f"{_STATES[one.state]}: {one.detail}" if one.detail else _STATES[one.state]
        table.add_row(one.kind, one.group_version, state, ", ".join(one.capabilities))
    return table


def _permissions(report: DoctorReport) -> Table:
    table = _table("PERMISSION", "NEEDED BY")
    for one in report.missing_permissions:
        table.add_row(one.permission, ", ".join(one.needed_by))
    return table


def _steps(report: DoctorReport) -> list[str]:
    groups = dict.fromkeys(one.group_version.partition("/")[0] for one in report.unusable_kinds)
    steps = [_NEXT[group] for group in groups if group in _NEXT]
    if report.missing_permissions:
        steps.append("growth manifests | kubectl apply --server-side -f -    # with your settings: the roles are in it")
    return steps


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=title in {"KIND", "SERVED AS", "SINCE"})
    return table
