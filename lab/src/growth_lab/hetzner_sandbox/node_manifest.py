"""The node that registers from a server: its size as a guest sees it, and what its user data tells the kubelet."""

import uuid
from typing import Any, Final

import msgspec

from growth.api.offering import ARCH, HOSTNAME, OS, left_of
from growth_lab.hetzner_sandbox.kubelet_arguments import kubelet_arguments
from growth_lab.hetzner_sandbox.records import Server
from growth_lab.hetzner_sandbox.server_types import SERVER_TYPES

SCHEME: Final = "hcloud://"
# A guest sees less than is advertised: the firmware and the kernel have had their share. 2 to 8 % are reported.
_VISIBLE_MEMORY: Final = 0.96
_VISIBLE_DISK: Final = 0.94
# What the kubelet keeps free unless it is told otherwise (--eviction-hard).
_KEPT_MEMORY_MI: Final = 100
_KEPT_DISK: Final = 0.10
_PODS: Final = "110"
_MI: Final = 1024**2
_ARCHITECTURES: Final = {"x86": "amd64", "arm": "arm64"}


def boot_id(server: Server) -> str:
    """What tells this boot of a server from the one before."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{SCHEME}{server.id}/{server.boots}"))


def node_name(server: Server) -> str:
    """A kubelet takes the host's name, in small letters."""
    return server.name.lower()


def node_manifest(server: Server) -> dict[str, Any]:
    """The node as its kubelet would register it, yet silent: kwok plays it once it gets its label."""
    told, capacity = kubelet_arguments(server.user_data), _capacity(server)
    arch = _ARCHITECTURES[SERVER_TYPES[server.server_type].architecture]
    own = {HOSTNAME: node_name(server), ARCH: arch, OS: "linux", f"beta.{ARCH}": arch, f"beta.{OS}": "linux"}
    kept = {"memory": f"{_KEPT_MEMORY_MI}Mi", "ephemeral-storage": _share(capacity["ephemeral-storage"], _KEPT_DISK)}
    return {
        "metadata": {
            "name": node_name(server),
            "labels": {**own, **told.labels},
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {
            "providerID": f"{SCHEME}{server.id}",
            "taints": [msgspec.to_builtins(taint) for taint in told.taints],
        },
        "status": {
            "capacity": capacity,
            "allocatable": left_of(left_of(capacity, told.reserved), kept),
            "nodeInfo": {
                "architecture": arch,
                "operatingSystem": "linux",
                "bootID": boot_id(server),
                "machineID": str(server.id),
                "systemUUID": str(server.id),
            },
        },
    }


def _capacity(server: Server) -> dict[str, str]:
    size = SERVER_TYPES[server.server_type]
    return {
        "cpu": str(size.cores),
        "memory": f"{int(size.memory_gb * 1024 * _VISIBLE_MEMORY)}Mi",
        "ephemeral-storage": f"{int(server.disk_gb * 1000**3 * _VISIBLE_DISK) // _MI}Mi",
        "pods": _PODS,
    }


def _share(mebibytes: str, share: float) -> str:
    return f"{int(int(mebibytes.removesuffix('Mi')) * share)}Mi"
