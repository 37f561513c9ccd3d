"""What the registry knows at one instant, as every decider reads it."""

from collections.abc import Iterator, Mapping
from datetime import datetime

import msgspec

from growth.decide.registry.groups import Group, GroupKey
from growth.decide.registry.health import Health
from growth.decide.registry.unit import NodeState, Unit


class ClusterState(msgspec.Struct, frozen=True):
    """All units, and what follows from them."""

    at: datetime
    units: Mapping[str, tuple[Unit, ...]]
    """By name: one each, as a rule; the one with the node first."""
    troubled: Mapping[str, tuple[Unit, ...]]
    """Those of them that do not simply work, which are few."""
    ready: int
    """Nodes that work, foreign ones included."""
    ready_of: Mapping[GroupKey, int]
    """Machines that work, by pool and offering."""
    health: Health
    groups: Mapping[GroupKey, Group]
    next_change: datetime | None = None
    """When time alone will change something."""
    notes: object = None
    """What the next step goes on from; nobody else's business."""

    def unit(self, name: str) -> Unit | None:
        """The unit of this name, the one with the node if there are several."""
        found = self.units.get(name)
        return found[0] if found else None

    def request_unit(self, name: str) -> Unit | None:
        """The unit that the request of this name belongs to."""
        found = self.units.get(name, ())
        return next((unit for unit in found if unit.has_request), None)

    def in_state(self, *states: NodeState) -> Iterator[Unit]:
        """All units in one of these states; for those that do not simply work."""
        for units in self.troubled.values():
            for unit in units:
                if unit.state in states:
                    yield unit

    @property
    def is_halted(self) -> bool:
        """Whether nothing is bought and nothing removed (S1)."""
        return self.health.is_halted

    @property
    def gives_up(self) -> bool:
        """Whether requests are just being given up for lack of a machine: then this pass ends with that (step 4)."""
        return any(unit.has_live_request for unit in self.in_state(NodeState.NEVER_CREATED))

    @property
    def closed_pools(self) -> frozenset[str]:
        """S2: pools that are not expanded until they improve."""
        return frozenset(group.pool for group in self.groups.values() if group.is_unhealthy and not group.offering)

    @property
    def closed_offerings(self) -> frozenset[GroupKey]:
        """S2: what is not bought for which pool until it improves."""
        return frozenset(
            (group.pool, group.offering) for group in self.groups.values() if group.is_unhealthy and group.offering
        )
