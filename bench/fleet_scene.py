"""A shop's machines on an ordinary afternoon, as objects of the cluster: for a picture and for tests.

Made up, but only what Growth really writes: everything that can be shown is there once.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.interning import InternTables
from growth.api.kinds import NODES, PODS, Kind
from growth.api.taints import SCALE_DOWN, SCALE_DOWN_AT, STARTING
from growth.api.timestamp import format_time
from growth.observe.cache import ClusterCache

Json = dict[str, Any]
NOW: Final = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
_TYPES: Final = {"cx33": ("4", "8Gi"), "cx53": ("16", "32Gi"), "gex44": ("20", "64Gi")}


def ago(**span: float) -> str:
    """An instant before now, as the API server writes it."""
    return format_time(NOW - timedelta(**span))


def a_pool(name: str, *types: str, spec: Mapping[str, Any] | None = None, status: Mapping[str, Any]) -> Json:
    valid = {"type": "Valid", "status": "True", "reason": "Usable", "lastTransitionTime": ago(days=3)}
    stated = {"serverTypes": [{"name": one} for one in types], **(spec or {})}
    return {"metadata": {"name": name}, "spec": stated, "status": {"conditions": [valid], **status}}


def a_node(name: str, kind: str, *, ready: bool = True, taint: str = "", goes_in: timedelta | None = None) -> Json:
    """A node of the pool that its name begins with, on a machine of this type in fsn1."""
    cpu, memory = _TYPES[kind]
    room = {"cpu": cpu, "memory": memory, "pods": "110"}
    labels = {
        "growth.dev/pool": name.rpartition("-")[0],
        "growth.dev/offering": f"kwok-{kind}-fsn1",
        "node.kubernetes.io/instance-type": kind,
        "topology.kubernetes.io/zone": "fsn1",
    }
    marks = {SCALE_DOWN_AT: format_time(NOW + goes_in)} if goes_in is not None else {}
    key = SCALE_DOWN if goes_in is not None else taint
    value = {"value": name} if key == STARTING else {}
    return {
        "metadata": {"name": name, "creationTimestamp": ago(seconds=9), "labels": labels, "annotations": marks},
        "spec": {"taints": [{"key": key, "effect": "NoSchedule", **value}]} if key else {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [
                {"type": "Ready", "status": "True" if ready else "Unknown", "lastTransitionTime": ago(minutes=7)}
            ],
        },
    }


def a_pod(name: str, node: str, cpu: str, memory: str, owner: str = "ReplicaSet") -> Json:
    requests = {"requests": {"cpu": cpu, "memory": memory}}
    owned = {"apiVersion": "apps/v1", "kind": owner, "name": f"of-{name}", "uid": f"owner-{name}", "controller": True}
    return {
        "metadata": {"name": name, "namespace": "shop", "ownerReferences": [owned]},
        "spec": {"containers": [{"name": "app", "image": "app", "resources": requests}], "nodeName": node},
        "status": {"phase": "Running" if node else "Pending"},
    }


def a_request(name: str, offering: str, phase: str, seconds: int, *, wrong: str = "") -> Json:
    """A NodeRequest, so many seconds in its phase; ``wrong`` as in "OutOfStock: sold out in nbg1"."""
    since, (reason, _, message) = ago(seconds=seconds), wrong.partition(": ")
    met = {"type": "Met", "status": "False", "reason": reason, "message": message, "lastTransitionTime": since}
    return {
        "metadata": {"name": name, "creationTimestamp": since},
        "spec": {"pool": name.rpartition("-")[0], "targetOffering": offering},
        "status": {
            "phase": phase,
            "phaseSince": since,
            # What may pass is told as an event only.
            "conditions": [met] if wrong and phase == "Unmet" else [],
            "events": [{"at": since, "name": "nodeRequestFailed", "reason": wrong}] if wrong else [],
        },
    }


def a_removal(name: str, phase: str, minutes: int, attempts: int, *, wrong: str = "") -> Json:
    """A NodeRemovalRequest, so many minutes old, whose last attempt was half as long ago."""
    attempted = ago(minutes=minutes / 2)
    said = [("Deletion requested", ""), *([("Deletion failed", wrong)] if wrong else [])]
    if phase == "RemovalFailed":
        said.append(("Deletion failed", f"its machine is still there after {attempts} attempts"))
    return {
        "metadata": {"name": name, "creationTimestamp": ago(minutes=minutes)},
        "spec": {"pool": name.rpartition("-")[0], "nodeName": name, "reason": "it stood empty for 10m"},
        "status": {
            "phase": phase,
            "removalAttempt": attempts,
            "removeAttemptedAt": attempted,
            "events": [{"at": attempted, "name": name, "reason": reason} for name, reason in said],
        },
    }


def afternoon() -> dict[Kind[Any], list[Json]]:
    """What is there at ``NOW``."""
    until = format_time(NOW + timedelta(minutes=3, seconds=12))
    sold_out = {"offering": "kwok-cx53-nbg1", "level": 1, "since": ago(minutes=1), "until": until}
    nodes = [
        a_node("default-0c81f6e2aa", "cx53"),
        a_node("default-2f9b7700d1", "cx33", ready=False),
        a_node("default-41d6a0b7c3", "cx53"),
        a_node("default-5be8c1f004", "cx33", goes_in=timedelta(minutes=4, seconds=12)),
        a_node("default-77aa30e91c", "cx33", taint=STARTING),
        a_node("default-8d02b46fe5", "cx33", taint=SCALE_DOWN),
        a_node("default-93c5d7e118", "cx33", taint=SCALE_DOWN),
        a_node("gpu-b1946ac924", "gex44"),
    ]
    on = {"default-0c81f6e2aa": 7, "default-41d6a0b7c3": 5, "default-2f9b7700d1": 2, "gpu-b1946ac924": 3}
    pods = [
        a_pod(f"checkout-{node[-4:]}-{number}", node, "1900m", "3500Mi")
        for node, count in on.items()
        for number in range(count)
    ]
    pods += [
        a_pod(f"logs-{one['metadata']['name']}", one["metadata"]["name"], "100m", "200Mi", "DaemonSet") for one in nodes
    ]
    pods += [a_pod(f"search-{number}", "", "3", "6Gi") for number in range(6)]
    return {
        NODE_POOLS: [
            a_pool(
                "default", "cx33", "cx53",
                spec={"limits": {"nodes": 10, "costPerHour": "0.25"}},
                status={
                    "costPerHour": "0.1148",
                    "offerings": [{**sold_out, "reason": "OutOfStock", "message": "cx53 is sold out in nbg1"}],
                },
            ),
            a_pool("gpu", "gex44", spec={"limits": {"nodes": 1}}, status={"costPerHour": "0.3269"}),
        ],
        NODES: nodes,
        PODS: pods,
        NODE_REQUESTS: [
            a_request("default-a4e0f2b6d8", "kwok-cx53-fsn1", "Provisioning", 41),
            a_request("default-c7d11e9f30", "kwok-cx53-fsn1", "Pending", 4, wrong="RateLimited: 3600 an hour"),
            a_request("default-e90b3d5a12", "kwok-cx53-nbg1", "Unmet", 48, wrong="OutOfStock: sold out in nbg1"),
        ],
        NODE_REMOVAL_REQUESTS: [
            a_removal("default-8d02b46fe5", "Deprovisioning", 3, 2),
            a_removal("default-93c5d7e118", "RemovalFailed", 24, 5, wrong="Invalid: the server is protected"),
        ],
    }  # fmt: skip


def world_of(objects: Mapping[Kind[Any], list[Json]]) -> ClusterCache:
    """A World that was told of these."""
    world, sharing = ClusterCache(), InternTables()
    listeners = world.listeners()
    for kind, bodies in objects.items():
        reader = Reader(kind, sharing)
        for version, body in enumerate(bodies, 1):
            meta = {"uid": f"{kind.plural}-{body['metadata']['name']}", "resourceVersion": str(version)}
            told = {**body, "metadata": {**meta, **body["metadata"]}}
            listeners[kind]([Change(ChangeType.ADDED, reader.object(json.dumps(told).encode()), None)])
    return world
