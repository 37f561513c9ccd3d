"""Kinds that stories create and Growth never reads: only their names and places are needed."""

from growth.api.kinds import Kind
from growth.api.meta import FrozenValue, ObjectMeta


class Workload(FrozenValue, frozen=True):
    """Any object of which a story needs no more than that it is there."""

    metadata: ObjectMeta


DEPLOYMENTS = Kind("apps", "v1", "deployments", "Deployment", namespaced=True, type=Workload)
STATEFUL_SETS = Kind("apps", "v1", "statefulsets", "StatefulSet", namespaced=True, type=Workload)
