"""Machines that are ours by label and have neither a request nor a node: adopted if they match, else reported.

They are what a crash leaves behind, or somebody who deleted a request or a node by hand. A machine that is adopted gets
a request of its own name, and goes the way of every other one; nothing is ever deleted here.
"""

from collections.abc import Iterator, Mapping

from growth.api.action import Action, CreateObject, Hold, RecordEvent
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.machine import Machine
from growth.api.nodepool import NodePool
from growth.api.references import reference_by_name, reference_to
from growth.decide.grow.requesting import owned_by
from growth.decide.offerings import Shop
from growth.observe.snapshot import Snapshot


def adoptions(snapshot: Snapshot, pools: Mapping[str, NodePool], shop: Shop) -> Iterator[Action | Hold]:
    """What to do about each machine that nobody knows."""
    requests, removals = snapshot.table(NODE_REQUESTS), snapshot.table(NODE_REMOVAL_REQUESTS)
    known_removals = {removal.spec.provider_id for removal in removals.values()}
    for cloud in snapshot.clouds.values():
        if cloud.problem or cloud.read_at is None:
            continue
        for machine in cloud.machines:
            name = machine.name
            is_known = name in snapshot.nodes or ("", name) in requests or ("", name) in removals
            if is_known or machine.provider_id in known_removals:
                continue
            why_not = _why_not(machine, pools, shop)
            if why_not:
                yield from _reported(machine, pools, why_not)
            else:
                yield _adopted(machine, pools[machine.pool])


def _why_not(machine: Machine, pools: Mapping[str, NodePool], shop: Shop) -> str:
    """Why a machine cannot be adopted; empty if it can."""
    pool, offering = pools.get(machine.pool), shop.get(machine.offering)
    if pool is None:
        return f"its pool {machine.pool!r} does not exist"
    if pool.metadata.deletion_timestamp is not None:
        return f"its pool {machine.pool!r} is being deleted"
    if offering is None:
        return f"nobody sells its offering {machine.offering!r} any more"
    if offering.server_type.lower() not in {one.name.lower() for one in pool.spec.server_types}:
        return f"its pool {machine.pool!r} does not use {offering.server_type}"
    return ""


def _adopted(machine: Machine, pool: NodePool) -> CreateObject:
    return CreateObject(
        subject=reference_by_name(NODE_REQUESTS, machine.name),
        why=f"machine {machine.id} is ours and has neither request nor node: it is adopted",
        body={
            "metadata": {"ownerReferences": [owned_by(pool)]},
            "spec": {"pool": pool.metadata.name, "targetOffering": machine.offering},
        },
    )


def _reported(machine: Machine, pools: Mapping[str, NodePool], why_not: str) -> Iterator[Action | Hold]:
    pool = pools.get(machine.pool)
    subject = reference_to(NODE_POOLS, pool.metadata) if pool else reference_by_name(NODE_POOLS, machine.pool)
    why = f"machine {machine.id} is ours, has neither request nor node, and is not adopted: {why_not}"
    yield Hold(subject=subject, why=why, reason="LeakedMachine")
    yield RecordEvent(subject=subject, why=why, type="Warning", reason="LeakedMachine", action="Adopting")
