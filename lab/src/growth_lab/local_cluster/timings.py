"""How patient the control plane is: what decides when a silent node is called NotReady and its pods are let go."""

import msgspec


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations of the node life cycle; the defaults are those of Kubernetes 1.36.

    ``fast()`` is for stories: the same order of events, in seconds instead of minutes.
    """

    node_monitor_period_seconds: float = 5.0
    node_monitor_grace_seconds: float = 50.0
    node_startup_grace_seconds: float = 60.0
    node_lease_seconds: int = 40  # kwok renews four times in it
    toleration_seconds: int = 300  # for not-ready and unreachable, given to every pod that names none
    node_evictions_per_second: float = 0.1
    terminated_pods_kept: int = 12500

    def __post_init__(self) -> None:
        if not self.node_lease_seconds < self.node_monitor_grace_seconds:
            raise ValueError(
                f"node_lease_seconds ({self.node_lease_seconds}) must be shorter than node_monitor_grace_seconds "
                f"({self.node_monitor_grace_seconds:g}), or living nodes are called NotReady between two heartbeats"
            )

    @classmethod
    def fast(cls) -> "Timings":
        """NotReady about four seconds after a node falls silent, its pods let go two seconds later."""
        return cls(
            node_monitor_period_seconds=0.5,
            node_monitor_grace_seconds=4.0,
            node_startup_grace_seconds=6.0,
            node_lease_seconds=3,
            toleration_seconds=2,
            node_evictions_per_second=10.0,
        )
