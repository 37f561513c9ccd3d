"""Jobs wait their turn in a queue."""

from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.kinds import JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.workload import QUEUE_NAME
from growth.api.settings.model import QueueSettings, Settings
from growth.api.settings.queue import RequeuingStrategySettings, WaitForPodsReadySettings
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, growing
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("queue", alone=True)
QUEUED: Final[Settings] = msgspec.structs.replace(QUICK, queue=QueueSettings(enabled=True))
REQUEUING: Final[Settings] = msgspec.structs.replace(
    QUICK,
    queue=QueueSettings(
        enabled=True,
        wait_for_pods_ready=WaitForPodsReadySettings(
            enable=True,
            timeout=timedelta(seconds=2),
            requeuing_strategy=RequeuingStrategySettings(backoff_limit_count=1, backoff_base_seconds=1),
        ),
    ),
)


@STORIES.story(is_first=True)
async def a_job_waits_until_there_is_quota(play: Play) -> None:
    """Quota for one: the second job runs when the first one is deleted."""
    await play.node("worker")
    await a_queue(play, cpu="1")
    async with growing(play, settings=QUEUED):
        await a_job(play, "first")
        await play.until(lambda: play.running("first"), "the first job runs")
        await a_job(play, "second")
        await play.settled(2)
        assert not play.running("second")
        await play.delete(JOBS, "first")
        await play.until(lambda: play.running("second"), "the second job runs")


# How far it comes before the story ends.
@STORIES.story(ignores="created,leaving,gone,refused")
async def a_job_that_cannot_start_is_put_back_and_at_last_deactivated(play: Play) -> None:
    """No node for it: after the timeout it is evicted, waits, is tried again, and at the limit it is deactivated. A
    person activates it, and it begins anew."""
    await play.node("worker", taints=("dedicated=other:NoSchedule",))
    await a_queue(play, cpu="1")
    async with growing(play, settings=REQUEUING):
        await a_job(play, "lost")
        await until_said(play, "lost", "Evicted", "PodsReadyTimeout")
        await until_said(play, "lost", "Evicted", "WorkloadInactive")
        (workload,) = (await play.client.list(WORKLOADS)).items
        assert not workload.spec.active
        assert workload.status.requeue_state is not None
        assert workload.status.requeue_state.count == 1
        await until_said(play, "lost", "Requeued", "WorkloadInactive", status="False")
        await play.change(WORKLOADS, workload.metadata.name, {"spec": {"active": True}})
        await until_said(play, "lost", "Requeued", "Reactivated")
        (workload,) = (await play.client.list(WORKLOADS)).items
        assert workload.status.requeue_state is None or workload.status.requeue_state.count == 1


async def until_said(play: Play, job: str, kind: str, reason: str, *, status: str = "True") -> None:
    """Wait until this is said of the job's workload."""

    async def is_said() -> bool:
        for workload in (await play.client.list(WORKLOADS)).items:
            condition = workload.condition(kind)
            if workload.metadata.name.startswith(f"job-{job}-") and condition is not None:
                return (condition.status, condition.reason) == (status, reason)
        return False

    await play.until_found(is_said, f"{kind} of {job} is {status} because of {reason}")


async def a_queue(play: Play, cpu: str, **spec: Any) -> None:  # noqa: ANN401
    """One flavor, one ClusterQueue with so much of it, and a LocalQueue."""
    await play.create(RESOURCE_FLAVORS, {"metadata": {"name": "any"}, "spec": {}})
    quota = {
        "name": "any",
        "resources": [{"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "64Gi"}],
    }
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": [quota]}]
    await play.create(
        CLUSTER_QUEUES,
        {"metadata": {"name": "all"}, "spec": {"resourceGroups": groups, "namespaceSelector": {}, **spec}},
    )
    await play.create(LOCAL_QUEUES, {"metadata": {"name": "door"}, "spec": {"clusterQueue": "all"}})


async def a_job(play: Play, name: str, cpu: str = "1", **spec: Any) -> None:  # noqa: ANN401
    """A job of one pod in the queue, suspended from the beginning, as the admission policy of the chart has it."""
    template = {"metadata": {"labels": {"app": name}}, "spec": play.pod_spec(cpu, restartPolicy="Never")}
    labels = {QUEUE_NAME: "door"}
    await play.create(
        JOBS, {"metadata": {"name": name, "labels": labels}, "spec": {"suspend": True, "template": template, **spec}}
    )
