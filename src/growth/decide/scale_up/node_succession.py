"""Which of the machines that are bought takes the place of which: what a node was is handed to its successor.

It stands in the request (``spec.replaces``), and memory goes by it (``decide.node_memory.succession``). A machine of
ours has a successor if

1. it is proven dead, and a machine is bought for stand-ins of pods that lose it;
2. it was proven dead a moment ago, and a machine is bought for pods that controllers made since: most are made anew a
   tenth of a second after the taint, and then nothing in the cluster tells whose place they take;
3. it is being removed because it was unready for long, and its pool misses one of its type (``min``).

Successors are of the same pool. There is one for each, and none if a request that has not failed names it already. Two
leaders who do not see each other's requests may name it twice; then memory sees to it that one of them is given it.

Nobody takes the place of a node whose pods found room elsewhere, that goes because it is not needed, that a person took
out of service without proof, or that is not ours. Nor where all that is left of a machine is the shortage behind it:
that looks like a wish for more. What is remembered of those waits for them.

Names of requests do not depend on it: the same machine is wanted, whomever it replaces.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.node import Node
from growth.api.node_removal_request import IF_UNREADY
from growth.api.node_request import MAX_NODE_NAME
from growth.api.out_of_service import out_of_service_taint, proof_on
from growth.api.pod import Pod
from growth.api.pod_classification import is_daemon
from growth.decide.capacity.pool_inventory import PoolMachine
from growth.decide.elapsed import is_ahead
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.scale_up.planned_launch import PlannedLaunch
from growth.observe.snapshot import Snapshot

# Pods of a dead machine are gone soon after its taint (``decide.failover.replacement_pods``): so long, who comes may be
# one of those that come in their place.
_A_MOMENT: Final = timedelta(minutes=5)
# The clock that dates pods may be behind the one that dates taints.
_CLOCKS: Final = timedelta(seconds=5)


class Predecessor(msgspec.Struct, frozen=True):
    """A machine of ours that is lost, and whose place nobody takes yet."""

    name: str
    pool: str
    server_type: str
    virtual_pods: frozenset[str] = frozenset()
    """Uids of those who stand in for pods that lose it."""
    dead_since: datetime | None = None
    """When it was taken out of service, if that is not long ago."""
    is_removed: bool = False
    """Whether it goes because it was unready for long."""


def predecessors(
    snapshot: Snapshot, replacements: ReplacementPods, held: Iterable[PoolMachine]
) -> tuple[Predecessor, ...]:
    """All of them; ``held`` are the machines that are ours."""
    virtual_pods: dict[str, set[str]] = {}
    for uid, one in replacements.pods.items():
        virtual_pods.setdefault(one.node, set()).add(uid)
    removals = snapshot.table(NODE_REMOVAL_REQUESTS).values()
    removed = {one.node_name for one in removals if IF_UNREADY in one.metadata.annotations}
    lost = {*virtual_pods, *snapshot.out_of_service, *removed}
    if not lost:
        return ()
    requests = snapshot.table(NODE_REQUESTS).values()
    replaced = {one.spec.replaces for one in requests if one.status.phase in ("Pending", "Provisioning", "Ready")}
    found = [
        Predecessor(
            one.name,
            one.pool,
            one.server_type.lower(),
            frozenset(virtual_pods.get(one.name, ())),
            _dead_since(one.node, snapshot.now) if one.node is not None else None,
            one.name in removed,
        )
        for one in held
        if one.name in lost and one.name not in replaced and len(one.name) <= MAX_NODE_NAME
    ]
    return tuple(sorted(found, key=lambda one: one.name))


def _dead_since(node: Node, now: datetime) -> datetime | None:
    proof = proof_on(node)
    if proof is None or proof.is_forced or proof.provider_id != node.spec.provider_id:
        return None
    is_out = out_of_service_taint(node) is not None and is_ahead(proof.tainted_at + _A_MOMENT, now, _A_MOMENT)
    return proof.tainted_at if is_out else None


def succeeding(wanted: list[PlannedLaunch], pods: Iterable[Pod], lost: Sequence[Predecessor]) -> list[PlannedLaunch]:
    """The machines that are wanted, with whom they replace; ``pods`` are those that they may be for."""
    if not lost:
        return wanted
    by_uid, heirs = {pod.metadata.uid: pod for pod in pods}, dict[str, str]()
    for chosen in (_for_its_pods, _for_pods_made_since, _for_its_pool):
        for one in lost:
            if one.name in heirs.values():
                continue
            free = [each for each in wanted if each.pool.metadata.name == one.pool and each.name not in heirs]
            heir = chosen(one, free, by_uid)
            if heir is not None:
                heirs[heir.name] = one.name
    return [msgspec.structs.replace(one, replaces=heirs.get(one.name, "")) for one in wanted]


def _for_its_pods(lost: Predecessor, wanted: Sequence[PlannedLaunch], _: Mapping[str, Pod]) -> PlannedLaunch | None:
    """The one that is for most of them."""
    best = max(wanted, key=lambda one: len(lost.virtual_pods.intersection(one.pods)), default=None)
    return best if best is not None and not lost.virtual_pods.isdisjoint(best.pods) else None


def _for_pods_made_since(
    lost: Predecessor, wanted: Sequence[PlannedLaunch], pods: Mapping[str, Pod]
) -> PlannedLaunch | None:
    if lost.dead_since is None:
        return None
    since = lost.dead_since - _CLOCKS

    def is_made_since(uid: str) -> bool:
        pod = pods.get(uid)
        if pod is None or pod.metadata.controller is None or is_daemon(pod):
            return False
        made_at = pod.metadata.creation_timestamp
        return made_at is not None and made_at >= since

    return next((one for one in wanted if any(map(is_made_since, one.pods))), None)


def _for_its_pool(lost: Predecessor, wanted: Sequence[PlannedLaunch], _: Mapping[str, Pod]) -> PlannedLaunch | None:
    if not lost.is_removed:
        return None
    alike = (one for one in wanted if one.shortage and one.offering.server_type.lower() == lost.server_type)
    return next(alike, None)
