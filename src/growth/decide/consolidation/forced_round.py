"""Empty nodes that must go: decide on moves, and begin to work out the next ones.

What is worked out comes with a later pass, and is checked again before a move is made of it.
"""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.actions import Hold, held_and_reported
from growth.api.kinds import NODES
from growth.api.references import reference_to
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.forced_disruptions import round_in
from growth.decide.consolidation.forced_moves import ForcedMovePlan, empty
from growth.decide.consolidation.move import made, spec_of
from growth.decide.consolidation.preconditions import is_calm
from growth.decide.consolidation.problem_builder import question_of
from growth.decide.elapsed import is_ahead

# An operator who asked is waiting for the result.
_PATIENCE: Final = timedelta(minutes=1)
# More than that are not reported one by one.
_TOLD: Final = 100


def make_forced_moves(context: ConsolidationContext) -> None:
    """Make a move for each node that still must go, and may, once it is known how to empty them."""
    emptying, carry = context.result, context.carry
    if not isinstance(emptying, ForcedMovePlan) or emptying is carry.emptying or context.is_computing:
        return
    context.carry = carry = msgspec.structs.replace(
        carry, emptying=emptying, staying={**carry.staying, **emptying.stuck}
    )
    if not emptying.moves:
        return
    if not is_calm(context):
        context.carry = msgspec.structs.replace(carry, wished=())  # and is worked out again as soon as it is
        return
    by_name = {disruption.node: disruption for disruption in context.disruptions}
    may_go = {one.name for one in round_in(context, context.disruptions).candidates}
    moves = [(by_name[name], move) for move in emptying.moves for name in move.terminating if name in may_go]
    for disruption, move in moves:
        context.said.append(made(spec_of(context, move, disruption.reason, disruption.why)))
    if moves:
        context.carry = msgspec.structs.replace(carry, made_at=context.now)


def plan_forced_moves(context: ConsolidationContext) -> None:
    """Begin to work out how to empty them, as many as may go now.

    If none may, it is worked out again after a while, or when others must go, or one that went is gone: then budgets
    may allow the next one.
    """
    carry, disruptions = context.carry, context.disruptions
    every = context.settings.consolidate.every
    if any(disruption.reason == "Requested" for disruption in disruptions):
        every = min(every, _PATIENCE)
    about = (*(one.node for one in disruptions), *sorted(context.terminating))
    if not disruptions:
        context.carry = msgspec.structs.replace(carry, wished_at=None, wished=(), staying={})
        return
    if carry.wished == about and carry.wished_at is not None and is_ahead(carry.wished_at + every, context.now, every):
        context.remind(carry.wished_at + every)
        return
    if context.is_computing or not is_calm(context):
        return
    choice = round_in(context, disruptions)
    context.carry = msgspec.structs.replace(carry, wished_at=context.now, wished=about, staying=choice.staying)
    context.remind(context.now + every)
    if not choice.candidates:
        return
    question = question_of(context, choice, at_once={})
    shunned = [one.node for one in disruptions]
    context.compute = lambda: empty(question, shunned)


def report_staying(context: ConsolidationContext) -> None:
    """Report to an operator who asked why nothing happens; why other nodes stay is a hold."""
    for disruption in context.disruptions[:_TOLD]:
        why = context.carry.staying.get(disruption.node)
        if not why:
            continue
        subject = reference_to(NODES, context.snapshot.nodes[disruption.node].metadata)
        words = f"{disruption.why}, and it stays for now: {why}"
        if disruption.reason == "Requested":
            context.said += held_and_reported(subject, reason="NotEmptied", why=words, action="Moving")
        else:
            context.said.append(Hold(subject=subject, why=words, reason="NotEmptied"))
