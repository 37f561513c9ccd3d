"""What stories about the queue have in common: queues, jobs, and what is said of their workloads."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.kinds import JOBS, NODES
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.workload import PRIORITY_CLASS, QUEUE_NAME, Workload
from growth.api.settings.model import QueueSettings, Settings
from growth.api.settings.queue import RequeuingStrategySettings, WaitForPodsReadySettings
from growth.kube.transport import Method, Request
from growth_lab.scenarios.context import STORY_LABEL, Play
from growth_lab.scenarios.replica import QUICK

GPU: Final = "nvidia.com/gpu"
DISK: Final = "example.com/disk"
"""A label of nodes, which some jobs wait for in vain until somebody sets it."""

# How often the scheduler tries a pod that fits nowhere, and when pods of a stopped job are seen to go, is chance.
CHANCE: Final = "created,leaving,gone,refused"


def requeuing(
    *,
    timeout: float = 2,
    recovery: float | None = None,
    block: bool = False,
    base: int = 1,
    **strategy: Any,  # noqa: ANN401
) -> Settings:
    """Seconds instead of minutes; ``strategy`` are further settings of the requeuing strategy."""
    waiting = WaitForPodsReadySettings(
        enable=True,
        timeout=timedelta(seconds=timeout),
        recovery_timeout=None if recovery is None else timedelta(seconds=recovery),
        block_admission=block,
        requeuing_strategy=RequeuingStrategySettings(backoff_base_seconds=base, **strategy),
    )
    return msgspec.structs.replace(QUICK, queue=QueueSettings(enabled=True, wait_for_pods_ready=waiting))


async def some_quota(play: Play, quota: Mapping[str, str], **spec: Any) -> None:  # noqa: ANN401
    """One flavor, one ClusterQueue with so much of it (memory is no matter), and a LocalQueue."""
    amounts = {"memory": "64Gi", **quota}
    flavor = {"name": "any", "resources": [{"name": name, "nominalQuota": amounts[name]} for name in amounts]}
    groups = [{"coveredResources": list(amounts), "flavors": [flavor]}]
    await play.create(RESOURCE_FLAVORS, {"metadata": {"name": "any"}, "spec": {}})
    await play.create(
        CLUSTER_QUEUES,
        {"metadata": {"name": "all"}, "spec": {"resourceGroups": groups, "namespaceSelector": {}, **spec}},
    )
    await play.create(LOCAL_QUEUES, {"metadata": {"name": "door"}, "spec": {"clusterQueue": "all"}})


async def queued(
    play: Play,
    name: str,
    *,
    cpu: str = "1",
    gpus: int = 0,
    needs_disk: bool = False,
    finalizers: tuple[str, ...] = (),
    door: str = "door",
    priority_class: str = "",
    **spec: Any,  # noqa: ANN401
) -> None:
    """A job in the queue, suspended from the beginning, as the admission policy of the chart has it."""
    asked = {"cpu": cpu, "memory": "64Mi", **({GPU: str(gpus)} if gpus else {})}
    resources = {"requests": asked, **({"limits": {GPU: str(gpus)}} if gpus else {})}
    selector = {STORY_LABEL: play.namespace, **({DISK: "yes"} if needs_disk else {})}
    pods = play.pod_spec(
        containers=[{"name": "main", "image": "main", "resources": resources}],
        nodeSelector=selector,
        restartPolicy="Never",
        terminationGracePeriodSeconds=0,
    )
    template = {"metadata": {"labels": {"app": name}, "finalizers": list(finalizers)}, "spec": pods}
    labels = {QUEUE_NAME: door, **({PRIORITY_CLASS: priority_class} if priority_class else {})}
    metadata = {"name": name, "labels": labels}
    await play.create(JOBS, {"metadata": metadata, "spec": {"suspend": True, "template": template, **spec}})


async def later() -> None:
    """Who comes now is younger than whoever came before: an API server counts the time of creation in whole seconds."""
    await asyncio.sleep(1.1)


async def remove(play: Play, job: str) -> None:
    """Delete a job as kubectl does, with its pods: the API server by itself would leave them behind."""
    options = msgspec.json.encode({"propagationPolicy": "Background"})
    await play.client.request(Request(Method.DELETE, JOBS.path(job, play.namespace), body=options))


async def give_disk(play: Play, node: str) -> None:
    """From now on the node is one that jobs with the wish for it can use."""
    await play.change(NODES, play.full(node), {"metadata": {"labels": {DISK: "yes"}}})


async def workload_of(play: Play, job: str) -> Workload | None:
    """The workload of a job, if it is there."""
    found = (await play.client.list(WORKLOADS, play.namespace)).items
    return next((one for one in found if one.metadata.name.startswith(f"job-{job}-")), None)


async def the_workload(play: Play, job: str) -> Workload:
    """The workload of a job, which must be there."""
    workload = await workload_of(play, job)
    assert workload is not None, f"{job} has no workload"
    return workload


async def until_workload(play: Play, job: str, is_so: Callable[[Workload], object], what: str) -> Workload:
    """Wait until a workload is so; gives it as it was then."""
    found: list[Workload] = []

    async def look() -> bool:
        workload = await workload_of(play, job)
        if workload is not None and is_so(workload):
            found.append(workload)
        return bool(found)

    await play.until_found(look, f"{what}: {job}")
    return found[0]


async def until_said(play: Play, job: str, kind: str, reason: str, *, status: str = "True") -> Workload:
    """Wait until this is said of a job's workload."""
    return await until_workload(
        play, job, lambda one: said(one, kind) == (status, reason), f"{kind} is {status} because of {reason}"
    )


async def until_running(play: Play, job: str, pods: int = 1) -> None:
    """Wait until so many pods of a job run."""
    await play.until(lambda: len(play.running(job)) == pods, f"{pods} pods of {job} run")


async def until_stopped(play: Play, job: str) -> None:
    """Wait until nothing of a job runs."""
    await play.until(lambda: not any_pod(play, job), f"{job} has no pods")


def any_pod(play: Play, job: str) -> bool:
    """Whether a job has pods, in whatever state."""
    return any(pod.metadata.labels.get("app") == job for pod in play.trace.pods.values())


def said(workload: Workload, kind: str) -> tuple[str, str]:
    """Status and reason of a statement; empty if it is not made."""
    condition = workload.condition(kind)
    return (condition.status, condition.reason) if condition is not None else ("", "")


def times(workload: Workload) -> int:
    """How often it was put back, as its requeueState says."""
    state = workload.status.requeue_state
    return (state.count or 0) if state is not None else 0


async def activate(play: Play, job: str, *, active: bool = True) -> None:
    """A person says whether it may be admitted."""
    workload = await the_workload(play, job)
    await play.change(WORKLOADS, workload.metadata.name, {"spec": {"active": active}})
