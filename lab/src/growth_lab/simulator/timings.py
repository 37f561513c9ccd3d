"""How long things take in a cluster. The defaults are stock Kubernetes 1.36; stories may ask for shorter ones."""

import msgspec


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in seconds, by who waits."""

    # The API server: the way there and back, and how far behind a watch is.
    api_latency: float = 0.001
    watch_latency: float = 0.001
    bookmark_period: float = 60.0
    watch_end: float = 1_800.0
    page_token_life: float = 300.0
    namespace_delay: float = 0.1
    default_toleration: int = 300  # of not-ready and unreachable, given to every pod that names none

    # The scheduler.
    scheduler_initial_backoff: float = 1.0
    scheduler_max_backoff: float = 10.0
    scheduler_flush_after: float = 300.0
    scheduler_flush_period: float = 30.0
    scheduler_volume_wait: float = 600.0

    # The kubelets; a Lease is renewed four times in its duration.
    kubelet_delay: float = 0.01
    node_lease: float = 40.0

    # The node lifecycle controller.
    node_monitor_period: float = 5.0
    node_monitor_grace: float = 50.0
    node_startup_grace: float = 60.0
    node_evictions_per_second: float = 0.1
    node_evictions_per_second_in_trouble: float = 0.01

    # The pod collector.
    pod_collector_period: float = 20.0
    pod_collector_quarantine: float = 40.0

    # Every controller that makes pods, volumes or status: from the first reason to look until it acts.
    controller_delay: float = 0.02

    # StatefulSets, which find a claim of the same name on its way out.
    claim_retry: float = 1.0

    # DaemonSets remove failed pods less and less eagerly.
    daemon_backoff: float = 1.0
    daemon_max_backoff: float = 900.0

    # Jobs wait after a failure, doubling.
    job_backoff: float = 10.0
    job_max_backoff: float = 600.0

    # They try again to make pods that were refused, doubling, too.
    pod_retry: float = 1.0
    pod_max_retry: float = 60.0

    # Budgets believe so long in an eviction that shows no effect.
    budget_disruption: float = 120.0

    # The garbage collector, from an owner's end until it takes the dependents.
    garbage_delay: float = 0.05

    # The attach/detach controller: it looks every 0.1 s, so 0.05 s late on average.
    attach_detach_delay: float = 0.05
    attach_detach_sync: float = 60.0
    attach_retry: float = 1.0
    force_detach: float = 360.0

    # The stand-ins for a storage driver.
    volume_creation: float = 1.0
    volume_deletion: float = 1.0
    volume_attach: float = 0.02
    volume_detach: float = 0.02
