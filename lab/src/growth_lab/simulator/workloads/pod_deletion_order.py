"""Which pods go first when there are too many: those whose loss costs least, as the ReplicaSet controller orders them.

Not assigned before assigned, Pending before Running, not ready before ready, low deletion cost before high, crowded
nodes before others, young before old, often restarted before stable. Ages are compared by their logarithm, so that
pods of about the same age go by uid, that is by chance.
"""

import math
from datetime import datetime, timedelta
from functools import cmp_to_key
from typing import Final

from growth_lab.simulator import clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.workloads.pod_state import ready_since, state_of

_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def victims(pods: list[Json], count: int, now: datetime) -> list[Json]:
    """So many of them, first to go first."""
    if count >= len(pods):
        return pods
    crowds: dict[str, int] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        crowds[node] = crowds.get(node, 0) + 1

    def compare(one: Json, other: Json) -> int:
        mine, theirs = _rank(one, crowds), _rank(other, crowds)
        if mine != theirs:
            return -1 if mine < theirs else 1
        return _by_age(one, other, now)

    return sorted(pods, key=cmp_to_key(compare))[:count]


def _rank(pod: Json, crowds: dict[str, int]) -> tuple[int, ...]:
    state = state_of(pod)
    node = pod["spec"].get("nodeName", "")
    cost = part(pod["metadata"], "annotations").get(_COST, "0")
    crowd = crowds[node] if node else 0
    return bool(node), _PHASES.get(state.phase, 0), state.is_ready, int(cost), -crowd


def _by_age(one: Json, other: Json, now: datetime) -> int:
    mine, theirs = ready_since(one), ready_since(other)
    if mine is not None and theirs is not None and mine != theirs:
        return _younger_first(one, other, now - mine, now - theirs)
    restarts = _restarts(other) - _restarts(one)
    if restarts:
        return restarts
    born, grown = (clock.read(pod["metadata"]["creationTimestamp"]) for pod in (one, other))
    if born != grown:
        return _younger_first(one, other, now - born, now - grown)
    return 0


def _younger_first(one: Json, other: Json, age: timedelta, others_age: timedelta) -> int:
    difference = _magnitude(age) - _magnitude(others_age)
    if difference:
        return difference
    return -1 if one["metadata"]["uid"] < other["metadata"]["uid"] else 1


def _magnitude(age: timedelta) -> int:
    seconds = age.total_seconds()
    return int(math.log2(seconds * 1e9)) if seconds > 0 else -1


def _restarts(pod: Json) -> int:
    statuses = parts(pod, "status", "containerStatuses")
    return max((status.get("restartCount", 0) for status in statuses), default=0)
