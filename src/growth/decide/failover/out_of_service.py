"""A machine that is proven dead: its node goes out of service, unless something keeps it in."""

from datetime import datetime

from growth.api.actions import EditObject
from growth.api.machine import Power
from growth.api.node import Node
from growth.api.out_of_service import HARDWARE, PROOF, SHUTDOWN, Proof, out_of_service_taint
from growth.api.timestamp import format_time
from growth.api.tolerations import Taint
from growth.decide.failover.context import FailoverContext, reference
from growth.decide.failover.evidence import Finding, NodeCase
from growth.decide.failover.safety_limits import NodeCensus, guard_of
from growth.decide.writes.node_patches import annotated, edited, taint_added


def take_out_of_service(context: FailoverContext) -> None:
    """All that are proven dead and not out of service yet, the longest silent first."""
    dead = [case for case in context.cases.values() if case.finding(context.terms) is Finding.DEAD]
    if not dead:
        return
    census = NodeCensus(context)
    for case in sorted(dead, key=lambda one: (one.last_sign, one.name)):
        node = context.snapshot.nodes[case.name]
        if out_of_service_taint(node) is not None:
            continue
        why = in_words(case)
        answers = case.answers.count if case.answers is not None else 0
        context.note(node, "Dead", f"{why}: {answers} answers, and none to the contrary")
        guard = guard_of(context, census, node, case)
        if guard is not None:
            words = f"{why}, but it stays in service: {guard.why}"
            (context.alert if guard.is_alarming else context.hold)(node, guard.reason, words)
        elif not context.acts:
            words = f"{why}: with failover.mode act Growth would take it out of service now"
            context.alert(node, "Observing", words)
            context.begin(node)
        elif not case.is_fresh(context.now):
            context.hold(node, "AnswerTooOld", f"{why}, but the last answer is too old to act on")
            context.pressing.add(case.uid)
            if not case.is_ignored:
                context.begin(node)  # it is its turn: nobody overtakes it while its provider is asked once more
        else:
            context.begin(node)
            context.note(node, "Tainted", f"{why}: it is taken out of service")
            context.tell(reference(node), "OutOfService", f"{why}: its pods are moved elsewhere", is_warning=True)
            context.said.append(tainted(node, proven(case, node, context.now), why))
            context.tainted.append(node)


def tainted(node: Node, proof: Proof, why: str, taint: Taint | None = None) -> EditObject:
    """Taint and note, in one edit of the node as it was seen. Without a taint the power of the machine says which."""
    taint = taint or (HARDWARE if proof.power is Power.FAILED else SHUTDOWN)
    return edited(node, [taint_added(node, taint), annotated(node, PROOF, proof.text)], why)


def proven(case: NodeCase, node: Node, at: datetime, by: str = "") -> Proof:
    """All that is known about a machine that was proven dead, for the note on its node."""
    answers = case.answers
    if answers is None:
        raise ValueError(f"there is no proof about {case.name}")
    return Proof(
        tainted_at=at,
        provider_id=case.provider_id,
        last_sign=case.last_sign,
        power=answers.power,
        first_reading=answers.first_at,
        last_reading=answers.last_at,
        readings=answers.count,
        boot_id=node.status.node_info.boot_id,
        was_graceful=case.was_stopping,
        by=by,
    )


def in_words(case: NodeCase) -> str:
    """What is known about a dead machine, as a sentence without an end. It is the same in every pass."""
    answers = case.answers
    if answers is None:
        return f"it is silent since {format_time(case.last_sign)}"
    how = "was shut down in good order and is" if case.was_stopping else "is"
    said = f"its provider says that its machine {how} {answers.power.value}"
    return f"it is silent since {format_time(case.last_sign)}, and {said}"
