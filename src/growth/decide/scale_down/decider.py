"""What is left of scale-down in an unhealthy cluster: nothing goes, and nobody is on the way out any more.

Marks are taken off, and with them the time that has passed: empty nodes that work are the room that pods of broken ones
need, and when all is well again the wait begins anew.

Which nodes does nobody need, and how far are those that go? Docs: docs/removing.md.

It marks nodes, and asks for their removal; it carries removals out, whoever asked for them. What a pool is deleted with
it empties first.
"""

from typing import Final

from growth.api.actions import Hold
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, PODS, VOLUME_ATTACHMENTS
from growth.api.offering import POOL
from growth.api.references import reference_to
from growth.api.settings.model import RemovalSettings
from growth.decide.capacity.disruptability import was_ours
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.context import STOP, Step, Stop, run_steps
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, Need, WritePermission
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.kept_nodes import NominatedNodes, RetainedNodes
from growth.decide.facts.pending_pods import PendingPods
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.scale_down.carry import ScaleDownCarry
from growth.decide.scale_down.context import ScaleDownContext
from growth.decide.scale_down.empty_nodes import empty
from growth.decide.scale_down.pool_deletion import drain
from growth.decide.scale_down.removal_requests import forget_wish, note_answer, remove
from growth.decide.scale_down.unready_nodes import give_up_unready
from growth.decide.writes.node_patches import unmarked

_REASON: Final = "ClusterUnhealthy"


def stop_if_halted(context: ScaleDownContext) -> Stop | None:
    """Terminate nothing in an unhealthy cluster, nor while requests are given up."""
    if context.cluster.is_halted:
        _halt(context)
        return STOP
    return STOP if context.cluster.gives_up else None


def _halt(context: ScaleDownContext) -> None:
    for removal in context.removals:
        note_answer(context, removal)
        subject = reference_to(NODE_REMOVAL_REQUESTS, removal.metadata)
        context.said.append(Hold(subject=subject, why="nothing is removed in an unhealthy cluster", reason=_REASON))
    for name, node in sorted(context.snapshot.to_go.items()):
        pool = context.pools.get(node.metadata.labels.get(POOL, ""))
        if pool is None or name in context.terminating or not was_ours(context.use, node):
            continue
        if pool.metadata.deletion_timestamp is not None:
            why = "nothing is removed in an unhealthy cluster"
            context.said.append(Hold(subject=reference_to(NODES, node.metadata), why=why, reason=_REASON))
            continue
        why = "it stays: the cluster is unhealthy"
        context.said.append(unmarked(node, why))
        context.tell(node, "ScaleDownCancelled", why)


def advance_removals(context: ScaleDownContext) -> None:
    """Take each NodeRemovalRequest one step further."""
    for removal in context.removals:
        remove(context, removal)
        forget_wish(context, removal)


def disrupt_nodes(context: ScaleDownContext) -> None:
    """Taint empty nodes, give up unready ones, drain the nodes of pools that are deleted."""
    for name, pool in sorted(context.pools.items()):
        if pool.metadata.deletion_timestamp is None:
            empty(context, pool)
            give_up_unready(context, pool)
        else:
            drain(context, pool, context.nodes_of_pools[name])


STEPS: Final[tuple[Step[ScaleDownContext], ...]] = (stop_if_halted, advance_removals, disrupt_nodes)


def decide(inputs: Inputs[ScaleDownCarry, None, None], /) -> Decision[ScaleDownCarry]:
    """Decide which nodes go, and how far those are that go."""
    context = ScaleDownContext(inputs)
    run_steps(context, STEPS)
    return context.decision(context.next_carry())


CAPABILITY: Final = Capability(
    name=CapabilityName("shrink"),
    decide=decide,
    initial_carry=lambda _snapshot, _settings: ScaleDownCarry(),
    settings=RemovalSettings,
    watches=(PODS, NODES, VOLUME_ATTACHMENTS, NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS),
    permissions=(
        WritePermission("get create", NODE_REMOVAL_REQUESTS),
        WritePermission("patch delete", NODE_REMOVAL_REQUESTS),
        WritePermission("patch", NODE_REMOVAL_REQUESTS, "status"),
        WritePermission("patch delete", NODES),
        WritePermission("delete", PODS),
        WritePermission("create", PODS, "eviction"),
    ),
    needs=(
        Need(ClusterState),
        Need(OfferingCatalog),
        Need(PendingPods),
        # Among the pending pods; without them a node that was launched for a replacement would look empty.
        Need(ReplacementPods),
        Need(RetainedNodes),
        Need(NominatedNodes),
    ),
)
