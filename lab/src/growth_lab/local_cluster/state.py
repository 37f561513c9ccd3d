"""What is known about each cluster of this user, on disk, so that any later process can find and end it.

A cluster is its folder. Making the folder claims the name; the record in it says who started the cluster, on which
ports, and which processes belong to it. A process that was started but not yet recorded when its starter was killed is
found by the mark in its environment.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Generator, Mapping

import msgspec

from growth_lab.local_cluster import process
from growth_lab.local_cluster.components import Plan
from growth_lab.local_cluster.errors import NameTaken, UnknownCluster
from growth_lab.local_cluster.layout import Layout, is_name, layout_of, state_home
from growth_lab.local_cluster.process import Process

MARK = "GROWTH_LOCAL_CLUSTER"
"""The environment variable that every component carries: its cluster's folder."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One cluster, as its starter wrote it down."""

    name: str
    created_at: str  # RFC 3339, UTC
    starter: Process
    dies_with_starter: bool
    is_ready: bool = False
    plan: Plan | None = None  # None until ports are chosen
    processes: dict[str, Process] = {}


def claim(layout: Layout) -> None:
    """Take the name, or say who has it."""
    layout.root.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        layout.root.mkdir(mode=0o700)
    except FileExistsError:
        raise NameTaken(layout.name) from None


def save(layout: Layout, record: Record) -> None:
    """Replace the record in one step: a reader sees the old one or the new one."""
    temporary = layout.record.with_suffix(".new")
    temporary.write_bytes(msgspec.json.encode(record, enc_hook=_plain))
    temporary.replace(layout.record)


def load(name: str, environment: Mapping[str, str]) -> tuple[Layout, Record | None]:
    """The cluster of that name. Its record is None if the starter died before it wrote one."""
    layout = layout_of(name, environment)
    if not layout.root.is_dir():
        raise UnknownCluster(name, names(environment))
    return layout, _read(layout)


def names(environment: Mapping[str, str]) -> list[str]:
    """Every cluster that left a folder, running or not."""
    home = state_home(environment)
    found = home.iterdir() if home.is_dir() else ()
    return sorted(entry.name for entry in found if entry.is_dir() and is_name(entry.name))


def processes_of(layout: Layout, record: Record | None) -> list[Process]:
    """Everything that runs for this cluster, recorded or only marked."""
    recorded = record.processes.values() if record else ()
    alive = {found for found in recorded if process.is_alive(found)}
    return sorted(alive | set(process.marked(MARK, str(layout.root))), key=lambda found: found.pid)


def end(layout: Layout, record: Record | None) -> list[Process]:
    """End a cluster, whoever started it: its processes (returned), then its files."""
    ended: list[Process] = []
    # Looked for again after they ended: a starter that still lived may have started another one meanwhile.
    while found := processes_of(layout, record):
        process.end_all(found)
        ended += found
    while layout.root.exists():
        with contextlib.suppress(FileNotFoundError):  # somebody else ends it at the same time
            shutil.rmtree(layout.root)
    return ended


def remove_leftovers(environment: Mapping[str, str]) -> list[str]:
    """Remove the folders of test clusters whose starter was killed: their processes died with it."""
    removed: list[str] = []
    for name in names(environment):
        layout = layout_of(name, environment)
        record = _read(layout)
        if record and record.dies_with_starter and not process.is_alive(record.starter):
            end(layout, record)
            removed.append(name)
    return removed


@contextlib.contextmanager
def choosing_ports(environment: Mapping[str, str]) -> Generator[set[int]]:
    """The ports of all other clusters; only one starter at a time may choose."""
    home = state_home(environment)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY)  # the folder is its own lock file, so none is left behind
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield {
            port
            for name in names(environment)
            if (record := _read(layout_of(name, environment))) and record.plan
            for port in record.plan.ports.numbers()
        }
    finally:
        os.close(lock)


def _read(layout: Layout) -> Record | None:
    try:
        return msgspec.json.decode(layout.record.read_bytes(), type=Record, dec_hook=_typed)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None


def _plain(value: object) -> str:
    return str(value)  # paths are the only thing here that JSON does not know


def _typed(kind: type, value: object) -> object:
    return kind(value)
