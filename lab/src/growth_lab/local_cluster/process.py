"""Processes that outlive the value that describes them: started once, found and ended by anyone later.

A pid alone is no identity, since the kernel gives it to somebody else later. Pid and start time together are one, and
nothing here ever signals a process without having compared both.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

LAUNCHER = Path(__file__).with_name("die_with_parent.py")
"""The script through which a program is started that must not outlive its starter."""

_POLL_SECONDS = 0.01
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Process(msgspec.Struct, frozen=True):
    """A process, told apart from any later one that gets the same pid."""

    pid: int
    start_ticks: int  # since boot, field 22 of /proc/PID/stat


class Look(msgspec.Struct, frozen=True):
    """What the kernel says about a living process."""

    is_paused: bool
    memory_bytes: int


def this_process() -> Process:
    """Ourselves, as others will find us."""
    return _identity(os.getpid())


def start(command: Sequence[str], log: Path, environment: Mapping[str, str], *, dies_with_starter: bool) -> Process:
    """Start a program in its own session, with all its output appended to ``log``.

    With ``dies_with_starter`` it is killed as soon as the calling *thread* ends (that is how the kernel counts), so
    call this from a thread that lives as long as the program should.
    """
    launcher = (sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid())) if dies_with_starter else ()
    arguments = (*launcher, *command)
    log.parent.mkdir(parents=True, exist_ok=True)
    output = (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pid = os.posix_spawn(
        arguments[0],
        arguments,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            output,
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    return _identity(pid)


def look_at(process: Process) -> Look | None:
    """How the process is, or None if it ended. Reaps it if it was our child."""
    fields = _stat(process.pid)
    if fields is None or int(fields[19]) != process.start_ticks:
        return None
    # A killed program with many threads looks dead for a moment, while one of them still holds its ports.
    if fields[0] in "ZX" and int(fields[17]) <= 1:
        with contextlib.suppress(ChildProcessError):  # somebody else's child: a zombie is dead all the same
            os.waitpid(process.pid, os.WNOHANG)
        return None
    return Look(is_paused=fields[0] in "Tt", memory_bytes=int(fields[21]) * _PAGE_BYTES)


def is_alive(process: Process) -> bool:
    """Whether it still runs (or is paused)."""
    return look_at(process) is not None


def send(process: Process, number: signal.Signals) -> None:
    """Signal exactly this process; one that ended is left alone."""
    if is_alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def end_all(processes: Iterable[Process], timeout_seconds: float = 10.0) -> None:
    """Kill them at once and wait until none is left. Nothing here has state worth a farewell."""
    remaining = list(processes)
    for process in remaining:
        send(process, signal.SIGKILL)
    deadline = time.monotonic() + timeout_seconds
    while remaining := [process for process in remaining if is_alive(process)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"these processes ignore SIGKILL: {', '.join(str(p.pid) for p in remaining)}")
        time.sleep(_POLL_SECONDS)


def marked(variable: str, value: str) -> list[Process]:
    """Every process of ours that was started with this environment variable, recorded anywhere or not."""
    wanted = f"{variable}={value}".encode()
    found: list[Process] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ProcessLookupError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(_identity(int(entry.name)))
    return found


def _identity(pid: int) -> Process:
    fields = _stat(pid)
    if fields is None:
        raise ProcessLookupError(f"process {pid} is gone")
    return Process(pid, int(fields[19]))


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third (the state) on; the second may hold spaces and parentheses."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (OSError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()
