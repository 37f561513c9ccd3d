"""What holds for memories, in words: the settings, and for one node which rule is about which label."""

from collections.abc import Iterator

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.api.duration import format_duration
from growth.api.node import Node
from growth.api.node_memory import MARKER
from growth.api.offering import POOL
from growth.api.settings.model import MemorySettings
from growth.cli.memory_list import counted
from growth.decide.node_memory.context import NodeMemoryContext
from growth.decide.node_memory.restore_policy import RestorePolicy, template_of

MODES = {
    "off": "nothing is written down, and nothing given back",
    "merge": "what is remembered wins, what only the new node has stays, what was removed stays removed",
    "replace": "the new node is what it was: all other labels go, but for its own",
}


class LabelRule(msgspec.Struct, frozen=True):
    """What holds for one label of a node."""

    key: str
    value: str
    owned_by: str
    """Which rule makes it the new node's own; empty if it is given back."""


class PolicyReport(msgspec.Struct, frozen=True):
    """All of it."""

    mode: str
    owned_keys: tuple[str, ...]
    owned_beginnings: tuple[str, ...]
    annotations: tuple[str, ...]
    taints: tuple[str, ...]
    namespace: str
    transaction_namespace: str
    checkpoint_after: str
    finalizer_deadline: str
    """Empty without a finalizer."""
    forget_after: str
    """Empty for never."""
    node: str = ""
    labels: tuple[LabelRule, ...] = ()


def report_of(
    settings: MemorySettings, node: Node | None = None, context: NodeMemoryContext | None = None
) -> PolicyReport:
    """What holds, and for the labels of this node."""
    beginnings = tuple(key[:-1] for key in settings.owned_keys if key.endswith("*"))
    rules = tuple(_rules(context, node)) if node is not None and context is not None else ()
    return PolicyReport(
        mode=settings.mode,
        owned_keys=tuple(key for key in settings.owned_keys if not key.endswith("*")),
        owned_beginnings=beginnings,
        annotations=settings.annotations,
        taints=settings.taints,
        namespace=settings.namespace,
        transaction_namespace=settings.transaction_namespace,
        checkpoint_after=format_duration(settings.checkpoint_after),
        finalizer_deadline=format_duration(settings.finalizer_deadline) if settings.finalizer else "",
        forget_after=format_duration(settings.forget_after) if settings.forget_after is not None else "",
        node=node.metadata.name if node is not None else "",
        labels=rules,
    )


def _rules(context: NodeMemoryContext, node: Node) -> Iterator[LabelRule]:
    template, policy, labels = template_of(node, context.snapshot), context.policy, node.metadata.labels
    for key in sorted(labels, key=lambda key: (policy.is_owned(key, template), key)):
        owner = _owner(policy, key, f"pool {labels.get(POOL, '')}") if policy.is_owned(key, template) else ""
        yield LabelRule(key, labels[key], owner)


def _owner(policy: RestorePolicy, key: str, pool: str) -> str:
    if key == MARKER:
        return "the marker"
    rules = policy.settings.owned_keys
    matching = (one for one in rules if one == key or (one.endswith("*") and key.startswith(one[:-1])))
    return next(matching, pool)


def view(report: PolicyReport) -> RenderableType:
    """The rules, then what they make of the node."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for word, text in _facts(report):
        table.add_row(word, text)
    if not report.node:
        return table
    return Group(table, Text(), *_node(report))


def _facts(report: PolicyReport) -> Iterator[tuple[str, Text]]:
    style = "yellow" if report.mode == "off" else "bold"
    yield "mode", Text.assemble((report.mode, style), f": {MODES[report.mode]}")
    owned = [*report.owned_keys, *(f"{one}*" for one in report.owned_beginnings)]
    words = "\n".join([*owned, "and the labels of its NodePool"]) if owned else "nothing but the marker"
    yield "a new node's own", Text(words)
    yield "annotations", Text(_begin(report.annotations))
    yield "taints", Text(_begin(report.taints))
    yield "memories", Text(f"ConfigMaps in {report.namespace}, each named as its node")
    yield "transactions", Text(f"ConfigMaps in {report.transaction_namespace}")
    yield "written down", Text(f"{report.checkpoint_after} after a label has changed, and when the node leaves")
    held = (
        f"it waits for that, up to {report.finalizer_deadline}" if report.finalizer_deadline else "it waits for nothing"
    )
    yield "deletion", Text(held)
    forgotten = f"{report.forget_after} after a node has gone" if report.forget_after else "never"
    yield "forgotten", Text(forgotten)


def _begin(beginnings: tuple[str, ...]) -> str:
    return f"those that begin with {', '.join(beginnings)}" if beginnings else "not remembered"


def _node(report: PolicyReport) -> Iterator[RenderableType]:
    kept = sum(not rule.owned_by for rule in report.labels)
    yield Text.assemble(
        (report.node, "bold"), f": of {counted(len(report.labels), 'label')}, {kept} would be given back"
    )
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("LABEL", overflow="fold")
    table.add_column("VALUE", overflow="fold")
    table.add_column("A NEW NODE", overflow="fold")
    for rule in report.labels:
        style = "dim" if rule.owned_by else ""
        why = f" ({rule.owned_by})" if rule.owned_by != rule.key else ""
        fate = Text(f"· its own{why}", style="dim") if rule.owned_by else Text("+ given back", style="green")
        table.add_row(Text(rule.key, style=style), Text(rule.value or '""', style=style), fate)
    yield table
