"""Pin a patch release of Kubernetes: write the go.mod and go.sum from which its control plane is built.

    python -m tests.skew.pin 1.34.10

Kubernetes' own go.mod is where it begins: its Go, its godebug settings, its etcd, and its libraries in the same patch
release. ``go mod tidy`` adds the rest, and Go's checksum database vouches for every hash: a release that is too new
for it cannot be pinned.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from growth_lab.local_cluster.pinned_modules import CONTROL_PLANE, DEFAULT_RELEASE, GO_ENVIRONMENT, PROGRAMS, Program

KWOK: Final = "v0.8.0"
_ETCD: Final = "go.etcd.io/etcd/server/v3"
_ENVIRONMENT: Final = {**os.environ, **GO_ENVIRONMENT, "GOFLAGS": "-mod=mod"}


def pin(version: str) -> Path:
    """Write the module of ``version`` (such as ``1.34.10``); gives its folder."""
    minor = version.rpartition(".")[0]
    programs = [one for one in PROGRAMS if one.name != "kwok" or minor == DEFAULT_RELEASE.minor]
    target = CONTROL_PLANE / minor
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "go.mod").write_text("module growth.dev/controlplane\n")
        own = json.loads(_go(work, "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"))
        (work / "go.mod").write_text(module_text(Path(own["GoMod"]).read_text(), version, programs))
        (work / "programs.go").write_text(_imports(programs))
        _go(work, "mod", "tidy")
        target.mkdir(exist_ok=True)
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(work / name, target / name)
    return target


def module_text(own: str, version: str, programs: Sequence[Program]) -> str:
    """The go.mod before it is tidied, from Kubernetes' own."""
    etcd = _found(rf"^\t{_ETCD} (\S+)", own)
    kwok = f"\tsigs.k8s.io/kwok {KWOK}\n" if any(one.name == "kwok" for one in programs) else ""
    libraries = re.findall(r"^\t(\S+) => \./staging/", own, re.MULTILINE)
    replaced = "".join(f"\t{one} => {one} v0.{version.removeprefix('1.')}\n" for one in libraries)
    return (
        f"module growth.dev/controlplane\n\n{_found(r'^(go .*)$', own)}\n\n{_found(r'^(godebug .*)$', own)}\n\n"
        f"require (\n\t{_ETCD} {etcd}\n\tk8s.io/kubernetes v{version}\n{kwok})\n\nreplace (\n{replaced})\n"
    )


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise ValueError(f"Kubernetes' go.mod has no line like {pattern}")
    return found[1]


def _imports(programs: Sequence[Program]) -> str:
    """What tells ``go mod tidy`` which packages the module must cover."""
    lines = "".join(f'\t_ "{one.package}"\n' for one in programs)
    return f"//go:build programs\n\npackage controlplane\n\nimport (\n{lines})\n"


def _go(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ("go", *arguments), cwd=folder, env=_ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="+", help="a patch release such as 1.34.10")
    for version in parser.parse_args().version:
        print(pin(version))  # noqa: T201 - a command's output


if __name__ == "__main__":
    _main()
