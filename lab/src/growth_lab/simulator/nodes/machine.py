"""A machine that is booted in the virtual cluster: what it registers as, and how long its steps take."""

import msgspec

from growth_lab.simulator.merge_patch import Json


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Its manifest says what it registers as, so one that is smaller than promised just says less.

    All times are seconds from the step before.
    """

    node: Json
    """The Node as it registers: name, labels, taints, providerID, capacity and allocatable."""
    register_after: float = 0.0
    ready_after: float | None = 0.0
    """None: it registers and never becomes ready."""
    late_resources: dict[str, str] = {}
    """Extended resources that a device plugin brings only later."""
    late_after: float = 0.0
    """How long after the node is ready they come."""
    pods_start_in: float = 0.0
    pods_end_in: float = 0.0
    """How long a pod needs to end; its grace period, if that is shorter."""
    mounts_volumes: bool = False
    """Whether volumes in use are reported and pods wait until theirs are attached. kwok does neither."""

    @property
    def name(self) -> str:
        """The name of the machine and its node."""
        return self.node["metadata"]["name"]
