"""NodeMove: nodes that go, and machines that are bought in their place first. It is carried out whole, or undone."""

from datetime import datetime
from typing import Annotated, ClassVar

from growth.api.disruption import Reason
from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.node_request import MAX_NODE_NAME
from growth.api.phases import MOVE_MOVES, MovePhase, move_rule
from growth.api.schema import Rule, about
from growth.api.status import MAX_EVENTS, Status, StatusEvent

MAX_NODES = 1000


class Purchase(FrozenValue, frozen=True):
    """A machine that is bought before anything is drained."""

    name: Annotated[str, about("Name of its NodeRequest, its server and its node.", max_length=MAX_NODE_NAME)]
    pool: Annotated[str, about("The NodePool that it belongs to.", max_length=52)]
    offering: Annotated[str, about("What to buy.", max_length=253)]


class NodeMoveSpec(FrozenValue, frozen=True):
    """What is moved; fixed once it is written."""

    reason: Annotated[Reason, about("Why.")] = "Cheaper"
    why: Annotated[str, about("Why, in words.", max_length=1024)] = ""
    nodes: Annotated[tuple[str, ...], about("Nodes that go.", max_length=MAX_NODES)] = ()
    buys: Annotated[tuple[Purchase, ...], about("What is bought in their place.", max_length=MAX_NODES)] = ()
    saves_per_hour: Annotated[str, about("What it saves, in the provider's currency.", max_length=32)] = ""
    rules: ClassVar = (
        Rule("has(self.nodes) && size(self.nodes) > 0", "a NodeMove must name the nodes that go"),
        Rule("self == oldSelf", "a NodeMove cannot be changed: delete it, and it is undone"),
    )


class NodeMoveStatus(Status, frozen=True):
    """How far it is."""

    phase: Annotated[MovePhase, about("How far the move is.", move_rule(MOVE_MOVES))] = "Buying"
    phase_since: Annotated[datetime | None, about("Since when it is in this phase.")] = None
    message: Annotated[str, about("What it waits for, or why it was undone.", max_length=1024)] = ""
    events: Annotated[
        tuple[StatusEvent, ...], about("What happened, oldest first; the newest are kept.", max_length=MAX_EVENTS)
    ] = ()


class NodeMove(FrozenValue, frozen=True):
    """Nodes that go, and what comes in their place."""

    metadata: ObjectMeta
    spec: NodeMoveSpec
    status: NodeMoveStatus = NodeMoveStatus()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.status.phase in ("Done", "Undone")
