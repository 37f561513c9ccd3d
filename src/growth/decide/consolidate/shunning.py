"""Nodes to which nobody should be moved, though there is room: on the stage they take no more pods."""

from collections.abc import Iterable, Iterator

import msgspec

from growth.api.pod_classification import ends_by_itself, is_work
from growth.decide.fit.simulated_cluster import Stage


def shun(stage: Stage, names: Iterable[str]) -> None:
    """Nobody goes to these nodes any more, on the stage."""
    for name in names:
        node = stage.nodes.get(name)
        if node is not None:
            closed = msgspec.structs.replace(node.spec, unschedulable=True)
            # Some tolerate that a node is closed.
            full = msgspec.structs.replace(node.status, allocatable={**node.status.allocatable, "pods": "0"})
            stage.change_node(msgspec.structs.replace(node, spec=closed, status=full))


def emptying_themselves(stage: Stage, names: Iterable[str]) -> Iterator[str]:
    """Nodes on which only Jobs work, or nobody. They go when these have ended; who is moved there keeps them from that,
    and almost nobody shares the machine then."""
    for name in names:
        if all(ends_by_itself(pod) for pod in stage.site(name).pods.values() if is_work(pod)):
            yield name
