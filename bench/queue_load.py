"""Which workloads come when, for how long, and into which queues: the load that Kueue's own benchmark has. Pure.

Five cohorts of six ClusterQueues, and for each queue small workloads that come often, medium ones, and large ones that
come rarely, need all of a queue's quota and are the most important. Fewer workloads are fewer of each size in each
queue, at the same pace.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from growth.api.queue.workload import QUEUE_NAME

Json = dict[str, Any]
NOMINAL_CPU, BORROWED_CPU = 20, 100
FLAVOR, DOOR, CONTAINER = "any", "door", "main"
FULL: Final = 15_000
"""How many the issue asks for: 500 for each queue."""


class Size(msgspec.Struct, frozen=True):
    """One kind of workloads: how many of a queue's 500, one in how long, what each needs and how much it matters."""

    name: str
    count: int
    every_ms: int
    run_ms: int
    cpu: int
    priority: int


SMALL: Final = Size("small", 350, 100, 200, 1, 50)
MEDIUM: Final = Size("medium", 100, 500, 500, 5, 100)
LARGE: Final = Size("large", 50, 1200, 1000, 20, 200)
SIZES: Final = (LARGE, MEDIUM, SMALL)


class Line(msgspec.Struct, frozen=True):
    """A ClusterQueue with its cohort; its namespace and only LocalQueue are its own."""

    name: str
    cohort: str


class Planned(msgspec.Struct, frozen=True):
    """A workload that is to come."""

    name: str
    line: Line
    size: Size
    at_seconds: float

    @property
    def run_seconds(self) -> float:
        return self.size.run_ms / 1000

    @property
    def cpu_seconds(self) -> float:
        """What it would hold, if it held quota exactly while it runs."""
        return self.size.cpu * self.run_seconds


def lines_of(cohorts: int = 5, queues: int = 6) -> list[Line]:
    """So many cohorts with so many queues each."""
    return [Line(f"c{cohort}-q{queue}", f"c{cohort}") for cohort in range(cohorts) for queue in range(queues)]


def load_of(workloads: int, lines: Sequence[Line]) -> list[Planned]:
    """So many workloads, in the order in which they come."""
    planned = [
        Planned(f"{line.name}-{size.name}-{number}", line, size, number * size.every_ms / 1000)
        for size, total in _shares(workloads)
        for line, count in zip(lines, _dealt(total, len(lines)), strict=True)
        for number in range(count)
    ]
    return sorted(planned, key=lambda one: (one.at_seconds, one.name))


def _shares(workloads: int) -> Iterator[tuple[Size, int]]:
    """How many of each size: 10, 20 and 70 of a hundred. What rounding leaves over are small ones."""
    in_all, left = sum(size.count for size in SIZES), workloads
    for size in SIZES:
        count = left if size is SIZES[-1] else workloads * size.count // in_all
        left -= count
        yield size, count


def _dealt(total: int, hands: int) -> list[int]:
    """As evenly as it goes."""
    return [total // hands + (number < total % hands) for number in range(hands)]


# The same as objects of the API server.


def a_flavor() -> Json:
    """The only one, of any node."""
    return {"metadata": {"name": FLAVOR}, "spec": {}}


def a_queue(line: Line) -> Json:
    """A ClusterQueue that may use what its cohort has left, and takes back what is its own."""
    quota = {"name": "cpu", "nominalQuota": str(NOMINAL_CPU), "borrowingLimit": str(BORROWED_CPU)}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": FLAVOR, "resources": [quota]}]}
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}
    spec = {
        "cohortName": line.cohort,
        "namespaceSelector": {},
        "resourceGroups": [group],
        "preemption": preemption,
        "queueingStrategy": "BestEffortFIFO",
    }
    return {"metadata": {"name": line.name}, "spec": spec}


def a_door(line: Line) -> Json:
    """The LocalQueue of its namespace."""
    return {"metadata": {"name": DOOR, "namespace": line.name}, "spec": {"clusterQueue": line.name}}


def a_workload(planned: Planned) -> Json:
    """A Workload that stands for nobody: there is no Job, and so nothing but the queue is measured."""
    container = {"name": CONTAINER, "image": CONTAINER, "resources": {"requests": {"cpu": str(planned.size.cpu)}}}
    pod_set = {
        "name": CONTAINER,
        "count": 1,
        "template": {"metadata": {}, "spec": {"containers": [container], "restartPolicy": "Never"}},
    }
    return {
        "metadata": {"name": planned.name, "labels": {QUEUE_NAME: DOOR}},
        "spec": {"queueName": DOOR, "priority": planned.size.priority, "active": True, "podSets": [pod_set]},
    }
