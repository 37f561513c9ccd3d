"""An audit that hears every write from the virtual cluster's store itself: no watch that breaks can lose it a step."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import CONFIG_MAPS, LEASES, Kind
from growth.api.node_memory import MEMORIES
from growth.cloud.kwok.machine_record import MACHINE_LABEL
from growth_lab.simulator.served_kinds import ALL
from growth_lab.simulator.store import Event, Key, Listener, Store
from tests.trust.audit import Audit
from tests.trust.chaos.replicas import SETTINGS
from tests.trust.picture import FOLLOWED

_HAPPENED: Final = {"ADDED": ChangeType.ADDED, "MODIFIED": ChangeType.MODIFIED, "DELETED": ChangeType.DELETED}


@contextmanager
def overhearing(store: Store, audit: Audit) -> Generator[None]:
    """As long as this lasts, everything is noted."""
    with ExitStack() as listening:
        for kind in FOLLOWED:
            resource = next(one for one in ALL if (one.group, one.plural) == (kind.group, kind.plural))
            listen = _listener(kind, audit.hearer(kind))
            for thing in store.all(resource):
                listen(Event(int(thing["metadata"]["resourceVersion"]), "ADDED", resource, thing, None))
            listening.callback(store.listen(resource, listen))
        yield


def _listener(kind: Kind[Any], hear: Callable[[list[Change[Any]]], None]) -> Listener:
    reader, known, encode = Reader(kind, InternTables()), dict[Key, Any](), msgspec.json.Encoder().encode

    def listen(event: Event) -> None:
        if not _is_meant(kind, event.object["metadata"]):
            return
        now, before = reader.object(encode(event.object)), known.get(event.key)
        if event.what == "DELETED":
            known.pop(event.key, None)
        else:
            known[event.key] = now
        hear([Change(_HAPPENED[event.what], now, before)])

    return listen


def _is_meant(kind: Kind[Any], meta: dict[str, Any]) -> bool:
    """Of kinds that others use, too, only what is Growth's."""
    if kind is MEMORIES:
        return meta.get("namespace") == SETTINGS.memory.namespace
    if kind not in (CONFIG_MAPS, LEASES):
        return True
    is_machine = MACHINE_LABEL in meta.get("labels", {})
    return meta.get("namespace") == SETTINGS.namespace and (kind is LEASES or is_machine)
