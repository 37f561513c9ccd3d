"""Short ways to ask, for tests: why a pod does not fit a node, and where it fits."""

from growth.api.pod import Pod
from growth.decide.fit import SimulatedCluster, fit, fits_anywhere


def why(stage: SimulatedCluster, pod: Pod, node: str = "node-1") -> str:
    """``filter: reason`` of the misfit, with ``!`` behind the filter if it is permanent; empty if the pod fits."""
    misfit = fit(stage, pod, node)
    return "" if misfit is None else f"{misfit.filter}{'!' if misfit.is_permanent else ''}: {misfit.reason}"


def where(stage: SimulatedCluster, pod: Pod) -> list[str]:
    """The nodes that would take the pod."""
    return sorted(fits_anywhere(stage, pod).nodes)
