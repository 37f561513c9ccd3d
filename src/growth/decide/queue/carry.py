"""What the queue carries over to the next pass."""

from collections.abc import Mapping

import msgspec

from growth.decide.contract import Measurement
from growth.decide.queue.assumed_admissions import AssumedAdmission
from growth.decide.queue.backlog import QueueBacklog
from growth.decide.queue.queue_status import QueueReports
from growth.decide.queue.quota_holders import Key
from growth.decide.queue.status_write_budget import StatusWriteBudget
from growth.decide.queue.usage_figures import QueueFigures
from growth.decide.queue.workload_events import WorkloadEvents


class QueueCarry(msgspec.Struct, frozen=True):
    """What was decided and is not seen yet, what there is to show, and what need not be worked out again."""

    assumed: AssumedAdmission = AssumedAdmission()
    reported: Mapping[Key, int] = {}
    """Versions of workloads about which something was just reported."""
    news: WorkloadEvents = WorkloadEvents()
    queues: QueueReports = QueueReports()
    remarks: StatusWriteBudget = StatusWriteBudget(per_second=30, most=100, left=100)
    """The budget for saying why a workload is pending."""
    gauges: Mapping[str, tuple[QueueFigures, tuple[Measurement, ...]]] = {}
    """By ClusterQueue, what is measured of it, and the figures that this was made of."""
    backlog: QueueBacklog | None = None
    """None where all workloads must be looked at."""

    @property
    def figures(self) -> Mapping[str, QueueFigures]:
        """How full each ClusterQueue is."""
        return self.queues.figures
