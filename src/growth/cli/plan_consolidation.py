"""What a move risks: pods that cannot all go at once, that keep something, or that nobody stands in for. Pure.

The way to the cheapest cluster as ``growth plan --optimise`` tells it: a snapshot in, a report out.

It asks what Growth's own optimisation asks (``decide.consolidation``), and goes the whole way, or the first wave of it:
what may go at once. What was wanted in the last hour only a process that runs knows: here nobody keeps room for it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.kinds import POD_DISRUPTION_BUDGETS
from growth.api.node import Node
from growth.api.offering import OFFERING, POOL
from growth.api.pod import Pod
from growth.api.selectors import selects
from growth.api.settings.model import Settings
from growth.api.workloads import PodDisruptionBudget
from growth.cli.consolidation_context import context_at
from growth.cli.memory_list import counted, named
from growth.cli.plan_inputs import currency_of, notices_in
from growth.cli.plan_pending import PlannedMachine
from growth.decide.consolidation.allowances import allowance_in, min_age_of, worth_of
from growth.decide.consolidation.candidates import CandidateSet, choice_in
from growth.decide.consolidation.move_search import advise
from growth.decide.consolidation.problem import Form, Move
from growth.decide.consolidation.problem_builder import question_of
from growth.decide.fit.volume_claims import named_claims
from growth.decide.policy.disruption_budgets import Allowance
from growth.decide.solver.placement_solution import PlannedNode
from growth.observe.snapshot import Snapshot


class MoveRisks:
    """Those of all moves of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._budgets: dict[str, list[PodDisruptionBudget]] = {}
        for _, budget in sorted(snapshot.table(POD_DISRUPTION_BUDGETS).items()):
            self._budgets.setdefault(budget.metadata.namespace, []).append(budget)
        self._known: dict[tuple[str, int], list[PodDisruptionBudget]] = {}
        self._siblings = Counter(
            owner.uid
            for pods in snapshot.pods_by_node.values()
            for pod in pods.values()
            if (owner := pod.metadata.controller) is not None
        )

    def of(self, pods: Sequence[Pod]) -> Iterator[str]:
        """What may go wrong, or will be noticed, when these are moved."""
        yield from self._guarded(pods)
        stateful = [name_of(pod) for pod in pods if _is_stateful(pod)]
        if stateful:
            yield f"{counted(len(stateful), 'pod')} with state: {named(stateful, 3)}"
        alone = [name_of(pod) for pod in pods if self._is_alone(pod)]
        if alone:
            yield f"{counted(len(alone), 'pod')} that nobody stands in for meanwhile: {named(alone, 3)}"

    def _guarded(self, pods: Iterable[Pod]) -> Iterator[str]:
        moving = Counter[str]()
        allowed: dict[str, int] = {}
        for pod in pods:
            for budget in self._budgets_of(pod):
                name = f"{budget.metadata.namespace}/{budget.metadata.name}"
                moving[name] += 1
                allowed[name] = budget.status.disruptions_allowed
        for name, count in moving.items():
            if count >= allowed[name]:
                yield f"disruption budget {name} allows {allowed[name]:,} now, and the move needs {count:,}"

    def _budgets_of(self, pod: Pod) -> list[PodDisruptionBudget]:
        """Siblings share labels (``api.interning``) and are judged once: a namespace may have many budgets."""
        labels, namespace = pod.metadata.labels, pod.metadata.namespace
        found = self._known.get((namespace, id(labels)))
        if found is None:
            there = self._budgets.get(namespace, ())
            found = [one for one in there if one.spec.selector is not None and selects(one.spec.selector, labels)]
            self._known[namespace, id(labels)] = found
        return found

    def _is_alone(self, pod: Pod) -> bool:
        owner = pod.metadata.controller
        return owner is None or self._siblings[owner.uid] == 1


def name_of(pod: Pod) -> str:
    """With its namespace."""
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _is_stateful(pod: Pod) -> bool:
    owner = pod.metadata.controller
    return (owner is not None and owner.kind == "StatefulSet") or any(True for _ in named_claims(pod))


NO_MEMORY: Final = "made for the pods that are there now: nobody here remembers what was wanted in the last hour"
_DOES_NOT_PAY: Final = "no move of it saves enough (disruption.minSaving and payBackWithin of its pool)"
_MUST_STAY: Final = re.compile(r"pod \S+ on it must stay(?: \(and \d+ more\))?: ")
_ITS_VOLUME: Final = re.compile(r"its volume \S+ is on this node")


class LeavingNode(msgspec.Struct, frozen=True):
    """A node that goes."""

    name: str
    pool: str
    offering: str
    per_hour: float


class MoveRow(msgspec.Struct, frozen=True):
    """One move; each can be made when those before it are."""

    form: Form
    going: tuple[LeavingNode, ...]
    buying: tuple[PlannedMachine, ...]
    moving: tuple[str, ...]
    """Pods that have to be elsewhere afterwards."""
    saves_per_hour: float
    risks: tuple[str, ...]


class RemainingNode(msgspec.Struct, frozen=True):
    """A node that stays."""

    name: str
    why: str
    kind: str
    """The same without names, so that those that stay for the same reason can be counted."""


class OptimizationReport(msgspec.Struct, frozen=True):
    """Everything; ``growth plan --optimise --output json`` prints this. Prices are those of all machines."""

    at: datetime
    pool: str
    """The one that was asked about; empty: all."""
    machines: int
    now_per_hour: float
    best_per_hour: float
    """If everything that may go were bought today."""
    bound_per_hour: float
    """Proven: it cannot cost less as long as those that must stay stay."""
    machines_after: int
    after_per_hour: float
    """When all moves are made."""
    steps: tuple[MoveRow, ...]
    staying: tuple[RemainingNode, ...]
    currency: str
    notices: tuple[str, ...]

    @property
    def saves_per_hour(self) -> float:
        """What all moves save together."""
        return self.now_per_hour - self.after_per_hour


class MoveWave(msgspec.Struct, frozen=True):
    """Moves that may be made at once, and what is told of them."""

    report: OptimizationReport
    moves: tuple[Move, ...]


def optimising_report(
    snapshot: Snapshot, settings: Settings, pool: str = "", new_pools: Sequence[str] = ()
) -> OptimizationReport:
    """Think; with ``pool``, only its nodes may go, and only they are told of."""
    return _computation(snapshot, settings, pool, new_pools, is_whole=True).report


def first_wave(snapshot: Snapshot, settings: Settings, pool: str = "", new_pools: Sequence[str] = ()) -> MoveWave:
    """Think of no more than may go now. Of nodes that stay, only those that must are told of: others may come later."""
    return _computation(snapshot, settings, pool, new_pools, is_whole=False)


def _computation(
    snapshot: Snapshot, settings: Settings, pool: str, new_pools: Sequence[str], *, is_whole: bool
) -> MoveWave:
    context = context_at(snapshot, settings)
    choice = choice_in(context, {name: min_age_of(one) for name, one in context.pools.items()})
    if pool:
        choice = _only(choice, pool, snapshot.nodes)
    allowances = {name: allowance_in(context, one, "Cheaper") for name, one in sorted(context.pools.items())}
    at_once = {name: one.most if is_whole else one.left for name, one in allowances.items()}
    worth = {name: worth_of(one) for name, one in context.pools.items()}
    question = question_of(context, choice, at_once=at_once, worth=worth)
    advice = advise(question, None if is_whole else 1)
    others = [one for one in choice.others if pool in ("", one.pool)]
    elsewhere = sum(one.cost_per_hour for one in others)
    machines = len(choice.candidates) + sum(one.nodes for one in others)
    steps = tuple(_steps(snapshot, choice, advice.moves))
    more = sum(len(step.buying) - len(step.going) for step in steps)
    waits = [] if not snapshot.refused else [_waiting(len(snapshot.refused))]
    notices = (
        *notices_in(snapshot, settings, new_pools, pool),
        *waits,
        *_used_up(allowances, pool),
        *_unpriced(sum(one.nodes for one in others if not one.cost_per_hour)),
        NO_MEMORY,
    )
    report = OptimizationReport(
        at=snapshot.now,
        pool=pool,
        machines=machines,
        now_per_hour=elsewhere + advice.now_per_hour,
        best_per_hour=elsewhere + min(advice.best_per_hour, advice.after_per_hour),
        bound_per_hour=elsewhere + advice.bound_per_hour,
        machines_after=machines + more,
        after_per_hour=elsewhere + advice.after_per_hour,
        steps=steps,
        staying=(*_bound(choice), *(_unmoved(choice, advice.moves, allowances) if is_whole else ())),
        currency=currency_of(snapshot),
        notices=notices,
    )
    return MoveWave(report, advice.moves)


def _only(choice: CandidateSet, pool: str, nodes: Mapping[str, Node]) -> CandidateSet:
    """As if all nodes of other pools had to stay."""
    rest = tuple(one.launched for one in choice.candidates if one.pool != pool)
    return CandidateSet(
        tuple(one for one in choice.candidates if one.pool == pool),
        {name: why for name, why in choice.staying.items() if nodes[name].metadata.labels.get(POOL) == pool},
        (*choice.others, *rest),
    )


def _waiting(count: int) -> str:
    who = "1 pod finds no place and waits" if count == 1 else f"{count:,} pods find no place and wait"
    return f"{who}: free room is theirs first, and is not kept for them here (growth plan)"


def _unpriced(count: int) -> Iterator[str]:
    if count:
        verb = "counts" if count == 1 else "count"
        yield f"{counted(count, 'machine')} {verb} for nothing here: nobody sells this kind any more, or says its price"


def _used_up(allowances: Mapping[str, Allowance], only: str) -> Iterator[str]:
    for name, one in allowances.items():
        if only in ("", name) and one.most and not one.left:
            out = (
                "1 node is missing or on its" if one.leaving == 1 else f"{one.leaving:,} nodes are missing or on their"
            )
            yield f"pool {name}: {out} way out, and {one.set_by} lets {one.most:,} go at a time"


# Moves


def _steps(snapshot: Snapshot, choice: CandidateSet, moves: Sequence[Move]) -> Iterator[MoveRow]:
    prices = {one.name: one for one in choice.candidates}
    pods = {uid: pod for there in snapshot.pods_by_node.values() for uid, pod in there.items()} if moves else {}
    risks, moved = MoveRisks(snapshot), set[str]()
    for move in moves:
        moving = [pods[uid] for uid, _ in move.to if uid in pods]
        terminating = tuple(
            LeavingNode(name, prices[name].pool, _offering(snapshot.nodes[name]), prices[name].price_per_hour)
            for name in move.terminating
        )
        launching = tuple(_machine(one) for one in move.launching)
        names = tuple(sorted(map(name_of, moving)))
        again = [name for name in names if name in moved]
        moved.update(names)
        told = (*risks.of(sorted(moving, key=name_of)), *_again(again))
        yield MoveRow(move.form, terminating, launching, names, move.saves_per_hour, told)


def _again(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{counted(len(names), 'pod')} that an earlier move has moved already: {named(names, 3)}"


def _offering(node: Node) -> str:
    return node.metadata.labels.get(OFFERING, "")


def _machine(planned: PlannedNode) -> PlannedMachine:
    offering = planned.offering
    return PlannedMachine(
        pool=planned.pool.metadata.name,
        offering=offering.id,
        server_type=offering.server_type,
        location=offering.location,
        per_hour=offering.price_per_hour,
        pods=tuple(sorted(map(name_of, planned.pods))),
    )


# Nodes that stay


def _bound(choice: CandidateSet) -> Iterator[RemainingNode]:
    for name, why in sorted(choice.staying.items()):
        yield RemainingNode(
            name, why, _ITS_VOLUME.sub("its volume is on this node", _MUST_STAY.sub("a pod on it must stay: ", why))
        )


def _unmoved(
    choice: CandidateSet, moves: Sequence[Move], allowances: Mapping[str, Allowance]
) -> Iterator[RemainingNode]:
    terminating = {name for move in moves for name in move.terminating}
    for one in choice.candidates:
        if one.name not in terminating:
            limit = allowances.get(one.pool)
            stopped = f"{limit.set_by} lets no node of pool {one.pool} go" if limit and not limit.most else ""
            yield RemainingNode(one.name, stopped or _DOES_NOT_PAY, stopped or _DOES_NOT_PAY)
