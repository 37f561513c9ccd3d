"""What two defaults of the queue cost is counted right, and a short day shows the difference."""

import asyncio
import random
from typing import Any

import pytest

from bench.days_load import HOUR
from bench.queue_defaults import VARIANTS, play, settings_of, summed
from bench.queue_defaults_load import BOOT_SECONDS, arrivals, offered
from bench.queue_defaults_witness import Witness
from growth.api.queue.kinds import WORKLOADS
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.served_kinds import CONFIG_MAPS, OURS, PODS
from growth_lab.simulator.store import Store
from growth_lab.simulator.virtual_loop import run_virtually

QUEUED = next(one for one in OURS if one.kind == WORKLOADS.name)
HOURS = 2.0
SEED = 1


@pytest.mark.parametrize(("variant", "is_extended"), [("defaults", True), ("both_false", False)])
def test_jobs_are_put_back_for_slow_machines_unless_time_is_extended(variant: str, is_extended: bool) -> None:  # noqa: FBT001
    told = run_virtually(play(HOURS, SEED, settings_of(variant), is_sound=True))
    assert told["finished"] == told["jobs"] == len(arrivals(HOURS, SEED)) > 0
    assert ("PodsReadyTimeout" not in told["evictions"]) == is_extended
    assert 0 < told["vain_hours"] < told["machine_hours"]
    assert 0 < told["until_running_mean_s"] <= told["until_running_p95_s"]


def test_variants_are_the_four_ways_of_both_settings() -> None:
    queues = [settings_of(variant).queue for variant in VARIANTS]
    assert {(one.extend_while_provisioning, one.try_other_flavors) for one in queues} == {
        (extend, try_others) for extend in (True, False) for try_others in (True, False)
    }
    assert settings_of("defaults").queue.wait_for_pods_ready.enable


def test_load_follows_from_its_seed() -> None:
    assert arrivals(24, 1) == arrivals(24, 1) != arrivals(24, 2)
    assert offered(1, 5, fails=False) == offered(1, 5, fails=False) != offered(1, 6, fails=False)
    boots = [one.boot_delay.total_seconds() for one in offered(1, 5, fails=False).behaviours.values()]
    assert all(BOOT_SECONDS[0] <= one <= BOOT_SECONDS[1] for one in boots)
    broken = {name for name, one in offered(1, 5, fails=True).behaviours.items() if one.faults}
    assert broken == {"kwok-blue-fsn1"}


def test_days_are_added_and_waits_are_means() -> None:
    day: dict[str, Any] = {
        "jobs": 2,
        "finished": 2,
        "evictions": {"Preempted": 1},
        "until_running_mean_s": 10,
        "until_running_p95_s": 20,
        "machines": 3,
        "machine_hours": 1.5,
        "vain_hours": 0.5,
    }
    total = summed([day, {**day, "until_running_mean_s": 30, "evictions": {"Preempted": 2, "NoPlacement": 1}}])
    assert (total["jobs"], total["machine_hours"], total["vain_hours"]) == (4, 3.0, 1.0)
    assert (total["until_running_mean_s"], total["until_running_p95_s"]) == (20, 20)
    assert total["evictions"] == {"Preempted": 3, "NoPlacement": 1}


class Cluster:
    """A store in which only the test writes."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Store(self.clock, random.Random(1))  # noqa: S311 - a seed, no secret
        self.witness = Witness(self.store, self.clock, unpaid=["own"])

    def pod(self, name: str, node: str) -> None:
        container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
        spec = {"containers": [container], "nodeName": node}
        self.store.create(PODS, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})

    def phase(self, name: str, phase: str) -> None:
        self.store.patch(PODS, name, "default", {"status": {"phase": phase}})

    def workload(self, name: str) -> None:
        stats = {"evictions": [{"reason": "NoPlacement", "underlyingCause": "", "count": 2}]}
        body = {"metadata": {"name": name, "namespace": "default"}, "spec": {}, "status": {"schedulingStats": stats}}
        self.store.create(QUEUED, body)

    def say(self, name: str, kind: str) -> None:
        conditions = [{"type": kind, "status": "True"}]
        self.store.patch(QUEUED, name, "default", {"status": {"conditions": conditions}})


def test_only_work_that_ends_well_on_paid_machines_is_not_in_vain() -> None:
    async def look_on() -> dict[str, Any]:
        cluster = Cluster()
        request = {"metadata": {"name": "m", "namespace": "growth-system", "labels": {"growth.dev/machine": "kwok"}}}
        cluster.store.create(CONFIG_MAPS, request)
        for name, node in (("good", "m"), ("bad", "m"), ("elsewhere", "own")):
            cluster.pod(name, node)
            cluster.phase(name, "Running")
        await asyncio.sleep(HOUR)
        cluster.phase("bad", "Failed")
        cluster.phase("elsewhere", "Succeeded")
        await asyncio.sleep(HOUR)
        cluster.phase("good", "Succeeded")
        cluster.store.delete(CONFIG_MAPS, "m", "growth-system")
        await asyncio.sleep(HOUR)
        return cluster.witness.figures()

    told = run_virtually(look_on())
    assert (told["machines"], told["machine_hours"], told["vain_hours"]) == (1, 2.0, 0.0)


def test_job_has_waited_until_its_pods_are_ready_for_the_first_time() -> None:
    async def look_on() -> dict[str, Any]:
        cluster = Cluster()
        for name in ("first", "second"):
            cluster.workload(name)
        await asyncio.sleep(100)
        cluster.say("first", "PodsReady")
        await asyncio.sleep(100)
        cluster.say("first", "Finished")
        return cluster.witness.figures()

    told = run_virtually(look_on())
    assert (told["jobs"], told["finished"]) == (2, 1)
    assert told["until_running_mean_s"] == 150, "the second one has waited until now"
    assert told["evictions"] == {"NoPlacement": 4}
