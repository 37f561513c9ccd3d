"""The conditions of a pool."""

from datetime import datetime
from typing import Final

from growth.api.node_pool import (
    FailedLaunches,
    NodePool,
    Unhealthy,
)
from growth.api.status import MAX_WORDS, StatusCondition, condition_of, with_condition
from growth.decide.capacity.failed_launch_status import failing_in, failing_parts
from growth.decide.capacity.pool_validation import PoolProblem
from growth.decide.facts.cluster_state import PoolGroup
from growth.decide.pool_status.context import PoolStatusContext
from growth.decide.pool_status.finalizer import why_held

VALID: Final = "Valid"
HEALTHY: Final = "Healthy"
EXPANDING: Final = "Expanding"
READY: Final = "Ready"


def conditions_of(
    context: PoolStatusContext, pool: NodePool, found: list[PoolProblem], failing: list[Unhealthy]
) -> tuple[StatusCondition, ...]:
    """Return the conditions that the pool should have."""
    if pool.metadata.deletion_timestamp is not None:
        wanted = (
            "False",
            "Deleting",
            why_held(context, pool) or "it is being deleted, and none of its machines is left",
        )
    elif found:
        wanted = ("False", found[0].reason, "; ".join(problem.why for problem in found)[:1024])
    else:
        wanted = ("True", "Usable", "")
    conditions = _with(pool.status.conditions, VALID, wanted, context.now)
    healthy = _healthy(context, pool, failing)
    conditions = _with(conditions, HEALTHY, healthy, context.now)
    is_valid, is_healthy = wanted[0] == "True", healthy[0] == "True"
    ready = ("True", "Ready", "") if is_valid and is_healthy else (healthy if is_valid else wanted)
    conditions = _with(conditions, READY, ready, context.now)
    return _with(conditions, EXPANDING, _expanding(context, pool), context.now)


def unhealthy_parts(context: PoolStatusContext, pool: NodePool) -> list[PoolGroup]:
    """The pool, or what it buys, of which too much is amiss."""
    name = pool.metadata.name
    return [group for key, group in sorted(context.cluster.groups.items()) if key[0] == name and group.is_unhealthy]


def _healthy(context: PoolStatusContext, pool: NodePool, failing: list[Unhealthy]) -> tuple[str, str, str]:
    """S1 and S2."""
    if not context.cluster.health.is_healthy:
        return "False", "ClusterUnhealthy", context.cluster.health.alarm
    parts = unhealthy_parts(context, pool)
    whys = [*(part.why for part in parts), *(f"{one.offering}: {one.message}" for one in failing)]
    if not whys:
        return "True", "Healthy", ""
    if any(not part.offering for part in parts):
        reason = "PoolUnhealthy"
    else:
        reason = "LaunchesFail" if failing else "OfferingUnhealthy"
    return "False", reason, "; ".join(whys)[:MAX_WORDS]


def failing_of(context: PoolStatusContext, pool: NodePool, failed: tuple[FailedLaunches, ...]) -> list[Unhealthy]:
    """Without what this very status forgets: the record is made of what the last one noted."""
    record = context.catalog.launches.get(pool.metadata.name)
    if record is None:
        return []
    forgotten = failing_in(pool.status.failed_launches) - failing_in(failed)
    return [one for one in failing_parts(record, context.listed.values()) if one.offering not in forgotten]


def _expanding(context: PoolStatusContext, pool: NodePool) -> tuple[str, str, str]:
    """S3: whether machines are coming."""
    group = context.cluster.groups.get((pool.metadata.name, ""))
    coming = group.upcoming if group is not None else 0
    if not coming:
        return "False", "NothingComing", ""
    return "True", "MachinesComing", f"{coming} machines are coming" if coming > 1 else "a machine is coming"


def _with(
    conditions: tuple[StatusCondition, ...],
    kind: str,
    wanted: tuple[str, str, str],
    now: datetime,
) -> tuple[StatusCondition, ...]:
    """The conditions with this one, which keeps its time if it says what it said before."""
    status, reason, message = wanted
    before = condition_of(conditions, kind)
    is_same = before is not None and before.status == status
    since = before.last_transition_time if before is not None and is_same else now
    new = StatusCondition(kind, "True" if status == "True" else "False", reason, message, since)
    return with_condition(conditions, new)
