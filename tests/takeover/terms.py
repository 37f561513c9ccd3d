"""How patient Growth and Kubernetes are in a journey: as shipped, or in seconds for a test that many wait for."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from growth_lab.local_cluster.timings import Timings


class Terms(msgspec.Struct, frozen=True):
    """Durations of Kubernetes, and what is stated beside Growth's defaults, by section of the settings."""

    kubernetes: Timings
    growth: Mapping[str, Mapping[str, Any]]


SHIPPED: Final = Terms(Timings(), {})
"""What an operator waits for: nothing is stated."""
FAST: Final = Terms(
    Timings.fast(),
    {
        "leaderElection": {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"},
        "providers": {"readEvery": "2s"},
        "failover": {"readEvery": "500ms", "provenAfter": "1s", "returnAfter": "4s"},
    },
)
"""The same order of events. A loaded machine must still renew its Lease in time, hence not less."""
