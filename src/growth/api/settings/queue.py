"""The settings of the job queue."""

from datetime import timedelta
from typing import Annotated

import msgspec

from growth.api.settings.section import Section, meaning

_Count = Annotated[int, msgspec.Meta(ge=0)]


class RequeuingStrategySettings(Section, frozen=True):
    """Where and when a workload comes back that could not start."""

    timestamp: Annotated[
        str,
        meaning(
            "From when its place among those of its priority counts: Eviction is the back, Creation the front.",
            expected="Eviction or Creation",
            pattern="^(Eviction|Creation)\\Z",
        ),
    ] = "Eviction"
    backoff_limit_count: Annotated[
        _Count | None, meaning("After so many attempts in vain a workload is deactivated.")
    ] = None
    backoff_limit_timeout: Annotated[
        _Count | None, meaning("So many seconds after its first admission one that never was ready is deactivated.")
    ] = None
    backoff_base_seconds: Annotated[
        int, meaning("After the first attempt in vain it waits for so many seconds, each time twice as long.", ge=1)
    ] = 60
    backoff_max_seconds: Annotated[_Count | None, meaning("It waits for no more seconds than these.")] = 3600


class WaitForPodsReadySettings(Section, frozen=True):
    """What becomes of a job whose pods do not get ready; the block of this name in a Kueue configuration fits here."""

    enable: Annotated[bool, meaning("Whether jobs whose pods do not get ready are put back.")] = False
    timeout: Annotated[timedelta, meaning("Pods must be ready within so long after their job was admitted.")] = (
        timedelta(minutes=5)
    )
    recovery_timeout: Annotated[
        timedelta | None,
        meaning(
            "Pods that were ready, and are not any more, must be ready again within so long.",
            expected="a duration such as 90s or 10m, 0s if they may take for ever, or timeout",
            nothing="timeout",
            takes_zero=True,
        ),
    ] = None
    block_admission: Annotated[
        bool, meaning("Whether nobody is admitted while pods of somebody who was are not ready.")
    ] = False
    requeuing_strategy: RequeuingStrategySettings = RequeuingStrategySettings()


class QueueSettings(Section, frozen=True):
    """The job queue, which speaks Kueue's API."""

    enabled: Annotated[bool, meaning("Whether Growth runs the queue. It never does beside a live Kueue.")] = False
    extend_while_provisioning: Annotated[
        bool, meaning("Whether a job is not put back while its machines come within their usual time.")
    ] = True
    try_other_flavors: Annotated[
        bool,
        meaning("Whether a job that could not start on one flavor may start on another before its backoff is over."),
    ] = True
    waiting_preemptors_first: Annotated[
        bool,
        meaning(
            "Whether a workload that waits until those it preempted are gone comes before more important ones of its "
            "queue, as in Kueue."
        ),
    ] = False
    wait_for_pods_ready: WaitForPodsReadySettings = WaitForPodsReadySettings()
