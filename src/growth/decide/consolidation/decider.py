"""Is there a cheaper cluster that serves the same pods, and how far are the moves towards it? Docs: docs/optimising.md.

1. Carry out the moves that are decided (``carrying``).
2. When none is under way, nobody waits and nothing comes: think of how to empty nodes that must go, whatever that costs
   (``reasons``, ``emptying``).
3. If there is nothing of that kind to do: think of money (``advice``), every few minutes. Pools that say so
   (``disruption.mode: act``) get the moves of the first wave; of others it is told what could be saved.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.actions import Hold, RecordEvent, held_and_reported
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import NODES
from growth.api.node_pool import NodePool
from growth.api.references import reference_to
from growth.api.settings.model import Settings
from growth.decide.capacity.demand_history import LOOKS_WITHIN, DemandHistory, noted
from growth.decide.consolidation.allowances import at_once_in, min_age_of, worth_of
from growth.decide.consolidation.candidates import CandidateSet, choice_in
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.forced_disruptions import ForcedDisruption, round_in, wishes_in
from growth.decide.consolidation.forced_moves import ForcedMovePlan, empty
from growth.decide.consolidation.move import made, spec_of
from growth.decide.consolidation.move_execution import carry
from growth.decide.consolidation.move_search import MoveAdvice, advise
from growth.decide.consolidation.preconditions import why_restless
from growth.decide.consolidation.problem import ConsolidationProblem, shun
from growth.decide.consolidation.problem_builder import question_of
from growth.decide.consolidation.savings_events import EventDamping, tell
from growth.decide.contract import DeciderState, Decision
from growth.decide.elapsed import is_ahead
from growth.observe.snapshot import Snapshot

# More than that need not be kept room for.
_GHOSTS: Final = 5_000
# A person who asked looks on.
_PATIENCE: Final = timedelta(minutes=1)
# More than that are not told of one by one.
_TOLD: Final = 100
# What was made is seen in the watch at once.
_SEEN_WITHIN: Final = timedelta(seconds=10)


class ConsolidationCarry(msgspec.Struct, frozen=True):
    """What must be remembered between two passes; a new process waits until it knows enough again."""

    demand: DemandHistory | None = None
    asked_at: datetime | None = None
    """When the last thought was begun."""
    asked_about: tuple[str, ...] = ()
    """The pools that it was about."""
    advice: MoveAdvice | None = None
    """What came of it."""
    told: Mapping[str, datetime] = {}
    """By pool, when it was last told what is minded of the time before (``telling``)."""
    made_at: datetime | None = None
    """When the last moves were decided."""
    wished_at: datetime | None = None
    """When it was last looked who of those that must go may go."""
    wished: tuple[str, ...] = ()
    """Names of those that had to go then, and of those that were going."""
    emptying: ForcedMovePlan | None = None
    """What came of the last thought about them."""
    staying: Mapping[str, str] = {}
    """By name, why some of them stay for now."""
    crowded: Mapping[str, tuple[datetime, str]] = {}
    """By move, when it was looked whether its pods find room, and who did not."""


def decide(snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
    """What should happen now."""
    previous = state.carry if isinstance(state.carry, ConsolidationCarry) else ConsolidationCarry()
    context = ConsolidationContext(snapshot, state, settings)
    for move in context.moves:
        if (known := previous.crowded.get(move.metadata.name)) is not None:
            context.crowded[move.metadata.name] = known
        carry(context, move)
    pools = [pool for _, pool in sorted(context.pools.items()) if pool.spec.disruption.mode != "off"]
    # Without anybody to optimise nothing is remembered of what was there.
    demand = noted(previous.demand, snapshot, settings.consolidate.window) if pools else None
    previous = msgspec.structs.replace(previous, demand=demand, crowded=context.crowded)
    if pools:
        context.deadlines.append(context.now + LOOKS_WITHIN * 0.8)
    disruptions = wishes_in(context)
    previous = _act_on_wishes(context, previous, disruptions)
    previous = _act(context, previous)
    computation, previous = _think_of_wishes(context, previous, disruptions)
    if computation is None and pools:
        computation, previous = _compute(context, previous, pools, disruptions)
    _tell(context, previous)
    _tell_who_stays(context, previous, disruptions)
    return Decision(tuple(context.said), _first(context), previous, computation)


def _first(context: ConsolidationContext) -> datetime | None:
    return min((when for when in context.deadlines if when > context.now), default=None)


# Nodes that must go


def _think_of_wishes(
    context: ConsolidationContext, carry: ConsolidationCarry, disruptions: list[ForcedDisruption]
) -> tuple[Callable[[], ForcedMovePlan] | None, ConsolidationCarry]:
    """Begin to think of how to empty them, as many as may go now. If none may, it is looked again after a while, or
    when others must go, or somebody who went is gone: then budgets may let the next one go."""
    every = context.settings.consolidate.every
    if any(disruption.reason == "Requested" for disruption in disruptions):
        every = min(every, _PATIENCE)
    about = (*(wish.node for wish in disruptions), *sorted(context.terminating))
    if not disruptions:
        return None, msgspec.structs.replace(carry, wished_at=None, wished=(), staying={})
    if carry.wished == about and carry.wished_at is not None and is_ahead(carry.wished_at + every, context.now, every):
        context.deadlines.append(carry.wished_at + every)
        return None, carry
    if context.state.is_computing or not _is_calm(context, carry):
        return None, carry
    choice = round_in(context, disruptions)
    carry = msgspec.structs.replace(carry, wished_at=context.now, wished=about, staying=choice.staying)
    context.deadlines.append(context.now + every)
    if not choice.candidates:
        return None, carry
    question = question_of(context.snapshot, context.state, context.settings, choice, at_once={})
    shunned = [wish.node for wish in disruptions]
    return lambda: empty(question, shunned), carry


def _act_on_wishes(
    context: ConsolidationContext, carry: ConsolidationCarry, disruptions: list[ForcedDisruption]
) -> ConsolidationCarry:
    """It is known how to empty them: decide on a move for each that still must go, and may."""
    emptying = context.state.answer
    if not isinstance(emptying, ForcedMovePlan) or emptying is carry.emptying or context.state.is_computing:
        return carry
    carry = msgspec.structs.replace(carry, emptying=emptying, staying={**carry.staying, **emptying.stuck})
    if not emptying.moves:
        return carry
    if not _is_calm(context, carry):
        return msgspec.structs.replace(carry, wished=())  # and is looked at anew as soon as it is
    by_name = {disruption.node: disruption for disruption in disruptions}
    may_go = {one.name for one in round_in(context, disruptions).candidates}
    moves = [(by_name[name], move) for move in emptying.moves for name in move.terminating if name in may_go]
    for wish, move in moves:
        context.said.append(made(spec_of(context, move, wish.reason, wish.why)))
    return msgspec.structs.replace(carry, made_at=context.now) if moves else carry


def _tell_who_stays(
    context: ConsolidationContext, carry: ConsolidationCarry, disruptions: list[ForcedDisruption]
) -> None:
    """A person who asked is told why nothing happens; why others stay stands among the reasons."""
    for disruption in disruptions[:_TOLD]:
        why = carry.staying.get(disruption.node)
        if not why:
            continue
        subject = reference_to(NODES, context.snapshot.nodes[disruption.node].metadata)
        words = f"{disruption.why}, and it stays for now: {why}"
        if disruption.reason == "Requested":
            context.said += held_and_reported(subject, reason="NotEmptied", why=words, action="Moving")
        else:
            context.said.append(Hold(subject=subject, why=words, reason="NotEmptied"))


# Thinking of money


def _compute(
    context: ConsolidationContext, carry: ConsolidationCarry, pools: list[NodePool], disruptions: list[ForcedDisruption]
) -> tuple[Callable[[], MoveAdvice] | None, ConsolidationCarry]:
    """Begin to think, if it is time and all is calm. Pools that act and pools that observe take turns: what is only
    told must not stand in the way of what is done."""
    settings = context.settings.consolidate
    is_due = carry.asked_at is None or not is_ahead(carry.asked_at + settings.every, context.now, settings.every)
    if carry.asked_at is not None and not is_due:
        context.deadlines.append(carry.asked_at + settings.every)
    if not is_due or context.state.is_computing or not _is_calm(context, carry):
        return None, carry
    if carry.demand is None or not carry.demand.knows():
        # Whoever has just begun does not know who was there a while ago, and may come back.
        return None, carry
    turn = _turn(carry, pools)
    choice = _choice(context, turn)
    gone, expected = carry.demand.ghosts(_GHOSTS), carry.demand.expected(_GHOSTS).pods
    fades_per_hour = carry.demand.fades_per_hour()
    question = question_of(
        context.snapshot,
        context.state,
        context.settings,
        choice,
        at_once=at_once_in(context, turn),
        # What was bought for those who are expected is theirs.
        ghosts=(*gone, *expected),
        worth={pool.metadata.name: worth_of(pool) for pool in turn},
        fades_per_hour=fades_per_hour,
    )
    damping = EventDamping(carry.demand.window, len(gone), len(expected), fades_per_hour)
    names = tuple(pool.metadata.name for pool in turn)
    # What was advised for these holds no longer; what was for others is told until they are asked about again.
    carry = msgspec.structs.replace(
        carry, asked_at=context.now, asked_about=names, told=tell(context, turn, damping, carry.told)
    )
    waves = 1 if turn[0].spec.disruption.mode == "act" else None
    shunned = [disruption.node for disruption in disruptions]
    return lambda: _advised(question, shunned, waves), carry


def _advised(question: ConsolidationProblem, shunned: Iterable[str], waves: int | None) -> MoveAdvice:
    # Who went to a node that must go would be moved again soon.
    shun(question.simulated, shunned)
    return advise(question, waves)


def _turn(carry: ConsolidationCarry, pools: list[NodePool]) -> list[NodePool]:
    acting = [pool for pool in pools if pool.spec.disruption.mode == "act"]
    watching = [pool for pool in pools if pool.spec.disruption.mode == "observe"]
    was_acting = bool(acting) and carry.asked_about == tuple(pool.metadata.name for pool in acting)
    has_more = carry.advice is not None and bool(carry.advice.moves)
    return watching if watching and (not acting or (was_acting and not has_more)) else acting


def _choice(context: ConsolidationContext, pools: Iterable[NodePool]) -> CandidateSet:
    """Who of these pools may go. Nodes of a move that was undone rest as long as it is kept: what failed it may well be
    there again, and its machines would be bought once more for nothing."""
    names = {pool.metadata.name for pool in pools}
    ages = {name: min_age_of(pool) for name, pool in context.pools.items()}
    choice = choice_in(context.snapshot, context.state, context.settings, ages)
    resting = {name for move in context.moves if move.status.phase == "Undone" for name in move.spec.nodes}
    mine = tuple(one for one in choice.candidates if one.pool in names and one.name not in resting)
    chosen = {one.name for one in mine}
    others = tuple(one.launched for one in choice.candidates if one.name not in chosen)
    return CandidateSet(mine, choice.staying, (*choice.others, *others))


def _is_calm(context: ConsolidationContext, carry: ConsolidationCarry) -> bool:
    """Whether nothing is under way that a plan would not know of."""
    if carry.made_at is not None and is_ahead(carry.made_at + _SEEN_WITHIN, context.now, _SEEN_WITHIN):
        context.deadlines.append(carry.made_at + _SEEN_WITHIN)
        return False
    return not why_restless(context)


# Acting


def _act(context: ConsolidationContext, carry: ConsolidationCarry) -> ConsolidationCarry:
    """What was thought has come to an end: decide on its moves, as far as they still are what they were."""
    advice = context.state.answer
    if not isinstance(advice, MoveAdvice) or advice is carry.advice or context.state.is_computing:
        return carry
    carry = msgspec.structs.replace(carry, advice=advice)
    pools = [context.pools[name] for name in carry.asked_about if name in context.pools]
    if not advice.moves or not pools or any(pool.spec.disruption.mode != "act" for pool in pools):
        return carry
    if not _is_calm(context, carry):
        return carry
    may_go = {one.name for one in _choice(context, pools).candidates}
    moves = [move for move in advice.moves if may_go.issuperset(move.terminating)]
    for move in moves:
        context.said.append(made(spec_of(context, move)))
    return msgspec.structs.replace(carry, made_at=context.now) if moves else carry


# Telling


def _tell(context: ConsolidationContext, carry: ConsolidationCarry) -> None:
    """What could be saved, on the pools that only look."""
    advice = carry.advice
    if advice is None or not advice.moves:
        return
    for name in carry.asked_about:
        pool = context.pools.get(name)
        if pool is None or pool.spec.disruption.mode != "observe":
            continue
        nodes = sum(len(move.terminating) for move in advice.moves)
        saved = f"{advice.saves_per_hour:.4f}".rstrip("0").rstrip(".")
        could = f"{saved} an hour of {advice.now_per_hour:.4g} could be saved by moving {nodes} nodes"
        why = f"{could}: growth plan --optimise shows how"
        subject = reference_to(NODE_POOLS, pool.metadata)
        context.said.append(RecordEvent(subject=subject, why=why, reason="CouldSave", action="Optimising"))
