"""What Growth uses of Kubernetes that not every supported release has: since when, what for, and what happens without.

The one table behind ``growth doctor``, the lines that ``growth run`` logs at its start, and docs/versions.md.
"""

import re
from typing import Final

import msgspec

OLDEST: Final = "1.33"
NEWEST: Final = "1.37"
"""Growth is tested on the minor releases from the one to the other."""


class Feature(msgspec.Struct, frozen=True):
    """Something that a server may lack. Growth does without it, in the way that ``without`` says."""

    name: str
    since: str
    """The first minor release in which it is on without any flag."""
    capabilities: tuple[str, ...]
    """Which capabilities use it; empty means all of them."""
    without: str
    group_version: str = ""
    """Where it is served. Where nothing is served for it, the server's release decides."""
    resource: str = ""

    def is_used_by(self, capabilities: frozenset[str]) -> bool:
        """Whether one of these uses it."""
        return not self.capabilities or not capabilities.isdisjoint(self.capabilities)


FEATURES: Final = (
    Feature(
        "streaming lists",
        "1.34",
        (),
        "lists are read in pages of 500: the first reading of a large cluster needs more memory on the server",
    ),
    Feature(
        "nominated nodes of pods that are being bound",
        "1.35",
        ("grow", "consolidate"),
        "while its volumes are made, a pod does not say which node it goes to: plans place it like any pending pod",
    ),
    Feature(
        "MutatingAdmissionPolicy v1",
        "1.36",
        ("queue",),
        "a Job with a queue name may start pods before it is suspended, and such pods are ended; a plain pod with a "
        "queue name is not queued and runs",
        "admissionregistration.k8s.io/v1",
        "mutatingadmissionpolicies",
    ),
)


def minor_of(version: str) -> str:
    """The minor release in what a server calls itself: ``1.33`` in ``v1.33.13+k3s1``; empty if there is none."""
    found = re.match(r"v?(\d+\.\d+)", version)
    return found[1] if found else ""


def is_since(minor: str, since: str) -> bool:
    """Whether a minor release is this one or a later one."""
    return _numbers(minor) >= _numbers(since)


def _numbers(minor: str) -> tuple[int, ...]:
    return tuple(int(number) for number in minor.split("."))
