"""Which machines are dead, what is moved off them, and which come back? Docs: docs/failover.md.

    silent ──asked──► running: told, fenced where that is allowed
                 └──► off or gone, proven ──guards──► tainted ──► released ──► back, or deleted

``failover.mode`` says how far it goes: ``off`` looks at nothing and reports taints that it left behind, ``observe``
asks and tells, ``act`` acts.
"""

from growth.api.out_of_service import PROOF
from growth.api.settings.model import Settings
from growth.decide.contract import DeciderState, Decision
from growth.decide.failover.context import FailoverCarry, FailoverContext
from growth.decide.failover.fencing import follow_running
from growth.decide.failover.node_return import follow_return
from growth.decide.failover.out_of_service import take_out_of_service
from growth.decide.failover.pod_release import follow_release
from growth.decide.failover.power_queries import ask
from growth.decide.failover.replacement_pods import note_who_moves
from growth.decide.failover.silent_nodes import follow_evidence
from growth.decide.failover.timeline import (
    counted,
    follow_recoveries,
    note_findings,
    remembered_timelines,
    write_timelines,
)
from growth.observe.snapshot import Snapshot


def decide(snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
    """What should happen now."""
    carry = state.carry
    if not isinstance(carry, FailoverCarry):
        carry = FailoverCarry(timelines=remembered_timelines(snapshot, settings))
    context = FailoverContext(snapshot, state, settings, carry)
    if settings.failover.mode == "off":
        _report_taints(context)
        return Decision(tuple(context.said))
    follow_evidence(context)
    note_findings(context)
    follow_release(context)
    follow_return(context)
    take_out_of_service(context)
    note_who_moves(context)
    follow_running(context)
    ask(context)
    recovered = follow_recoveries(context)
    is_written = write_timelines(context)
    remembered = FailoverCarry(
        cases=context.cases,
        well_since=context.well_since,
        seen_out=context.seen_out,
        fencing=context.fencing,
        listed_at=context.listed_at,
        timelines=context.timelines,
        written_at=context.now if is_written else carry.written_at,
        noted={name: frozenset(noted) for name, noted in context.noted.items()},
        recoveries=context.recoveries,
        recovered=recovered,
        findings=counted(context),
        stuck=context.stuck,
    )
    wake_at = min((when for when in context.deadlines if when > context.now), default=None)
    return Decision(tuple(context.said), wake_at, remembered)


def _report_taints(context: FailoverContext) -> None:
    """What we did stays done, and somebody must know."""
    for node in context.snapshot.out_of_service.values():
        if PROOF in node.metadata.annotations:
            why = "Growth took it out of service, and failover.mode is off: its taint stays until a person removes it"
            context.alert(node, "OurTaintStays", why)
