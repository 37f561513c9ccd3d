"""Which machines are dead, what is moved off them, and which come back? Docs: docs/failover.md.

    silent ──asked──► running: told, fenced where that is allowed
                 └──► off or gone, proven ──guards──► tainted ──► released ──► back, or deleted

``failover.mode`` says how far it goes: ``off`` looks at nothing and reports taints that it left behind, ``observe``
asks and tells, ``act`` acts.
"""

from typing import Final

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS, LEASES, NODES, PODS, VOLUME_ATTACHMENTS
from growth.api.out_of_service import PROOF
from growth.api.settings.model import FailoverSettings
from growth.decide.context import STOP, Step, Stop, run_steps
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, Need, WritePermission, own_namespace
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.failover.carry import FailoverCarry
from growth.decide.failover.context import FailoverContext
from growth.decide.failover.fencing import follow_running
from growth.decide.failover.metrics import METRICS, measured
from growth.decide.failover.node_return import follow_return
from growth.decide.failover.out_of_service import take_out_of_service
from growth.decide.failover.pod_release import follow_release
from growth.decide.failover.power_queries import ask
from growth.decide.failover.replacement_pods import provide_replacements
from growth.decide.failover.silent_nodes import follow_evidence
from growth.decide.failover.timeline import (
    counted,
    follow_recoveries,
    note_findings,
    remembered_timelines,
    write_timelines,
)


def stop_if_off(context: FailoverContext) -> Stop | None:
    """Only report the taints of an earlier mode: they stay until an operator removes them."""
    if context.terms.mode != "off":
        return None
    for node in context.snapshot.out_of_service.values():
        if PROOF in node.metadata.annotations:
            why = "Growth took it out of service, and failover.mode is off: its taint stays until a person removes it"
            context.alert(node, "OurTaintStays", why)
    return STOP


STEPS: Final[tuple[Step[FailoverContext], ...]] = (
    stop_if_off,
    follow_evidence,
    note_findings,
    follow_release,
    follow_return,
    take_out_of_service,
    provide_replacements,
    follow_running,
    ask,
    follow_recoveries,
    write_timelines,
)


def decide(inputs: Inputs[FailoverCarry, None, None], /) -> Decision[FailoverCarry]:
    """Decide which nodes are dead, what moves off them, and which return."""
    context = FailoverContext(inputs)
    run_steps(context, STEPS)
    if context.terms.mode == "off":
        return context.decision(inputs.carry)
    carry = context.next_carry(counted(context))
    context.measurements.extend(measured(carry))
    return context.decision(carry)


CAPABILITY: Final = Capability(
    name=CapabilityName("failover"),
    decide=decide,
    initial_carry=lambda snapshot, settings: FailoverCarry(timelines=remembered_timelines(snapshot, settings)),
    settings=FailoverSettings,
    watches=(PODS, NODES, VOLUME_ATTACHMENTS, LEASES, CONFIG_MAPS, NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS),
    permissions=(
        WritePermission("patch delete", NODES),
        WritePermission("patch", PODS, "status"),
        WritePermission("delete", PODS),
        WritePermission("patch", CONFIG_MAPS, namespace=own_namespace, name=GROWTH_STATUS),
    ),
    needs=(Need(ClusterState),),
    provides=(ReplacementPods,),
    metrics=METRICS,
)
