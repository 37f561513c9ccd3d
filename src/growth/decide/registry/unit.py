"""One unit: a node with its machine and its request, as far as there are these; and the one state that it is in."""

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec


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
