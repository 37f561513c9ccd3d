"""Which nodes must go for another reason than money, and who of them may go now. Docs: docs/optimising.md.

- Requested: a person wants it (``api.annotations``), whatever its pool says and however young it is.
- Expired: it is older than its pool lets nodes become.
- Drifted: it was made from a template that its pool does not have any more (``api.annotations``).
- Deprecated: its provider does not sell it any more.

All but the first only in pools that let Growth act. The order is that of the list; among equals the name decides.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from growth.api.annotations import DRAIN, TEMPLATE, mark_of
from growth.api.disruption import Reason
from growth.api.duration import format_duration
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.offering import OFFERING
from growth.api.provider_state import cloud_of
from growth.decide.consolidation.allowances import allowance_in, expires_after, min_age_of
from growth.decide.consolidation.candidates import CandidateSet, wished_in
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.problem import Candidate, ForcedDisruption
from growth.decide.policy.disruption_budgets import Allowance
from growth.observe.nodes_by_template import NodeTemplateKey

_ORDER: Final[tuple[Reason, ...]] = ("Requested", "Expired", "Drifted", "Deprecated")


def find_disruptions(context: ConsolidationContext) -> None:
    """Find the nodes that must go."""
    context.disruptions = wishes_in(context)


def wishes_in(context: ConsolidationContext) -> list[ForcedDisruption]:
    """All of them, the most urgent first; without nodes that are on their way out already."""
    snapshot = context.snapshot
    gone = context.terminating | snapshot.to_go.keys()
    judges = {name: _Judge(context, pool) for name, pool in context.pools.items()}
    found: list[ForcedDisruption] = []
    for make, nodes in snapshot.makes.items():
        judge = judges.get(make.pool)
        if judge is None or not judge.may_mean(make):
            continue
        for name, node in nodes.items():
            if name not in gone and (disruption := judge.disruption(node)) is not None:
                found.append(disruption)
    context.deadlines += [judge.next_at for judge in judges.values() if judge.next_at is not None]
    return sorted(found, key=lambda disruption: (_ORDER.index(disruption.reason), disruption.node))


class _Judge:
    """What one pool says: worked out once, for all its nodes."""

    def __init__(self, context: ConsolidationContext, pool: NodePool) -> None:
        self._context = context
        self._acts = pool.spec.disruption.mode == "act"
        self._oldest = expires_after(pool)
        self._mark = mark_of(pool)
        self._withdrawn: dict[str, str] = {}
        self.next_at: datetime | None = None
        """When the next of its nodes is too old, as far as they were asked about."""

    def may_mean(self, make: NodeTemplateKey) -> bool:
        """Whether one of these nodes may have to go: in most passes none, and then none of thousands is looked at."""
        if make.is_unwanted or not self._acts:
            return make.is_unwanted
        is_drifted = make.template not in (None, self._mark)
        return self._oldest is not None or is_drifted or bool(self._why_withdrawn(make.offering))

    def disruption(self, node: Node) -> ForcedDisruption | None:
        name, annotations = node.metadata.name, node.metadata.annotations
        if DRAIN in annotations:
            stated = annotations[DRAIN].strip()
            return ForcedDisruption(name, "Requested", f"a person wants it to go{': ' if stated else ''}{stated}")
        if not self._acts:
            return None
        if self._oldest is not None and self._is_older(node, self._oldest):
            return ForcedDisruption(name, "Expired", f"it is older than {format_duration(self._oldest)}")
        if annotations.get(TEMPLATE, self._mark) != self._mark:
            return ForcedDisruption(name, "Drifted", "the template of its pool has changed since it was made")
        why = self._why_withdrawn(node.metadata.labels.get(OFFERING, ""))
        return ForcedDisruption(name, "Deprecated", why) if why else None

    def _is_older(self, node: Node, age: timedelta) -> bool:
        born = node.metadata.creation_timestamp
        if born is None:
            return False
        ends_at = born + age
        if ends_at > self._context.now and (self.next_at is None or ends_at < self.next_at):
            self.next_at = ends_at
        return ends_at <= self._context.now

    def _why_withdrawn(self, offering: str) -> str:
        why = self._withdrawn.get(offering)
        if why is None:
            why = self._withdrawn[offering] = self._why_deprecated(offering)
        return why

    def _why_deprecated(self, offering: str) -> str:
        offered = self._context.catalog.get(offering)
        if offered is not None:
            return f"it is not sold any more: {offered.withdrawn}" if offered.withdrawn else ""
        cloud = cloud_of(offering, self._context.snapshot.clouds)
        # A provider that is silent, or has not said yet what it sells, has withdrawn nothing.
        knows = cloud is not None and cloud.answers and bool(cloud.offerings)
        return f"{offering} is not sold any more" if knows else ""


def round_in(context: ConsolidationContext, disruptions: Sequence[ForcedDisruption]) -> CandidateSet:
    """Who of them may go now: nobody keeps it, the last try was not just undone, and budgets let it go."""
    undone = {
        name: f"its move {move.metadata.name} was undone: {move.status.message}; it is tried again when that is deleted"
        for move in context.moves
        if move.status.phase == "Undone"
        for name in move.spec.nodes
    }
    reasons: dict[str, Reason] = {disruption.node: disruption.reason for disruption in disruptions}
    ages = {name: min_age_of(pool) for name, pool in context.pools.items()}
    choice = wished_in(context, ages, reasons)
    staying, may_go, held_back = dict(choice.staying), list[Candidate](), list[Candidate]()
    budgets = _Budgets(context)
    for one in choice.candidates:
        why = undone.get(one.name) or budgets.why_not(one.pool, reasons[one.name])
        if why:
            staying[one.name] = why
            held_back.append(one)
        else:
            may_go.append(one)
    return CandidateSet(tuple(may_go), staying, (*choice.others, *(one.launched for one in held_back)))


class _Budgets:
    """What pools allow, less what was taken of it in this round."""

    def __init__(self, context: ConsolidationContext) -> None:
        self._context = context
        self._known: dict[tuple[str, Reason], Allowance] = {}
        self._taken: dict[str, int] = {}

    def why_not(self, pool: str, reason: Reason) -> str:
        """Take one; or why there is none left."""
        allowed = self._known.get((pool, reason))
        if allowed is None:
            allowed = self._known[pool, reason] = allowance_in(self._context, self._context.pools[pool], reason)
        taken = self._taken.get(pool, 0)
        if taken >= allowed.left:
            terminating = allowed.leaving + taken
            return f"{allowed.set_by} of pool {pool} lets {allowed.most} nodes go at one time, and {terminating} do"
        self._taken[pool] = taken + 1
        return ""
