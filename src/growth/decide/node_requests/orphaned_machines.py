"""Machines that are ours by label and have neither a request nor a node: adopted if they match, else to be removed.

They are what a crash leaves behind, or somebody who deleted a request or a node by hand. A machine that is adopted gets
a request of its own name, and goes the way of every other one. One that cannot be used is told of, and after a while a
NodeRemovalRequest takes over. Only what no pool speaks for is left to people: a pool that was deleted with ``Orphan``
left its machines to them.
"""

from collections.abc import Iterator
from datetime import datetime

from growth.api.actions import Action, CreateObject, Hold, held_and_reported
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.machine import Machine
from growth.api.node_pool import NodePool
from growth.api.provider_state import ProviderState
from growth.api.references import reference_by_name, reference_to
from growth.decide.node_requests.context import NodeRequestsContext
from growth.decide.writes.node_requests import owned_by
from growth.decide.writes.removal_requests import asked_to_go


def adopt_machines(context: NodeRequestsContext) -> None:
    """Say what to do about each machine that nobody knows.

    What a provider said may be older than what was removed since. So nothing is concluded before it was asked again.
    """
    for cloud, machine in _unknown(context):
        # If the clock jumped, nobody knows how long ago that was.
        noticed_at = min(context.inputs.carry.noticed.get(machine.provider_id, context.now), context.now)
        since = context.noticed[machine.provider_id] = context.since(noticed_at)
        if cloud.read_at is not None and cloud.read_at > since:
            context.said += _concluded(context, machine, since)


def _unknown(context: NodeRequestsContext) -> Iterator[tuple[ProviderState, Machine]]:
    removals = context.snapshot.table(NODE_REMOVAL_REQUESTS).values()
    terminating = {removal.spec.provider_id for removal in removals}
    known = {*context.requests, *context.terminating}
    for cloud in context.snapshot.clouds.values():
        if cloud.problem:
            continue
        for machine in cloud.machines:
            name = machine.name
            if name not in known and name not in context.snapshot.nodes and machine.provider_id not in terminating:
                yield cloud, machine


def _concluded(context: NodeRequestsContext, machine: Machine, since: datetime) -> Iterator[Action | Hold]:
    why_not = _why_not(context, machine)
    pool = context.pools.get(machine.pool)
    if pool is not None and not why_not:
        if not context.is_halted:
            yield _adopted(machine, pool)
        return
    subject = reference_to(NODE_POOLS, pool.metadata) if pool else reference_by_name(NODE_POOLS, machine.pool)
    why = f"machine {machine.name} ({machine.id}) is ours, has neither request nor node, and is not adopted: {why_not}"
    yield from held_and_reported(subject, reason="LeakedMachine", why=why, action="Adopting")
    if pool is None or (_is_deleted(pool) and pool.spec.deletion_policy == "Orphan"):
        return
    if context.is_halted:
        return
    terminating = asked_to_go(machine.name, machine.pool, machine.provider_id, why)
    ends_at = since + context.removal.leaked_after
    if _is_deleted(pool):
        yield terminating
    elif context.now < ends_at:
        context.deadlines.append(ends_at)
    else:
        context.unregistered.append((ends_at, machine.name, machine.pool, terminating))


def _is_deleted(pool: NodePool) -> bool:
    return pool.metadata.deletion_timestamp is not None


def _why_not(context: NodeRequestsContext, machine: Machine) -> str:
    """Why a machine cannot be adopted; empty if it can."""
    pool, offering = context.pools.get(machine.pool), context.catalog.get(machine.offering)
    if pool is None:
        return f"its pool {machine.pool!r} does not exist"
    if _is_deleted(pool):
        return f"its pool {machine.pool!r} is being deleted"
    if offering is None:
        return f"nobody sells its offering {machine.offering!r} any more"
    if offering.server_type.lower() not in {one.name.lower() for one in pool.spec.server_types}:
        return f"its pool {machine.pool!r} does not use {offering.server_type}"
    return ""


def _adopted(machine: Machine, pool: NodePool) -> CreateObject:
    return CreateObject(
        subject=reference_by_name(NODE_REQUESTS, machine.name),
        why=f"machine {machine.name} ({machine.id}) is ours and has neither request nor node: it is adopted",
        body={
            "metadata": {"ownerReferences": [owned_by(pool)]},
            "spec": {"pool": pool.metadata.name, "targetOffering": machine.offering},
        },
    )
