"""What one pass of failover looks at, and what it has said so far."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from growth.api.actions import Hold, RecordEvent, held_and_reported
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_POOLS
from growth.api.growth_status import Timeline, TimelineStep
from growth.api.kinds import NODES
from growth.api.machine import PowerReading
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.references import reference_to
from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.facts.cluster_state import ClusterState, Unit
from growth.decide.failover.carry import FailoverCarry
from growth.decide.failover.evidence import NodeCase
from growth.decide.failover.machine_lookup import MachineLookup

ACTION: Final = "FailingOver"
IN_THE_WAY: Final = timedelta(minutes=5)
"""A node that is not free of its old life after so long must not keep the others waiting."""


# Of a step in a node's story.
_LONGEST: Final = 300


class FailoverContext(PassContext[FailoverCarry]):
    """Nodes, machines and evidence of one pass."""

    def __init__(self, inputs: Inputs[FailoverCarry, None, None]) -> None:
        super().__init__(inputs)
        snapshot, carry = inputs.snapshot, inputs.carry
        self.carry = carry
        self.terms = inputs.settings.failover
        self.cluster = self.facts.get(ClusterState)
        self.terminating = snapshot.terminating_nodes
        """Nodes whose removal is under way: scale-down releases what is left on them."""
        self.machines = MachineLookup(snapshot.clouds)
        self.cases: dict[str, NodeCase] = {}
        self.listings: dict[str, Mapping[str, PowerReading]] = {}
        """By provider, what the last list said about each machine."""
        self.well_since: dict[str, datetime] = {}
        self.seen_out: dict[str, datetime] = {}
        self.listed_at: dict[str, datetime] = dict(carry.listed_at)
        self.timelines: dict[str, Timeline] = dict(carry.timelines)
        self.noted: dict[str, set[str]] = {}
        self.recoveries = dict(carry.recoveries)
        self.stuck = 0
        self.recovered: tuple[float, ...] = ()
        """Seconds from the last sign of life to running again, of pods that came to run."""
        self.is_written = False
        """Whether timelines are written in this pass."""
        self.unreachable: set[str] = set()
        """By uid, all silent nodes, those included that nothing is done about."""
        self.begun: list[Node] = []
        """Nodes that are taken out of service in this pass."""
        self.fencing: dict[str, datetime] = {}
        self.pressing: set[str] = set()
        """By uid, nodes about which only a fresh answer is missing before something is done."""
        self.tainted: list[Node] = []
        """Nodes whose taint is said in this pass: they are proven dead."""

    @property
    def acts(self) -> bool:
        """Whether anything is done, and not only told."""
        return self.terms.mode == "act"

    def unit(self, node: Node) -> Unit | None:
        """How the registry sees it."""
        return self.cluster.unit(node.metadata.name)

    def pool(self, node: Node) -> NodePool | None:
        """The pool that it belongs to, if it is ours."""
        unit = self.unit(node)
        return self.snapshot.table(NODE_POOLS).get(("", unit.pool)) if unit is not None else None

    def is_foreign(self, node: Node) -> bool:
        """Whether it is not ours."""
        unit = self.unit(node)
        return unit is None or unit.is_foreign

    def case(self, node: Node) -> NodeCase | None:
        """What is known about it, if it is silent."""
        return self.cases.get(node.metadata.uid)

    def note(self, node: Node, what: str, words: str) -> None:
        """A step in the node's story; said in every pass, it is noted once, when it begins."""
        name = node.metadata.name
        self.noted.setdefault(name, set()).add(what)
        if what in self.carry.noted.get(name, ()):
            return
        known = self.timelines.get(name)
        if known is None or known.uid != node.metadata.uid:
            known = Timeline(name, node.metadata.uid)
        self.timelines[name] = known.with_entry(TimelineStep(self.now, what, words[:_LONGEST]))

    def hold(self, node: Node, reason: str, why: str) -> None:
        """Something is not done now."""
        self.note(node, reason, why)
        self.said.append(Hold(subject=reference(node), why=why, reason=reason))

    def alert(self, node: Node, reason: str, why: str) -> None:
        """Something is not done now, and people should hear of it."""
        self.note(node, reason, why)
        self.said += held_and_reported(reference(node), reason=reason, why=why, action=ACTION)

    def tell(self, subject: ObjectReference, reason: str, why: str, *, is_warning: bool = False) -> None:
        """Let people know."""
        kind = "Warning" if is_warning else "Normal"
        self.said.append(RecordEvent(subject=subject, why=why, type=kind, reason=reason, action=ACTION))

    def begin(self, node: Node) -> None:
        """This one is failed over: there is room for one less. One whose machine we cut off is counted already."""
        if node.metadata.uid not in self.fencing:
            self.begun.append(node)

    def next_carry(self, findings: Mapping[str, int]) -> FailoverCarry:
        """Return what the next pass must know."""
        return FailoverCarry(
            cases=self.cases,
            well_since=self.well_since,
            seen_out=self.seen_out,
            fencing=self.fencing,
            listed_at=self.listed_at,
            timelines=self.timelines,
            written_at=self.now if self.is_written else self.carry.written_at,
            noted={name: frozenset(noted) for name, noted in self.noted.items()},
            recoveries=self.recoveries,
            recovered=self.recovered,
            findings=findings,
            stuck=self.stuck,
        )


def reference(node: Node) -> ObjectReference:
    """The node, as the subject of what is said."""
    return reference_to(NODES, node.metadata)
