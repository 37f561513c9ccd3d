"""What the last process knew, as it wrote it down: how healthy the cluster was, and which pools were to improve."""

from growth.api.growth_kinds import NODE_POOLS
from growth.api.growth_status import GROWTH_STATUS, status_in
from growth.api.kinds import CONFIG_MAPS
from growth.api.settings.model import Settings
from growth.decide.registry.groups import Group, GroupKey
from growth.decide.registry.health import Health
from growth.observe.snapshot import Snapshot


def remembered_health(snapshot: Snapshot, settings: Settings) -> Health:
    """How healthy the cluster was said to be; one of which nobody has said anything is taken for healthy."""
    known = status_in(snapshot.table(CONFIG_MAPS).get((settings.namespace, GROWTH_STATUS)))
    if known is None:
        return Health()
    return Health(
        is_healthy=known.is_healthy,
        is_halted=known.is_halted,
        healthy_since=known.healthy_since,
        unhealthy_since=known.unhealthy_since,
        alarm=known.alarm,
    )


def remembered_groups(snapshot: Snapshot) -> dict[GroupKey, Group]:
    """The unhealthy ones; the others begin anew."""
    return {
        (pool.metadata.name, one.offering): Group(
            pool=pool.metadata.name,
            offering=one.offering,
            is_unhealthy=True,
            unhealthy_since=one.since,
            why=one.message,
        )
        for pool in snapshot.table(NODE_POOLS).values()
        for one in pool.status.unhealthy
    }
