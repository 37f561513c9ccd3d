"""How many pods each ReplicaSet of a Deployment should have next: the arithmetic of rolling updates."""

from collections.abc import Sequence
from typing import NamedTuple

from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.workloads.int_or_percent import share_of


class Bounds(NamedTuple):
    """How far a rolling update may leave the wanted number."""

    surge: int
    unavailable: int


def bounds_of(spec: Json) -> Bounds:
    """maxSurge rounded up, maxUnavailable rounded down; both zero would never move, so one may then be missing."""
    strategy = part(spec, "strategy")
    rolling = part(strategy, "rollingUpdate")
    wanted = spec.get("replicas", 1)
    if strategy.get("type") == "Recreate":
        return Bounds(0, wanted)
    surge = share_of(rolling.get("maxSurge", "25%"), wanted, up=True)
    unavailable = share_of(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    return Bounds(surge, min(wanted, unavailable or (0 if surge else 1)))


def size_of_new(spec: Json, new: Json, olds: Sequence[Json]) -> int:
    """How many pods the new ReplicaSet may have now."""
    wanted, has = spec.get("replicas", 1), replicas(new)
    if has >= wanted:
        return wanted
    room = wanted + bounds_of(spec).surge - has - sum(map(replicas, olds))
    return has + max(0, min(room, wanted - has))


def sizes_of_old(spec: Json, new: Json, olds: Sequence[Json]) -> list[int]:
    """How many pods each old ReplicaSet may keep now, oldest first: those that do not run go before those that do."""
    sizes = [replicas(old) for old in olds]
    fewest = spec.get("replicas", 1) - bounds_of(spec).unavailable
    new_missing = replicas(new) - available(new)
    spare = replicas(new) + sum(sizes) - fewest - new_missing
    for place, old in enumerate(olds):
        broken = min(max(0, spare), sizes[place] - min(sizes[place], available(old)))
        sizes[place] -= broken
        spare -= broken
    running = available(new) + sum(map(available, olds))
    spare = running - fewest
    for place in range(len(olds)):
        fewer = min(max(0, spare), sizes[place])
        sizes[place] -= fewer
        spare -= fewer
    return sizes


def replicas(replica_set: Json) -> int:
    """How many pods it is asked for."""
    return replica_set["spec"].get("replicas", 1)


def available(replica_set: Json) -> int:
    """How many of its pods can be used."""
    return part(replica_set, "status").get("availableReplicas", 0)
