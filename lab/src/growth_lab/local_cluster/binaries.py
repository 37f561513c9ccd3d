"""Finding the programs of the control plane: what the machine offers, what was built before, else a build."""

import os
from collections.abc import Mapping
from pathlib import Path

from growth_lab.local_cluster.build import build
from growth_lab.local_cluster.layout import cache_home
from growth_lab.local_cluster.pinned_modules import DEFAULT_RELEASE, PROGRAMS, RELEASES, Release, sources
from growth_lab.local_cluster.progress import Progress


def binary_cache(environment: Mapping[str, str], release: Release = DEFAULT_RELEASE) -> Path:
    """Where builds of exactly these sources are kept."""
    return cache_home(environment) / f"control-plane-{release.fingerprint}"


def find_binaries(environment: Mapping[str, str], of: Mapping[str, Release] | None = None) -> dict[str, Path]:
    """Each program by itself: from ``KUBEBUILDER_ASSETS`` if it is there, else from the cache, else absent.

    ``of`` names the release of each program. Then ``KUBEBUILDER_ASSETS`` does not count: nothing says which release the
    programs in it are.
    """
    assets = "" if of else environment.get("KUBEBUILDER_ASSETS", "")
    found: dict[str, Path] = {}
    for name, release in (of or _default_sources()).items():
        for folder in (*([Path(assets)] if assets else []), binary_cache(environment, release)):
            path = folder / name
            if path.is_file() and os.access(path, os.X_OK):
                found[name] = path.absolute()
                break
    return found


async def ensure_binaries(
    environment: Mapping[str, str], progress: Progress, of: Mapping[str, Release] | None = None
) -> dict[str, Path]:
    """All programs; those that are not found are built first, one release after the other."""
    found = find_binaries(environment, of)
    wanted = of or _default_sources()
    for release in RELEASES:
        missing = [one for one in PROGRAMS if one.name not in found and wanted[one.name] == release]
        if missing:
            await build(missing, release, binary_cache(environment, release), environment, progress)
    return find_binaries(environment, of)


def _default_sources() -> dict[str, Release]:
    return sources(DEFAULT_RELEASE, DEFAULT_RELEASE)
