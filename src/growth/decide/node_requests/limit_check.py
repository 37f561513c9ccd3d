"""The last look before machines are bought: does each pool stay within what it may have?

Plans mind limits. But a request may be seen after the next plan was made, and a pool may be allowed less by now. Then
those that were written last are too many.
"""

from collections.abc import Iterable, Sequence

from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest
from growth.api.offering import Offering
from growth.api.quantity import milli_value, nano_value, value
from growth.decide.capacity.offering_catalog import as_billed
from growth.decide.capacity.pool_inventory import holdings, just_launched
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.capacity.retry_fingerprint import is_limited
from growth.decide.node_requests.context import NodeRequestsContext

_NANO = 10**9


def too_many(context: NodeRequestsContext) -> dict[str, str]:
    """By name, the requests that must not be bought for, with the limit that each would pass."""
    limited = {name: pool for name, pool in context.pools.items() if is_limited(pool)}
    waiting = [one for one in context.requests.values() if one.pool in limited and _is_waiting(context, one)]
    if not waiting:
        return {}
    names = {one.metadata.name for one in waiting}
    had: dict[str, list[PoolUsage]] = {name: [] for name in limited}
    for one in holdings(context.snapshot, context.catalog, just_launched(context.snapshot, context.outcomes)):
        if one.pool in had and one.name not in names:
            had[one.pool].append(one.launched)
    found: dict[str, str] = {}
    for request in _in_turn(waiting):
        offering, pool = context.offering_of(request), limited[request.pool]
        if offering is None:
            continue
        offering = as_billed(offering, pool)
        mine = had[request.pool]
        if why := passed(pool, mine, offering):
            found[request.metadata.name] = why
        else:
            mine.append(PoolUsage.of(request.pool, offering))
    return found


def passed(pool: NodePool, had: Sequence[PoolUsage], offering: Offering) -> str:
    """The limit that a pool with these machines passes by one more of this offering; empty if there is none."""
    one = PoolUsage.of(pool.metadata.name, offering)
    limits, name = pool.spec.limits, pool.metadata.name
    all_of_it = (*had, one)
    if limits.nodes is not None and sum(each.nodes for each in all_of_it) > limits.nodes:
        return f"pool {name} may have {limits.nodes} nodes"
    if limits.cpu is not None and sum(each.cpu_millis for each in all_of_it) > milli_value(str(limits.cpu)):
        return f"pool {name} may have {limits.cpu} CPU"
    if limits.memory is not None and sum(each.memory_bytes for each in all_of_it) > value(str(limits.memory)):
        return f"pool {name} may have {limits.memory} memory"
    cost = sum(round(each.cost_per_hour * _NANO) for each in all_of_it)
    if limits.cost_per_hour is not None and cost > nano_value(str(limits.cost_per_hour)):
        return f"pool {name} may cost {limits.cost_per_hour} an hour"
    wanted = offering.server_type.lower()
    count = sum(each.nodes for each in all_of_it if each.server_type.lower() == wanted)
    for stated in pool.spec.server_types:
        if stated.name.lower() == wanted and stated.max is not None and count > stated.max:
            return f"pool {name} may have {stated.max} of {stated.name}"
    return ""


def _is_waiting(context: NodeRequestsContext, request: NodeRequest) -> bool:
    """Whether nothing of it exists yet, as far as anybody knows."""
    name = request.metadata.name
    has_something = name in context.snapshot.nodes or context.machine_of(request) is not None
    return request.status.phase == "Pending" and not has_something


def _in_turn(requests: Iterable[NodeRequest]) -> list[NodeRequest]:
    """Those that were written first are first: what is under way already must not be refused for a newcomer."""
    return sorted(requests, key=lambda one: (str(one.metadata.creation_timestamp or ""), one.metadata.name))
