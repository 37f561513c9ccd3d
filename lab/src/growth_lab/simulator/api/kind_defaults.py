"""What new objects of the plainer kinds get that their authors did not write (Kubernetes 1.36)."""

from typing import Any, Final

from growth_lab.simulator.api import storage_defaults, workload_defaults
from growth_lab.simulator.api.schema import SCHEMAS, fitted
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import (
    BUDGETS,
    LEASES,
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    SECRETS,
    Resource,
)
from growth_lab.simulator.store import Store

NOT_READY: Final[Json] = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
NAME_LABEL: Final = "kubernetes.io/metadata.name"
_UNCOUNTED: Final[Json] = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


def install(store: Store) -> None:
    """Let the store fill them in, whoever creates them."""
    store.defaulting |= {
        NODES: _node,
        NAMESPACES: _namespace,
        BUDGETS: _budget,
        LEASES: _lease,
        SECRETS: _secret,
        PRIORITY_CLASSES: _priority_class,
    }
    storage_defaults.install(store)
    workload_defaults.install(store)
    for resource in SCHEMAS:
        store.defaulting[resource] = _fitting(resource)


def _node(node: Json) -> Json:
    """Admission taints every new node, so that nothing is placed on it before somebody saw that it is ready."""
    spec, status = part(node, "spec"), part(node, "status")
    taints = parts(spec, "taints")
    if not any(_is_not_ready(taint) for taint in taints):
        spec = {**spec, "taints": [*taints, NOT_READY]}
    if "capacity" in status:
        status = {"allocatable": status["capacity"], **status}
    return {**node, "spec": spec, "status": status}


def _is_not_ready(taint: Json) -> bool:
    return taint["key"] == NOT_READY["key"] and taint["effect"] == NOT_READY["effect"]


def _namespace(namespace: Json) -> Json:
    meta = namespace["metadata"]
    labels = {**part(meta, "labels"), **({NAME_LABEL: meta["name"]} if "name" in meta else {})}
    return {
        **namespace,
        "metadata": {**meta, "labels": labels},
        "spec": {"finalizers": ["kubernetes"], **part(namespace, "spec")},
        "status": {"phase": "Active", **part(namespace, "status")},
    }


def _budget(budget: Json) -> Json:
    return {**budget, "status": {**_UNCOUNTED, **part(budget, "status")}}


def _lease(lease: Json) -> Json:
    return {**lease, "spec": part(lease, "spec")}


def _secret(secret: Json) -> Json:
    return {"type": "Opaque", **secret}


def _priority_class(priority_class: Json) -> Json:
    return {"preemptionPolicy": "PreemptLowerPriority", **priority_class}


def _fitting(resource: Resource) -> Any:  # noqa: ANN401 - a callable on JSON
    schema = SCHEMAS[resource]

    def fill(thing: Json) -> Json:
        return fitted(schema, {"apiVersion": resource.api_version, "kind": resource.kind, **thing})

    return fill
