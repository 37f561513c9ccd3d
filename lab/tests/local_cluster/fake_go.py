"""A Go that takes no time: a script that answers what the build asks, notes what it was told, and fails on demand."""

import os
import stat
from pathlib import Path

_SCRIPT = """#!/bin/sh
here="{here}"
case "$1" in
env)
  echo "{version}" ;;
mod)
  echo "download" >> "$here/calls"
  pwd >> "$here/folders"
  if [ -f "$here/fail-download" ]; then cat "$here/fail-download" >&2; exit 1; fi ;;
build)
  name="$(basename "$5" .partial)"
  echo "$name" >> "$here/calls"
  echo "half" > "$5"
  while [ -f "$here/hold-$name" ]; do sleep 0.02; done
  if [ -f "$here/fail-$name" ]; then cat "$here/fail-$name" >&2; exit 1; fi
  printf '#!/bin/sh\\necho %s\\n' "$name" > "$5"
  chmod +x "$5" ;;
esac
"""


class FakeGo:
    """Stands on a PATH of its own; the real one is never asked."""

    def __init__(self, folder: Path, version: str = "go1.26.8") -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        script = self.bin / "go"
        script.write_text(_SCRIPT.format(here=folder, version=version))
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    def environment(self) -> dict[str, str]:
        """An environment with this Go, and caches and clusters of the test's own."""
        kept = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
        return {
            **kept,
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "GROWTH_CACHE": str(self.folder / "cache"),
            "GROWTH_STATE": str(self.folder / "state"),
        }

    def calls(self) -> list[str]:
        """What it was asked to do, in order."""
        notes = self.folder / "calls"
        return notes.read_text().split() if notes.exists() else []

    def folders(self) -> list[str]:
        """The modules that it downloaded for, in order."""
        return (self.folder / "folders").read_text().splitlines()

    def fail(self, what: str, message: str) -> None:
        """Fail at ``download`` or at a program, with these words."""
        (self.folder / f"fail-{what}").write_text(message)

    def hold(self, program: str) -> None:
        """Take for ever to build this program, until released."""
        (self.folder / f"hold-{program}").touch()

    def release(self, program: str) -> None:
        """Go on."""
        (self.folder / f"hold-{program}").unlink()
