"""The node that registers from a played machine: the one that the planner expected, unless a fault makes it smaller."""

from collections.abc import Mapping
from typing import Any

import msgspec

from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.quantity import canonical, milli_value, value
from growth.cloud.kwok.faults import FaultType, find
from growth.cloud.kwok.machine_record import MachineRecord


def node_manifest(record: MachineRecord) -> dict[str, Any]:
    """A node as its kubelet would register it, closed and yet silent: kwok plays it once it gets its label."""
    request = record.request
    smaller = find(record.behaviour.faults, FaultType.SMALLER)
    share = smaller.share if smaller else 1.0
    return {
        "metadata": {
            "name": record.name,
            "labels": request.node_labels,
            # What a controller would write at once, while another one takes away the taint of a node that is not ready:
            # that one would find the node changed under its hands, and wait for a tenth of a second.
            "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {
            "providerID": record.provider_id,
            "taints": [msgspec.to_builtins(taint) for taint in request.node_taints],
        },
        "status": {
            "capacity": _part_of(request.offering.resources, share),
            "allocatable": _part_of(request.allocatable, share),
            "nodeInfo": {
                "architecture": request.offering.arch,
                "operatingSystem": "linux",
                "bootID": record.boot_id,
                "machineID": record.uid,
                "systemUUID": record.uid,
            },
        },
    }


def csi_node_manifest(node: Node) -> dict[str, Any]:
    """What a kubelet without storage drivers says about itself; it goes when the node goes."""
    return {
        "metadata": {"name": node.metadata.name, "ownerReferences": [owner_reference(node)]},
        "spec": {"drivers": []},
    }


def owner_reference(node: Node) -> dict[str, str]:
    """By this the garbage collector knows with whom to remove it."""
    return {
        "apiVersion": NODES.api_version,
        "kind": NODES.name,
        "name": node.metadata.name,
        "uid": node.metadata.uid,
    }


def _part_of(resources: Mapping[str, str], share: float) -> dict[str, str]:
    """Whole units of everything but CPU; half a GPU is none."""
    if share == 1.0:
        return dict(resources)
    return {
        name: canonical(f"{int(milli_value(text) * share)}m" if name == "cpu" else str(int(value(text) * share)))
        for name, text in resources.items()
    }
