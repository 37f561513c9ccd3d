"""Nodes that are to go because nobody needs them are free room: demand that fits there takes them back."""

from collections.abc import Iterator

from growth.api.actions import Action, RecordEvent
from growth.api.kinds import NODES
from growth.api.offering import POOL
from growth.api.references import reference_to
from growth.api.taints import has_traces, is_tainted
from growth.decide.facts.kept_nodes import NominatedNodes
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.pending_pods import nodes_expected
from growth.decide.writes.node_patches import unmarked


def spare_nodes(outlook: ScaleUpContext) -> tuple[str, ...]:
    """Marked nodes that can be had back: their removal has not begun, and their pool stays."""
    terminating = outlook.snapshot.active_moves.terminating
    staying = {pool.metadata.name for pool in outlook.pools if pool.metadata.deletion_timestamp is None}
    return tuple(
        sorted(
            name
            for name, node in outlook.snapshot.to_go.items()
            if is_tainted(node)
            and name not in outlook.terminating | terminating
            and node.metadata.labels.get(POOL) in staying
        )
    )


def taken_back(outlook: ScaleUpContext) -> Iterator[Action]:
    """Take the mark off nodes on which pods are expected; those who remove nodes are told to leave them alone."""
    nodes = nodes_expected(outlook)
    outlook.provided.append(NominatedNodes(frozenset(nodes)))
    for name in sorted(nodes):
        node = outlook.snapshot.nodes[name]
        if has_traces(node):
            why = "it stays: pods that wait fit on it"
            yield unmarked(node, why)
            subject = reference_to(NODES, node.metadata)
            yield RecordEvent(subject=subject, why=why, reason="ScaleDownCancelled", action="Planning")
