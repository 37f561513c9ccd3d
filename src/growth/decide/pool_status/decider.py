"""What is there to say about each pool? Docs: docs/growing.md.

Its status is written here and nowhere else: how many nodes it has, what they cost, what was learnt about offerings,
and what a person should mend. It also holds a pool that is deleted until its machines are settled.
"""

from datetime import timedelta
from typing import Final

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.capacity.pool_validation import is_asked, problems
from growth.decide.context import Step, run_steps
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, Need, WritePermission
from growth.decide.elapsed import is_ahead
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.pool_status.carry import PoolStatusCarry
from growth.decide.pool_status.context import PoolStatusContext
from growth.decide.pool_status.finalizer import protect
from growth.decide.pool_status.status import report_foreign_nodes, report_problems, report_status

# While nodes come by the hundred there is something new in every pass, and nobody waits for it to be told.
_LOOKS_EVERY: Final = timedelta(milliseconds=500)


def report_pools(context: PoolStatusContext) -> None:
    """Protect each pool, report its problems, and write its status."""
    for pool in context.pools:
        protect(context, pool)
        if is_asked(pool, context.snapshot.clouds):
            found = problems(pool, context.snapshot.clouds)
            report_problems(context, pool, found)
            report_status(context, pool, found)


STEPS: Final[tuple[Step[PoolStatusContext], ...]] = (report_pools, report_foreign_nodes)


def decide(inputs: Inputs[PoolStatusCarry, None, None], /) -> Decision[PoolStatusCarry]:
    """Decide what there is to write about each pool."""
    snapshot, carry = inputs.snapshot, inputs.carry
    versions = tuple(sorted(pool.metadata.resource_version for pool in snapshot.table(NODE_POOLS).values()))
    if carry.looked_at is not None and carry.pools == versions:
        again_at = carry.looked_at + _LOOKS_EVERY
        if is_ahead(again_at, snapshot.now, _LOOKS_EVERY) and (carry.wake_at is None or snapshot.now < carry.wake_at):
            return Decision(carry=carry, said=carry.said, requeue_at=min(again_at, carry.wake_at or again_at))
    context = PoolStatusContext(inputs)
    run_steps(context, STEPS)
    return context.decision(context.next_carry(versions))


CAPABILITY: Final = Capability(
    name=CapabilityName("pools"),
    decide=decide,
    initial_carry=lambda _snapshot, _settings: PoolStatusCarry(),
    watches=(NODES, NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS),
    permissions=(WritePermission("patch", NODE_POOLS), WritePermission("patch", NODE_POOLS, "status")),
    needs=(Need(ClusterState), Need(OfferingCatalog)),
)
