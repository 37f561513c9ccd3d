"""What one look at a page may ask, and what it has come to so far."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from growth.api.actions import (
    Action,
    CreateObject,
    DeleteObject,
    Hold,
    PatchObject,
    Precondition,
    RecordEvent,
    held_and_reported,
)
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.node_memory import (
    MEMORIES,
    TRANSACTIONS,
    NodeContents,
    NodeRecord,
    Transaction,
    memory_data,
    transaction_body,
    transaction_name,
)
from growth.api.offering import POOL
from growth.api.references import reference_by_name, reference_to
from growth.api.settings.model import Settings
from growth.decide.node_memory.carry import UNWRITTEN, PageResult
from growth.decide.node_memory.restore_policy import RestorePolicy
from growth.observe.node_history import NodePage
from growth.observe.snapshot import Snapshot


class NodeMemoryContext:
    """One snapshot, and what all looks of a pass share."""

    def __init__(self, snapshot: Snapshot, settings: Settings, steady_since: datetime | None = None) -> None:
        self.snapshot, self.settings = snapshot, settings.memory
        self.now = snapshot.now
        self.steady_since = steady_since
        self.lease_duration = settings.leader_election.lease_duration
        self.policy = RestorePolicy(settings.memory)

    def page(self, name: str) -> NodePage:
        """What is known about this name."""
        return self.snapshot.past.pages.get(name) or NodePage(name)

    def predecessor_of(self, node: str) -> str:
        """The node whose place this one takes, if Growth bought it to replace one; empty if not."""
        request = self.snapshot.table(NODE_REQUESTS).get(("", node))
        return request.spec.replaces if request is not None else ""

    def basis(self, node: Node) -> tuple[int, ...]:
        """The versions of what a change of this node is decided on, but for what is on its page."""
        meta = node.metadata
        pool = self.snapshot.table(NODE_POOLS).get(("", meta.labels.get(POOL, "")))
        request = self.snapshot.table(NODE_REQUESTS).get(("", meta.name))
        others = (one.metadata.resource_version if one is not None else 0 for one in (pool, request))
        return (meta.resource_version, *others)


class PagePass:
    """One look at one page: what it comes to is collected here."""

    def __init__(self, context: NodeMemoryContext, page: NodePage, before: PageResult) -> None:
        self.context, self.page, self.policy, self.now = context, page, context.policy, context.now
        self.follows = ""
        self.unheard = 0
        self._basis: tuple[int, ...] = ()
        self._before = before
        self._records: list[Action] = []
        self._works: list[Action] = []
        self._told: list[Hold | RecordEvent] = []
        self._since: dict[str, datetime] = {}
        self._due: list[datetime] = []

    def end(self) -> PageResult:
        """What it came to."""
        made = [one.metadata.creation_timestamp for one in self.page.transactions]
        return PageResult(
            tuple(self._records),
            tuple(self._works),
            tuple(self._told),
            min((when for when in self._due if when > self.now), default=None),
            self._since,
            min((when for when in made if when is not None), default=None),
            self._basis,
            self.follows,
            self.unheard,
        )

    # Waiting

    def has_been(self, what: str, seconds: timedelta) -> bool:
        """Whether this has been the case for so long; if not, it is looked at again then."""
        since = min(self._before.since.get(what, self.now), self.now)
        self._since[what] = since
        return self.is_due(since + seconds)

    def is_due(self, when: datetime) -> bool:
        """Whether this instant has come; if not, it is looked at again then."""
        if self.now >= when:
            return True
        self._due.append(when)
        return False

    # Saying

    def record(self, kind: str, memento: NodeContents, why: str) -> None:
        """Write down that something happened to this node."""
        name, place = self.page.name, self.context.settings.transaction_namespace
        subject = reference_by_name(TRANSACTIONS, transaction_name(name, memento.version), place)
        body = transaction_body("added" if kind == "added" else "deleted", name, memento)
        self._since[UNWRITTEN] = min(self._before.since.get(UNWRITTEN, self.now), self.now)
        self._records.append(CreateObject(subject=subject, why=f"node {name} {why}", body=body, if_absent=True))

    def remember(self, memento: NodeContents, why: str, *, is_final: bool, ends_claim: bool = False) -> None:
        """Make this the memory of the node, in the place of what it is now. A claim is on one life of it, and stays
        for that one unless it ends."""
        record = self.page.record
        is_same_life = record is not None and record.memento.uid == memento.uid
        data = memory_data(memento, is_final=is_final, keeps_claim=is_same_life and not ends_claim)
        if record is None:
            subject = reference_by_name(MEMORIES, self.page.name, self.context.settings.namespace)
            body = {"data": {key: value for key, value in data.items() if value is not None}}
            self._works.append(CreateObject(subject=subject, why=why, body=body, if_absent=True))
        else:
            self._change(record, {"data": data}, why)

    def claim(self, record: NodeRecord, claimant: str | None, why: str) -> None:
        """Let a node take over another one's memory, or nobody, if nobody changed that since."""
        self._change(record, {"data": {"claimedBy": claimant}}, why)

    def _change(self, record: NodeRecord, body: dict[str, Any], why: str) -> None:
        version = record.metadata.resource_version
        subject = reference_to(MEMORIES, record.metadata)
        self._works.append(PatchObject(subject=subject, why=why, body=body, resource_version=version))

    def forget(self, record: NodeRecord, why: str) -> None:
        """Delete a memory, if it is still as it was."""
        subject, version = reference_to(MEMORIES, record.metadata), record.metadata.resource_version
        self._works.append(DeleteObject(subject=subject, why=why, resource_version=version))

    def finish(self, transaction: Transaction, why: str) -> None:
        """Delete a transaction: it has had its effect, or has none any more."""
        meta = transaction.metadata
        subject = reference_to(TRANSACTIONS, meta)
        self._works.append(DeleteObject(subject=subject, why=why, resource_version=meta.resource_version))

    def change_node(self, node: Node, body: Mapping[str, Any], why: str, given: tuple[Precondition, ...] = ()) -> None:
        """Write to the node, if it is still as it was seen."""
        self._basis = self.context.basis(node)
        self._works.append(
            PatchObject(
                subject=reference_to(NODES, node.metadata),
                why=why,
                body=dict(body),
                resource_version=node.metadata.resource_version,
                given=given,
            )
        )

    def warn_of_size(self, memento: NodeContents) -> None:
        """Say that a node has more than can be written down."""
        why = f"{len(memento.labels)} labels are more than a ConfigMap holds: its last memory is kept"
        self.warn("MemoryTooLarge", why)

    def warn(self, reason: str, why: str) -> None:
        """Tell people what is not done, on the node that it is about."""
        self._told += held_and_reported(self._subject, reason=reason, why=why, action="Remembering")

    def tell(self, reason: str, why: str) -> None:
        """Tell people what is done, on the node that it is about; only who does it tells."""
        self._works.append(RecordEvent(subject=self._subject, why=why, reason=reason, action="Remembering"))

    @property
    def _subject(self) -> ObjectReference:
        node = self.page.node
        return reference_to(NODES, node.metadata) if node is not None else reference_by_name(NODES, self.page.name)
