"""``growth memory export`` and ``growth memory import``: memories as a file, and into a cluster again."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from rich.console import Console

from growth.api.kinds import CONFIG_MAPS
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import MemorySettings
from growth.cli.client_session import asking
from growth.cli.errors import NotDone, UsageError, sentence_for
from growth.cli.memory_documents import MemoryDocument, documents_in, entries_in, written
from growth.cli.memory_forget import WriteProgress
from growth.cli.memory_import import THEIR_MARKER, carry_out, config_maps_in, planned, taken_over, told
from growth.cli.memory_list import counted, named
from growth.cli.memory_reader import MemoryBook, Now, read_book
from growth.cli.settings_options import with_settings_of
from growth.kube.client import Client
from growth.kube.errors import KubeError, NotFound

_PLACES = ("kube", "memory.namespace", "memory.transactionNamespace")


class RecordSource(msgspec.Struct, frozen=True):
    """Where memories come from: documents of a file, or ConfigMaps of a namespace."""

    entries: tuple[MemoryDocument, ...] = ()
    others: tuple[str, ...] = ()
    namespace: str = ""
    is_theirs: bool = False
    """Whether another service kept them, which also gave nodes their labels back."""


@click.command()
@with_settings_of(*_PLACES)
@click.argument("file", metavar="[FILE]", default="-")
@click.option("--output", type=click.Choice(["yaml", "json"]), help="[default: json if FILE ends so, else yaml]")
def export(effective: EffectiveSettings, file: str, output: str | None) -> None:
    """Write all memories into FILE, one document for each node; - or none writes to the terminal.

    JSON has one line for each node. What cannot be read is named and left out (exit code 1). What nodes are that are
    there is written as of their last checkpoint; what transactions say that wait is not in it.

    It needs list on nodes, and on configmaps in both namespaces of memory.

    \b
    Example:
      growth memory export memories.yaml
      growth memory export --output json | jq -r 'select(.labels["example.com/rack"] == "r7") | .node'
    """
    settings = effective.settings

    async def ask(client: Client) -> MemoryBook:
        with Console(stderr=True).status("reading what is remembered"):
            return await read_book(client, settings.memory, _now)

    book = asking(settings.kube, ask)
    form = output or ("json" if file.endswith(".json") else "yaml")
    with Console(stderr=True).status("writing it down"):
        text = exported(book, form)
    if file == "-":
        click.echo(text, nl=False)
    else:
        _save(Path(file), text)
    _tell_about_export(book, file)


def exported(book: MemoryBook, output: str) -> str:
    """All memories that can be read, by name."""
    memories = [(name, page.record) for name, page in sorted(book.pages.items()) if page.record is not None]
    header = f"# {counted(len(memories), 'node')}, written by `growth memory export` at {book.at:%Y-%m-%d %H:%M} UTC.\n"
    return written(memories, output, header)


def _save(path: Path, text: str) -> None:
    """Whole or not at all: an older export is not lost to a full disk."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; expected a file in a folder of yours") from error


def _tell_about_export(book: MemoryBook, file: str) -> None:
    count = sum(page.record is not None for page in book.pages.values())
    if file != "-":
        click.echo(f"{counted(count, 'memory', 'memories')} in {file}", err=True)
    waiting = sum(len(page.transactions) for page in book.pages.values())
    if waiting:
        click.echo(f"{counted(waiting, 'transaction')} not dealt with yet: what they say is not in it", err=True)
    if unread := sorted(name for name, page in book.pages.items() if page.problem):
        raise NotDone(f"not in it, because nobody can read them: {named(unread)}. Why: growth memory show {unread[0]}")


@click.command(name="import")
@with_settings_of(*_PLACES)
@click.argument("file", metavar="[FILE]", required=False)
@click.option(
    "--from", "source", type=click.Choice(["export", "configmaps"]), default="export", show_default=True,
    help="What to read: what `growth memory export` wrote; or ConfigMaps with labels, of a file or a namespace.",
)  # fmt: skip
@click.option("--from-namespace", metavar="NAMESPACE", default="", help="With --from configmaps: where they are.")
@click.option("--overwrite", is_flag=True, help="Also names of which something is remembered.")
def import_(
    effective: EffectiveSettings, file: str | None, source: str, from_namespace: str, *, overwrite: bool
) -> None:
    """Remember what FILE says (- reads the terminal), so that nodes of these names are given it.

    All of it is checked before anything is written. Names of which something is remembered are skipped and told, unless
    --overwrite. A node that is there and has its marker is remembered as it is, so what the file says of it is skipped,
    too. Uids and versions of another cluster mean nothing here and are not taken over. Stopped in the middle, it can be
    run again: what is there is skipped.

    --from configmaps reads the ConfigMaps of a service that keeps labels of nodes in ConfigMaps of their names, with
    ---SLASH--- for each slash: of --from-namespace, or of a file that `kubectl get configmaps -o yaml` wrote.

    It needs list on nodes, list on configmaps in both namespaces of memory, create in that of memories (patch for
    --overwrite), and list in --from-namespace.

    \b
    Example:
      growth memory import memories.yaml
      growth memory import --from configmaps --from-namespace node-metadata
      kubectl get configmaps -n node-metadata -o yaml | growth memory import - --from configmaps
    """
    found = _source(file, source, from_namespace)
    settings, tally = effective.settings, WriteProgress(Console(stderr=True), "importing")

    async def ask(client: Client) -> list[str]:
        return await import_into(client, settings.memory, found, tally, _now, overwrite=overwrite)

    try:
        for line in asking(settings.kube, ask):
            click.echo(line)
    except KeyboardInterrupt:
        raise NotDone(_stopped("stopped", tally)) from None


def _source(file: str | None, source: str, namespace: str) -> RecordSource:
    """What was given, read and checked as far as it can be without a cluster."""
    if source == "export" and (namespace or not file):
        given = "--from-namespace goes with --from configmaps" if namespace else "FILE is missing"
        raise UsageError(f"{given}; expected: growth memory import FILE")
    if source == "configmaps" and bool(file) is bool(namespace):
        raise UsageError("--from configmaps needs one place: --from-namespace NAMESPACE, or FILE, and not both")
    if not file:
        return RecordSource(namespace=namespace, is_theirs=True)
    shown = "standard input" if file == "-" else file
    documents = documents_in(_text(file), shown)
    if source == "export":
        return RecordSource(tuple(entries_in(documents, shown)))
    taken = taken_over(config_maps_in(documents, shown), shown)
    return RecordSource(taken.entries, taken.others, is_theirs=True)


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}; expected a file that export wrote") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text: expected YAML or JSON in UTF-8") from None


async def import_into(
    client: Client, settings: MemorySettings, source: RecordSource, tally: WriteProgress, now: Now, *, overwrite: bool
) -> list[str]:
    """Take it in; says what was done and what was not. Raises NotDone if it ended in the middle."""
    with tally.console.status("reading what is remembered"):
        entries, others = await _entries(client, source)
        book = await read_book(client, settings, now)
    marker = THEIR_MARKER if source.is_theirs else ""
    plan = planned(entries, book, now(), overwrite=overwrite, their_marker=marker)
    try:
        late = await carry_out(client, settings, plan, tally)
    except NotFound as error:
        raise UsageError(f"{error}; the namespace of memories comes with: growth manifests") from error
    except KubeError as error:
        if not tally.done:
            raise
        raise NotDone(_stopped(sentence_for(error), tally)) from error
    return told(len(plan.writes) - len(late), (*plan.skipped, *late), others)


async def _entries(client: Client, source: RecordSource) -> tuple[Sequence[MemoryDocument], Sequence[str]]:
    if not source.namespace:
        return source.entries, source.others
    found = (await client.list(CONFIG_MAPS, source.namespace)).items
    taken = taken_over(found, f"namespace {source.namespace}")
    if not taken.entries:
        others = f" but {named(sorted(taken.others))}" if taken.others else ""
        raise UsageError(
            f"--from-namespace {source.namespace}: there are no ConfigMaps{others}, expected some with labels"
        )
    return taken.entries, taken.others


def _stopped(why: str, tally: WriteProgress) -> str:
    if not tally.total:
        return f"{why}: nothing was written"
    return f"{why}: at least {tally.done:,} of {tally.total:,} are written; run it again, what is there is skipped"


def _now() -> datetime:
    return datetime.now(UTC)
