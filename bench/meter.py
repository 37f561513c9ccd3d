"""What a process spends: seconds, CPU seconds, memory."""

import os
import time
from pathlib import Path


def rss_mb() -> float:
    """What this process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Meter:
    """Seconds, CPU seconds of this process and growth of its memory since the start."""

    def __init__(self) -> None:
        self._wall, self._cpu, self._rss = time.perf_counter(), time.process_time(), rss_mb()

    def read(self) -> dict[str, float]:
        return {
            "seconds": round(time.perf_counter() - self._wall, 3),
            "cpu_seconds": round(time.process_time() - self._cpu, 3),
            "rss_mb_growth": round(rss_mb() - self._rss, 1),
        }


def peak_rss_mb_of(pid: int) -> float:
    """The most that another process ever held in memory."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kibibytes = next(line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(kibibytes) * 1024 / 1e6


def rss_mb_of(pid: int) -> float:
    """What another process holds in memory now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds_of(pid: int) -> float:
    """CPU seconds of another process since it began: its own and the kernel's for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_seconds() -> float:
    """CPU seconds that all processes of this machine and the kernel have used, ours and others'."""
    user, nice, system, _, _, irq, soft_irq, *_ = map(int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9])
    return (user + nice + system + irq + soft_irq) / os.sysconf("SC_CLK_TCK")
