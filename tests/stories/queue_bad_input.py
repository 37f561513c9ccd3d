"""Neighbours and bad input: a Kueue that is alive, what a dead one leaves behind, and what people write by mistake."""

import asyncio
from typing import Any, Final

from growth.api.kinds import JOBS, Kind
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.kueue_installation import (
    IN_USE,
    KUEUE_DEPLOYMENTS,
    KUEUE_LEASES,
    KUEUE_VALIDATING,
    LEASE_NAME,
    VALIDATING_WEBHOOKS,
)
from growth.api.queue.workload import QUEUE_NAME
from growth.api.status import condition_of
from growth.api.timestamp import format_time
from growth.kube.errors import NotFound
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue_scene import (
    any_pod,
    queued,
    remove,
    requeuing,
    some_quota,
    the_workload,
    until_running,
    until_said,
)

STORIES = Stories("queue", alone=True)
PATIENT: Final = requeuing(timeout=60)
KUEUE: Final = "kueue-controller-manager"


@STORIES.story()
async def nothing_is_decided_beside_a_live_kueue(play: Play) -> None:
    """Kueue's Deployment is there: the job is left alone, not even a workload is made. When it is stopped, the queue
    goes on by itself."""
    await play.node("worker")
    await play.ready("worker")
    await some_quota(play, {"cpu": "1"})
    await play.create(KUEUE_DEPLOYMENTS, a_kueue(play))
    async with growing(play, settings=PATIENT):
        await queued(play, "job")
        await until_told(play, KUEUE, "KueueIsAlive")
        await play.settled(2)
        assert not any_pod(play, "job")
        assert not (await play.client.list(WORKLOADS)).items
        await play.change(KUEUE_DEPLOYMENTS, KUEUE, {"spec": {"replicas": 0}})
        await until_running(play, "job")


@STORIES.story()
async def a_kueue_that_comes_alive_stops_the_queue_as_long_as_it_renews_its_lease(play: Play) -> None:
    """No Deployment is to be seen: somebody runs Kueue elsewhere, with a clock of its own. While its Lease is renewed
    nothing is decided; when nobody renews it any more, the queue goes on."""
    await play.node("worker")
    await some_quota(play, {"cpu": "2"})
    async with growing(play, settings=PATIENT):
        await queued(play, "before")
        await until_running(play, "before")
        spec = {"holderIdentity": "elsewhere", "leaseDurationSeconds": 4, "renewTime": "2020-01-01T00:00:00.000000Z"}
        await play.create(KUEUE_LEASES, {"metadata": {"name": LEASE_NAME}, "spec": spec})
        await until_told(play, LEASE_NAME, "KueueIsAlive")
        await queued(play, "after")
        for second in range(5):
            renewed = f"2020-01-01T00:00:0{second + 1}.000000Z"
            await play.change(KUEUE_LEASES, LEASE_NAME, {"spec": {"renewTime": renewed}})
            await asyncio.sleep(2)
            assert not any_pod(play, "after")
        await until_running(play, "after")


@STORIES.story()
async def what_kueue_left_behind_goes_when_it_is_deleted(play: Play) -> None:
    """Its finalizers are on a flavor, a queue and a workload, and all are deleted while the job runs. They stay as long
    as they are needed, and then go."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=PATIENT):
        await queued(play, "job")
        await until_running(play, "job")
        name = (await the_workload(play, "job")).metadata.name
        kept: list[tuple[Kind[Any], str]] = [(WORKLOADS, name), (CLUSTER_QUEUES, "all"), (RESOURCE_FLAVORS, "any")]
        for kind, one in kept:
            await play.change(kind, one, {"metadata": {"finalizers": [IN_USE]}})
        for kind, one in kept[1:]:
            await play.delete(kind, one)
        await play.settled(2)
        assert [await is_there(play, *one) for one in kept] == [True, True, True]
        assert play.running("job")
        await remove(play, "job")

        async def are_gone() -> bool:
            return not any([await is_there(play, *one) for one in kept])

        await play.until_found(are_gone, "nothing of it is left")


@STORIES.story()
async def webhooks_of_a_dead_kueue_are_named(play: Play) -> None:
    """They would refuse what nobody writes in this story: that is enough to be told about them, and nobody is held
    up."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    rules = [{"apiGroups": ["story.growth.dev"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}]
    service = {"name": "kueue-webhook-service", "namespace": play.namespace}
    webhook = {
        "name": "vworkload.kb.io",
        "clientConfig": {"service": service},
        "rules": rules,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    await play.create(KUEUE_VALIDATING, {"metadata": {"name": VALIDATING_WEBHOOKS}, "webhooks": [webhook]})
    try:
        async with growing(play, settings=PATIENT):
            await until_told(play, VALIDATING_WEBHOOKS, "KueueWebhooksLeftOver")
            await queued(play, "job")
            await until_running(play, "job")
    finally:
        await play.client.delete(KUEUE_VALIDATING, VALIDATING_WEBHOOKS)


@STORIES.story()
async def what_is_wrong_is_said_and_the_other_queues_go_on(play: Play) -> None:
    """Queues without flavors, doors without queues, jobs without doors, jobs that are too large, cohorts in each other:
    each says what to do, and a job in a queue of which all is well runs."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    wrong: dict[str, Any] = {"namespaceSelector": {}, "resourceGroups": [a_group("gone", cpu="1")]}
    await play.create(CLUSTER_QUEUES, {"metadata": {"name": "without-flavor"}, "spec": wrong})
    nonsense: dict[str, Any] = {"namespaceSelector": {}, "resourceGroups": [a_group("any", cpu="-1")]}
    await play.create(CLUSTER_QUEUES, {"metadata": {"name": "less-than-nothing"}, "spec": nonsense})
    await play.create(CLUSTER_QUEUES, {"metadata": {"name": "in-circles"}, "spec": {"cohortName": "one"}})
    for name, parent in (("one", "two"), ("two", "one")):
        await play.create(COHORTS, {"metadata": {"name": name}, "spec": {"parentName": parent}})
    await play.create(LOCAL_QUEUES, {"metadata": {"name": "nowhere"}, "spec": {"clusterQueue": "missing"}})
    async with growing(play, settings=PATIENT):
        await queued(play, "giant", cpu="1000")
        await a_job_at(play, "lost", "no-such-door")
        await a_job_at(play, "outside", "nowhere")
        await queued(play, "well")
        await until_running(play, "well")
        await until_said(play, "giant", "QuotaReserved", "ExceedsMaxQuota", status="False")
        await until_said(play, "lost", "QuotaReserved", "Misconfigured", status="False")
        await until_said(play, "outside", "QuotaReserved", "Misconfigured", status="False")
        for name, reason, words in (
            ("without-flavor", "FlavorNotFound", "there is no ResourceFlavor gone: create it"),
            ("less-than-nothing", "Misconfigured", "expected a quantity of at least 0"),
            ("in-circles", "Misconfigured", "its cohorts are in each other"),
        ):
            await until_inactive(play, name, reason, words)
        lost = (await the_workload(play, "lost")).condition("QuotaReserved")
        assert lost is not None
        assert "create it, or name another one" in lost.message


# Whether its pod is stopped before it is admitted again, or goes on, is chance.
@STORIES.story(ignores="created,leaving,gone,bound,Running,ready")
async def a_status_that_somebody_edits_is_mended(play: Play) -> None:
    """The admission of a job that runs is taken away by hand, and nonsense written: it is stopped, queued and admitted
    again, and nobody else has its quota meanwhile."""
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    play.always(lambda: not (play.running("first") and play.running("second")), "one job at a time runs")
    async with growing(play, settings=PATIENT):
        await queued(play, "first", completions=1)
        await until_running(play, "first")
        workload = await the_workload(play, "first")
        silly = {"count": 2**31 - 1, "requeueAt": format_time(play.now())}
        nonsense: dict[str, Any] = {"admission": None, "conditions": [], "requeueState": silly}
        await play.change(WORKLOADS, workload.metadata.name, {"status": nonsense}, subresource="status")
        await until_said(play, "first", "Admitted", "Admitted")
        await until_running(play, "first")
        await queued(play, "second")
        await until_said(play, "second", "QuotaReserved", "WaitingForQuota", status="False")
        await remove(play, "first")
        await until_running(play, "second")


def a_kueue(play: Play) -> dict[str, Any]:
    """Kueue's Deployment, with its labels."""
    labels = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
    template = {"metadata": {"labels": labels}, "spec": play.pod_spec(terminationGracePeriodSeconds=0)}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": KUEUE, "labels": labels}, "spec": spec}


def a_group(flavor: str, cpu: str) -> dict[str, Any]:
    """Quota for cpu alone."""
    return {
        "coveredResources": ["cpu"],
        "flavors": [{"name": flavor, "resources": [{"name": "cpu", "nominalQuota": cpu}]}],
    }


async def a_job_at(play: Play, name: str, door: str) -> None:
    """A job in another LocalQueue."""
    template = {"metadata": {"labels": {"app": name}}, "spec": play.pod_spec(restartPolicy="Never")}
    metadata = {"name": name, "labels": {QUEUE_NAME: door}}
    await play.create(JOBS, {"metadata": metadata, "spec": {"suspend": True, "template": template}})


async def is_there(play: Play, kind: Kind[Any], name: str) -> bool:
    """Whether there still is an object of this name."""
    try:
        await play.client.get(kind, name, play.namespace if kind.namespaced else "")
    except NotFound:
        return False
    return True


async def until_inactive(play: Play, queue: str, reason: str, words: str) -> None:
    """Wait until a ClusterQueue says that it admits nobody, and why."""

    async def is_said() -> bool:
        found = condition_of((await play.client.get(CLUSTER_QUEUES, queue)).status.conditions, "Active")
        return found is not None and (found.status, found.reason) == ("False", reason) and words in found.message

    await play.until_found(is_said, f"ClusterQueue {queue} says: {words}")
