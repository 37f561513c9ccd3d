"""What a kubelet says about its node."""

from typing import Final

from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json

_HEALTHY: Final = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)
_STARTING: Final = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "False", "KubeletNotReady", "container runtime network not ready"),
)
_DEFAULT_ROOM: Final = {"cpu": "4", "memory": "16Gi", "pods": "110"}


def ready(node: Json, stamp: str, boot_id: str = "") -> Json:
    """The status of a node that can run pods. What its manifest says about itself is kept."""
    status: Json = node.get("status", {})
    uid, info = node["metadata"]["uid"], part(node, "status", "nodeInfo")
    room = status.get("capacity") or _DEFAULT_ROOM
    return {
        "phase": "Running",
        "conditions": _conditions(node, _HEALTHY, stamp),
        "addresses": status.get("addresses") or [{"type": "Hostname", "address": node["metadata"]["name"]}],
        "capacity": room,
        "allocatable": status.get("allocatable") or room,
        "nodeInfo": {
            "architecture": "amd64",
            "operatingSystem": "linux",
            "kubeletVersion": "v1.36.3",
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "kwok://0.8.0",
            "kernelVersion": "kwok",
            "osImage": "kwok",
            "machineID": uid,
            "systemUUID": uid,
            **info,
            "bootID": boot_id or info.get("bootID") or uid,
        },
    }


def starting(node: Json, stamp: str) -> Json:
    """What a kubelet says first: it is there, and not ready."""
    return {"conditions": _conditions(node, _STARTING, stamp)}


def is_ready(node: Json) -> bool:
    """Whether the node says, and the control plane believes, that it can run pods."""
    return any(known["type"] == "Ready" and known["status"] == "True" for known in parts(node, "status", "conditions"))


def _conditions(node: Json, wanted: tuple[tuple[str, str, str, str], ...], stamp: str) -> list[Json]:
    """The node's conditions with these in their place; one whose status stays keeps its time."""
    conditions = {known["type"]: known for known in parts(node, "status", "conditions")}
    for kind, status, reason, message in wanted:
        known = conditions.get(kind, {})
        since = known["lastTransitionTime"] if known.get("status") == status else stamp
        conditions[kind] = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": stamp,
            "lastTransitionTime": since,
        }
    return list(conditions.values())
