"""Manifests of the nodes that kwok plays."""

from collections.abc import Mapping, Sequence
from typing import Any

from growth.api.kwok import KWOK_LABEL, KWOK_VALUE


def kwok_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "16Gi",
    pods: int = 110,
    resources: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    provider_id: str = "",
) -> dict[str, Any]:
    """A node as its kubelet would register it; ``resources`` are extended ones (GPUs, disk)."""
    capacity = {"cpu": cpu, "memory": memory, "pods": str(pods), **(resources or {})}
    standard = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        KWOK_LABEL: KWOK_VALUE,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": standard | dict(labels or {}), "annotations": dict(annotations or {})},
        "spec": {
            "taints": [dict(taint) for taint in taints],
            **({"providerID": provider_id} if provider_id else {}),
        },
        "status": {"capacity": capacity, "allocatable": capacity},
    }


def taint(text: str) -> dict[str, str]:
    """A taint written as people write it: ``dedicated=gpu:NoSchedule`` or ``dedicated:NoExecute``."""
    pair, separator, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    if not separator or not key or effect not in {"NoSchedule", "PreferNoSchedule", "NoExecute"}:
        raise ValueError(f"{text!r} is no taint; expected key=value:NoSchedule (or PreferNoSchedule, NoExecute)")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
