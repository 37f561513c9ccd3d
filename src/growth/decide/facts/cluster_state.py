"""What the registry knows at one instant, as every decider reads it: units, the state of each, and the health of all.

A unit is a node with its machine and its request, as far as there are these. The registry works it out
(``decide.registry``); the words for it stand here, so that a decider needs no decider to read them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from growth.decide.contract import Fact


class NodeState(StrEnum):
    """In which state a node, a machine or a request is (UC1 to UC7 of the seed); docs/registry.md has the indicators.

    What somebody should look at comes first.
    """

    REMOVAL_FAILED = "RemovalFailed"
    """Its machine could not be removed: it costs, and a person must look."""
    UNREADY = "Unready"
    """UC6: it worked, and does not now."""
    FAILED_TO_START = "FailedToStart"
    """UC3: its node registered and did not become ready in time."""
    NEVER_REGISTERED = "NeverRegistered"
    """UC5: its machine is there, and no node registered in time."""
    NEVER_CREATED = "NeverCreated"
    """UC4: its provider had no machine in time, or said that there will be none."""
    BEING_REMOVED = "BeingRemoved"
    """UC7."""
    REQUESTED = "Requested"
    """UC1: asked for; its node has not registered, and has time left."""
    BOOTING = "Booting"
    """UC2: its node is there, was never ready, or is still closed, and has time left."""
    READY = "Ready"
    FOREIGN = "Foreign"
    """Not ours: it is counted for the alarm, shown, and never touched."""


UPCOMING: Final = frozenset({NodeState.REQUESTED, NodeState.BOOTING})
"""S3: these will soon be there."""
MISSING: Final = frozenset({NodeState.REQUESTED, NodeState.NEVER_REGISTERED, NodeState.NEVER_CREATED})
"""S4: these were asked for and have no node."""


_COUNTS_AS: Final = {
    NodeState.REQUESTED: "coming",
    NodeState.BOOTING: "starting",
    NodeState.READY: "ready",
    NodeState.UNREADY: "unready",
    NodeState.FAILED_TO_START: "failed",
    NodeState.NEVER_REGISTERED: "missing",
    NodeState.NEVER_CREATED: "missing",
    NodeState.BEING_REMOVED: "leaving",
    NodeState.REMOVAL_FAILED: "stuck",
}


class Unit(msgspec.Struct, frozen=True):
    """One thing that is, or was asked to be, a node."""

    name: str
    state: NodeState
    since: datetime | None = None
    """Since when it is in this state, as far as objects tell."""
    why: str = ""
    """What there is to say beyond the state; empty if nothing."""
    pool: str = ""
    offering: str = ""
    """What it was bought as; empty if it is not ours, or nobody knows."""
    has_node: bool = False
    is_ready: bool = False
    """Whether its node says so; also of nodes that are booting, leaving or foreign."""
    is_unjustified: bool = False
    """S1: whether its node is unready without a reason: neither coming nor going."""
    is_amiss: bool = False
    """S2: whether it speaks against its pool, and against what it was bought as: unready, failed to start or overdue.
    What its provider refused to sell (no stock, say) does not: that offering is left alone anyway."""
    is_long: bool = False
    """Whether it is unready for so long that it is one to be removed (UC6)."""
    provider_id: str = ""
    has_machine: bool = False
    """Whether its provider lists a machine behind it."""
    has_request: bool = False
    has_live_request: bool = False
    """Whether a request still waits for it."""
    changes_at: datetime | None = None
    """When time alone may change its state; None if only an event can."""
    asks_cloud: bool = False
    """Whether a provider's next word may change its state."""
    missing_since: datetime | None = None
    """S4: when it was asked for, if it has no node, whatever has become of it since; None if it is not missing."""

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to look at: it works."""
        return self.state is NodeState.READY or (self.state is NodeState.FOREIGN and not self.is_unjustified)

    @property
    def is_foreign(self) -> bool:
        """Whether it is not a machine of Growth's."""
        return self.state is NodeState.FOREIGN

    @property
    def is_booting(self) -> bool:
        """Whether its node has registered and has time left to become ready."""
        return self.state is NodeState.BOOTING

    @property
    def was_never_created(self) -> bool:
        """UC4: whether its provider had no machine in time."""
        return self.state is NodeState.NEVER_CREATED

    @property
    def never_registered(self) -> bool:
        """UC5: whether its machine is there, and no node registered in time."""
        return self.state is NodeState.NEVER_REGISTERED

    @property
    def failed_to_start(self) -> bool:
        """UC3: whether its node did not become ready in time."""
        return self.state is NodeState.FAILED_TO_START

    @property
    def is_lost(self) -> bool:
        """Whether no working node will come of it in time."""
        return self.was_never_created or self.never_registered or self.failed_to_start


GroupKey = tuple[str, str]
"""Pool and offering; the offering is empty for a pool as a whole."""


class PoolGroup(msgspec.Struct, frozen=True):
    """Machines of one offering in one pool, or of a whole pool."""

    pool: str
    offering: str = ""
    counts: Mapping[NodeState, int] = {}
    amiss: int = 0
    missing_since: datetime | None = None
    """S4: since when the one is asked for that is missing for longest."""
    is_unhealthy: bool = False
    """S2: whether nothing more of it is bought."""
    unhealthy_since: datetime | None = None
    improves_at: datetime | None = None
    """When it is healthy again, if nothing more happens to it; None while it is beyond its limits."""
    why: str = ""

    @property
    def counts_by_role(self) -> Mapping[str, int]:
        """How many count as what in the pool's status: ``coming``, ``ready``, ``missing`` ..."""
        found: Counter[str] = Counter()
        for state, count in self.counts.items():
            found[_COUNTS_AS[state]] += count
        return found

    @property
    def upcoming(self) -> int:
        """S3: how many will soon be there."""
        return sum(self.counts.get(state, 0) for state in UPCOMING)

    @property
    def missing(self) -> int:
        """S4: how many were asked for and have no node."""
        return sum(self.counts.get(state, 0) for state in MISSING)


class ReadinessCensus(msgspec.Struct, frozen=True):
    """Nodes that should work, and whether they do: those that come or go are not among them."""

    ready: int = 0
    """Foreign ones included."""
    unready: int = 0
    foreign_unready: int = 0


class ClusterHealth(msgspec.Struct, frozen=True):
    """How the cluster is. All but the last four outlives the process (``growth-status``)."""

    is_healthy: bool = True
    is_halted: bool = False
    """Whether Growth does not act. An unhealthy cluster halts it, unless only nodes of others are unready for long."""
    healthy_since: datetime | None = None
    """Since when Growth may act again; None if it always could. Deadlines that passed meanwhile count from here."""
    unhealthy_since: datetime | None = None
    alarm: str = ""
    """What was told when it turned unhealthy; it stays as it is, so that people are told once."""
    census: ReadinessCensus = ReadinessCensus()
    bad_at: datetime | None = None
    """Until when it may have been amiss: what was so at one look lasts until the next, however much later that is."""
    ours_bad_at: datetime | None = None
    """Until when our own nodes alone may have been enough for that."""
    changes_at: datetime | None = None
    """When to look again, if nothing happens before."""
    recovered_at: datetime | None = None
    """When it last turned healthy before our eyes."""


class ClusterState(Fact, frozen=True):
    """All units, and what follows from them. Derived by the registry."""

    at: datetime
    units: Mapping[str, tuple[Unit, ...]]
    """By name: one each, as a rule; the one with the node first."""
    troubled: Mapping[str, tuple[Unit, ...]]
    """Those of them that do not simply work, which are few."""
    ready: int
    """Nodes that work, foreign ones included."""
    ready_of: Mapping[GroupKey, int]
    """Machines that work, by pool and offering."""
    health: ClusterHealth
    groups: Mapping[GroupKey, PoolGroup]
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
    def ready_units(self) -> Iterator[Unit]:
        """Those that work, among those that there is something to say about."""
        return self.in_state(NodeState.READY)

    @property
    def unready_units(self) -> Iterator[Unit]:
        """UC3, UC6: those whose nodes are there and do not work."""
        return self.in_state(NodeState.UNREADY, NodeState.FAILED_TO_START)

    @property
    def terminating_units(self) -> Iterator[Unit]:
        """UC7: those that are being removed."""
        return self.in_state(NodeState.BEING_REMOVED)

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
