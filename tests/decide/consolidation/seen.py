"""A cluster as it is seen: nodes of one pool with their machines, pods, budgets, removals.

Everything is ``small`` (2 CPU, 1.0 an hour) and an hour old; ``large`` has 8 CPU for 3.0. Pods belong to a ReplicaSet.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import (
    DAEMON_SETS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    Kind,
)
from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.settings.model import Settings
from growth.api.storage import PersistentVolume, PersistentVolumeClaim
from growth.api.workloads import DaemonSet, PodDisruptionBudget
from growth.decide.consolidation.candidates import CandidateSet, choice_in
from growth.decide.consolidation.carry import ConsolidationCarry
from growth.decide.consolidation.context import ConsolidationContext
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from tests.decide import marketplace as market
from tests.decide import stages
from tests.decide.passes import Given

NOW, MINUTE, HOUR = market.NOW, market.MINUTE, market.HOUR
SETTINGS, STATE = Settings(), Given()
SOLD = (
    market.an_offering("small"),
    market.an_offering("large", price=3.0, resources={"cpu": "8", "memory": "16Gi", "pods": "110"}),
)
POOL = market.a_pool(types=["small", "large"])
OWNER: Final = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
DAEMON: Final = {**OWNER, "kind": "DaemonSet", "name": "agent", "uid": "agent"}

_KINDS: Final[Mapping[type, Kind[Any]]] = {
    Node: NODES,
    Pod: PODS,
    NodePool: NODE_POOLS,
    NodeRequest: NODE_REQUESTS,
    NodeRemovalRequest: NODE_REMOVAL_REQUESTS,
    PodDisruptionBudget: POD_DISRUPTION_BUDGETS,
    DaemonSet: DAEMON_SETS,
    PersistentVolume: PERSISTENT_VOLUMES,
    PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIMS,
}


def a_cloud(*names: str, problem: str = "") -> ProviderState:
    """The provider, which has a machine for each of these nodes."""
    machines: list[Machine] = [market.a_machine(name) for name in names]
    return market.a_cloud(*SOLD, machines=machines, problem=problem)


def a_pod(name: str = "", *, node: str = "a", owner: Mapping[str, Any] | None = OWNER, **fields: Any) -> Pod:  # noqa: ANN401
    """A pod that runs."""
    known: dict[str, Any] = {"requests": {"cpu": "500m"}, "status": {"phase": "Running"}, **fields}
    return stages.a_pod(name, node=node, owner=dict(owner) if owner else None, **known)


def a_budget(name: str, selector: Mapping[str, Any] | None, *, allowed: int = 0, namespace: str = "default") -> Any:  # noqa: ANN401
    spec = {} if selector is None else {"selector": dict(selector)}
    return stages.an_object("PodDisruptionBudget", name, namespace, spec=spec, status={"disruptionsAllowed": allowed})


def observed(world: ClusterCache, *things: object) -> ClusterCache:
    """The World after it heard of all of this."""
    listeners = world.listeners()
    for thing in things:
        if isinstance(thing, ProviderState):
            world.hear_of_cloud(thing)
        else:
            listeners[_KINDS[type(thing)]]([Change(ChangeType.ADDED, thing, None)])
    return world


def a_snapshot(*things: object, now: datetime = NOW) -> Snapshot:
    return observed(ClusterCache(), *things).snapshot(now)


def a_context(snapshot: Snapshot, state: Given = STATE, settings: Settings = SETTINGS) -> ConsolidationContext:
    """What consolidation sees."""
    return ConsolidationContext(state.inputs(snapshot, settings, ConsolidationCarry()))


def chosen(*things: object, min_age: timedelta = timedelta(0), state: Given = STATE) -> CandidateSet:
    """Who may go. The pool is the usual one, and all nodes have machines, unless told."""
    names = [thing.metadata.name for thing in things if isinstance(thing, Node)]
    given = {type(thing) for thing in things}
    usual = [POOL] if NodePool not in given else []
    cloud = [a_cloud(*names)] if ProviderState not in given else []
    return choice_in(a_context(a_snapshot(*usual, *cloud, *things), state), {"default": min_age})
