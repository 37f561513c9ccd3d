"""NodeRequest: one machine that Growth wants. Its name is the name of the server and of the node."""

from datetime import datetime
from functools import lru_cache
from typing import Annotated, ClassVar, Final

import msgspec

from growth.api.meta import FrozenValue, ObjectMeta, OwnerReference
from growth.api.phases import REQUEST_MOVES, RequestPhase, move_rule
from growth.api.schema import Rule, about
from growth.api.status import MAX_CONDITIONS, MAX_EVENTS, Status, StatusCondition, StatusEvent

MAX_NODE_NAME = 63

PLANNED_FOR: Final = "growth.dev/planned-for"
"""Annotation: uids of the pods that the machine is bought for, so that a later plan leaves them their places."""

HANDS_KEYS: Final = "growth.dev/hands-keys"
"""Annotation: whether these pods get keys (``api.taints``), and the node stays closed to others until they are in."""

WAKES: Final = "growth.dev/wakes"
"""Annotation: uids of those among them that no new node wakes (``decide.node_requests.startup_taint``)."""

FORESEES: Final = "growth.dev/foresees"
"""Annotation: whether it is larger than these need, because others are expected to follow."""

PROBE: Final = "growth.dev/probe"
"""Annotation: whether it tests an offering whose machines failed, so that no pod relies on it before it works."""


class NodeRequestSpec(FrozenValue, frozen=True):
    """What is wanted; fixed once it is written, so that two leaders can never mean different things by one name."""

    pool: Annotated[
        str,
        about("The NodePool that it belongs to. Unset: the NodePool in metadata.ownerReferences.", max_length=52),
    ] = ""
    target_offering: Annotated[
        str, about("What to buy: provider, server type and, optionally, location.", max_length=253)
    ] = ""
    location: Annotated[str, about("Where, if the offering does not say it.", max_length=63)] = ""
    replaces: Annotated[str, about("Name of the node whose place it takes.", max_length=MAX_NODE_NAME)] = ""
    rules: ClassVar = (
        Rule(
            "has(self.targetOffering) && self.targetOffering != ''",
            "a NodeRequest must name what to buy (targetOffering), such as hetzner-cax11",
        ),
        Rule("self == oldSelf", "a NodeRequest cannot be changed: delete it and create another one"),
    )


class NodeRequestStatus(Status, frozen=True):
    """How far it is."""

    phase: Annotated[RequestPhase, about("How far the purchase is.", move_rule(REQUEST_MOVES))] = "Pending"
    phase_since: Annotated[datetime | None, about("Since when it is in this phase.")] = None
    provider_id: Annotated[str, about("The machine, as soon as the provider has named it.", max_length=253)] = (
        msgspec.field(name="providerID", default="")
    )
    conditions: Annotated[
        tuple[StatusCondition, ...], about("Statements about the request.", max_length=MAX_CONDITIONS)
    ] = ()
    events: Annotated[
        tuple[StatusEvent, ...], about("What happened, oldest first; the newest are kept.", max_length=MAX_EVENTS)
    ] = ()


class NodeRequest(FrozenValue, frozen=True):
    """One machine that Growth wants, from the wish to the Ready node."""

    metadata: ObjectMeta
    spec: NodeRequestSpec
    status: NodeRequestStatus = NodeRequestStatus()
    rules: ClassVar = (
        Rule(
            f"self.metadata.name.size() <= {MAX_NODE_NAME}",
            f"a NodeRequest's name has at most {MAX_NODE_NAME} characters, because it becomes a hostname",
        ),
    )

    @property
    def pool(self) -> str:
        """The NodePool that it belongs to: what the spec says, or else the NodePool that owns it; empty if none is."""
        if self.spec.pool:
            return self.spec.pool
        owners = self._owning_pools
        return owners[0] if len(owners) == 1 else ""

    @property
    def pool_problem(self) -> str:
        """Why no machine may be launched for it: its pool is not clear. Empty if it is.

        Rules of the API server do not see owner references, so this is checked here.
        """
        owners, stated = self._owning_pools, self.spec.pool
        names = ", ".join(repr(name) for name in owners)
        if stated and any(name != stated for name in owners):
            return (
                f"spec.pool is {stated!r} and metadata.ownerReferences names NodePool {names}: expected the same pool"
            )
        if not stated and len(owners) > 1:
            return f"spec.pool is empty and metadata.ownerReferences names several NodePools, {names}: expected one"
        if not stated and not owners:
            return "spec.pool is empty and metadata.ownerReferences names no NodePool: expected one of them to name it"
        return ""

    @property
    def _owning_pools(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.metadata.owner_references if _is_pool(one))

    @property
    def planned_for(self) -> tuple[str, ...]:
        """Uids of the pods that it is bought for."""
        return self._uids(PLANNED_FOR)

    @property
    def wakes(self) -> tuple[str, ...]:
        """Uids of those that must be woken."""
        return self._uids(WAKES)

    def _uids(self, annotation: str) -> tuple[str, ...]:
        return _split(self.metadata.annotations.get(annotation, ""))

    @property
    def hands_keys(self) -> bool:
        """Whether its node is closed to all but these pods until they are there."""
        return self.metadata.annotations.get(HANDS_KEYS) == "true"

    @property
    def foresees(self) -> bool:
        """Whether it has room for those who follow."""
        return self.metadata.annotations.get(FORESEES) == "true"

    @property
    def is_probe(self) -> bool:
        """Whether it tests an offering, beside what is launched for the pods."""
        return self.metadata.annotations.get(PROBE) == "true"


def _is_pool(owner: OwnerReference) -> bool:
    return owner.kind == "NodePool" and owner.api_version.partition("/")[0] == "growth.dev"


@lru_cache(16_384)
def _split(text: str) -> tuple[str, ...]:
    """Asked for in every pass over all requests, of texts that hardly ever change."""
    return tuple(uid for uid in text.split(",") if uid)
