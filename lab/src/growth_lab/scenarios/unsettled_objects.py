"""Who is seen in the middle of something, so that a cluster that is merely slow is not taken for one at rest."""

from collections.abc import Mapping
from typing import Final

from growth.api.kwok import KWOK_LABEL
from growth.api.node import Node
from growth.api.pod import Pod

_FINISHES: Final = "growth.dev/finish-after"


def undecided(pods: Mapping[str, Pod], nodes: Mapping[str, Node]) -> list[str]:
    """A few words for each pod and node that somebody must still act on."""
    there = {node.metadata.name for node in nodes.values()}
    alive = {node.metadata.name for node in nodes.values() if KWOK_LABEL in node.metadata.labels}
    told = [f"node {name} has not said how it is" for name, node in nodes.items() if not _has_spoken(node, alive)]
    for name, pod in pods.items():
        condition = pod.condition("PodScheduled")
        if not pod.node_name:
            if condition is None and pod.metadata.deletion_timestamp is None:
                told.append(f"pod {name} has not been tried")
        elif pod.node_name not in there:
            told.append(f"pod {name} has lost its node and must be collected")
        elif pod.node_name in alive:
            if pod.metadata.deletion_timestamp is not None:
                told.append(f"pod {name} is leaving")
            elif pod.status.phase == "Pending":
                told.append(f"pod {name} starts")
            elif pod.status.phase == "Running" and _FINISHES in pod.metadata.annotations:
                told.append(f"pod {name} works")
    return told


def _has_spoken(node: Node, alive: set[str]) -> bool:
    is_known = any(condition.type == "Ready" for condition in node.status.conditions)
    return is_known or node.metadata.name not in alive
