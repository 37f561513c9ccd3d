"""Save money: decide on the moves that were advised, and begin to work out the next ones."""

from collections.abc import Iterable
from typing import Final

import msgspec

from growth.api.actions import RecordEvent
from growth.api.growth_kinds import NODE_POOLS
from growth.api.node_pool import NodePool
from growth.api.references import reference_to
from growth.decide.capacity.demand_history import RecentDemand
from growth.decide.consolidation.allowances import at_once_in, min_age_of, worth_of
from growth.decide.consolidation.candidates import CandidateSet, choice_in
from growth.decide.consolidation.carry import ConsolidationCarry
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.move import made, spec_of
from growth.decide.consolidation.move_search import MoveAdvice, advise
from growth.decide.consolidation.preconditions import is_calm
from growth.decide.consolidation.problem import ConsolidationProblem, shun
from growth.decide.consolidation.problem_builder import question_of
from growth.decide.consolidation.savings_events import EventDamping, tell
from growth.decide.elapsed import is_ahead

# More than that need no capacity kept for them.
_GHOSTS: Final = 5_000


def make_saving_moves(context: ConsolidationContext) -> None:
    """Make the advised moves, as far as they still are what they were."""
    advice, carry = context.result, context.carry
    if not isinstance(advice, MoveAdvice) or advice is carry.advice or context.is_computing:
        return
    context.carry = carry = msgspec.structs.replace(carry, advice=advice)
    pools = [context.pools[name] for name in carry.asked_about if name in context.pools]
    if not advice.moves or not pools or any(pool.spec.disruption.mode != "act" for pool in pools):
        return
    if not is_calm(context):
        return
    may_go = {one.name for one in _choice(context, pools).candidates}
    moves = [move for move in advice.moves if may_go.issuperset(move.terminating)]
    for move in moves:
        context.said.append(made(spec_of(context, move)))
    if moves:
        context.carry = msgspec.structs.replace(carry, made_at=context.now)


def plan_saving_moves(context: ConsolidationContext) -> None:
    """Begin to work out what could be saved, if it is time and nothing is under way.

    Pools that act and pools that observe take turns: what is only reported must not delay what is done.
    """
    pools = context.optimized_pools
    if context.compute is not None or not pools:
        return
    carry = context.carry
    settings = context.settings.consolidate
    is_due = carry.asked_at is None or not is_ahead(carry.asked_at + settings.every, context.now, settings.every)
    if carry.asked_at is not None and not is_due:
        context.remind(carry.asked_at + settings.every)
    if not is_due or context.is_computing or not is_calm(context):
        return
    history = context.facts.get(RecentDemand).history
    if history is None or not history.knows():
        # A process that has just begun does not know which pods were there a while ago, and may return.
        return
    turn = _turn(carry, pools)
    choice = _choice(context, turn)
    gone, expected = history.ghosts(_GHOSTS), history.expected(_GHOSTS).pods
    fades_per_hour = history.fades_per_hour()
    question = question_of(
        context,
        choice,
        at_once=at_once_in(context, turn),
        # What was launched for expected pods is theirs.
        ghosts=(*gone, *expected),
        worth={pool.metadata.name: worth_of(pool) for pool in turn},
        fades_per_hour=fades_per_hour,
    )
    damping = EventDamping(history.window, len(gone), len(expected), fades_per_hour)
    names = tuple(pool.metadata.name for pool in turn)
    # Advice for these pools holds no longer; advice for others is reported until they are computed again.
    context.carry = msgspec.structs.replace(
        carry, asked_at=context.now, asked_about=names, told=tell(context, turn, damping, carry.told)
    )
    waves = 1 if turn[0].spec.disruption.mode == "act" else None
    shunned = [disruption.node for disruption in context.disruptions]
    context.compute = lambda: _advised(question, shunned, waves)


def _advised(question: ConsolidationProblem, shunned: Iterable[str], waves: int | None) -> MoveAdvice:
    # A pod on a node that must go would be moved again soon.
    shun(question.simulated, shunned)
    return advise(question, waves)


def _turn(carry: ConsolidationCarry, pools: list[NodePool]) -> list[NodePool]:
    acting = [pool for pool in pools if pool.spec.disruption.mode == "act"]
    watching = [pool for pool in pools if pool.spec.disruption.mode == "observe"]
    was_acting = bool(acting) and carry.asked_about == tuple(pool.metadata.name for pool in acting)
    has_more = carry.advice is not None and bool(carry.advice.moves)
    return watching if watching and (not acting or (was_acting and not has_more)) else acting


def _choice(context: ConsolidationContext, pools: Iterable[NodePool]) -> CandidateSet:
    """Return the nodes of these pools that may go. Nodes of a move that was rolled back rest as long as it is kept:
    what failed it may well happen again, and its machines would be launched once more in vain."""
    names = {pool.metadata.name for pool in pools}
    ages = {name: min_age_of(pool) for name, pool in context.pools.items()}
    choice = choice_in(context, ages)
    resting = {name for move in context.moves if move.status.phase == "Undone" for name in move.spec.nodes}
    mine = tuple(one for one in choice.candidates if one.pool in names and one.name not in resting)
    chosen = {one.name for one in mine}
    others = tuple(one.launched for one in choice.candidates if one.name not in chosen)
    return CandidateSet(mine, choice.staying, (*choice.others, *others))


def report_savings(context: ConsolidationContext) -> None:
    """Report what could be saved, on the pools that only observe."""
    advice, carry = context.carry.advice, context.carry
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
