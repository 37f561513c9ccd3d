"""kube-scheduler's filters on a simulated cluster: does this pod fit on this node?

Law of the package: one module per filter, under the scheduler's name and in its order (``predicates``), pure, and
exactly as strict as kube-scheduler 1.36: what is allowed here and refused there buys a node that stays empty, the other
way round leaves a pod waiting for ever. ``tests/fidelity`` compares the two.
"""

from growth.decide.fit.filter_result import FilterRefusal, FitResult, RefusalGroup
from growth.decide.fit.predicates import fit, fits_anywhere, prepare, unplaceable
from growth.decide.fit.preferences import grief
from growth.decide.fit.simulated_cluster import SimulatedCluster

__all__ = [
    "FilterRefusal",
    "FitResult",
    "RefusalGroup",
    "SimulatedCluster",
    "fit",
    "fits_anywhere",
    "grief",
    "prepare",
    "unplaceable",
]
