"""What the virtual API server keeps: objects, one version for every write, and the history that watches read.

Objects are plain JSON and never edited in place: a change is a merge patch that gives a new object (``merging``), so
whoever holds an old one still sees the old state. Listeners are the controllers; they hear of every write in order,
after it, and what they write themselves is told after what made them write.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.merge_patch import Json, merged
from growth_lab.simulator.served_kinds import ALL, PODS, Resource

Happening = Literal["ADDED", "MODIFIED", "DELETED"]
Key = tuple[str, str]
"""Namespace (empty if there is none) and name."""

# So many changes of a kind are remembered; a watch from before that is told that it is too old.
HISTORY: Final = 5_000
# What a name gets that is left to the server; no vowels, so that it never spells a word.
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_NAMES_DRAWN: Final = 8


class Event(NamedTuple):
    """One write, as watches tell it. A deletion shows the last state, under the deletion's version."""

    version: int
    what: Happening
    resource: Resource
    object: Json
    before: Json | None
    """The state that it replaced."""

    @property
    def key(self) -> Key:
        """Which object."""
        return key_of(self.object)


class Exists(Exception):
    """An object of this name is there already."""


class Missing(Exception):
    """There is no such object."""


class TooOld(Exception):
    """History does not reach back to this version."""


Listener = Callable[[Event], None]


def _is_held(thing: Mapping[str, Any]) -> bool:
    """Whether somebody still has to do something before the object may go; a namespace's own list is in its spec."""
    return bool(thing["metadata"].get("finalizers") or thing.get("spec", {}).get("finalizers"))


def _is_binding(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether a pod got its node: the one change of a spec that starts no new generation."""
    return "nodeName" in after["spec"] and "nodeName" not in before["spec"]


def key_of(thing: Mapping[str, Any]) -> Key:
    """Namespace and name of an object."""
    meta = thing["metadata"]
    return meta.get("namespace", ""), meta["name"]


class Store:
    """All objects of one cluster."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self.version = 1_000
        self._clock, self._chance = clock, chance
        self._objects: dict[Resource, dict[Key, Json]] = {resource: {} for resource in ALL}
        self._history: dict[Resource, deque[Event]] = {resource: deque(maxlen=HISTORY) for resource in ALL}
        self._compacted: dict[Resource, int] = dict.fromkeys(ALL, self.version)
        self._listeners: dict[Resource, list[Listener]] = {resource: [] for resource in ALL}
        self._written_at: dict[Resource, int] = dict.fromkeys(ALL, 0)
        self._untold: deque[Event] = deque()
        self._is_telling = False
        self.defaulting: dict[Resource, Callable[[Json], Json]] = {}
        """What becomes of the body of a new object, whoever creates it; the API server fills this in."""

    # Reading

    def get(self, resource: Resource, name: str, namespace: str = "") -> Json | None:
        """One object, or None."""
        return self._objects[resource].get((namespace, name))

    def all(self, resource: Resource, namespace: str = "") -> Iterator[Json]:
        """All objects of a kind, or of one namespace, in the order of their creation. Do not write while you read."""
        for (space, _), thing in self._objects[resource].items():
            if not namespace or space == namespace:
                yield thing

    def count(self, resource: Resource) -> int:
        """How many there are."""
        return len(self._objects[resource])

    def written_at(self, resource: Resource) -> int:
        """The version of the last write to a kind; 0 before the first."""
        return self._written_at[resource]

    # Writing

    def create(self, resource: Resource, body: Mapping[str, Any]) -> Json:
        """Make an object of what the body says; the server's own fields are filled in. Raises Exists."""
        meta: Json = dict(body["metadata"])
        if not resource.is_namespaced:
            meta.pop("namespace", None)
        if "name" not in meta:
            meta["name"] = self._drawn_name(resource, meta)
        if (meta.get("namespace", ""), meta["name"]) in self._objects[resource]:
            raise Exists(f'{resource} "{meta["name"]}" already exists')
        meta["uid"] = self.new_uid()
        meta["creationTimestamp"] = self._clock.stamp()
        meta["generation"] = 1
        thing = {"apiVersion": resource.api_version, "kind": resource.kind, **body, "metadata": meta}
        if default := self.defaulting.get(resource):
            thing = default(thing)
        return self._write("ADDED", resource, thing, None)

    def patch(self, resource: Resource, name: str, namespace: str = "", patch: Mapping[str, Any] | None = None) -> Json:
        """Change what the merge patch names. A patch that changes nothing is no write. Raises Missing."""
        return self.replace(resource, merged(self._existing(resource, (namespace, name)), patch or {}))

    def replace(self, resource: Resource, thing: Json) -> Json:
        """Put a whole new state in place of an object; it may be one made by ``merged``. Raises Missing.

        An object that was only waiting for its last finalizer goes.
        """
        before = self._existing(resource, key_of(thing))
        if thing is before or thing == before:
            return before
        meta = thing["metadata"]
        if thing.get("spec") != before.get("spec") and not (resource is PODS and _is_binding(before, thing)):
            meta = {**meta, "generation": before["metadata"].get("generation", 0) + 1}
        changed = {**thing, "metadata": meta}
        # A pod that was given time goes when its kubelet says so, by deleting it without any.
        is_due = "deletionTimestamp" in meta and not meta.get("deletionGracePeriodSeconds")
        if is_due and not _is_held(changed):
            if resource is PODS and meta.get("deletionTimestamp") != before["metadata"].get("deletionTimestamp"):
                # Watchers hear of a pod's end in two steps: that it has no time left, then that it is gone.
                return self._remove(resource, self._record("MODIFIED", resource, changed, before))
            # The last change and the end are one write, and what it ends is told as it was stored.
            self._remove(resource, before)
            return changed
        return self._write("MODIFIED", resource, changed, before)

    def delete(self, resource: Resource, name: str, namespace: str = "", *, grace_seconds: int = 0) -> Json:
        """Delete an object at once, or mark it if it has finalizers or is given time. Raises Missing."""
        thing = self._existing(resource, (namespace, name))
        meta = thing["metadata"]
        known = meta.get("deletionGracePeriodSeconds") if "deletionTimestamp" in meta else None
        if known is not None and grace_seconds >= known and (grace_seconds or meta.get("finalizers")):
            return thing  # a later deletion may shorten the time, never lengthen it
        if not meta.get("finalizers") and not grace_seconds:
            return self._remove(resource, thing)
        marks = {
            "deletionTimestamp": self._clock.stamp_after(grace_seconds),
            "deletionGracePeriodSeconds": grace_seconds,
        }
        return self.replace(resource, merged(thing, {"metadata": marks}))

    def _drawn_name(self, resource: Resource, meta: Json) -> str:
        """A name that nobody has, as far as a few draws find one: so often does the API server draw (Kubernetes 1.32).
        Among thousands of pods two do get the same letters."""
        name = ""
        for _ in range(_NAMES_DRAWN):
            name = meta["generateName"] + "".join(self._chance.choices(_SUFFIX_LETTERS, k=5))
            if (meta.get("namespace", ""), name) not in self._objects[resource]:
                break
        return name

    def _existing(self, resource: Resource, key: Key) -> Json:
        thing = self._objects[resource].get(key)
        if thing is None:
            raise Missing(f'{resource} "{key[1]}" not found')
        return thing

    def _remove(self, resource: Resource, thing: Json) -> Json:
        return self._write("DELETED", resource, thing, self._objects[resource].pop(key_of(thing)))

    def _write(self, what: Happening, resource: Resource, thing: Json, before: Json | None) -> Json:
        stored = self._record(what, resource, thing, before)
        self._tell()
        return stored

    def _record(self, what: Happening, resource: Resource, thing: Json, before: Json | None) -> Json:
        self.version += 1
        stored = {**thing, "metadata": {**thing["metadata"], "resourceVersion": str(self.version)}}
        if what != "DELETED":
            self._objects[resource][key_of(stored)] = stored
        self._written_at[resource] = self.version
        event = Event(self.version, what, resource, stored, before)
        history = self._history[resource]
        if len(history) == HISTORY:
            self._compacted[resource] = history[0].version
        history.append(event)
        self._untold.append(event)
        return stored

    # Telling

    def listen(self, resource: Resource, listener: Listener) -> Callable[[], None]:
        """Hear of every write to a kind from now on; the answer ends that."""
        self._listeners[resource].append(listener)
        return lambda: self._listeners[resource].remove(listener)

    def _tell(self) -> None:
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._untold:
                event = self._untold.popleft()
                for listener in tuple(self._listeners[event.resource]):
                    listener(event)
        finally:
            self._is_telling = False

    def since(self, resource: Resource, version: int) -> list[Event]:
        """Every write to a kind after this version. Raises TooOld."""
        if version < self._compacted[resource]:
            raise TooOld(f"too old resource version: {version} ({self._compacted[resource]})")
        history = self._history[resource]
        found: list[Event] = []
        for event in reversed(history):
            if event.version <= version:
                break
            found.append(event)
        return found[::-1]

    def compact(self) -> None:
        """Forget all history, as the real one does every five minutes."""
        for resource, history in self._history.items():
            history.clear()
            self._compacted[resource] = self.version

    def stamp_after(self, seconds: float) -> str:
        """What the clock will show then, as it stands in objects."""
        return self._clock.stamp_after(seconds)

    def new_uid(self) -> str:
        """A uid that only the seed decides."""
        digits = f"{self._chance.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
