"""NodeRemovalRequest: one machine that Growth wants to be rid of."""

from datetime import datetime
from typing import Annotated, ClassVar, Final

import msgspec

from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.phases import REMOVAL_MOVES, RemovalPhase, move_rule
from growth.api.schema import Rule, about
from growth.api.status import MAX_EVENTS, Status, StatusEvent

RETRY: Final = "growth.dev/retry"
"""Annotation, of any value: try a removal that failed again. Growth takes it off when it does."""

IF_UNREADY: Final = "growth.dev/if-unready"
"""Annotation, of any value: the node goes because it is unready for long. One that comes back in time stays."""

_FIXED = "a NodeRemovalRequest cannot be changed: delete it and create another one"


class NodeRemovalRequestSpec(FrozenValue, frozen=True):
    """Which machine and why; without a node name it is the node of the request's own name."""

    pool: Annotated[str, about("The NodePool that the node belongs to.", max_length=52)] = ""
    node_name: Annotated[str, about("Name of the node.", max_length=253)] = ""
    provider_id: Annotated[str, about("The machine behind it, as its node names it.", max_length=253)] = msgspec.field(
        name="providerID", default=""
    )
    reason: Annotated[str, about("Why it goes, in words.", max_length=1024)] = ""
    rules: ClassVar = (Rule("self == oldSelf", _FIXED),)


class NodeRemovalRequestStatus(Status, frozen=True):
    """How far it is."""

    phase: Annotated[RemovalPhase, about("How far the removal is.", move_rule(REMOVAL_MOVES))] = "Pending"
    removal_attempt: Annotated[int, about("How many times the provider was asked to delete it.", ge=0)] = 0
    remove_attempted_at: Annotated[datetime | None, about("When the provider was last asked.")] = None
    events: Annotated[
        tuple[StatusEvent, ...], about("What happened, oldest first; the newest are kept.", max_length=MAX_EVENTS)
    ] = ()


class NodeRemovalRequest(FrozenValue, frozen=True):
    """One machine that Growth wants to be rid of, until the provider says that it is gone."""

    metadata: ObjectMeta
    spec: NodeRemovalRequestSpec = NodeRemovalRequestSpec()
    status: NodeRemovalRequestStatus = NodeRemovalRequestStatus()
    rules: ClassVar = (Rule("has(self.spec) == has(oldSelf.spec)", _FIXED),)

    @property
    def node_name(self) -> str:
        """The node that goes."""
        return self.spec.node_name or self.metadata.name
