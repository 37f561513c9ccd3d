"""Processes are known by pid and start time, so nobody else's is ever touched."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from growth_lab.local_cluster import process
from growth_lab.local_cluster.process import Process
from lab.tests.local_cluster.waiting import wait_for

SLEEP = ("/bin/sleep", "60")


def memory_of(started: Process) -> int:
    look = process.look_at(started)
    return look.memory_bytes if look else 0


def is_paused(started: Process) -> bool:
    look = process.look_at(started)
    return look is not None and look.is_paused


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "component.log"


def test_a_started_process_runs_in_its_own_session_with_its_output_in_the_log(log: Path) -> None:
    for number in (1, 2):
        started = process.start(
            ("/bin/sh", "-c", f"echo out {number}; echo err {number} >&2; cut -d' ' -f6 /proc/$$/stat >&2"),
            log,
            {"PATH": os.environ["PATH"]},
            dies_with_starter=False,
        )
        wait_for(lambda: not process.is_alive(started), "it ends")  # noqa: B023 - waited for here
        assert str(started.pid) in log.read_text()
    assert [line for line in log.read_text().splitlines() if not line.strip().isdigit()] == [
        "out 1",
        "err 1",
        "out 2",
        "err 2",
    ]


def test_a_recycled_pid_is_never_signalled(log: Path) -> None:
    started = process.start(SLEEP, log, {}, dies_with_starter=False)
    earlier = Process(started.pid, started.start_ticks - 1)
    assert not process.is_alive(earlier)
    process.send(earlier, signal.SIGKILL)
    process.end_all([earlier])
    assert process.is_alive(started)
    process.end_all([started])
    assert not process.is_alive(started)


def test_a_paused_process_is_seen_as_paused_and_ended_all_the_same(log: Path) -> None:
    started = process.start(SLEEP, log, {}, dies_with_starter=False)
    wait_for(lambda: memory_of(started) > 0, "the program is loaded")
    process.send(started, signal.SIGSTOP)
    wait_for(lambda: is_paused(started), "it is paused")
    process.end_all([started])
    assert process.look_at(started) is None


def test_processes_are_found_by_their_mark_even_if_nobody_recorded_them(log: Path) -> None:
    started = process.start(SLEEP, log, {"TEST_MARK": str(log)}, dies_with_starter=False)
    wait_for(lambda: process.marked("TEST_MARK", str(log)) == [started], "the program is loaded")
    assert process.marked("TEST_MARK", "another") == []
    process.end_all([started])
    assert process.marked("TEST_MARK", str(log)) == []


def test_a_process_can_die_with_its_starter(log: Path) -> None:
    program = f"""
import time, msgspec, sys
from pathlib import Path
from growth_lab.local_cluster import process
started = process.start({SLEEP!r}, Path({str(log)!r}), {{}}, dies_with_starter=True)
print(msgspec.json.encode(started).decode(), flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        started = msgspec.json.decode(starter.stdout.readline(), type=Process)
        assert process.is_alive(started)
        starter.kill()
    wait_for(lambda: not process.is_alive(started), "it dies with its starter")


def test_a_program_that_does_not_exist_is_an_error_at_once(log: Path) -> None:
    with pytest.raises(FileNotFoundError):
        process.start(("/nowhere/etcd",), log, {}, dies_with_starter=False)


# The leader of the threads ends alone, as it may for a moment when a program with many threads is killed.
LEADERLESS = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""


def test_a_process_is_not_gone_while_one_of_its_threads_still_holds_its_ports(log: Path) -> None:
    started = process.start((sys.executable, "-c", LEADERLESS), log, {}, dies_with_starter=False)
    stat = Path(f"/proc/{started.pid}/stat")
    wait_for(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z", "the leader ends")
    assert process.is_alive(started)
    process.end_all([started])
    assert not process.is_alive(started)
