"""How long things take in a cluster. The defaults are stock Kubernetes 1.36; stories may ask for shorter ones."""

import msgspec


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in seconds, by who waits."""

    # The node lifecycle controller.
    node_monitor_period: float = 5.0
    node_monitor_grace: float = 50.0
    node_startup_grace: float = 60.0

    # The pod collector.
    pod_collector_period: float = 20.0
    pod_collector_quarantine: float = 40.0
