"""Nodes that stand empty: marked, kept for a while in case somebody needs them, and then to be removed.

1. A node that is empty for a moment is left alone: pods that wait may go there, and what ends may begin again.
2. It is marked: no new pods, and when it goes. Pods for which there is no other room get it back (``grow`` sees to it).
3. When its time is over and it is still not needed, a NodeRemovalRequest takes over.

So many of a type as its pool keeps ready (``min``) are never marked.
"""

from datetime import datetime, timedelta
from typing import Final

from growth.api.actions import CreateObject, Hold
from growth.api.duration import format_duration
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.references import reference_to
from growth.api.taints import has_traces, scale_down_at
from growth.api.timestamp import format_time
from growth.decide.capacity.disruptability import is_off, is_ours, was_ours, why_left_alone, why_needed
from growth.decide.elapsed import CLOCKS_DIFFER
from growth.decide.policy.pool_terms import PoolTerms, terms_of
from growth.decide.scale_down.context import ScaleDownContext
from growth.decide.scale_down.scale_up_delay import hold_after_scale_up, quiet_until
from growth.decide.writes.node_patches import marked, unmarked
from growth.decide.writes.removal_requests import asked_to_go

# The scheduler leaves a pod alone for up to 10 s before it tries again: so long, at least, free room is for those that
# wait. A pool that is less patient than that is taken at its word.
_MOMENT: Final = timedelta(seconds=15)


def empty(context: ScaleDownContext, pool: NodePool) -> None:
    """What becomes of the nodes of one pool."""
    terms, spare = terms_of(pool), list[Node]()
    terminating = context.snapshot.active_moves.terminating
    for node in context.idle_nodes_of_pools[pool.metadata.name]:
        if (
            node.metadata.name in context.terminating
            or node.metadata.name in terminating
            or not was_ours(context.use, node)
        ):
            continue
        if not node.is_ready:
            if has_traces(node):
                _keep(context, node, "it is not ready")  # what becomes of it is another matter: ``unready``
        elif why := why_needed(context.use, node, pool):
            _keep(context, node, why)
        elif is_ours(context.use, node) and node.metadata.name not in context.snapshot.closed:
            spare.append(node)  # one that is closed is about to be opened, and then it counts
    if not spare:
        return
    may_go, must_wait = _beyond_min(context, pool, spare)
    quiet = quiet_until(context, pool)
    for node in sorted(spare, key=lambda one: one.metadata.name):
        if node.metadata.name in may_go:
            _let_go(context, pool, node, terms, quiet, must_wait=node.metadata.name in must_wait)
        else:
            _keep(context, node, f"pool {pool.metadata.name} keeps this many of its type ready")


def removal_of(context: ScaleDownContext, node: Node, pool: str, reason: str) -> CreateObject:
    """The request that takes over; people are told on the node."""
    context.tell(node, "ScaleDown", reason)
    return asked_to_go(node.metadata.name, pool, node.spec.provider_id, reason)


def _keep(context: ScaleDownContext, node: Node, why: str) -> None:
    if has_traces(node):
        context.said.append(unmarked(node, f"it stays: {why}"))
        context.tell(node, "ScaleDownCancelled", f"it stays: {why}")
    elif wish := why_left_alone(context.use, node):
        context.said.append(Hold(subject=reference_to(NODES, node.metadata), why=wish, reason="DoNotDisrupt"))


def _beyond_min(context: ScaleDownContext, pool: NodePool, spare: list[Node]) -> tuple[set[str], set[str]]:
    """Names of those that may go: what is beyond ``min``.

    Those that are marked already go first, so that marks do not wander; then the dearest. The second are those of them
    that must wait: the ones that stay in their place have yet to lose the marks that are on them.
    """
    names = {node.metadata.name for node in spare}
    wanted = {one.name.lower(): one.min for one in pool.spec.server_types if one.min}
    if not wanted:
        return names, set()
    must_wait = set[str]()
    may_go = set[str]()
    by_type: dict[str, list[Node]] = {}
    for node in _standing(context, pool):
        # A node whose machine is gone, or off, is Ready until somebody notices its silence: it keeps nothing ready.
        if _is_open(context, node) and is_ours(context.use, node) and not is_off(context.use, node):
            by_type.setdefault(context.server_type(node).lower(), []).append(node)
    for server_type, ready in by_type.items():
        terminating = [node for node in ready if node.metadata.name in names]
        if keeps := wanted.get(server_type, 0):
            terminating.sort(key=lambda one: (not has_traces(one), -context.price(one), one.metadata.name))
            terminating = terminating[: max(0, len(ready) - keeps)]
            if sum(not has_traces(node) for node in ready) < keeps:
                must_wait |= {node.metadata.name for node in terminating}
        may_go |= {node.metadata.name for node in terminating}
    return may_go, must_wait


def _is_open(context: ScaleDownContext, node: Node) -> bool:
    return node.is_ready and node.metadata.name not in context.snapshot.closed


def _standing(context: ScaleDownContext, pool: NodePool) -> list[Node]:
    """The pool's nodes without those that leave."""
    nodes, terminating = context.nodes_of_pools[pool.metadata.name], context.terminating
    return [node for node in nodes if node.metadata.name not in terminating]


def _let_go(
    context: ScaleDownContext, pool: NodePool, node: Node, terms: PoolTerms, quiet: datetime, *, must_wait: bool
) -> None:
    at, patience = scale_down_at(node), terms.empty_after
    # Nobody marks one for later than this: a clock was wrong, or the pool has become less patient.
    if at is None or at > max(context.now + patience, quiet) + CLOCKS_DIFFER:
        _mark(context, node, patience, quiet)
        return
    due = max(at, quiet)
    steady_since = context.clock.steady_since
    if steady_since is not None:
        due = max(due, steady_since + patience)  # nobody knows how long ago it was marked
    if context.now < due:
        context.remind(due)
        if at <= context.now < quiet:
            hold_after_scale_up(context, pool, node, quiet)
        return
    if must_wait:
        return
    reason = f"nobody needed it for {format_duration(patience)}"
    context.said.append(removal_of(context, node, pool.metadata.name, reason))


def _mark(context: ScaleDownContext, node: Node, patience: timedelta, quiet: datetime) -> None:
    uid = node.metadata.uid
    since = context.empty_since[uid] = min(context.carry.empty_since.get(uid, context.now), context.now)
    marks_at = since + min(_MOMENT, patience / 4)
    if context.now < marks_at:
        context.remind(marks_at)
        return
    at = _whole_second(max(since + patience, quiet))
    why = f"nobody needs it: it goes at {format_time(at)}"
    context.said.append(marked(node, at, why))
    context.tell(node, "ScaleDownPlanned", why)


def _whole_second(instant: datetime) -> datetime:
    """The next one: what is written has no fractions, and nothing goes too early."""
    return instant if not instant.microsecond else instant.replace(microsecond=0) + timedelta(seconds=1)
