"""The machines of all pools, one by one: a wish, a node, or one that is to go, as far as objects of the cluster tell.

Nobody asks a provider here. A machine that only its provider knows of is not seen, and neither is a node's own price.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.node import Node
from growth.api.node_removal_request import RETRY, NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.offering import INSTANCE_TYPE, OFFERING, POOL, ZONE
from growth.api.taints import scale_down_at
from growth.observe.snapshot import Snapshot
from growth.observe.summary import Filled, filled


class Standing(StrEnum):
    """How a machine stands; what somebody should look at comes first."""

    FAILED = "failed"
    """It could not be removed (RemovalFailed): it costs, and a person must look."""
    UNREADY = "unready"
    UNMET = "unmet"
    """It was wanted and could not be had: there is no machine."""
    LEAVING = "leaving"
    COMING = "coming"
    """Asked for; its node has not registered."""
    STARTING = "starting"
    """Its node is there, and closed or not ready yet."""
    EMPTY = "empty"
    """Marked: nobody works on it, and it goes if that stays so."""
    READY = "ready"


class Member(msgspec.Struct, frozen=True):
    """One machine of a pool."""

    name: str
    pool: str
    standing: Standing
    since: datetime | None = None
    """Since when it stands so; None where nothing tells."""
    phase: str = ""
    """Of the request that speaks for it; empty if none does."""
    offering: str = ""
    server_type: str = ""
    location: str = ""
    goes_at: datetime | None = None
    """When it goes, if nobody needs it until then."""
    request: str = ""
    """The NodeRemovalRequest that is to remove it."""
    attempts: int = 0
    """How often its provider was asked to delete it."""
    attempted_at: datetime | None = None
    is_to_be_retried: bool = False
    why: str = ""
    """One word of what went wrong, or of why it goes."""
    message: str = ""
    """The same in words."""
    is_cordoned: bool = False
    work: int = 0
    """Pods that the node is there for (``api.pod_classification``): neither DaemonSets' nor static ones."""
    cpu_millis: Filled | None = None
    memory_bytes: Filled | None = None

    @property
    def costs(self) -> bool:
        """Whether it counts toward cost and limits."""
        return self.standing is not Standing.UNMET


def members_of(snapshot: Snapshot, pool: str = "") -> list[Member]:
    """All of them, or one pool's: the most interesting first."""
    order = {standing: place for place, standing in enumerate(Standing)}
    found = [member for member in _members(snapshot) if not pool or member.pool == pool]
    return sorted(found, key=lambda one: (order[one.standing], one.goes_at or snapshot.now, one.pool, one.name))


def _members(snapshot: Snapshot) -> Iterable[Member]:
    requests = {request.metadata.name: request for request in snapshot.table(NODE_REQUESTS).values()}
    removals = {removal.node_name: removal for removal in snapshot.table(NODE_REMOVAL_REQUESTS).values()}
    for name, node in snapshot.nodes.items():
        removal, request = removals.get(name), requests.get(name)
        if POOL in node.metadata.labels or removal is not None:
            yield _with_node(snapshot, node, _standing_member(snapshot, node, request, removal))
    for name, removal in removals.items():
        if name not in snapshot.nodes:
            yield _going(removal)
    for name, request in requests.items():
        if name not in snapshot.nodes and name not in removals and request.status.phase != "Ready":
            yield _asked_for(request)


def _standing_member(
    snapshot: Snapshot, node: Node, request: NodeRequest | None, removal: NodeRemovalRequest | None
) -> Member:
    name, pool = node.metadata.name, node.metadata.labels.get(POOL, "")
    if removal is not None:
        return _going(removal)
    if request is not None and request.status.phase == "Deprovisioning":
        return _asked_for(request)
    is_expected = request is not None and request.status.phase in ("Pending", "Provisioning")
    if name in snapshot.closed or (is_expected and not node.is_ready):
        return Member(name, pool, Standing.STARTING, node.metadata.creation_timestamp)
    goes_at = scale_down_at(node)
    if goes_at is not None and _is_deleted(snapshot, pool):
        # Marked although pods may work on it: they are asked to leave.
        return Member(name, pool, Standing.LEAVING, since=goes_at)
    if not node.is_ready:
        return Member(name, pool, Standing.UNREADY, _since_when(node), goes_at=goes_at)
    if goes_at is not None:
        return Member(name, pool, Standing.EMPTY, goes_at=goes_at)
    return Member(name, pool, Standing.READY, _since_when(node))


def _is_deleted(snapshot: Snapshot, pool: str) -> bool:
    known = snapshot.table(NODE_POOLS).get(("", pool))
    return known is not None and known.metadata.deletion_timestamp is not None


def _since_when(node: Node) -> datetime | None:
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    return ready.last_transition_time if ready is not None else node.metadata.creation_timestamp


def _with_node(snapshot: Snapshot, node: Node, member: Member) -> Member:
    labels = node.metadata.labels
    return msgspec.structs.replace(
        member,
        pool=labels.get(POOL, member.pool),
        offering=labels.get(OFFERING, ""),
        server_type=labels.get(INSTANCE_TYPE, ""),
        location=labels.get(ZONE, ""),
        is_cordoned=node.spec.unschedulable,
        work=snapshot.work.get(node.metadata.name, 0),
        cpu_millis=filled(snapshot, (node,), "cpu"),
        memory_bytes=filled(snapshot, (node,), "memory"),
    )


def _going(removal: NodeRemovalRequest) -> Member:
    status, created_at = removal.status, removal.metadata.creation_timestamp
    has_failed = status.phase == "RemovalFailed"
    return Member(
        name=removal.node_name,
        pool=removal.spec.pool,
        standing=Standing.FAILED if has_failed else Standing.LEAVING,
        since=status.events[-1].at if has_failed and status.events else created_at,
        phase=status.phase,
        attempts=status.removal_attempt,
        attempted_at=status.remove_attempted_at,
        request=removal.metadata.name,
        is_to_be_retried=RETRY in removal.metadata.annotations,
        message=_last_refusal(removal) if has_failed else removal.spec.reason,
    )


def _last_refusal(removal: NodeRemovalRequest) -> str:
    """What its provider said last. The last event of all is our own, that it was asked often enough."""
    *earlier, last = removal.status.events or (None,)
    said = [event.reason for event in (last, *earlier) if event is not None and event.reason]
    return said[-1] if said else ""


def _asked_for(request: NodeRequest) -> Member:
    status, spec = request.status, request.spec
    standing = {"Unmet": Standing.UNMET, "Deprovisioning": Standing.LEAVING}.get(status.phase, Standing.COMING)
    why, message = _trouble(request)
    return Member(
        name=request.metadata.name,
        pool=request.pool,
        standing=standing,
        since=status.phase_since or request.metadata.creation_timestamp,
        phase=status.phase,
        offering=spec.target_offering,
        location=spec.location,
        why=why,
        message=message,
    )


def _trouble(request: NodeRequest) -> tuple[str, str]:
    """What went wrong with it, as a word and as a sentence.

    What ended it stands in a condition. What may pass is only told as the last event, "RateLimited: come back later".
    """
    status = request.status
    if wrong := next((one for one in status.conditions if one.status == "False"), None):
        return wrong.reason, wrong.message
    word, colon, message = (status.events[-1].reason if status.events else "").partition(": ")
    return (word, message) if colon and " " not in word else ("", word + colon + message)
