"""What is remembered of whom, and who is given it back? Docs: docs/node-memory.md.

    node came or went ──► transaction ──the shard's worker──► memory, or the node ──► transaction gone
    node changed ──after a while──► checkpoint

It runs on every replica. Each writes down what happened, under names that follow from it, so that it is written once;
what is to be done about it is done by whoever holds the node's shard.
"""

from typing import Final

from growth.api.kinds import CONFIG_MAPS, LEASES, NODES
from growth.api.node_memory import MEMORIES, SHARD_LEASES, TRANSACTIONS
from growth.api.settings.node_memory import MemorySettings
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, WritePermission, own_namespace
from growth.decide.node_memory.carry import NodeMemoryCarry
from growth.decide.node_memory.metrics import METRICS
from growth.decide.node_memory.page_round import PageRound
from growth.decide.node_memory.shard_leases import release


def decide(inputs: Inputs[NodeMemoryCarry, None, None], /) -> Decision[NodeMemoryCarry]:
    """Decide what is recorded of which node, and which nodes get theirs back."""
    return PageRound(inputs).run()


CAPABILITY: Final = Capability(
    name=CapabilityName("memory"),
    decide=decide,
    initial_carry=lambda _snapshot, _settings: NodeMemoryCarry(),
    settings=MemorySettings,
    watches=(NODES, MEMORIES, TRANSACTIONS, SHARD_LEASES),
    permissions=(
        WritePermission("patch", NODES),
        WritePermission("create patch", LEASES, namespace=own_namespace),
        WritePermission("get create patch delete", CONFIG_MAPS, namespace=lambda settings: settings.memory.namespace),
        WritePermission("create delete", CONFIG_MAPS, namespace=lambda settings: settings.memory.transaction_namespace),
    ),
    metrics=METRICS,
    scope="every_replica",
    on_shutdown=release,
)
