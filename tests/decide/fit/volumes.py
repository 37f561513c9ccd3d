"""Builders of claims, volumes, classes and limits, for the tests of the volume filters."""

from collections.abc import Mapping
from typing import Any

from growth.api.pod import Pod
from tests.decide.stages import a_pod, an_object

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
WAIT = "WaitForFirstConsumer"


def a_claim(
    name: str = "data",
    *,
    volume: str = "",
    storage_class: str | None = "fast",
    size: str = "1Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    phase: str = "",
    bound: bool = True,
    **meta: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """A claim in the default namespace, bound if it has a volume."""
    annotations = {**(BOUND if volume and bound else {}), **meta.pop("annotations", {})}
    return an_object(
        "PersistentVolumeClaim",
        name,
        "default",
        metadata={"annotations": annotations, **meta},
        spec={
            "accessModes": list(modes),
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": size}},
            **({"volumeName": volume} if volume else {}),
        },
        status={"phase": phase or ("Bound" if volume else "Pending")},
    )


def a_volume(
    name: str = "pv-1",
    *,
    zone: str = "",
    size: str = "1Gi",
    storage_class: str = "fast",
    labels: Mapping[str, str] | None = None,
    phase: str = "Available",
    driver: str = "driver.example.com",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    **spec: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """A volume, reachable from everywhere unless it has a zone."""
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    return an_object(
        "PersistentVolume",
        name,
        metadata={"labels": dict(labels or {})},
        spec={
            "capacity": {"storage": size},
            "accessModes": list(modes),
            "storageClassName": storage_class,
            "csi": {"driver": driver, "volumeHandle": f"handle-{name}"},
            **({"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}} if zone else {}),
            **spec,
        },
        status={"phase": phase},
    )


def a_class(name: str = "fast", *, mode: str = WAIT, provisioner: str = "driver.example.com", **fields: Any) -> Any:  # noqa: ANN401
    return an_object("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode, **fields)


def limits(node: str, count: int | None, driver: str = "driver.example.com") -> Any:  # noqa: ANN401
    """What a driver says that a node can hold."""
    allocatable = {} if count is None else {"allocatable": {"count": count}}
    return an_object("CSINode", node, spec={"drivers": [{"name": driver, "nodeID": node, **allocatable}]})


def using(*claims: str, node: str = "", name: str = "", **spec: Any) -> Pod:  # noqa: ANN401
    """A pod with these claims."""
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}} for number, claim in enumerate(claims)
    ]
    return a_pod(name, node=node, volumes=volumes, **spec)
