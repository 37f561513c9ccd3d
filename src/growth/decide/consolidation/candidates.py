"""Which nodes may go if that pays, or if they must, and why each of the others stays.

1. Nodes that stand: machines of ours in a pool that there is, ready, open, and not on their way out for another reason.
2. Of those, the ones that nobody keeps: no wish of a person, nobody who is about to come, nothing that must not move.
3. Of those, what is beyond ``min`` of their type.

It judges; nothing is drained because of it. Whether it pays is the planner's question.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Final

import msgspec

from growth.api.disruption import Reason
from growth.api.duration import format_duration
from growth.api.node import Node
from growth.api.offering import POOL
from growth.api.out_of_service import MAINTENANCE
from growth.api.pod_classification import forbids
from growth.decide.capacity.disruptability import is_off, is_ours, why_awaited
from growth.decide.capacity.pool_inventory import PoolMachine, holdings, just_launched
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.pod_movability import PodBindings
from growth.decide.consolidation.problem import Candidate

_AT_ONCE: Final = timedelta(0)
_UNLISTED: Final = "its provider does not list its machine"


class CandidateSet(msgspec.Struct, frozen=True):
    """All nodes and machines of one instant, sorted out."""

    candidates: tuple[Candidate, ...]
    staying: Mapping[str, str]
    """By name, why each other node of the cluster stays, in words."""
    others: tuple[PoolUsage, ...]
    """All machines of the pools that are no candidates."""


def choice_in(context: ConsolidationContext, min_age: Mapping[str, timedelta]) -> CandidateSet:
    """Who may go. ``min_age`` is by pool, and younger nodes stay; in a pool that is not named none is too young."""
    snapshot = context.snapshot
    held = {one.name: one for one in holdings(snapshot, context.catalog, just_launched(snapshot, context.outcomes))}
    bonds, staying = PodBindings(snapshot, is_for_money=True), dict[str, str]()
    lost = context.replacements.dead_nodes
    standing, movable = list[PoolMachine](), list[PoolMachine]()
    for name, node in sorted(snapshot.nodes.items()):
        holding = held.get(name)
        why = _why_out(context, node, lost) or _why_not_there(context, node)
        if why or holding is None:
            staying[name] = why or _UNLISTED
            continue
        standing.append(holding)
        why = _why_kept(context, node, min_age) or _why_unpriced(holding) or _why_bound(context, bonds, node)
        if why:
            staying[name] = why
        else:
            movable.append(holding)
    staying |= _kept_ready(context, standing, movable)
    launched = {name: one.launched for name, one in held.items()}
    candidates = tuple(Candidate(one.name, launched[one.name]) for one in movable if one.name not in staying)
    chosen = {one.name for one in candidates}
    return CandidateSet(candidates, staying, tuple(one for name, one in launched.items() if name not in chosen))


def why_stays(
    context: ConsolidationContext, name: str, min_age: Mapping[str, timedelta], reason: Reason = "Cheaper"
) -> str:
    """Why one node stays, as far as that can be told without its provider; empty if nothing is known against moving
    it."""
    node = context.snapshot.nodes[name]
    why = _why_out(context, node, ()) or _why_kept(context, node, min_age, reason)
    return why or _why_bound(context, PodBindings(context.snapshot, is_for_money=reason == "Cheaper"), node)


def wished_in(
    context: ConsolidationContext, min_age: Mapping[str, timedelta], disruptions: Mapping[str, Reason]
) -> CandidateSet:
    """Who of these nodes may go, in their order, whatever that costs; nobody else is asked about. Each has its reason:
    what a person asks for, neither its age nor its pool forbids."""
    snapshot = context.snapshot
    held = holdings(snapshot, context.catalog, just_launched(snapshot, context.outcomes))
    launched = {one.name: one.launched for one in held}
    bonds, staying = PodBindings(snapshot), dict[str, str]()
    lost = context.replacements.dead_nodes
    candidates: list[Candidate] = []
    for name, reason in disruptions.items():
        node = snapshot.nodes[name]
        why = _why_out(context, node, lost) or ("" if name in launched else _UNLISTED)
        why = why or _why_kept(context, node, min_age, reason) or _why_bound(context, bonds, node)
        if why:
            staying[name] = why
        else:
            candidates.append(Candidate(name, launched[name]))
    chosen = {one.name for one in candidates}
    others = tuple(one for name, one in launched.items() if name not in chosen)
    return CandidateSet(tuple(candidates), staying, others)


def _why_out(context: ConsolidationContext, node: Node, lost: Collection[str]) -> str:
    """Why this is no node of a pool that stands and works; empty if it is one. ``lost`` are about to be tainted."""
    name, snapshot, pool_name = node.metadata.name, context.snapshot, node.metadata.labels.get(POOL)
    if pool_name is None:
        return "it belongs to no pool"
    pool = context.pools.get(pool_name)
    if pool is None:
        return f"its pool {pool_name} does not exist"
    if pool.metadata.deletion_timestamp is not None:
        return f"its pool {pool_name} is being deleted"
    if name in snapshot.out_of_service or name in lost:
        return "it is out of service"
    if name in context.terminating:
        return "it is being removed already"
    if name in snapshot.to_go:
        return "it is marked to go already"
    if not node.is_ready:
        return "it is not ready"
    return "it is being prepared" if name in snapshot.closed else ""


def _why_not_there(context: ConsolidationContext, node: Node) -> str:
    """What its provider says against it."""
    if not is_ours(context.use, node):
        return _UNLISTED
    return "its machine is off" if is_off(context.use, node) else ""


def _why_kept(
    context: ConsolidationContext, node: Node, min_age: Mapping[str, timedelta], reason: Reason = "Cheaper"
) -> str:
    """Who wants to keep it as it is; empty if nobody does."""
    is_asked_for = reason == "Requested"
    pool = context.pools[node.metadata.labels[POOL]]
    if not pool.spec.scale_down.enabled and not is_asked_for:
        return f"scaleDown.enabled is false in pool {pool.metadata.name}"
    if pool.spec.disruption.mode == "off" and not is_asked_for:
        return f"disruption.mode is off in pool {pool.metadata.name}"
    if annotation := forbids(node):
        return f"it bears {annotation}"
    if MAINTENANCE in node.metadata.annotations:
        return f"it bears {MAINTENANCE}"
    if node.spec.unschedulable and not is_asked_for:
        return "it is cordoned, so somebody has plans for it"
    youngest = min_age.get(pool.metadata.name, _AT_ONCE)
    if not is_asked_for and context.now < context.since(node.metadata.creation_timestamp) + youngest:
        return f"it is younger than {format_duration(youngest)}"
    return why_awaited(context.use, node)


def _why_unpriced(holding: PoolMachine) -> str:
    return "" if holding.offering is not None else "nobody says what it costs: its offering is not sold any more"


def _why_bound(context: ConsolidationContext, bonds: PodBindings, node: Node) -> str:
    """The first pod on it that must stay, by name; empty if there is none."""
    found = [
        (f"{pod.metadata.namespace}/{pod.metadata.name}", why)
        for pod in context.snapshot.pods_by_node.get(node.metadata.name, {}).values()
        if (why := bonds.why_stays(pod))
    ]
    if not found:
        return ""
    name, why = min(found)
    others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"pod {name} on it must stay{others}: {why}"


def _kept_ready(
    context: ConsolidationContext, standing: list[PoolMachine], movable: list[PoolMachine]
) -> dict[str, str]:
    """Those that are needed for ``min`` of their type, with why: those on which most works, and the cheapest."""
    stands = _by_type(standing)
    kept: dict[str, str] = {}
    for (pool, server_type), terminating in _by_type(movable).items():
        wanted = next((one for one in context.pools[pool].spec.server_types if one.name.lower() == server_type), None)
        if wanted is None or not wanted.min:
            continue
        terminating.sort(
            key=lambda one: (context.snapshot.work.get(one.name, 0), -one.launched.cost_per_hour, one.name)
        )
        spare = max(0, len(stands[pool, server_type]) - wanted.min)
        why = f"pool {pool} keeps {wanted.min} of {wanted.name} ready"
        kept |= {one.name: why for one in terminating[spare:]}
    return kept


def _by_type(held: list[PoolMachine]) -> dict[tuple[str, str], list[PoolMachine]]:
    found: dict[tuple[str, str], list[PoolMachine]] = {}
    for one in held:
        found.setdefault((one.pool, one.server_type.lower()), []).append(one)
    return found
