"""A day of jobs for a queue of three flavors, drawn from a seed before it begins, and the machines that it has."""

import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import msgspec

from bench.days_load import HOUR
from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth.api.queue.workload import QUEUE_NAME
from growth.cloud.kwok.catalog import Catalog, read_catalogue
from growth.cloud.kwok.faults import faults_from
from growth_lab.simulator.nodes.pod_status import FINISH_AFTER

OWN: Final = "own"
"""The flavor of nodes that are there all day and are not Growth's."""
LAUNCHED: Final = ("blue", "red")
"""The flavors for which Growth launches machines."""
FLAVOR: Final = "example.com/flavor"
QUEUE: Final = "all"
DOOR: Final = "door"
BOOT_SECONDS: Final = (60.0, 600.0)
CORDONED: Final = (1 / 6, 1 / 3)
"""Between these parts of the day the nodes that are not Growth's are cordoned."""
FAILS: Final = (1 / 2, 2 / 3)
"""Between these parts of the day machines of the first flavor that Growth launches never register."""

_JOBS_PER_HOUR: Final = 8
_PODS: Final = (1, 1, 1, 2, 2, 4)
_RUNS_SECONDS: Final = (600.0, 3_000.0)
# Two thirds of a machine, so that each pod needs one of its own.
_POD_CPU: Final = "1500m"
# In the order in which they are tried: for so many pods.
_QUOTA_PODS: Final = {OWN: 4, **dict.fromkeys(LAUNCHED, 8)}
_CATALOGUE: Final = """
provider: kwok
locations: {fsn1: {}}
reserved: {cpu: 100m, memory: 256Mi}
serverTypes:
  - {name: blue, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.01}, labels: {example.com/flavor: blue}}
  - {name: red, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.02}, labels: {example.com/flavor: red}}
"""


class Arrival(msgspec.Struct, frozen=True):
    """A job comes, so many seconds after midnight: so many pods at once, each of which runs for so long."""

    at: float
    name: str
    pods: int
    runs_seconds: float


def arrivals(hours: float, seed: int) -> list[Arrival]:
    """All jobs of a day, in order."""
    return list(_drawn(random.Random(f"arrivals/{seed}"), hours * HOUR))


def _drawn(draw: random.Random, seconds: float) -> Iterator[Arrival]:
    at = draw.expovariate(_JOBS_PER_HOUR / HOUR)
    number = 0
    while at < seconds:
        yield Arrival(at, f"job-{number}", draw.choice(_PODS), draw.uniform(*_RUNS_SECONDS))
        at += draw.expovariate(_JOBS_PER_HOUR / HOUR)
        number += 1


def offered(seed: int, minute: int, *, fails: bool) -> Catalog:
    """Both types as they are in this minute: how long a machine that is launched now boots, and whether it works."""
    draw = random.Random(f"machines/{seed}/{minute}")
    catalogue = read_catalogue(_CATALOGUE)
    behaviours = {
        offering.id: msgspec.structs.replace(
            catalogue.behaviours[offering.id],
            boot_delay=timedelta(seconds=draw.uniform(*BOOT_SECONDS)),
            faults=faults_from("neverRegisters") if fails and offering.server_type == LAUNCHED[0] else (),
        )
        for offering in catalogue.offerings
    }
    return msgspec.structs.replace(catalogue, behaviours=behaviours)


# As objects of the API server.


def a_flavor(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"nodeLabels": {FLAVOR: name}}}


def a_queue() -> dict[str, Any]:
    flavors = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": f"{1500 * pods}m"}]}
        for name, pods in _QUOTA_PODS.items()
    ]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    return {"metadata": {"name": QUEUE}, "spec": {"resourceGroups": groups, "namespaceSelector": {}}}


def own_nodes() -> list[dict[str, Any]]:
    """As many as there is quota for."""
    resources = {"cpu": "2", "memory": "4Gi", "pods": "110"}
    return [
        {
            "metadata": {"name": f"own-{number}", "labels": {FLAVOR: OWN, KWOK_LABEL: KWOK_VALUE}},
            "status": {"capacity": resources, "allocatable": resources},
        }
        for number in range(_QUOTA_PODS[OWN])
    ]


def a_door() -> dict[str, Any]:
    return {"metadata": {"name": DOOR, "namespace": "default"}, "spec": {"clusterQueue": QUEUE}}


def a_job(arrival: Arrival) -> dict[str, Any]:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": _POD_CPU}}}
    template = {
        "metadata": {"annotations": {FINISH_AFTER: f"{round(arrival.runs_seconds)}s"}},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }
    spec = {"suspend": True, "parallelism": arrival.pods, "completions": arrival.pods, "template": template}
    return {"metadata": {"name": arrival.name, "namespace": "default", "labels": {QUEUE_NAME: DOOR}}, "spec": spec}
