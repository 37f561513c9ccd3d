"""The registry as a decider reads it."""

from typing import Final

from growth.api.settings.model import Settings
from growth.decide.decider import State
from growth.decide.registry.state import ClusterState
from growth.decide.registry.stepping import step
from growth.observe.snapshot import Snapshot

_CLUSTER: Final = "the cluster as the registry sees it"


def cluster_in(snapshot: Snapshot, state: State, settings: Settings) -> ClusterState:
    """What the loop's registry knows; worked out anew where a decider is asked without one."""
    if state.cluster is not None:
        return state.cluster
    known = snapshot.memo.get(_CLUSTER)
    if not isinstance(known, ClusterState):
        known = snapshot.memo[_CLUSTER] = step(None, snapshot, settings, state.steady_since)
    return known
