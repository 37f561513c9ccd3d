"""What Growth did, as its own wire shows it: each write with a name, on whose behalf, and what the server said.

Informers tell that something is gone, never who did it. The deeds tell that.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from math import inf
from typing import Any, Final

import msgspec

from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS
from growth.api.settings.model import MemorySettings, RegistrySettings
from growth.kube.transport import Method, Request

_VERBS: Final = {Method.POST: "create", Method.PATCH: "patch", Method.PUT: "replace", Method.DELETE: "delete"}

_OF_MEMORY: Final = {
    (CONFIG_MAPS.plural, MemorySettings().namespace): "memories",
    (CONFIG_MAPS.plural, MemorySettings().transaction_namespace): "transactions",
}

LEASE, EVENTS, KWOK, NOBODY = "lease", "events", "kwok", ""
"""On whose behalf, beside the points of ``act``: the election, the recorder, the cloud that plays machines."""


@dataclass(frozen=True)
class Place:
    """What a request is about, read from its path."""

    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True)
class Deed:
    """One write that left. ``status`` is 0 if nobody knows what became of it."""

    name: str
    by: str
    process: str
    place: Place
    uid: str
    status: int
    version: int
    """The resource version that it made, as far as the answer told it."""
    at: float
    """When it left, in seconds of the loop's own clock."""
    body: bytes = field(default=b"", repr=False)
    """What it said."""

    @property
    def may_have_happened(self) -> bool:
        """Whether the server did not say no."""
        return self.status < 300


class Deeds:
    """All of them, in the order in which they left."""

    def __init__(self) -> None:
        self.all: list[Deed] = []
        self.machine_within = timedelta.max
        """How long Growth waits for a machine to become a node."""
        self.registry = RegistrySettings()
        """How many unready nodes are too many."""
        self.memory = MemorySettings()
        """How nodes are remembered."""
        self.sees_every_end = False
        """Whether no node can go unseen: somebody watches all the time."""
        self.may_fence = False
        """Whether Growth is allowed to cut a machine's power."""
        self.proven_after = inf
        """For how many seconds a machine must be off before it is dead."""
        self.requeue_limit: int | None = None
        """How often a workload may be put back."""
        self.by_people: set[int] = set()
        """Versions of nodes that people are known to have made."""
        self._unanswered: dict[tuple[str, str], list[Deed]] = {}
        self._creations: dict[tuple[str, str], list[Deed]] = {}
        self._deletions: dict[tuple[str, str], list[Deed]] = {}
        self._by_version: dict[tuple[str, int], list[Deed]] = {}

    def add(self, deed: Deed) -> None:
        """One more."""
        self.all.append(deed)
        if not deed.may_have_happened:
            return
        resource, name = deed.place.resource, deed.place.name
        if deed.name.startswith(("delete ", "evict ")):
            self._deletions.setdefault((resource, name), []).append(deed)
        elif deed.name.startswith("create "):
            self._creations.setdefault((resource, name), []).append(deed)
        elif deed.name.startswith("patch ") and not deed.version:
            self._unanswered.setdefault((resource, name), []).append(deed)
        if deed.version:
            self._by_version.setdefault((resource, deed.version), []).append(deed)

    def making(self, resource: str, version: int) -> list[Deed]:
        """Whose answer told this version; a write that changed nothing tells one that somebody else made."""
        return self._by_version.get((resource, version), [])

    def unanswered(self, resource: str, name: str) -> list[Deed]:
        """Changes of this object of which nobody knows what became."""
        return self._unanswered.get((resource, name), [])

    def creations(self, resource: str, name: str, version: int) -> list[Deed]:
        """Who may have made the object of this version."""
        asked = self._creations.get((resource, name), ())
        return [deed for deed in asked if deed.version in (0, version)]

    def deletions(self, resource: str, name: str, uid: str, *, until: float) -> list[Deed]:
        """Who had asked for the end of this very object by then: who asks later asks for what others have done."""
        asked = self._deletions.get((resource, name), ())
        return [deed for deed in asked if deed.uid in ("", uid) and deed.at <= until]


def place_of(request: Request) -> Place:
    """Where a request goes."""
    parts = request.path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2:
        namespace, parts = parts[1], parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    return Place(resource, namespace, name or _name_in(request.body), subresource)


def name_of(request: Request, place: Place) -> str:
    """What the write is called in the register (``register``)."""
    if place.subresource == "eviction":
        return "evict pods"
    if place.resource == "leases" and place.name.startswith("growth-memory-"):
        return f"{_done_to_the_lease(request.body)} shard" if request.method is Method.PATCH else "create shards"
    if place.resource == "leases" and request.method is Method.PATCH:
        return f"{_done_to_the_lease(request.body)} lease"
    if (place.resource, place.namespace) in _OF_MEMORY:
        return f"{_VERBS[request.method]} {_OF_MEMORY[place.resource, place.namespace]}"
    if (place.resource, place.name) == (CONFIG_MAPS.plural, GROWTH_STATUS):
        return f"{_VERBS[request.method]} {GROWTH_STATUS}"
    status = f"/{place.subresource}" if place.subresource else ""
    return f"{_VERBS[request.method]} {place.resource}{status}"


def uid_in(body: bytes) -> str:
    """The uid that a write says it is about, or that an answer tells; empty if there is none."""
    said = _decoded(body)
    options = said.get("deleteOptions", said)
    for found in (options.get("preconditions", {}), said.get("metadata", {}), said.get("details", {})):
        if found.get("uid"):
            return str(found["uid"])
    return ""


def version_in(body: bytes) -> int:
    """The resource version that an answer tells; 0 if there is none."""
    return int(_decoded(body).get("metadata", {}).get("resourceVersion") or 0)


def _name_in(body: bytes) -> str:
    return str(_decoded(body).get("metadata", {}).get("name", ""))


def _done_to_the_lease(body: bytes) -> str:
    spec = _decoded(body).get("spec", {})
    if "holderIdentity" not in spec:
        return "renew"
    return "take" if spec["holderIdentity"] else "release"


def _decoded(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any]) if body else {}
    except msgspec.DecodeError:  # a JSON patch is a list, and says nothing of this
        return {}
