"""What never may happen in a queue is found out when somebody does it in Growth's name, and not if people do it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import pytest

from growth.api.queue.job import QUEUED_JOBS, STOPPING, TEMPLATE_WAS
from growth.api.queue.kinds import COHORTS, WORKLOADS
from growth.kube.client import Client
from growth.kube.patches import MergePatch
from growth_lab.scenarios.context import Play
from tests.stories.queue_cohort_scene import a_cohort, a_flavor, a_queue
from tests.stories.queue_scene import queued, some_quota, until_running
from tests.trust.crimes import Criminal, found_out

Json = Mapping[str, Any]
Crime = Callable[[Criminal], Awaitable[None]]

ADMITTED: Final = [
    {"type": kind, "status": "True", "reason": kind, "message": ""} for kind in ("QuotaReserved", "Admitted")
]
NOT_READY: Final = {"type": "Evicted", "status": "True", "reason": "PodsReadyTimeout", "message": ""}


async def a_workload(criminal: Criminal, job: str) -> None:
    """Of a job that is there."""
    found = await criminal.play.client.get(QUEUED_JOBS, job, criminal.play.namespace)
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job,
        "uid": found.metadata.uid,
        "controller": True,
    }
    sets: list[Json] = [{"name": "main", "count": 1, "template": {"spec": {"containers": []}}}]
    body = {"metadata": {"name": f"job-{job}", "ownerReferences": [owner]}, "spec": {"podSets": sets}}
    await criminal.client.create(WORKLOADS, body, criminal.play.namespace)


async def say(criminal: Criminal, job: str, status: Json, client: Client | None = None) -> None:
    """Write the status of a job's workload."""
    body = MergePatch({"status": status})
    to = client or criminal.client
    await to.patch(WORKLOADS, f"job-{job}", body, criminal.play.namespace, subresource="status")


async def admit(criminal: Criminal, job: str, client: Client | None = None, queue: str = "all") -> None:
    """Give a job one cpu."""
    given = {"name": "main", "flavors": {"cpu": "any"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    admission = {"clusterQueue": queue, "podSetAssignments": [given]}
    await say(criminal, job, {"admission": admission, "conditions": ADMITTED}, client)


async def change(criminal: Criminal, job: str, patch: Json, client: Client | None = None) -> None:
    await (client or criminal.client).patch(QUEUED_JOBS, job, MergePatch(patch), criminal.play.namespace)


async def a_scene(play: Play, *jobs: str) -> None:
    """Quota for one, and jobs that wait."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    for job in jobs:
        await queued(play, job)


async def started(criminal: Criminal, job: str) -> None:
    """As Growth does it, in order."""
    await a_workload(criminal, job)
    await admit(criminal, job)
    await change(criminal, job, {"spec": {"suspend": False}})
    await until_running(criminal.play, job)


async def quota_for_two(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one", "two")
    for job in ("one", "two"):
        await a_workload(criminal, job)
        await admit(criminal, job)


async def borrowed(criminal: Criminal, *jobs: str, **limits: str) -> None:
    """Jobs of a queue with nothing of its own; another one with one cpu is in its cohort, the cohort's parent has one
    more. ``limits`` are those of the borrower, of the lender and of the cohort in between."""
    bounds: dict[str, dict[str, str]] = {"borrower": {}, "lender": {}, "team": {}}
    for name, limit in limits.items():
        bounds[name] = {"lendingLimit" if name == "lender" else "borrowingLimit": limit}
    await a_flavor(criminal.play)
    await a_cohort(criminal.play, "company", cpu="1")
    await a_cohort(criminal.play, "team", parent="company", cpu="0", limits=bounds["team"])
    await a_queue(criminal.play, "borrower", "0", "team", limits=bounds["borrower"])
    await a_queue(criminal.play, "lender", "1", "team", limits=bounds["lender"])
    for job in jobs:
        await queued(criminal.play, job, door="borrower")
        await a_workload(criminal, job)
        await admit(criminal, job, queue="borrower")


async def more_than_all_have(criminal: Criminal) -> None:
    await borrowed(criminal, "one", "two", "three")


async def more_than_may_be_borrowed(criminal: Criminal) -> None:
    await borrowed(criminal, "one", "two", borrower="1")


async def more_than_a_cohort_may_borrow(criminal: Criminal) -> None:
    await borrowed(criminal, "one", "two", team="0")


async def what_is_not_lent(criminal: Criminal) -> None:
    await borrowed(criminal, "one", "two", lender="0")


async def something_of_a_circle(criminal: Criminal) -> None:
    await borrowed(criminal)
    await criminal.play.change(COHORTS, "company", {"spec": {"parentName": "team"}})
    await queued(criminal.play, "one", door="borrower")
    await a_workload(criminal, "one")
    await admit(criminal, "one", queue="borrower")


async def a_start_without_quota(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    await a_workload(criminal, "one")
    await change(criminal, "one", {"spec": {"suspend": False}})


async def quota_taken_from_under_a_pod(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    await started(criminal, "one")
    await say(criminal, "one", {"admission": None})


async def counted_twice(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    await a_workload(criminal, "one")
    await say(criminal, "one", {"requeueState": {"count": 2}, "conditions": [NOT_READY]})


async def counted_without_eviction(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    await a_workload(criminal, "one")
    await say(criminal, "one", {"requeueState": {"count": 1}})


async def a_template_kept_changed(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    selector = {"nodeSelector": {"example.com/disk": "yes"}}
    note = {"annotations": {TEMPLATE_WAS: "{}"}}
    await change(criminal, "one", {"metadata": note, "spec": {"template": {"spec": selector}}})
    await change(criminal, "one", {"metadata": {"annotations": {TEMPLATE_WAS: None}}})


async def no_workload(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")


async def admitted_and_forgotten(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    await a_workload(criminal, "one")
    await admit(criminal, "one")


async def stopped_half_way(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    await a_workload(criminal, "one")
    await change(criminal, "one", {"metadata": {"annotations": {STOPPING: "true"}}})


@pytest.mark.parametrize(
    ("crime", "number", "words"),
    [
        (quota_for_two, "I19", "has given away 2 cpu of any, which has 1"),
        (more_than_all_have, "I19", "has given away 3 cpu of any, which has 2 in cohort company"),
        (more_than_may_be_borrowed, "I19", "has given away 2 cpu of any, which has 1 in borrower"),
        (more_than_a_cohort_may_borrow, "I19", "has given away 2 cpu of any, which has 1 in cohort team"),
        (what_is_not_lent, "I19", "has given away 2 cpu of any, which has 1 in cohort company"),
        (something_of_a_circle, "I19", "cohorts that are in each other, team and company"),
        (a_start_without_quota, "I20", "one was started without quota"),
        (a_start_without_quota, "I20", "its job has no quota"),
        (quota_taken_from_under_a_pod, "I20", "job-one lost its quota while"),
        (counted_twice, "I21", "counts 2 after 0"),
        (counted_without_eviction, "I21", "is not evicted for pods"),
        (a_template_kept_changed, "I22", "did not get its template back"),
        (no_workload, "I23", "has 0 workloads"),
        (admitted_and_forgotten, "I23", "is admitted and was not started"),
        (stopped_half_way, "I23", "has no quota and was not stopped"),
    ],
    ids=lambda cell: getattr(cell, "__name__", cell),
)
def test_a_crime_is_found_out(crime: Crime, number: str, words: str) -> None:
    assert [one for one in found_out(crime) if one.startswith(f"{number} ") and words in one]


async def in_order(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    await started(criminal, "one")


async def all_that_is_lent(criminal: Criminal) -> None:
    await borrowed(criminal, "one", "two", borrower="2", team="1", lender="1")


async def people_admit_two(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one", "two")
    for job in ("one", "two"):
        await a_workload(criminal, job)
        await admit(criminal, job, criminal.play.client)


async def people_start_a_job(criminal: Criminal) -> None:
    await a_scene(criminal.play, "one")
    await a_workload(criminal, "one")
    await change(criminal, "one", {"spec": {"suspend": False}}, criminal.play.client)
    await until_running(criminal.play, "one")


@pytest.mark.parametrize(
    "deed", [in_order, all_that_is_lent, people_admit_two, people_start_a_job], ids=lambda one: one.__name__
)
def test_what_is_done_in_order_or_by_people_is_no_crime(deed: Crime) -> None:
    found = found_out(deed)
    assert [one for one in found if one.startswith(("I19", "I20", "I21", "I22"))] == []
