"""Nodes that are not given back yet what they were: none of them is to be used before that."""

from growth.api.node import Node
from growth.api.node_memory import is_marked
from growth.api.settings.model import Settings
from growth.decide.decider import State


def awaits_memory(node: Node, state: State, settings: Settings) -> bool:
    """Whether this node may yet turn out to be one that was here before; memory writes its marker either way.

    Not where memory is off, or not at work in this process: then nobody would write it.
    """
    return settings.memory.mode != "off" and "memory" in state.companions and not is_marked(node)
