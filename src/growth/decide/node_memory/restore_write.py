"""The write that makes a node what it was."""

from growth.api.actions import Precondition
from growth.api.node import Node
from growth.api.node_memory import MEMORIES, NodeContents, NodeRecord
from growth.api.references import reference_by_name
from growth.decide.node_memory.context import PagePass
from growth.decide.node_memory.restore_policy import template_of


def restore(
    page_pass: PagePass, node: Node, memento: NodeContents | None, given: tuple[Precondition, ...], why: str
) -> None:
    """Give a node this, or nothing, and its marker."""
    body = page_pass.policy.restored(node, memento, template_of(node, page_pass.context.snapshot))
    page_pass.change_node(node, body, f"give it its memory back: {why}", given)


def unchanged(page_pass: PagePass, name: str, record: NodeRecord | None) -> Precondition:
    """That nothing was remembered since: the stream of memories may lag behind that of transactions."""
    subject = reference_by_name(MEMORIES, name, page_pass.context.settings.namespace)
    return Precondition(subject, record.metadata.resource_version if record is not None else None)
