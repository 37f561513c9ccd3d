"""Why nobody should think of moves now: something is under way that a plan would not know of."""

from datetime import timedelta
from typing import Final

from growth.decide.capacity.upcoming_nodes import is_live
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.elapsed import is_ahead
from growth.decide.fit.demand import why_not

# Somebody who finds no place for longer than this will find none, whatever we do.
_HOPELESS_AFTER: Final = timedelta(minutes=10)


# What was made is seen in the watch at once.
_SEEN_WITHIN: Final = timedelta(seconds=10)


def is_calm(context: ConsolidationContext) -> bool:
    """Whether nothing is under way that a plan would not know of."""
    made_at = context.carry.made_at
    if made_at is not None and is_ahead(made_at + _SEEN_WITHIN, context.now, _SEEN_WITHIN):
        context.remind(made_at + _SEEN_WITHIN)
        return False
    return not why_restless(context)


def why_restless(context: ConsolidationContext) -> str:
    """The first of it, as a sentence; empty if all is calm. What time alone ends is looked at again then."""
    if context.cluster.is_halted:
        return f"the cluster is unhealthy: {context.cluster.health.alarm}"
    for move in context.moves:
        if not move.is_over:
            return f"move {move.metadata.name} is under way ({move.status.phase})"
    for name, request in sorted(context.requests.items()):
        if is_live(request):
            return f"machine {name} is on its way"
    for pod in context.snapshot.waiting.values():
        born = pod.metadata.creation_timestamp or context.now
        if why_not(pod) is None and is_ahead(born + _HOPELESS_AFTER, context.now, _HOPELESS_AFTER):
            context.deadlines.append(born + _HOPELESS_AFTER)
            return f"pod {pod.metadata.namespace}/{pod.metadata.name} waits for a place"
    return ""
