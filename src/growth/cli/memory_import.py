"""Memories of the service that the seed describes: ConfigMaps named as nodes, with labels whose slashes are encoded.

In that format a key that contains the token itself cannot be told from one with a slash: it is read as a slash, as that
service does.

Which memories of elsewhere are taken in, and which are not because more is known here. First a plan, then writes.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, cast

import msgspec

from growth.api.core import ConfigMap
from growth.api.node import Node
from growth.api.node_memory import MEMORIES, NodeContents, is_marked, text_of
from growth.api.settings.model import MemorySettings
from growth.cli.errors import UsageError
from growth.cli.memory_documents import MemoryDocument, checked_labels, raise_problems
from growth.cli.memory_forget import WriteProgress, writing
from growth.cli.memory_list import counted, named
from growth.cli.memory_reader import MemoryBook
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists, Conflict, NotFound
from growth.kube.patches import MergePatch

TOKEN: Final = "---SLASH---"  # noqa: S105 - it stands for a slash and keeps no secret
THEIR_MARKER: Final = "labels_restored"
_KINDS: Final = ("ConfigMap", "ConfigMapList", "List")


class TakeoverResult(msgspec.Struct, frozen=True):
    """What they say, and which of them are somebody else's: every namespace has some that nobody asked for."""

    entries: tuple[MemoryDocument, ...]
    others: tuple[str, ...]


def taken_over(config_maps: Sequence[ConfigMap], where: str) -> TakeoverResult:
    """What these ConfigMaps say. One that is that service's and cannot be read is refused, and with it all."""
    entries, others, problems = list[MemoryDocument](), list[str](), list[str]()
    for one in config_maps:
        name, labels = one.metadata.name, {key.replace(TOKEN, "/"): value for key, value in one.data.items()}
        is_theirs = THEIR_MARKER in labels
        wrong = list(checked_labels({key: value for key, value in labels.items() if key != THEIR_MARKER}))
        if wrong and not is_theirs:
            others.append(name)
            continue
        problems += [
            f"{where}, ConfigMap {name}: data, {key} is {value!r}, expected {expected}"
            for key, value, expected in wrong
        ]
        labels.pop(THEIR_MARKER, None)
        entries.append(MemoryDocument(name, NodeContents(uid="", version=0, labels=labels)))
    raise_problems(problems)
    return TakeoverResult(tuple(entries), tuple(others))


def config_maps_in(documents: Sequence[object], file_name: str) -> list[ConfigMap]:
    """The ConfigMaps of a file that ``kubectl get configmaps -o yaml`` wrote."""
    found: list[ConfigMap] = []
    for number, document in enumerate(documents, 1):
        fields = cast("dict[str, object]", document) if isinstance(document, dict) else {}
        kind = fields.get("kind")
        if kind not in _KINDS:
            raise UsageError(f"{file_name}, document {number}: kind is {kind!r}, expected {' or '.join(_KINDS)}")
        try:
            items: object = [fields] if kind == "ConfigMap" else fields.get("items")
            # Not strict: a resourceVersion is an integer in a string.
            found += msgspec.convert(items, list[ConfigMap], strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"{file_name}, document {number} cannot be read: {error}") from error
    return found


LIVES: Final = "its node is there and has its marker: it is remembered as it is now"
LIVES_ELSEWHERE: Final = "its node is there, and that service gave it its labels back: what it is now is newer"
KNOWN: Final = "it is remembered already: --overwrite replaces that"
SAME: Final = "it is remembered like that already"
CHANGED: Final = "somebody wrote it just now: look at it, and import again if need be"


class RecordWrite(msgspec.Struct, frozen=True):
    """One memory that is to be made, or changed if it is still in this version."""

    node: str
    body: dict[str, Any]
    resource_version: int | None = None


class ImportPlan(msgspec.Struct, frozen=True):
    """What is to be done, and who is left out and why."""

    writes: tuple[RecordWrite, ...]
    skipped: tuple[tuple[str, str], ...]


def planned(
    entries: Iterable[MemoryDocument], book: MemoryBook, now: datetime, *, overwrite: bool, their_marker: str = ""
) -> ImportPlan:
    """What to do about each; ``their_marker`` is the label of a service that gave nodes their labels back itself."""
    writes, skipped = list[RecordWrite](), list[tuple[str, str]]()
    for entry in entries:
        page = book.pages.get(entry.node)
        why = _why_not(entry, page.node if page is not None else None, book, their_marker, overwrite=overwrite)
        if why:
            skipped.append((entry.node, why))
        else:
            writes.append(_write(entry, book, now))
    return ImportPlan(tuple(writes), tuple(skipped))


def _why_not(entry: MemoryDocument, node: Node | None, book: MemoryBook, their_marker: str, *, overwrite: bool) -> str:
    if node is not None and is_marked(node):
        return LIVES
    if node is not None and their_marker and their_marker in node.metadata.labels:
        return LIVES_ELSEWHERE
    if entry.node not in book.memories:
        return ""
    memory = book.pages[entry.node].record
    if memory is not None and memory.is_final and entry.memento.says_the_same_as(memory.memento):
        return SAME
    return "" if overwrite else KNOWN


def _write(entry: MemoryDocument, book: MemoryBook, now: datetime) -> RecordWrite:
    """It counts as written down now, so that nobody forgets it at once because it is old elsewhere."""
    there = book.memories.get(entry.node)
    memory = book.pages[entry.node].record if there is not None else None
    # In the place of a memory of this cluster it stands for that version: what comes late stays late.
    version = memory.memento.version if memory is not None else 0
    memento = msgspec.structs.replace(entry.memento, version=version, at=now)
    data = {"memory": text_of(memento), "checkpoint": None, "claimedBy": entry.claimed_by or None}
    if there is not None:
        return RecordWrite(entry.node, {"data": data}, there.metadata.resource_version)
    kept = {key: value for key, value in data.items() if value is not None}
    return RecordWrite(entry.node, {"metadata": {"name": entry.node}, "data": kept})


async def carry_out(
    client: Client, settings: MemorySettings, plan: ImportPlan, tally: WriteProgress
) -> list[tuple[str, str]]:
    """Write them; returns who was left out because somebody else wrote it meanwhile."""
    late: list[tuple[str, str]] = []

    async def write(one: RecordWrite) -> None:
        try:
            if one.resource_version is None:
                await client.create(MEMORIES, one.body, settings.namespace)
            else:
                body = {"metadata": {"resourceVersion": str(one.resource_version)}, **one.body}
                await client.patch(MEMORIES, one.node, MergePatch(body), settings.namespace)
        except (AlreadyExists, Conflict):
            late.append((one.node, CHANGED))
        except NotFound:
            if one.resource_version is None:
                raise  # there is no such namespace
            late.append((one.node, CHANGED))

    await writing(plan.writes, write, tally)
    return late


def told(imported: int, skipped: Iterable[tuple[str, str]], others: Collection[str]) -> list[str]:
    """What was done, a line for each reason why something was not."""
    reasons: dict[str, list[str]] = {}
    for node, why in skipped:
        reasons.setdefault(why, []).append(node)
    lines = [f"imported {counted(imported, 'memory', 'memories')}"]
    lines += [f"skipped {len(nodes):,}, {why}: {named(sorted(nodes))}" for why, nodes in reasons.items()]
    if others:
        lines.append(f"left out {len(others):,}, they hold something else than labels: {named(sorted(others))}")
    return lines
