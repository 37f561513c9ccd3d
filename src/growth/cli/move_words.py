"""How far a move is, and what keeps it, in words: what is seen in, sentences out. Pure."""

from collections.abc import Iterator
from typing import Final

from growth.api.node_move import NodeMove
from growth.cli.memory_report import counted, named
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.pod_movability import PodBindings

_SHOWN: Final = 3


def progress_of(context: ConsolidationContext, move: NodeMove) -> str:
    """One sentence; it changes whenever something has happened."""
    status = move.status
    match status.phase:
        case "Buying" if move.spec.buys:
            snapshot = context.snapshot
            there = [snapshot.nodes[one.name] for one in move.spec.buys if one.name in snapshot.nodes]
            working = sum(node.is_ready and node.metadata.name not in snapshot.closed for node in there)
            return f"buying: {working} of {len(move.spec.buys)} machines work"
        case "Buying":
            return "waiting until its pods have places elsewhere"
        case "Draining":
            pods = sum(len(context.workers(node)) for node in context.standing(move))
            return f"emptying {named(move.spec.nodes, _SHOWN)}: {counted(pods, 'pod')} to leave"
        case _:
            return f"{status.phase.lower()}: {status.message}"


def what_keeps(context: ConsolidationContext, move: NodeMove) -> Iterator[str]:
    """Why it may take long: a few of the pods that do not leave, and machines that do not come."""
    if move.status.phase == "Buying":
        for one in move.spec.buys:
            request = context.requests.get(one.name)
            if request is not None and request.status.events and one.name not in context.snapshot.nodes:
                last = request.status.events[-1]
                yield f"machine {one.name} ({one.offering}) is {request.status.phase}: {last.name}"
    if move.status.phase != "Draining":
        return
    bonds = PodBindings(context.snapshot)
    pods = [pod for node in context.standing(move) for pod in context.workers(node)]
    for pod in pods[:_SHOWN]:
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        if pod.metadata.deletion_timestamp is not None:
            yield f"pod {name} is ending; it may take {pod.spec.termination_grace_period_seconds} s"
        elif why := bonds.why_stays(pod):
            yield f"pod {name} does not leave: {why}"
