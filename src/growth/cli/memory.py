"""``growth memory``: what is remembered of nodes, who would be given what, and how to drop it."""

import sys
from datetime import UTC, datetime, timedelta

import click
import msgspec
from rich.console import Console, RenderableType

from growth.api.duration import DurationError, parse_duration
from growth.api.settings.loading import EffectiveSettings
from growth.cli.client_session import asking
from growth.cli.errors import NotDone, UsageError
from growth.cli.memory_export import export, import_
from growth.cli.memory_forget import ForgetOptions, WriteProgress, forget_memories
from growth.cli.memory_list import listed, view
from growth.cli.memory_policy import PolicyReport, report_of
from growth.cli.memory_policy import view as policy_view
from growth.cli.memory_reader import MemoryBook, read_book, read_node, read_scene, unknown
from growth.cli.memory_show import MemoryHistory, story_of
from growth.cli.memory_show import view as story_view
from growth.cli.settings_options import with_settings_of
from growth.kube.client import Client


@click.group()
def memory() -> None:
    """See what is remembered of nodes, drop it, and carry it from cluster to cluster.

    A node that comes back under its old name is given back its labels; `growth run` does that. Give these commands the
    settings that it has (--settings), because they say where memories are and which labels are given back.

    \b
    Example:
      growth memory list
      growth memory show worker-7
      growth memory forget worker-7
      growth memory export memories.yaml
    """


memory.add_command(export)
memory.add_command(import_)


@memory.command(name="list")
@with_settings_of("kube", "memory.namespace", "memory.transactionNamespace")
@click.option("--gone", is_flag=True, help="Only names whose node is not there.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_memories(effective: EffectiveSettings, output: str, *, gone: bool) -> None:
    """List every name of which something is remembered.

    Those come first at which somebody should look: memories that nobody can read, nodes without their marker, and
    transactions that wait. The marker is the label growth.dev/labels-restored of the live node: which version it was
    given back, 0 if there was nothing. A node that has it may be edited.

    It needs list on nodes, and on configmaps in both namespaces of memory.

    \b
    Example:
      growth memory list
      growth memory list --gone
      growth memory list --output json | jq -r '.lines[] | select(.standing == "unreadable") | .node'
    """
    settings = effective.settings

    async def ask(client: Client) -> MemoryBook:
        with Console(stderr=True).status("reading what is remembered"):
            return await read_book(client, settings.memory, _now)

    found = listed(asking(settings.kube, ask), settings.memory.namespace, only_gone=gone)
    _print(found, view(found, Console().width), output)


@memory.command()
@with_settings_of("kube", "memory")
@click.argument("name", metavar="NODE")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def show(effective: EffectiveSettings, name: str, output: str) -> None:
    """See what is remembered of NODE, what it has now, and what a node of that name would be given.

    If the node is there and has no marker yet, the last column is about that very node; else about a new one. Keys that
    are its own come from the new node, whatever is remembered (growth memory policy). Transactions that wait are shown
    in the order in which they are dealt with.

    It needs get on nodes, nodepools and noderequests, get on configmaps in the namespace of memories and list in that
    of transactions.

    \b
    Example:
      growth memory show worker-7
      growth memory show worker-7 --output json | jq .memory.labels
    """
    settings = effective.settings

    async def ask(client: Client) -> MemoryHistory:
        context = await read_scene(client, settings, name, _now)
        if context.page(name).is_blank:
            pages = (await read_book(client, settings.memory, _now)).pages
            raise unknown(f"nothing is remembered of {name!r}, and there is no such node", name, pages.keys())
        return story_of(context, name)

    story = asking(settings.kube, ask)
    _print(story, story_view(story, Console().width), output)


@memory.command()
@with_settings_of("kube", "memory.namespace", "memory.transactionNamespace")
@click.argument("names", metavar="NODE...", nargs=-1)
@click.option("--gone-for", metavar="DURATION", help="All whose nodes have been gone for so long, such as 720h.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(effective: EffectiveSettings, names: tuple[str, ...], gone_for: str | None, *, yes: bool) -> None:
    """Drop what is remembered of NODE, so that a node of that name comes back as it is.

    It says what is lost, and asks. A memory that somebody changes meanwhile stays (exit code 1). A node that is there
    is remembered again by its next checkpoint, a few seconds later, without what was removed from it before; and what
    transactions say that wait is remembered, too. To let Growth forget by itself: memory.forgetAfter.

    It needs list on nodes, list on configmaps in both namespaces of memory, and delete in that of memories.

    \b
    Example:
      growth memory forget worker-7
      growth memory forget --gone-for 720h --yes
    """
    if bool(names) is (gone_for is not None):
        raise UsageError("whom to forget? Give names of nodes, or --gone-for DURATION, and not both")
    if not yes and not sys.stdin.isatty():
        raise UsageError("it asks before it drops anything, and nobody can answer here: add --yes")
    settings = effective.settings
    options = ForgetOptions(tuple(dict.fromkeys(names)), _duration(gone_for))
    tally = WriteProgress(Console(stderr=True), "forgetting")

    async def ask(client: Client) -> list[str]:
        return await forget_memories(
            client, settings.memory, options, tally, agrees=lambda question: yes or click.confirm(question), now=_now
        )

    try:
        for line in asking(settings.kube, ask):
            click.echo(line)
    except KeyboardInterrupt:
        raise NotDone(f"stopped: at least {tally.done:,} of {tally.total:,} are forgotten") from None


@memory.command()
@with_settings_of("kube", "memory")
@click.argument("name", metavar="[NODE]", required=False)
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def policy(effective: EffectiveSettings, name: str | None, output: str) -> None:
    """See what is remembered and given back; with NODE, which of its labels.

    All labels are remembered. Some are a new node's own, because a machine knows them better than a memory of it: those
    of memory.ownedKeys, and those that its NodePool gives. Without NODE no cluster is asked.

    With NODE it needs get on nodes, nodepools and noderequests, get on configmaps in the namespace of memories and list
    in that of transactions.

    \b
    Example:
      growth memory policy --settings growth.yaml
      growth memory policy worker-7
    """
    settings = effective.settings

    async def ask(client: Client) -> PolicyReport:
        node, context = await read_node(client, settings, str(name), _now)
        return report_of(settings.memory, node, context)

    report = asking(settings.kube, ask) if name else report_of(settings.memory)
    _print(report, policy_view(report), output)


def _print(value: object, shown: RenderableType, output: str) -> None:
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())
    else:
        Console(highlight=False).print(shown)


def _duration(text: str | None) -> timedelta | None:
    try:
        return parse_duration(text) if text is not None else None
    except DurationError as error:
        raise UsageError(f"--gone-for {error}") from error


def _now() -> datetime:
    return datetime.now(UTC)
