"""Evictions: a deletion that disruption budgets have a say in."""

from typing import Any, Final

import msgspec

from growth.api.selectors import LabelSelector
from growth_lab.simulator.api.error_responses import Refusal, internal
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json, merged
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import BUDGETS, PODS
from growth_lab.simulator.store import Store

_UNPROTECTED_PHASES: Final = ("Succeeded", "Failed", "Pending")
_RETRY_SECONDS: Final = 10


def evict(clock: Clock, store: Store, pod: Json, grace_seconds: int | None) -> None:
    """Delete the pod if its budget allows that, and take it off the budget at once. Raises Refusal."""
    budget = _budget_of(store, pod)
    is_protected = part(pod, "status").get("phase") not in _UNPROTECTED_PHASES
    if is_protected and "deletionTimestamp" not in pod["metadata"] and budget and not _is_free(pod, budget):
        _take(clock, store, pod, budget)
    conditions = [one for one in parts(pod, "status", "conditions") if one["type"] != "DisruptionTarget"]
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": clock.stamp(),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    store.replace(PODS, merged(pod, {"status": {"conditions": [*conditions, target]}}))
    delete_pod(store, pod, grace_seconds)


def _budget_of(store: Store, pod: Json) -> Json | None:
    labels: dict[str, Any] = part(pod, "metadata", "labels")
    found = [
        budget
        for budget in store.all(BUDGETS, pod["metadata"]["namespace"])
        if (selector := budget["spec"].get("selector")) is not None
        # Most budgets are about others, and there may be thousands: only those that remain are read.
        and part(selector, "matchLabels").items() <= labels.items()
        and msgspec.convert(selector, LabelSelector).matches(labels)
    ]
    if len(found) > 1:
        raise internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    return found[0] if found else None


def _is_free(pod: Json, budget: Json) -> bool:
    """Whether the pod counts for nothing, because it is not ready, and its budget lets such pods go."""
    if any(one["type"] == "Ready" and one["status"] == "True" for one in parts(pod, "status", "conditions")):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = part(budget, "status")
    desired = status.get("desiredHealthy", 0)
    return 0 < desired <= status.get("currentHealthy", 0)


def _take(clock: Clock, store: Store, pod: Json, budget: Json) -> None:
    name, status = budget["metadata"]["name"], part(budget, "status")
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _not_now(why, retry_after=_RETRY_SECONDS)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        if healthy <= desired:
            raise _not_now(f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        raise _not_now(f"The disruption budget {name} does not allow evicting pods currently")
    change: Json = {
        "disruptionsAllowed": allowed - 1,
        "disruptedPods": {pod["metadata"]["name"]: clock.stamp()},
    }
    if allowed == 1:
        rest = [one for one in parts(status, "conditions") if one["type"] != "DisruptionAllowed"]
        change["conditions"] = [*rest, _used_up(clock, budget)]
    store.replace(BUDGETS, merged(budget, {"status": change}))


def _used_up(clock: Clock, budget: Json) -> Json:
    return {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": part(budget, "status").get("observedGeneration", 0),
        "lastTransitionTime": clock.stamp(),
        "reason": "InsufficientPods",
        "message": "",
    }


def _not_now(why: str, *, retry_after: int | None = None) -> Refusal:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    return Refusal(429, "TooManyRequests", message, details, retry_after=retry_after)
