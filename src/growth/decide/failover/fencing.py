"""A machine that runs and whose node is silent: a partition, or a system that hangs. Nobody can tell which from here.

That is never proof. People are told; and only where they allow it (``failover.fence``) the machine is powered off,
which makes a proof of it.
"""

from growth.api.actions import FenceMachine, Result
from growth.api.node import Node
from growth.decide.failover.context import FailoverContext, reference
from growth.decide.failover.evidence import Finding, NodeCase
from growth.decide.failover.safety_limits import NodeCensus, guard_of
from growth.decide.writes.unreachable_event import UNREACHABLE_REASON, unreachable_event


def follow_running(context: FailoverContext) -> None:
    """What becomes of silent nodes whose machines run."""
    running = [case for case in context.cases.values() if case.finding(context.terms) is Finding.RUNNING]
    census = NodeCensus(context) if running and context.terms.fence else None
    for case in sorted(running, key=lambda one: (one.last_sign, one.name)):
        node = context.snapshot.nodes[case.name]
        if node.is_ready:
            context.note(node, "Running", "it missed renewals of its Lease; its machine runs")
            continue  # Kubernetes has not given it up yet, and most come back within that time
        why = "it is silent and its machine runs: the network or its system is broken, and its pods may be alive"
        if census is None:
            context.hold(node, UNREACHABLE_REASON, why)
            context.said.append(unreachable_event(node, context.pool(node)))
        elif not _is_sure(context, case):
            context.hold(node, UNREACHABLE_REASON, why)
        else:
            _fence(context, census, node, case, why)


def _is_sure(context: FailoverContext, case: NodeCase) -> bool:
    """Whether its provider has said more than once, over a while, that the machine runs."""
    answers = case.answers
    return answers is not None and answers.last_at - answers.first_at >= context.terms.proven_after


def _fence(context: FailoverContext, census: NodeCensus, node: Node, case: NodeCase, why: str) -> None:
    place = context.machines.place(case.provider_id)
    guard = guard_of(context, census, node, case)
    if place is None:
        return
    if guard is not None:
        context.alert(node, guard.reason, f"{why}; it is not powered off: {guard.why}")
    elif not context.acts:
        context.alert(node, "Observing", f"{why}: with failover.mode act Growth would power it off now")
    else:
        outcome = context.outcomes.latest(FenceMachine, reference(node))
        if outcome is not None and outcome.result is Result.REFUSED:
            context.alert(node, "NotFenced", f"{why}; its provider does not power it off: {outcome.message}")
        context.note(node, "Fencing", f"{why}: it is powered off")
        context.tell(reference(node), "Fencing", f"{why}: it is powered off", is_warning=True)
        context.begin(node)
        context.fencing.setdefault(case.uid, context.now)
        fencing = FenceMachine(subject=reference(node), why=why, provider=place.provider, machine_id=place.machine_id)
        context.said.append(fencing)
