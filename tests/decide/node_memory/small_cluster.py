"""A server of three kinds and replicas that watch it, each stream as far behind as it likes: for memory alone.

What is decided is the real thing, and what is written is written under the real preconditions; there are no threads,
loops or networks, so a run of a hundred steps takes milliseconds, and hypothesis can shrink one that goes wrong.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

import msgspec

from growth.api.actions import Action, CreateObject, DeleteObject, PatchObject, Precondition
from growth.api.change import Change, ChangeType
from growth.api.core import ObjectReference
from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import NODES, Kind
from growth.api.node_memory import MEMORIES, SHARD_LEASES, TRANSACTIONS
from growth.api.settings.model import LeaderElectionSettings, MemorySettings, Settings
from growth.decide.contract import Decision
from growth.decide.node_memory.carry import NodeMemoryCarry
from growth.decide.node_memory.decider import CAPABILITY
from growth.observe.cache import ClusterCache
from growth_lab.simulator import served_kinds
from growth_lab.simulator.clock import BEGINNING, Clock
from growth_lab.simulator.served_kinds import Resource
from growth_lab.simulator.store import Event, Exists, Missing, Store
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)

KINDS: Final[tuple[Kind[Any], ...]] = (NODES, TRANSACTIONS, MEMORIES, SHARD_LEASES)
"""In the order in which a replica is told of them where the order matters."""
_RESOURCES: Final = {"Node": served_kinds.NODES, "ConfigMap": served_kinds.CONFIG_MAPS, "Lease": served_kinds.LEASES}
_READERS: Final[dict[Kind[Any], Reader[Any]]] = {kind: Reader(kind, InternTables()) for kind in KINDS}
# Short, so that the shard of a replica that is gone is soon another one's.
_ELECTION: Final = LeaderElectionSettings(
    lease_duration=timedelta(seconds=6), renew_deadline=timedelta(seconds=4), retry_period=timedelta(seconds=1)
)


def small_settings(**memory: Any) -> Settings:  # noqa: ANN401 - whatever the settings of memory take
    """Settings with few shards and Leases that run out soon."""
    return Settings(leader_election=_ELECTION, memory=MemorySettings(shards=2, **memory))


class StillClock(Clock):
    """Time passes when somebody says so."""

    def __init__(self) -> None:
        self.instant = BEGINNING

    def now(self) -> datetime:
        return self.instant


class Server:
    """Objects and their history. ``writer`` is who writes now: a replica's name, or empty for anybody else."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.store = Store(self.clock, random.Random(11))  # noqa: S311 - it only makes up uids
        self.writer = ""
        self._read: dict[tuple[str, str], Any] = {}

    def perform(self, action: Action, writer: str) -> Callable[[], None] | None:
        """Look at what it was decided on, as ``act`` does; the write itself is the answer. None if that is in vain."""
        if isinstance(action, PatchObject) and not all(map(self._holds, action.given)):
            return None
        return lambda: self._write(action, writer)

    def _holds(self, given: Precondition) -> bool:
        there = self._there(given.subject)
        return (int(there["metadata"]["resourceVersion"]) if there else None) == given.resource_version

    def _there(self, subject: ObjectReference) -> dict[str, Any] | None:
        return self.store.get(_RESOURCES[subject.kind], subject.name, subject.namespace)

    def _write(self, action: Action, writer: str) -> None:
        subject, self.writer = action.subject, writer
        resource = _RESOURCES[subject.kind]
        try:
            match action:
                case CreateObject():
                    place = {"name": subject.name, "namespace": subject.namespace}
                    meta = {**action.body.get("metadata", {}), **place}
                    self.store.create(resource, {**action.body, "metadata": meta})
                case PatchObject() if self._is_as_seen(subject, action.resource_version):
                    self.store.patch(resource, subject.name, subject.namespace, action.body)
                case DeleteObject() if self._is_as_seen(subject, action.resource_version):
                    self.store.delete(resource, subject.name, subject.namespace)
                case _:
                    pass
        except (Exists, Missing):
            pass
        finally:
            self.writer = ""

    def _is_as_seen(self, subject: ObjectReference, version: int | None) -> bool:
        there = self._there(subject)
        if there is None or (subject.uid and there["metadata"]["uid"] != subject.uid):
            return False
        return version is None or int(there["metadata"]["resourceVersion"]) == version

    def slim(self, kind: Kind[Any], thing: dict[str, Any]) -> Any:  # noqa: ANN401 - the type follows from the kind
        """As an informer would read it; once for all replicas."""
        key = (kind.type.__name__, str(thing["metadata"]["resourceVersion"]))
        if key not in self._read:
            self._read[key] = _READERS[kind].object(msgspec.json.encode(thing))
        return self._read[key]


@dataclass
class Stream:
    """One informer: objects by uid, and how far it has heard."""

    server: Server
    kind: Kind[Any]
    namespace: str
    tell: Callable[[list[Change[Any]]], None]
    objects: dict[str, Any] = field(default_factory=dict[str, Any])
    version: int = 0

    @property
    def _resource(self) -> Resource:
        return _RESOURCES[self.kind.name]

    def unheard(self) -> list[Event]:
        """What happened since."""
        found = self.server.store.since(self._resource, max(self.version, 1_000))
        return [event for event in found if not self.namespace or event.key[0] == self.namespace]

    def hear(self, at_most: int = 1_000_000) -> bool:
        """Hear the next of it; whether there was anything."""
        events = self.unheard()[:at_most]
        for event in events:
            self.version = event.version
            item = self.server.slim(self.kind, event.object)
            before = self.objects.get(item.metadata.uid)
            if event.what == "DELETED":
                self.objects.pop(item.metadata.uid, None)
                happened = ChangeType.DELETED
            else:
                self.objects[item.metadata.uid] = item
                happened = ChangeType.MODIFIED if before is not None else ChangeType.ADDED
            if before is not None or happened is ChangeType.ADDED:
                self.tell([Change(happened, item, before)])
        return bool(events)

    def relist(self) -> None:
        """The history is too old: hear only the difference to what is there now."""
        things = (self.server.slim(self.kind, one) for one in self.server.store.all(self._resource, self.namespace))
        fresh = {item.metadata.uid: item for item in things}
        for uid in [uid for uid in self.objects if uid not in fresh]:
            gone = self.objects.pop(uid)
            self.tell([Change(ChangeType.DELETED, gone, gone)])
        for uid, item in fresh.items():
            before = self.objects.get(uid)
            self.objects[uid] = item
            if before is None or before.metadata.resource_version != item.metadata.resource_version:
                self.tell([Change(ChangeType.ADDED if before is None else ChangeType.MODIFIED, item, before)])
        self.version = self.server.store.version


class Replica:
    """One process: what it knows, and what it decides on that."""

    _numbers = count(1)

    def __init__(self, server: Server, settings: Settings, name: str, *, is_alone: bool = True) -> None:
        """Not ``is_alone``: all replicas of this name take each other's Leases for their own, and work at once."""
        self.name, self.settings, self._server, self._is_alone = name, settings, server, is_alone
        self._start()

    def _start(self) -> None:
        self.identity = f"{self.name}-{next(self._numbers)}" if self._is_alone else self.name
        self.world = ClusterCache(self._server.clock.now, remembers=True)
        self.desk = NodeMemoryCarry()
        hearers, memory = self.world.listeners(), self.settings.memory
        places: dict[Kind[Any], str] = {
            MEMORIES: memory.namespace,
            TRANSACTIONS: memory.transaction_namespace,
            SHARD_LEASES: self.settings.namespace,
        }
        self.streams = [Stream(self._server, kind, places.get(kind, ""), hearers[kind]) for kind in KINDS]
        for stream in self.streams:
            stream.relist()

    def crash(self) -> None:
        """It loses all that it knows, and begins anew."""
        self._start()

    def page_pass(self, desk: NodeMemoryCarry | None = None) -> Decision[Any]:
        """What it would decide now, with this on its desk."""
        state = Given(carry=desk or self.desk, identity=self.identity)
        return decide(self.world.snapshot(self._server.clock.instant), state, self.settings)

    def decide(self) -> list[Action]:
        """What it decides now."""
        decision = self.page_pass()
        assert isinstance(decision.carry, NodeMemoryCarry)
        self.desk = decision.carry
        return [said for said in decision.said if isinstance(said, CreateObject | PatchObject | DeleteObject)]
