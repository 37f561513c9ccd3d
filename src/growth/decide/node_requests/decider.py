"""What does each NodeRequest need next? Docs: docs/growing.md.

    Pending ──the provider has a machine──► Provisioning ──the node is what was planned──► Ready ──after a while──► gone
       └──cannot be had──► Unmet ──► gone          └──not in time──► Deprovisioning ──► NodeRemovalRequest

It never decides what to buy, and it never deletes a machine.
"""

from collections.abc import Callable, Mapping
from typing import Final

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, PODS
from growth.api.node_request import NodeRequest
from growth.api.phases import RequestPhase
from growth.api.settings.model import ProvisionSettings
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.context import Step, run_steps
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, Need, WritePermission
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.pending_pods import PendingPods
from growth.decide.node_requests.carry import NodeRequestsCarry
from growth.decide.node_requests.completion import forget, hand_over_to_removal, keep
from growth.decide.node_requests.context import NodeRequestsContext
from growth.decide.node_requests.launch import launch
from growth.decide.node_requests.limit_check import too_many
from growth.decide.node_requests.orphaned_machines import adopt_machines
from growth.decide.node_requests.provisioning import await_node, give_up_unregistered
from growth.decide.node_requests.startup_taint import open_nodes

_NEXT: Final[Mapping[RequestPhase, Callable[[NodeRequestsContext, NodeRequest], None]]] = {
    "Pending": launch,
    "Provisioning": await_node,
    "Ready": keep,
    "Unmet": forget,
    "Deprovisioning": hand_over_to_removal,
}


def advance_requests(context: NodeRequestsContext) -> None:
    """Take each NodeRequest one step further, according to its phase."""
    context.too_many = too_many(context)
    for _, request in sorted(context.requests.items()):
        if request.metadata.deletion_timestamp is None:
            _NEXT[request.status.phase](context, request)


STEPS: Final[tuple[Step[NodeRequestsContext], ...]] = (
    advance_requests,
    open_nodes,
    adopt_machines,
    give_up_unregistered,
)


def decide(inputs: Inputs[NodeRequestsCarry, None, None], /) -> Decision[NodeRequestsCarry]:
    """Decide what requests, uninitialized nodes and orphaned machines need next."""
    context = NodeRequestsContext(inputs)
    run_steps(context, STEPS)
    return context.decision(NodeRequestsCarry(context.noticed, context.missing_now))


CAPABILITY: Final = Capability(
    name=CapabilityName("provision"),
    decide=decide,
    initial_carry=lambda _snapshot, _settings: NodeRequestsCarry(),
    settings=ProvisionSettings,
    watches=(PODS, NODES, NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS),
    permissions=(
        WritePermission("get create", NODE_REQUESTS),
        WritePermission("get create", NODE_REMOVAL_REQUESTS),
        WritePermission("delete", NODE_REQUESTS),
        WritePermission("patch", NODE_REQUESTS, "status"),
        WritePermission("patch", NODES),
        WritePermission("patch", PODS),
    ),
    needs=(Need(ClusterState), Need(OfferingCatalog), Need(PendingPods, if_failed="default")),
)
