"""Stages for tests: pods, nodes and volumes as the API server would send them, read into a World as in real life.

Builders take the part of the spec that a test is about, in the words of a manifest, and default everything else.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any

import msgspec

from growth.api import kinds
from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import Kind
from growth.api.node import Node
from growth.api.pod import Pod
from growth.decide.fit import SimulatedCluster
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table
from tests.builders import BORN, Json, uid_of

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)

_SHARING = InternTables()
_READERS: dict[str, Reader[Any]] = {}
_NUMBERS = count(1)
_BY_NAME: dict[str, Kind[Any]] = {known.name: known for known in vars(kinds).values() if isinstance(known, Kind)}


def read(manifest: Json) -> Any:  # noqa: ANN401 - the type follows from the manifest's kind
    """A manifest as our informers would hand it on."""
    name = manifest["kind"]
    if name not in _READERS:
        _READERS[name] = Reader(_BY_NAME[name], _SHARING)
    return _READERS[name].object(msgspec.json.encode(manifest))


def meta(name: str, namespace: str = "", **fields: object) -> Json:
    return {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "uid": uid_of(namespace, name),
        "resourceVersion": "1",
        "creationTimestamp": BORN,
        **{key: value for key, value in fields.items() if value},
    }


def a_pod(
    name: str = "",
    *,
    namespace: str = "default",
    node: str = "",
    requests: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owner: Json | None = None,
    terminating: bool = False,
    status: Mapping[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401
) -> Pod:
    """A pod with one container; ``spec`` in camelCase is laid over it, ``node`` binds it."""
    name = name or f"pod-{next(_NUMBERS)}"
    container = {"name": "main", "image": "main", "resources": {"requests": dict(requests or {})}}
    return read(
        {
            "kind": "Pod",
            "metadata": meta(
                name,
                namespace,
                labels=dict(labels or {}),
                annotations=dict(annotations or {}),
                ownerReferences=[owner] if owner else [],
                deletionTimestamp=BORN if terminating else "",
            ),
            "spec": {"containers": [container], **({"nodeName": node} if node else {}), **spec},
            "status": dict(status or {}),
        }
    )


def a_node(
    name: str = "node-1",
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: str = "110",
    allocatable: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Json] = (),
    unschedulable: bool = False,
) -> Node:
    """A node of 4 CPUs and 16 GiB whose only label, besides those given, is its hostname."""
    room = {"cpu": cpu, "memory": memory, "pods": pods, **(allocatable or {})}
    return read(
        {
            "kind": "Node",
            "metadata": meta(name, labels={"kubernetes.io/hostname": name, **(labels or {})}),
            "spec": {"taints": list(taints), "unschedulable": unschedulable},
            "status": {"capacity": room, "allocatable": room},
        }
    )


def an_object(kind: str, name: str, namespace: str = "", **fields: Any) -> Any:  # noqa: ANN401
    """Any other object; ``metadata`` is laid over the usual one."""
    extra = fields.pop("metadata", {})
    assert isinstance(extra, dict)
    return read({"kind": kind, "metadata": {**meta(name, namespace), **extra}, **fields})


def a_namespace(name: str, **labels: str) -> Any:  # noqa: ANN401
    return an_object("Namespace", name, metadata={"labels": labels})


def a_snapshot(nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), objects: Iterable[Any] = ()) -> Snapshot:
    """The World after it heard of all of this."""
    world = ClusterCache()
    world.hear_of_nodes([Change(ChangeType.ADDED, node, None) for node in nodes])
    world.hear_of_pods([Change(ChangeType.ADDED, pod, None) for pod in pods])
    for known in objects:
        kind = next(kind for kind in _BY_NAME.values() if kind.type is type(known))
        world.tables.setdefault(kind, Table()).hear([Change(ChangeType.ADDED, known, None)])
    return world.snapshot(NOW)


def a_stage(nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), objects: Iterable[Any] = ()) -> SimulatedCluster:
    return SimulatedCluster.of(a_snapshot(nodes, pods, objects))
