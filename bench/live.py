"""A small cluster that lives: objects are made, changed and removed, and every change is kept for those who watch."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from bench.standin import watch_event

Json = dict[str, Any]

_GONE: Final = b'{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}'


class Live:
    """What the stand-in serves in the demonstration. Objects are plain JSON, as on the wire."""

    def __init__(self) -> None:
        self.objects: defaultdict[str, dict[str, Json]] = defaultdict(dict)
        self.changes = 0
        self._version = 1000
        self._forgotten = 0
        self._log: defaultdict[str, list[tuple[int, bytes]]] = defaultdict(list)
        self._more = asyncio.Condition()

    def version(self) -> int:
        return self._version

    def listed(self, plural: str) -> Iterator[bytes]:
        return iter([json.dumps(item).encode() for item in self.objects[plural].values()])

    async def watched(self, plural: str, since: int) -> AsyncIterator[list[bytes]]:
        """Every change after that version; once those are forgotten, the answer that makes clients list again."""
        if since < self._forgotten:
            yield [watch_event(b"ERROR", _GONE)]
            return
        while True:
            news = [(version, line) for version, line in self._log[plural] if version > since]
            if news:
                since = news[-1][0]
                yield [line for _, line in news]
            async with self._more:
                if self._version <= since or not any(version > since for version, _ in self._log[plural]):
                    await self._more.wait()

    async def put(self, plural: str, item: Json) -> None:
        """Make or change an object."""
        uid = item["metadata"]["uid"]
        kind = b"MODIFIED" if uid in self.objects[plural] else b"ADDED"
        self.objects[plural][uid] = item
        await self._happened(plural, kind, item)

    async def remove(self, plural: str, uid: str) -> None:
        """Remove an object."""
        await self._happened(plural, b"DELETED", self.objects[plural].pop(uid))

    def forget(self) -> None:
        """Compact the history: whoever is behind must list again."""
        self._forgotten = self._version
        self._log.clear()

    async def _happened(self, plural: str, kind: bytes, item: Json) -> None:
        self.changes += 1
        self._version += 1
        item["metadata"]["resourceVersion"] = str(self._version)
        self._log[plural].append((self._version, watch_event(kind, json.dumps(item).encode())))
        async with self._more:
            self._more.notify_all()


def a_node(name: str, instance_type: str, cpu: int, memory_gib: int, *, ready: bool) -> Json:
    """A node of a pool."""
    resources = {"cpu": str(cpu), "memory": f"{memory_gib}Gi", "pods": "110"}
    labels = {"growth.dev/pool": "default", "node.kubernetes.io/instance-type": instance_type}
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now()}
    return {
        "metadata": {"name": name, "uid": f"node-{name}", "creationTimestamp": now(), "labels": labels},
        "spec": {"providerID": f"demo://{name}"},
        "status": {"allocatable": resources, "capacity": resources, "conditions": [condition]},
    }


def a_pod(service: str, number: int, cpu: str, memory: str, node: str = "") -> Json:
    """A pod of a Deployment, waiting unless it has a node."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": service, "uid": f"rs-{service}", "controller": True}
    return {
        "metadata": {
            "name": f"{service}-{number:03d}",
            "namespace": "shop",
            "uid": f"pod-{service}-{number:03d}",
            "creationTimestamp": now(),
            "labels": {"app": service},
            "ownerReferences": [owner],
        },
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}],
            **({"nodeName": node} if node else {}),
        },
        "status": {"phase": "Running" if node else "Pending"},
    }


def now() -> str:
    """This second, as the API server writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
