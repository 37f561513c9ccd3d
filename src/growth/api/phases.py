"""The phases of a NodeRequest and of a NodeRemovalRequest, and the only moves between them.

The tables are the law: code asks ``may_move``, the API server enforces the CEL rule made from the same table, and the
picture in the docs is drawn from it. A phase without a move is an end; what follows is the object's deletion.
"""

from collections.abc import Mapping
from typing import Literal, TypeVar

from growth.api.schema import Rule

RequestPhase = Literal["Pending", "Provisioning", "Ready", "Unmet", "Deprovisioning"]
RemovalPhase = Literal["Pending", "Deprovisioning", "RemovalFailed"]
MovePhase = Literal["Buying", "Draining", "Undoing", "Done", "Undone"]
Phase = TypeVar("Phase", bound=str)

REQUEST_MOVES: Mapping[RequestPhase, tuple[RequestPhase, ...]] = {
    # Asked for; the provider has not accepted yet. No stock leads to Unmet.
    "Pending": ("Provisioning", "Unmet"),
    # Accepted. No machine in time leads to Unmet, a machine without a healthy node to Deprovisioning.
    "Provisioning": ("Ready", "Unmet", "Deprovisioning"),
    # The node works. Kept for a while to be looked at, then deleted.
    "Ready": (),
    # The offering is not to be had. Kept while it is backed off, so that plans go round it, then deleted.
    "Unmet": (),
    # Given up with a machine behind it: a NodeRemovalRequest takes over and this request is deleted.
    "Deprovisioning": (),
}

REMOVAL_MOVES: Mapping[RemovalPhase, tuple[RemovalPhase, ...]] = {
    # The provider has not been asked yet.
    "Pending": ("Deprovisioning",),
    # Asked, and asked again, until the machine is gone (the request is deleted) or the attempts are used up.
    "Deprovisioning": ("RemovalFailed",),
    # A person must look; the node stays tainted. It begins again if a person, or the pool, says so.
    "RemovalFailed": ("Pending",),
}

MOVE_MOVES: Mapping[MovePhase, tuple[MovePhase, ...]] = {
    # Machines are bought, if any are; nothing is touched yet.
    "Buying": ("Draining", "Undoing"),
    # All of them work. Nodes take no new pods, and those that are there are asked to leave.
    "Draining": ("Done", "Undoing"),
    # A premise has failed: nodes that are not empty yet take pods again, machines that nobody needs go.
    "Undoing": ("Undone",),
    # All nodes are empty and on their way out. Kept for a while to be looked at, then deleted.
    "Done": (),
    # Kept for a while to be looked at, then deleted.
    "Undone": (),
}


def may_move(moves: Mapping[Phase, tuple[Phase, ...]], before: Phase, after: Phase) -> bool:
    """Whether an object may go from one phase to another; staying is always allowed."""
    return before == after or after in moves[before]


def move_rule(moves: Mapping[Phase, tuple[Phase, ...]]) -> Rule:
    """The table as the API server enforces it on ``status.phase``."""
    ways = [f"(oldSelf == '{before}' && self in {list(after)})" for before, after in moves.items() if after]
    words = "; ".join(f"{before} to {' or '.join(after)}" for before, after in moves.items() if after)
    return Rule(" || ".join(["self == oldSelf", *ways]), f"a phase only moves from {words}")
