"""What is written and reported about each pool."""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.actions import PatchObject, RecordEvent, held_and_reported
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import NODES
from growth.api.node_pool import (
    MAX_CURRENCY,
    NodeCounts,
    NodePool,
    NodePoolStatus,
    OfferingStatus,
    Unhealthy,
)
from growth.api.offering import POOL
from growth.api.references import reference_to
from growth.api.status import condition_of
from growth.decide.capacity.failed_launch_status import (
    failed_launches,
    launch_events,
    next_forgotten,
    wasted,
)
from growth.decide.capacity.launch_failures import are_alike
from growth.decide.capacity.offering_history import PoolObservation, learnt, next_change
from growth.decide.capacity.pool_inventory import PoolMachine
from growth.decide.capacity.pool_validation import PoolProblem, provider_of
from growth.decide.facts.cluster_state import PoolGroup
from growth.decide.pool_status.conditions import EXPANDING, HEALTHY, READY, conditions_of, failing_of, unhealthy_parts
from growth.decide.pool_status.context import PoolStatusContext

_ACTION: Final = "Checking"
# Counts change with every node; people and tools that look at them do not need more.
_COUNTS_EVERY: Final = timedelta(seconds=1)


def report_problems(context: PoolStatusContext, pool: NodePool, found: list[PoolProblem]) -> None:
    """Report what an operator should fix in a pool; problems that stop launches are holds."""
    subject = reference_to(NODE_POOLS, pool.metadata)
    for problem in found:
        hold, event = held_and_reported(subject, reason=problem.reason, why=problem.why, action=_ACTION)
        context.said += [hold, event] if problem.stops_launches else [event]


def report_status(context: PoolStatusContext, pool: NodePool, found: list[PoolProblem]) -> None:
    """Write the status of a pool as it should be, unless it is so, or only numbers differ."""
    provision, name = context.settings.provision, pool.metadata.name
    observation = PoolObservation(
        pool=pool,
        requests=tuple(context.requests_of.get(name, ())),
        every_request=context.requests.values(),
        nodes=context.snapshot.nodes,
        catalog=context.catalog,
        listed=context.listed,
        providers=tuple(context.snapshot.clouds),
        now=context.now,
        alike=[one.metadata.name for one in context.pools if are_alike(one, pool)],
    )
    entries, failed = learnt(observation, provision), failed_launches(observation, provision)
    forgets_at = (next_change(entries, context.now, provision), next_forgotten(failed, context.now, provision))
    context.deadlines += [one for one in forgets_at if one is not None]
    _tell_of_offerings(context, pool, entries)
    context.said += launch_events(pool, failed)
    failing = failing_of(context, pool, failed)
    group = context.cluster.groups.get((name, ""))
    cost, currency = _cost(context, pool, context.held.get(name, []))
    status = NodePoolStatus(
        nodes=_counts(group),
        cost_per_hour=cost,
        conditions=conditions_of(context, pool, found, failing),
        offerings=entries,
        failed_launches=failed,
        wasted=wasted(observation, provision),
        unhealthy=(*map(_unhealthy, unhealthy_parts(context, pool)), *failing),
        missing_since=group.missing_since if group is not None else None,
        currency=currency,
    )
    if status == pool.status:
        return
    is_only_counting = _what_matters(status) == _what_matters(pool.status)
    may_count_at = context.written.get(pool.metadata.uid, context.now - _COUNTS_EVERY) + _COUNTS_EVERY
    if is_only_counting and context.now < may_count_at <= context.now + _COUNTS_EVERY:
        context.deadlines.append(may_count_at)
        return
    context.written[pool.metadata.uid] = context.now
    context.said.append(
        PatchObject(
            subject=reference_to(NODE_POOLS, pool.metadata),
            why="the pool's status has changed",
            body={"status": msgspec.to_builtins(status)},
            subresource="status",
            resource_version=pool.metadata.resource_version,
        )
    )


def _tell_of_offerings(context: PoolStatusContext, pool: NodePool, entries: tuple[OfferingStatus, ...]) -> None:
    """What cannot be had, or is not what was promised: a quota, a token or a type that a person should look at."""
    for entry in entries:
        is_wrong = entry.surprises > 0 or (entry.until is not None and entry.available_since is None)
        if is_wrong and entry.reason:
            why = f"{entry.offering}: {entry.message}"
            subject = reference_to(NODE_POOLS, pool.metadata)
            context.said.append(
                RecordEvent(subject=subject, why=why, type="Warning", reason=entry.reason, action=_ACTION)
            )


def _cost(context: PoolStatusContext, pool: NodePool, held: list[PoolMachine]) -> tuple[str, str]:
    """The amount, and its currency: a provider has one, so any of its offerings tells it."""
    cloud = context.snapshot.clouds.get(provider_of(pool, context.snapshot.clouds))
    if cloud is None or cloud.read_at is None:
        # Nobody says what anything costs: what was known stands.
        return pool.status.cost_per_hour, pool.status.currency
    amount = f"{sum(one.offering.price_per_hour for one in held if one.offering):.4f}"
    named = next((one.currency for one in cloud.offerings if one.currency), "")
    return amount, named[:MAX_CURRENCY]


def report_foreign_nodes(context: PoolStatusContext) -> None:
    """A node that bears a pool's label and is no machine of ours is reported, and never touched."""
    nodes = context.snapshot.nodes
    for name in sorted(nodes.keys() - context.ours):
        node = nodes[name]
        pool = node.metadata.labels.get(POOL)
        if pool is None:
            continue
        why = f"it bears the label {POOL}={pool}, but no provider has such a machine for us: it is left alone"
        subject = reference_to(NODES, node.metadata)
        context.said += held_and_reported(subject, reason="NotOurs", why=why, action=_ACTION)


def _counts(group: PoolGroup | None) -> NodeCounts:
    return NodeCounts(**group.counts_by_role) if group is not None else NodeCounts()


def _what_matters(status: NodePoolStatus) -> tuple[object, ...]:
    """What is written at once: all but numbers, and words that are made of them."""
    healthy = condition_of(status.conditions, HEALTHY)
    said = tuple(one for one in status.conditions if one.type not in (HEALTHY, READY, EXPANDING))
    unhealthy = frozenset(one.offering for one in status.unhealthy)
    launches = (status.failed_launches, status.wasted)
    return said, healthy and (healthy.status, healthy.reason), status.offerings, launches, unhealthy


def _unhealthy(group: PoolGroup) -> Unhealthy:
    return Unhealthy(group.offering, group.unhealthy_since, group.why)
