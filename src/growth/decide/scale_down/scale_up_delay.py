"""The delay after a scale-up: no node is removed for a while after machines were added.

Whose scale-up counts is a setting (``removal.delayAfterScaleUpScope``): that of any pool, as the design of the cluster
state registry has it, or that of the node's own pool. How long the delay is, each pool says.
"""

from datetime import UTC, datetime
from typing import Final

from growth.api.actions import Hold
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.references import reference_to
from growth.api.timestamp import format_time
from growth.decide.capacity.upcoming_nodes import is_live
from growth.decide.policy.pool_terms import terms_of
from growth.decide.scale_down.context import ScaleDownContext

POOL: Final = "pool"
"""The scope in which only the node's own pool counts; the other one is ``cluster``."""


def quiet_until(context: ScaleDownContext, pool: NodePool) -> datetime:
    """Until when no node of this pool is removed."""
    name = pool.metadata.name
    if context.settings.removal.delay_after_scale_up_scope == POOL:
        last = _grew_at(context, name)
    else:
        last = max(_grew_at(context, one) for one in context.pools)
    return context.since(last) + terms_of(pool).delay_after_scale_up


def hold_after_scale_up(context: ScaleDownContext, pool: NodePool, node: Node, quiet: datetime) -> None:
    """Say why a node that would be removed now is not."""
    whose = "pool" if context.settings.removal.delay_after_scale_up_scope == POOL else "cluster"
    delay = f"scaleDown.delayAfterScaleUp of pool {pool.metadata.name} is {pool.spec.scale_down.delay_after_scale_up}"
    why = f"it is not removed before {format_time(quiet)}, because its {whose} was scaled up ({delay})"
    context.said.append(Hold(subject=reference_to(NODES, node.metadata), why=why, reason="RecentScaleUp"))


def _grew_at(context: ScaleDownContext, pool: str) -> datetime:
    """When the pool last got, or asked for, a machine."""
    if pool not in context.grew_at:
        born = [
            node.metadata.creation_timestamp
            for node in context.nodes_of_pools[pool]
            if node.metadata.name not in context.terminating
        ]
        born += [
            one.metadata.creation_timestamp for one in context.requests.values() if one.pool == pool and is_live(one)
        ]
        context.grew_at[pool] = max((one for one in born if one is not None), default=datetime.min.replace(tzinfo=UTC))
    return context.grew_at[pool]
