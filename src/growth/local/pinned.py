"""The pinned Go module from which all programs are built: what is in it, and how it is compiled.

Everything that changes a binary goes into the fingerprint, and the cache keeps one folder per fingerprint. The version
of Go does not: a newer compiler is no reason to spend five minutes again.
"""

import hashlib
import platform
import re
from pathlib import Path

import msgspec

KUBERNETES_VERSION = "v1.36.3"
MODULE = Path(__file__).with_name("controlplane")
"""The folder of go.mod and go.sum."""


class Program(msgspec.Struct, frozen=True):
    """A main package and how long it usually takes, cold and in this order, on two cores."""

    name: str
    package: str
    usual_seconds: float


# The API server first: it compiles most of what the others share, so its step is the long one.
PROGRAMS = (
    Program("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", 220),
    Program("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", 75),
    Program("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", 10),
    Program("kubectl", "k8s.io/kubernetes/cmd/kubectl", 25),
    Program("kwok", "sigs.k8s.io/kwok/cmd/kwok", 12),
    Program("etcd", "go.etcd.io/etcd/server/v3", 8),
)
DOWNLOAD_USUAL_SECONDS = 25.0

# Without these the API server calls itself v0.0.0 and clients take wrong turns.
_VERSION = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
LINKER_FLAGS = (
    f"-s -w -X {_VERSION}.gitVersion={KUBERNETES_VERSION} -X {_VERSION}.gitMajor={_MAJOR} "
    f"-X {_VERSION}.gitMinor={_MINOR}"
)
GO_ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath",  # readonly: go.sum decides, nothing is resolved anew
    "GOTOOLCHAIN": "local",  # never download a compiler behind our back
    "GOWORK": "off",
}


def fingerprint(module: Path = MODULE) -> str:
    """Names the cache folder: equal exactly when the binaries would be."""
    content = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        content.update((module / name).read_bytes())
    content.update(f"{LINKER_FLAGS}\n{sorted(GO_ENVIRONMENT.items())}\n{platform.machine()}".encode())
    return content.hexdigest()[:12]


def go_needed(module: Path = MODULE) -> tuple[int, ...]:
    """The oldest Go that can build the module, as its go.mod says."""
    found = re.search(r"^go (\d+(?:\.\d+)*)$", (module / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"{module / 'go.mod'} has no go line")
    return version_from(found[1])


def version_from(text: str) -> tuple[int, ...]:
    """``go1.26.8`` or ``1.26`` as numbers that compare; release candidates count as their release."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
