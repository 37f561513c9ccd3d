"""What failover keeps in memory: the Leases of all nodes, and what its decider carries from pass to pass."""

import sys
import time
import tracemalloc
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.core import Lease
from growth.api.decoding import Reader, watch_line
from growth.api.interning import InternTables
from growth.api.kinds import LEASES
from growth.observe.cache import ClusterCache

_BEGIN: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
_PERIOD: Final = timedelta(seconds=10)
_ROUNDS: Final = 20


def leases_cost(nodes: int) -> dict[str, Any]:
    """Memory for the Leases of this many nodes, by ``tracemalloc``; CPU time and bytes of one renewal.

    Lines are read as an informer reads them, and heard as the cluster's cache hears them. What TLS and HTTP cost comes
    on top (docs/performance.md, Seeing a cluster).
    """
    uids = [str(uuid.UUID(int=number)) for number in range(nodes)]
    now = _BEGIN
    world = ClusterCache(lambda: now)
    hear, reader = world.listeners()[LEASES], Reader(LEASES, InternTables())
    informed: dict[str, Lease] = {}

    def hear_of(lines: list[bytes]) -> None:
        for line in lines:
            lease = reader.seen(watch_line(line).object)
            if not isinstance(lease, Lease):
                raise TypeError(f"a Lease cannot be read: {lease}")
            before = informed.get(lease.metadata.uid)
            informed[lease.metadata.uid] = lease
            hear([Change(ChangeType.MODIFIED if before else ChangeType.ADDED, lease, before)])

    def lines() -> list[bytes]:
        return [renewal(f"node-{number:05}", uid, now) for number, uid in enumerate(uids)]

    tracemalloc.start()
    for _ in range(2):  # found as they are, then seen to be renewed
        now += _PERIOD
        hear_of(lines())
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    seconds: list[float] = []
    for _ in range(_ROUNDS):
        now += _PERIOD
        news = lines()
        started = time.process_time()
        hear_of(news)
        seconds.append((time.process_time() - started) / nodes)
    return {
        "kib_for_leases": round(kept / 1024),
        "bytes_per_renewal": len(renewal("node-00000", uids[0], now)),
        "cpu_us_per_renewal": round(sorted(seconds)[_ROUNDS // 2] * 1e6, 1),
    }


def renewal(name: str, uid: str, at: datetime) -> bytes:
    """The line of a watch that a renewed Lease makes, as kube-apiserver writes it for a kubelet."""
    owned: dict[str, Any] = {".": {}, f'k:{{"uid":"{uid}"}}': {}}
    spec: dict[str, Any] = {"f:holderIdentity": {}, "f:leaseDurationSeconds": {}, "f:renewTime": {}}
    fields: dict[str, Any] = {
        "manager": "kubelet",
        "operation": "Update",
        "apiVersion": "coordination.k8s.io/v1",
        "time": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:ownerReferences": owned}, "f:spec": spec},
    }
    lease: dict[str, Any] = {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {
            "name": name,
            "namespace": "kube-node-lease",
            "uid": uid,
            "resourceVersion": str(int(at.timestamp())),
            "creationTimestamp": "2026-03-01T09:00:00Z",
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}],
            "managedFields": [fields],
        },
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": 40,
            "renewTime": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
    return msgspec.json.encode({"type": "MODIFIED", "object": lease})


def deep_size(value: object) -> int:
    """Bytes of a value and of all that it alone leads to; what is shared within it counts once."""
    seen: set[int] = set()
    size, todo = 0, [value]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        size += sys.getsizeof(one)
        todo += _parts(one)
    return size


def _parts(value: object) -> Iterator[object]:
    match value:
        case msgspec.Struct():
            yield from (getattr(value, name) for name in value.__struct_fields__)
        case dict():
            for key, held in value.items():  # pyright: ignore[reportUnknownVariableType] - of anything
                yield key
                yield held
        case tuple() | list() | set() | frozenset():
            yield from value  # pyright: ignore[reportUnknownVariableType] - of anything
        case _:
            pass
