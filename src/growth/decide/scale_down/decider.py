"""What is left of scale-down in an unhealthy cluster: nothing goes, and nobody is on the way out any more.

Marks are taken off, and with them the time that has passed: empty nodes that work are the room that pods of broken ones
need, and when all is well again the wait begins anew.

Which nodes does nobody need, and how far are those that go? Docs: docs/removing.md.

It marks nodes, and asks for their removal; it carries removals out, whoever asked for them. What a pool is deleted with
it empties first.
"""

from typing import Final

from growth.api.actions import Hold
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import NODES
from growth.api.offering import POOL
from growth.api.references import reference_to
from growth.api.settings.model import Settings
from growth.decide.capacity.disruptability import was_ours
from growth.decide.contract import DeciderState, Decision
from growth.decide.scale_down.context import ScaleDownCarry, ScaleDownContext
from growth.decide.scale_down.empty_nodes import empty
from growth.decide.scale_down.pool_deletion import drain
from growth.decide.scale_down.removal_requests import forget_wish, note_answer, remove
from growth.decide.scale_down.unready_nodes import give_up_unready
from growth.decide.writes.node_patches import unmarked
from growth.observe.snapshot import Snapshot

_REASON: Final = "ClusterUnhealthy"


def halt(context: ScaleDownContext) -> None:
    """What there is to do, and to say."""
    for removal in context.removals:
        note_answer(context, removal)
        subject = reference_to(NODE_REMOVAL_REQUESTS, removal.metadata)
        context.said.append(Hold(subject=subject, why="nothing is removed in an unhealthy cluster", reason=_REASON))
    for name, node in sorted(context.snapshot.to_go.items()):
        pool = context.pools.get(node.metadata.labels.get(POOL, ""))
        if pool is None or name in context.terminating or not was_ours(context, node):
            continue
        if pool.metadata.deletion_timestamp is not None:
            why = "nothing is removed in an unhealthy cluster"
            context.said.append(Hold(subject=reference_to(NODES, node.metadata), why=why, reason=_REASON))
            continue
        why = "it stays: the cluster is unhealthy"
        context.said.append(unmarked(node, why))
        context.tell(node, "ScaleDownCancelled", why)


def decide(snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
    """What should happen now."""
    context = ScaleDownContext(
        snapshot, state, settings, state.carry if isinstance(state.carry, ScaleDownCarry) else ScaleDownCarry()
    )
    if context.cluster.is_halted:
        halt(context)
    elif not context.cluster.gives_up:
        _go_on(context)
    wake_at = min((when for when in context.deadlines if when > context.now), default=None)
    return Decision(tuple(context.said), wake_at, context.remembering())


def _go_on(context: ScaleDownContext) -> None:
    for removal in context.removals:
        remove(context, removal)
        forget_wish(context, removal)
    for name, pool in sorted(context.pools.items()):
        if pool.metadata.deletion_timestamp is None:
            empty(context, pool)
            give_up_unready(context, pool)
        else:
            drain(context, pool, context.nodes_of_pools[name])
