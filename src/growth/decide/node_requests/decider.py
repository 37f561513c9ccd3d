"""What does each NodeRequest need next? Docs: docs/growing.md.

    Pending ──the provider has a machine──► Provisioning ──the node is what was planned──► Ready ──after a while──► gone
       └──cannot be had──► Unmet ──► gone          └──not in time──► Deprovisioning ──► NodeRemovalRequest

It never decides what to buy, and it never deletes a machine.
"""

from collections.abc import Callable, Mapping
from typing import Final

from growth.api.node_request import NodeRequest
from growth.api.phases import RequestPhase
from growth.api.settings.model import Settings
from growth.decide.contract import DeciderState, Decision
from growth.decide.node_requests.completion import forget, hand_over_to_removal, keep
from growth.decide.node_requests.context import NodeRequestsContext
from growth.decide.node_requests.launch import launch
from growth.decide.node_requests.limit_check import too_many
from growth.decide.node_requests.orphaned_machines import NodeRequestsCarry, adopt
from growth.decide.node_requests.provisioning import await_node, give_up_unregistered
from growth.decide.node_requests.startup_taint import open_nodes
from growth.observe.snapshot import Snapshot

_STEPS: Final[Mapping[RequestPhase, Callable[[NodeRequestsContext, NodeRequest], None]]] = {
    "Pending": launch,
    "Provisioning": await_node,
    "Ready": keep,
    "Unmet": forget,
    "Deprovisioning": hand_over_to_removal,
}


def decide(snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
    """What should happen now: requests by their phases, nodes that are closed, machines that nobody knows."""
    context = NodeRequestsContext(snapshot, state, settings)
    carry = state.carry if isinstance(state.carry, NodeRequestsCarry) else NodeRequestsCarry()
    context.too_many, context.missing_at = too_many(context), carry.missing_at
    for _, request in sorted(context.requests.items()):
        if request.metadata.deletion_timestamp is None:
            _STEPS[request.status.phase](context, request)
    open_nodes(context)
    carry = adopt(context, carry)
    give_up_unregistered(context)
    wake_at = min((when for when in context.deadlines if when > context.now), default=None)
    return Decision(tuple(context.said), wake_at, carry)
