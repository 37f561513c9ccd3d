"""Nodes that are unready for long (UC6), and those that never started and nobody waits for: to be removed.

They are not marked while they wait: nobody is put on a node that is not ready, and one that comes back keeps a clean
record; only right before its provider is asked, so that nobody moves in if it comes back in that second. What still
runs on a machine that nobody can reach is not ours to end: a node with pods goes only if its machine is off or gone, or
if its pool says that it may (``scaleDown.removeUnreachable``).

That a machine is gone is believed of a provider that answers, and that lists the machines of those nodes that work.
"""

from growth.api.actions import Hold
from growth.api.duration import format_duration
from growth.api.kinds import NODES
from growth.api.machine import Power
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.offering import OFFERING
from growth.api.pod_classification import is_work
from growth.api.provider_state import cloud_of
from growth.api.references import reference_to
from growth.decide.capacity.disruptability import why_busy, why_left_alone
from growth.decide.facts.cluster_state import Unit
from growth.decide.policy.pool_terms import terms_of
from growth.decide.scale_down.context import ScaleDownContext
from growth.decide.scale_down.scale_up_delay import hold_after_scale_up, quiet_until
from growth.decide.writes.removal_requests import asked_to_go
from growth.decide.writes.unreachable_event import UNREACHABLE_REASON, unreachable_event


def give_up_unready(context: ScaleDownContext, pool: NodePool) -> None:
    """What becomes of the nodes of one pool that do not work."""
    for unit in sorted(_due(context, pool), key=lambda one: one.name):
        node = context.snapshot.nodes[unit.name]
        subject = reference_to(NODES, node.metadata)
        quiet = quiet_until(context, pool)
        if not pool.spec.scale_down.enabled:
            why = f"it is unready for long, and scaleDown.enabled is false in pool {pool.metadata.name}"
            context.said.append(Hold(subject=subject, why=why, reason="Unready"))
        elif why := why_left_alone(context.use, node):
            context.said.append(Hold(subject=subject, why=why, reason="DoNotDisrupt"))
        elif doubt := why_unheard_of(context, node, pool):
            context.said.append(
                Hold(subject=subject, why=f"it is unready for long, and {doubt}", reason="ProviderSilent")
            )
        elif (busy := _why_kept(context, node)) and not may_go_with_work(context, node, pool):
            allowed = f"scaleDown.removeUnreachable is false in pool {pool.metadata.name}"
            why = f"it is unready for long, but {busy} and may be alive, and {allowed}"
            context.said += (Hold(subject=subject, why=why, reason=UNREACHABLE_REASON), unreachable_event(node, pool))
        elif context.now < quiet:
            context.remind(quiet)
            hold_after_scale_up(context, pool, node, quiet)
        else:
            reason = _reason(unit, pool)
            context.tell(node, "ScaleDown", reason)
            terminating = asked_to_go(unit.name, pool.metadata.name, node.spec.provider_id, reason, if_unready=True)
            context.said.append(terminating)


def may_go_with_work(context: ScaleDownContext, node: Node, pool: NodePool | None) -> bool:
    """Whether what is bound to an unready node does not keep it: nothing of it runs any more, or its pool says so."""
    if node.is_ready:
        return False
    if pool is not None and pool.spec.scale_down.remove_unreachable:
        return True
    found = context.machine(node.spec.provider_id, node.metadata.name)
    return found is None or (found[1].power is Power.OFF and not found[1].is_changing)


def why_unheard_of(context: ScaleDownContext, node: Node, pool: NodePool | None) -> str:
    """Why nobody can tell how the machine of an unready node is, or that it is gone; empty if somebody can."""
    found = context.machine(node.spec.provider_id, node.metadata.name)
    if found is not None:
        return "its provider does not say how its machine is" if found[0].problem else ""
    if context.is_silent(pool.metadata.name if pool is not None else ""):
        return "its provider does not say whether its machine is there"
    offering = node.metadata.labels.get(OFFERING, "")
    cloud = cloud_of(offering, context.snapshot.clouds)
    if offering and (cloud is None or not cloud.answers):
        return f"nobody says whether its machine is there, which was bought as {offering}"
    for unit in context.cluster.ready_units:
        if not unit.has_machine and cloud_of(unit.offering, context.snapshot.clouds) is cloud:
            return f"its provider lists neither its machine nor that of {unit.name}, which works: it is not believed"
    return ""


def _why_kept(context: ScaleDownContext, node: Node) -> str:
    """Who may be alive on it. What is bound to a node that is still closed never ran, unless it says that it did."""
    name = node.metadata.name
    if name not in context.snapshot.closed:
        return why_busy(context.use, node)
    pods = context.snapshot.pods_by_node.get(name, {}).values()
    return why_busy(context.use, node) if any(is_work(pod) and pod.status.phase == "Running" for pod in pods) else ""


def _due(context: ScaleDownContext, pool: NodePool) -> list[Unit]:
    return [
        unit
        for unit in context.cluster.unready_units
        if unit.pool == pool.metadata.name
        and unit.name in context.snapshot.nodes
        and (unit.is_long or (unit.failed_to_start and not unit.has_request))
    ]


def _reason(unit: Unit, pool: NodePool) -> str:
    if unit.failed_to_start:
        return unit.why
    return f"it was unready for {format_duration(terms_of(pool).unready_after)}: {unit.why}"
