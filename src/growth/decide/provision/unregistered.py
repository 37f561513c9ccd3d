"""Machines that never registered go one by one, the oldest first (UC5): they may all be late for one reason.

Of each pool one goes at a time; the next one when the machine of the last is gone. Meanwhile one that registers after
all is used.
"""

from growth.api.actions import Hold
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.references import reference_by_name
from growth.decide.facts.cluster_state import NodeState
from growth.decide.provision.scene import Scene


def give_up_unregistered(scene: Scene) -> None:
    """Say what becomes of those that were found in this pass."""
    if not scene.unregistered:
        return
    leaving = scene.cluster.in_state(NodeState.BEING_REMOVED)
    busy = {unit.pool: unit.name for unit in leaving if not unit.has_node and unit.has_machine}
    for _, name, pool, giving_up in sorted(scene.unregistered, key=lambda one: one[:2]):
        if pool in busy:
            why = f"its machine never registered; it goes when {busy[pool]} is gone"
            scene.said.append(Hold(subject=reference_by_name(NODE_REQUESTS, name), why=why, reason="OneByOne"))
        else:
            busy[pool] = name
            scene.said.append(giving_up)
