"""What is built, from which pinned Go module, and how it is compiled.

Each minor release of Kubernetes has a folder with a go.mod and a go.sum, so that each is built from the very modules
that it was released with. kwok is no part of Kubernetes and comes from the module of the default release: its own
requirements would raise those of an older one, and the API server built from them would be none that was released.

Everything that changes a binary goes into the fingerprint, and the cache keeps one folder per fingerprint. The version
of Go does not: a newer compiler is no reason to spend five minutes again.
"""

import hashlib
import platform
import re
from pathlib import Path
from typing import Final

import msgspec

from growth_lab.local_cluster.errors import UnknownRelease

CONTROL_PLANE: Final = Path(__file__).with_name("controlplane")
"""The folder of all modules, and of what kwok plays."""


class Program(msgspec.Struct, frozen=True):
    """A main package and how long it usually takes, cold and in this order, on two cores."""

    name: str
    package: str
    usual_seconds: float


# The API server first: it compiles most of what the others share, so its step is the long one.
PROGRAMS: Final = (
    Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", 220),
    Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", 75),
    Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", 10),
    Program("kubectl", "k8s.io/kubernetes/cmd/kubectl", 25),
    Program("kwok", "sigs.k8s.io/kwok/cmd/kwok", 12),
    Program("etcd", "go.etcd.io/etcd/server/v3", 8),
)
RELEASE_VARIABLE: Final = "GROWTH_KUBERNETES"
"""The environment variable that names the release of every cluster that names none."""
DOWNLOAD_USUAL_SECONDS: Final = 25.0
_CONTROLLERS: Final = ("kube-controller-manager", "kube-scheduler")

_VERSION: Final = "k8s.io/component-base/version"
GO_ENVIRONMENT: Final = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath",  # readonly: go.sum decides, nothing is resolved again
    "GOTOOLCHAIN": "local",  # never download a compiler behind our back
    "GOWORK": "off",
}


def version_from(text: str) -> tuple[int, ...]:
    """``go1.26.8`` or ``1.26`` as numbers that compare; release candidates count as their release."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


class Release(msgspec.Struct, frozen=True):
    """A minor release of Kubernetes, by the folder of its go.mod and go.sum."""

    module: Path

    @property
    def minor(self) -> str:
        """Its name, such as ``1.36``."""
        return self.module.name

    @property
    def version(self) -> str:
        """The patch release that is pinned, such as ``v1.36.3``."""
        return self._line(r"^\tk8s\.io/kubernetes (v\d+\.\d+\.\d+)$")

    @property
    def go_needed(self) -> tuple[int, ...]:
        """The oldest Go that can build it."""
        return version_from(self._line(r"^go (\d+(?:\.\d+)*)$"))

    @property
    def linker_flags(self) -> str:
        """Without these the API server calls itself v0.0.0 and clients take wrong turns."""
        major, minor, _ = self.version.removeprefix("v").split(".")
        return (
            f"-s -w -X {_VERSION}.gitVersion={self.version} -X {_VERSION}.gitMajor={major} "
            f"-X {_VERSION}.gitMinor={minor}"
        )

    @property
    def fingerprint(self) -> str:
        """Names the cache folder: equal exactly when the binaries would be."""
        content = hashlib.sha256()
        for name in ("go.mod", "go.sum"):
            content.update((self.module / name).read_bytes())
        content.update(f"{self.linker_flags}\n{sorted(GO_ENVIRONMENT.items())}\n{platform.machine()}".encode())
        return content.hexdigest()[:12]

    def _line(self, pattern: str) -> str:
        path = self.module / "go.mod"
        found = re.search(pattern, path.read_text(), re.MULTILINE)
        if found is None:
            raise ValueError(f"{path} has no line like {pattern}")
        return found[1]


RELEASES: Final = tuple(
    Release(path.parent)
    for path in sorted(CONTROL_PLANE.glob("*/go.mod"), key=lambda path: version_from(path.parent.name))
)
"""All that are pinned, oldest first."""


def release_of(minor: str) -> Release:
    """The release of that name; raises UnknownRelease, which names those that there are."""
    for release in RELEASES:
        if release.minor == minor:
            return release
    raise UnknownRelease(minor, [release.minor for release in RELEASES])


DEFAULT_RELEASE: Final = release_of("1.36")
"""What runs where no release is named."""


def sources(kubernetes: Release, controllers: Release) -> dict[str, Release]:
    """The release each program is taken from: the scheduler and the controller-manager may be older than the rest."""
    apart = dict.fromkeys(_CONTROLLERS, controllers) | {"kwok": DEFAULT_RELEASE}
    return {program.name: apart.get(program.name, kubernetes) for program in PROGRAMS}


def named_sources(kubernetes: str, controllers: str = "") -> dict[str, Release] | None:
    """The same by name; None if no release is named, for then any programs will do that are there."""
    if not kubernetes and not controllers:
        return None
    release = release_of(kubernetes) if kubernetes else DEFAULT_RELEASE
    return sources(release, release_of(controllers) if controllers else release)
