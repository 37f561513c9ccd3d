"""Two versions of Growth: this one, and an older commit that is checked out for as long as it is needed."""

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from tests.repository import ROOT

OLDER: Final = "01f22a12a56e4242bbd757f606f64c4a719bc74e"
"""The last commit before the work on the requirements in docs/development/requirements, which changed the definitions
(NodePool, NodeRequest), the timelines and failover. There is no release to compare with yet."""


class Version(msgspec.Struct, frozen=True):
    """What ``growth run`` is started from."""

    name: str
    source: Path | None = None
    """Its folder of packages; None is this version's."""
    definitions: Path | None = None
    """Its CustomResourceDefinitions; None is this version's."""


NEW: Final = Version("new")


class OlderIsMissing(Exception):
    """The older commit is not in this clone."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"commit {OLDER[:7]} is not available: {reason}; expected a full clone (git fetch --unshallow)"
        )


def why_older_is_missing() -> str:
    """Why the older commit cannot be checked out; empty if it can."""
    try:
        _git("cat-file", "-e", f"{OLDER}^{{tree}}")
    except OSError as error:
        return f"git cannot be run ({error})"
    except subprocess.CalledProcessError as error:
        return str(error.stderr).strip() or "it is not in this clone"
    return ""


@contextmanager
def older_version() -> Generator[Version]:
    """The older commit in a temporary folder, removed at the end. Raises OlderIsMissing."""
    if reason := why_older_is_missing():
        raise OlderIsMissing(reason)
    with tempfile.TemporaryDirectory(prefix="growth-older-") as folder:
        tree = Path(folder) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(tree), OLDER)
        try:
            older = Version("old", tree / "src", tree / "charts" / "growth" / "crds.yaml")
            _describe(tree)
            _check_imports(older)
            yield older
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _describe(tree: Path) -> None:
    """Write what an installation of the older version would say of it, so that it finds its own providers.

    Without this, Python reads the entry points of the installed version, whose modules have other names.
    """
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    described = tree / "src" / f"{project['name']}-{project['version']}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups: list[str] = []
    for group, points in project["entry-points"].items():
        groups += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (described / "entry_points.txt").write_text("\n".join(groups) + "\n")


def _check_imports(older: Version) -> None:
    """A path that has no effect would compare this version with itself."""
    command = (sys.executable, "-c", "import growth; print(growth.__file__)")
    environment = {**os.environ, "PYTHONPATH": str(older.source)}
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    if not Path(found).is_relative_to(older.source or ROOT):
        raise RuntimeError(f"growth is imported from {found}; expected a file below {older.source}")


def _git(*arguments: str) -> None:
    subprocess.run(("git", *arguments), cwd=ROOT, check=True, capture_output=True, text=True)
