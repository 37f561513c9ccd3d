"""What can go wrong here, each in one sentence that says what to do next.

LocalError
├── BadName            a cluster name that cannot be a folder and a context
├── NameTaken          a cluster of that name is up, or left files behind
├── UnknownCluster     no cluster of that name
├── UnknownComponent   no such part of a control plane
├── UnknownRelease     no such release of Kubernetes is pinned
├── StartFailed        a component ended or stayed unhealthy while the cluster came up
├── KubectlFailed      a manifest that the API server refused
└── BuildFailed        no binaries, and they could not be made
    └── NoToolchain    because there is no usable Go
"""

from collections.abc import Iterable


class LocalError(Exception):
    """Anything that stops a local control plane; its text is meant for a person."""


class BadName(LocalError):
    """A cluster name is a folder name and a kubeconfig context, so it is kept to what both allow."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} cannot name a cluster: use at most 40 small letters, digits and dashes, starting with a letter"
        )
        self.name = name


class NameTaken(LocalError):
    """Two clusters of one name would share ports, data and keys."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is already a cluster named {name!r}: `growth cluster down --name {name}` ends it, "
            "or choose another --name"
        )
        self.name = name


class UnknownCluster(LocalError):
    """A name that no state folder carries."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = ", ".join(sorted(known))
        have = f"there are: {names}" if names else "there is none; `growth cluster up` starts one"
        super().__init__(f"no cluster is named {name!r}; {have}")
        self.name = name


class UnknownComponent(LocalError):
    """A name that no part of the control plane carries."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"no component is named {name!r}; there are: {', '.join(known)}")
        self.name = name


class UnknownRelease(LocalError):
    """A minor release that no pinned module builds."""

    def __init__(self, minor: str, known: Iterable[str]) -> None:
        super().__init__(f"no Kubernetes {minor!r} is pinned; expected one of {', '.join(known)}")
        self.minor = minor


class StartFailed(LocalError):
    """A component that ended or stayed unhealthy; carries the end of its log, since ``down`` removes the file."""

    def __init__(self, component: str, what: str, log_tail: str) -> None:
        tail = f"\nThe end of its log:\n{log_tail}" if log_tail else "; its log is empty"
        super().__init__(f"{component} {what}{tail}")
        self.component = component
        self.log_tail = log_tail


class KubectlFailed(LocalError):
    """kubectl's own words: they name the object and the field."""


class BuildFailed(LocalError):
    """The binaries are not there and could not be built."""


class NoToolchain(BuildFailed):
    """Neither the machine nor the package index has a Go that is new enough."""
