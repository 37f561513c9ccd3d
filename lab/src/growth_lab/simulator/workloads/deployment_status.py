"""What a Deployment says about itself."""

from collections.abc import Sequence

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.workloads import rollout
from growth_lab.simulator.workloads.conditions import with_condition


def deployment_status(deployment: Json, new: Json | None, olds: Sequence[Json], clock: Clock) -> Json:
    """The new status, as a merge patch: a count of zero is left out, as Kubernetes does."""
    every = [*olds, *([new] if new is not None else [])]
    wanted, available = deployment["spec"].get("replicas", 1), _sum(every, "availableReplicas")
    has_enough = available >= wanted - rollout.bounds_of(deployment["spec"]).unavailable
    known = part(deployment, "status").get("conditions")
    conditions = with_condition(
        known,
        {
            "type": "Available",
            "status": "True" if has_enough else "False",
            "reason": "MinimumReplicasAvailable" if has_enough else "MinimumReplicasUnavailable",
            "message": f"Deployment {'has' if has_enough else 'does not have'} minimum availability.",
        },
        clock,
        "lastUpdateTime",
    )
    if new is not None:
        is_done = is_complete(deployment, new, olds)
        name = new["metadata"]["name"]
        conditions = with_condition(
            conditions,
            {
                "type": "Progressing",
                "status": "True",
                "reason": "NewReplicaSetAvailable" if is_done else "ReplicaSetUpdated",
                "message": f'ReplicaSet "{name}" {"has successfully progressed" if is_done else "is progressing"}.',
            },
            clock,
            "lastUpdateTime",
        )
    return {
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": _sum(every, "replicas") or None,
        "updatedReplicas": (_sum([new], "replicas") if new is not None else 0) or None,
        "readyReplicas": _sum(every, "readyReplicas") or None,
        "availableReplicas": available or None,
        "unavailableReplicas": max(0, sum(map(rollout.replicas, every)) - available) or None,
        "terminatingReplicas": _sum(every, "terminatingReplicas"),
        "conditions": conditions,
    }


def is_complete(deployment: Json, new: Json, olds: Sequence[Json]) -> bool:
    """Whether all pods are of today's version and can be used."""
    wanted = deployment["spec"].get("replicas", 1)
    return (
        _sum([new], "replicas") == wanted
        and _sum([*olds, new], "replicas") == wanted
        and _sum([*olds, new], "availableReplicas") >= wanted
        and _sum([new], "observedGeneration") >= new["metadata"]["generation"]
    )


def _sum(sets: Sequence[Json], field: str) -> int:
    return sum(part(known, "status").get(field, 0) for known in sets)
