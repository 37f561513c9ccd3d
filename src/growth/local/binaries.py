"""Finding the programs of the control plane: what the machine offers, what was built before, else a build."""

import os
from collections.abc import Mapping
from pathlib import Path

from growth.local.build import build
from growth.local.layout import cache_home
from growth.local.pinned import PROGRAMS, fingerprint
from growth.local.progress import Progress


def binary_cache(environment: Mapping[str, str]) -> Path:
    """Where builds of exactly these sources are kept."""
    return cache_home(environment) / f"control-plane-{fingerprint()}"


def find_binaries(environment: Mapping[str, str]) -> dict[str, Path]:
    """Each program by itself: from ``KUBEBUILDER_ASSETS`` if it is there, else from the cache, else absent."""
    assets = environment.get("KUBEBUILDER_ASSETS")
    folders = [*([Path(assets)] if assets else []), binary_cache(environment)]
    found: dict[str, Path] = {}
    for program in PROGRAMS:
        for folder in folders:
            path = folder / program.name
            if path.is_file() and os.access(path, os.X_OK):
                found[program.name] = path.absolute()
                break
    return found


async def ensure_binaries(environment: Mapping[str, str], progress: Progress) -> dict[str, Path]:
    """All programs; what is nowhere to be found is built first."""
    found = find_binaries(environment)
    missing = [program for program in PROGRAMS if program.name not in found]
    if missing:
        await build(missing, binary_cache(environment), environment, progress)
        found = find_binaries(environment)
    return found
