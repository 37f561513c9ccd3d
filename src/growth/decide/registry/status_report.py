"""What people hear of the registry: an alarm once, its end, and the object ``growth-status``."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.actions import CreateObject, Hold, PatchObject, RecordEvent
from growth.api.core import ConfigMap
from growth.api.growth_kinds import NODE_POOLS
from growth.api.growth_status import (
    GROWTH_STATUS,
    STATUS,
    SUMMARY,
    ClusterStatus,
    PoolHealth,
    TroubledNode,
    capabilities_in,
    capability_key,
    status_in,
)
from growth.api.kinds import CONFIG_MAPS
from growth.api.references import reference_by_name, reference_to
from growth.api.timestamp import format_time
from growth.decide.contract import ReportedStatuses
from growth.decide.elapsed import is_ahead
from growth.decide.facts.cluster_state import ClusterState, NodeState, Unit
from growth.decide.registry.carry import RegistryCarry
from growth.decide.registry.context import RegistryContext

_ACTION: Final = "Watching"
_HALTED: Final = "nothing is bought or removed until this is over"
_GOES_ON: Final = "only nodes of others are, and for long: Growth goes on with its own"
_NUMBERS_EVERY: Final = timedelta(seconds=5)
# So long after a recovery it is news.
_NEWS: Final = timedelta(minutes=1)
# A ConfigMap holds a megabyte; with more trouble than this there are other worries.
_TROUBLED: Final = 200
_SERIOUSNESS: Final = {state: place for place, state in enumerate(NodeState)}


def report_health(context: RegistryContext) -> None:
    """Report an unhealthy cluster when that begins, and when it is over: an event is told once for all passes."""
    snapshot, settings, health, said = context.snapshot, context.settings, context.cluster.health, context.said
    pools = [reference_to(NODE_POOLS, pool.metadata) for _, pool in sorted(snapshot.table(NODE_POOLS).items())]
    if not health.is_healthy:
        why = f"{health.alarm}; {_HALTED if health.is_halted else _GOES_ON}"
        subject = reference_by_name(CONFIG_MAPS, GROWTH_STATUS, settings.namespace)
        said.append(Hold(subject=subject, why=why, reason="ClusterUnhealthy"))
        said += [
            RecordEvent(subject=pool, why=why, type="Warning", reason="ClusterUnhealthy", action=_ACTION)
            for pool in pools
        ]
    elif health.recovered_at is not None and is_ahead(health.recovered_at + _NEWS, snapshot.now, _NEWS):
        why = f"the cluster is healthy again since {format_time(health.recovered_at)}: Growth goes on"
        said += [RecordEvent(subject=pool, why=why, reason="ClusterHealthy", action=_ACTION) for pool in pools]


def write_status(context: RegistryContext) -> None:
    """Write growth-status as it should be, unless it is so, or only numbers differ and were just written."""
    snapshot, settings, cluster, carry = context.snapshot, context.settings, context.cluster, context.carry
    there: ConfigMap | None = snapshot.table(CONFIG_MAPS).get((settings.namespace, GROWTH_STATUS))
    wanted = status_of(cluster)
    known = status_in(there)
    reported, is_reported = _reported(context, there)
    if known == wanted and is_reported:
        return
    if known is not None and _what_matters(known) == _what_matters(wanted) and carry.written_at is not None:
        again_at = carry.written_at + _NUMBERS_EVERY
        if is_ahead(again_at, snapshot.now, _NUMBERS_EVERY):
            context.remind(again_at)
            return
    context.carry = RegistryCarry(snapshot.now)
    data = {STATUS: msgspec.json.encode(wanted).decode(), SUMMARY: _summary(wanted), **reported}
    why = "the cluster is healthy" if wanted.is_healthy else "the cluster is unhealthy"
    if there is None:
        subject = reference_by_name(CONFIG_MAPS, GROWTH_STATUS, settings.namespace)
        context.said.append(CreateObject(subject=subject, why=why, body={"data": data}))
        return
    subject = reference_to(CONFIG_MAPS, there.metadata)
    body: dict[str, Any] = {"data": data}
    version = there.metadata.resource_version
    context.said.append(PatchObject(subject=subject, why=why, body=body, resource_version=version))


def _reported(context: RegistryContext, there: ConfigMap | None) -> tuple[dict[str, str | None], bool]:
    """What capabilities report of themselves, with nothing for those that do not run; and whether it is there."""
    reported: dict[str, str | None] = {
        capability_key(name): msgspec.json.encode(status).decode()
        for name, status in context.facts.get(ReportedStatuses).by_capability.items()
    }
    gone = capabilities_in(there).keys() - context.inputs.replica.enabled
    known = there.data if there is not None else {}
    is_there = not gone and all(known.get(key) == text for key, text in reported.items())
    return reported | dict.fromkeys(map(capability_key, gone)), is_there


def _what_matters(status: ClusterStatus) -> tuple[object, ...]:
    closed = tuple((one.pool, one.offering) for one in status.pools if not one.is_healthy)
    return status.is_healthy, status.is_halted, status.healthy_since, status.unhealthy_since, closed


def status_of(cluster: ClusterState) -> ClusterStatus:
    """The registry as people and the next leader read it."""
    health = cluster.health
    troubled = [unit for found in cluster.troubled.values() for unit in found]
    states: Counter[str] = Counter(unit.state.value for unit in troubled if not (unit.is_plain and unit.is_ready))
    states[NodeState.READY.value] = sum(cluster.ready_of.values())
    states[NodeState.FOREIGN.value] += cluster.ready - states[NodeState.READY.value]
    worst = sorted(
        (unit for unit in troubled if not unit.is_plain), key=lambda one: (_SERIOUSNESS[one.state], one.pool, one.name)
    )
    return ClusterStatus(
        is_healthy=health.is_healthy,
        is_halted=health.is_halted,
        healthy_since=_whole(health.healthy_since),
        unhealthy_since=_whole(health.unhealthy_since),
        alarm=health.alarm,
        ready=health.census.ready,
        unready=health.census.unready,
        foreign_unready=health.census.foreign_unready,
        states={state.value: states[state.value] for state in NodeState if states[state.value]},
        pools=tuple(
            PoolHealth(
                pool=group.pool,
                offering=group.offering,
                states={state.value: group.counts[state] for state in NodeState if group.counts.get(state)},
                upcoming=group.upcoming,
                missing=group.missing,
                missing_since=_whole(group.missing_since),
                is_healthy=not group.is_unhealthy,
                why=group.why,
            )
            for _, group in sorted(cluster.groups.items())
        ),
        troubled=tuple(map(_told, worst[:_TROUBLED])),
        troubled_in_all=len(worst),
    )


def _told(unit: Unit) -> TroubledNode:
    return TroubledNode(unit.name, unit.state.value, unit.pool, unit.offering, _whole(unit.since), unit.why)


def _whole(instant: datetime | None) -> datetime | None:
    """What is written and read again must be the same."""
    return instant.replace(microsecond=0) if instant is not None else None


def _summary(status: ClusterStatus) -> str:
    """The same as text, for kubectl."""
    if status.is_healthy:
        first = "The cluster is healthy."
    else:
        halted = (
            "Growth neither buys nor removes anything." if status.is_halted else "Growth goes on with its own nodes."
        )
        first = f"THE CLUSTER IS UNHEALTHY: {status.alarm}. {halted}"
    counts = ", ".join(f"{count} {state}" for state, count in status.states.items())
    closed = [f"Pool {one.pool}: {one.why}." for one in status.pools if not one.is_healthy]
    return "\n".join([first, f"Nodes: {counts}." if counts else "There are no nodes.", *closed])
