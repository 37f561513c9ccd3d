"""What stories about cohorts and preemption have in common: queues that share, and how often somebody had to go."""

from collections.abc import Mapping
from typing import Any, Final

from growth.api.kinds import PODS
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from growth.api.queue.workload import EVICTED, PREEMPTED, Workload
from growth_lab.scenarios.context import Play
from tests.stories.queue_scene import any_pod, the_workload, until_workload

ONCE: Final = {PREEMPTED: 1}
"""Evictions of one who had to go, and did so once."""


async def a_flavor(play: Play) -> None:
    """Any node will do."""
    await play.create(RESOURCE_FLAVORS, {"metadata": {"name": "any"}, "spec": {}})


async def a_queue(
    play: Play,
    name: str,
    cpu: str,
    cohort: str,
    *,
    limits: Mapping[str, str] | None = None,
    preemption: Mapping[str, Any] | None = None,
) -> None:
    """A ClusterQueue with so much of its own, and a LocalQueue of the same name."""
    spec: dict[str, Any] = {"resourceGroups": [cpu_quota(cpu, **(limits or {}))], "namespaceSelector": {}}
    spec |= {"cohortName": cohort, "preemption": preemption or {}}
    await play.create(CLUSTER_QUEUES, {"metadata": {"name": name}, "spec": spec})
    await play.create(LOCAL_QUEUES, {"metadata": {"name": name}, "spec": {"clusterQueue": name}})


async def a_cohort(
    play: Play, name: str, *, parent: str = "", cpu: str = "", limits: Mapping[str, str] | None = None
) -> None:
    """A Cohort, under another one if that is named, with quota of its own if there is some."""
    groups = [cpu_quota(cpu, **(limits or {}))] if cpu else []
    spec = {"resourceGroups": groups, **({"parentName": parent} if parent else {})}
    await play.create(COHORTS, {"metadata": {"name": name}, "spec": spec})


def cpu_quota(cpu: str, **limits: str) -> dict[str, Any]:
    """A resource group with so much cpu; memory is no matter."""
    resources = [{"name": "cpu", "nominalQuota": cpu, **limits}, {"name": "memory", "nominalQuota": "64Gi"}]
    return {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "any", "resources": resources}]}


async def priorities(play: Play, **values: int) -> None:
    """Classes of these names; who has none counts 0."""
    for name, value in values.items():
        await play.create(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})


async def until_preempted(play: Play, job: str, reason: str) -> Workload:
    """Wait until a job is sent back for somebody else, by this right, and without blame."""

    def is_so(workload: Workload) -> bool:
        evicted, preempted = workload.condition(EVICTED), workload.condition(PREEMPTED)
        return (
            evicted is not None
            and (evicted.status, evicted.reason) == ("True", PREEMPTED)
            and preempted is not None
            and (preempted.status, preempted.reason) == ("True", reason)
        )

    workload = await until_workload(play, job, is_so, f"it is sent back, {reason}")
    assert workload.status.requeue_state is None, "nobody is blamed for having to go"
    return workload


async def let_go(play: Play, job: str) -> None:
    """What held the pods of a job is over."""
    for pod in [one for one in play.trace.pods.values() if one.metadata.labels.get("app") == job]:
        await play.change(PODS, pod.metadata.name, {"metadata": {"finalizers": None}})


async def evictions(play: Play, job: str) -> dict[str, int]:
    """How often a job was sent back in all its life, by reason: its workload counts with each eviction, in the same
    write, so that no stop of Growth loses or doubles one."""
    stats = (await the_workload(play, job)).status.scheduling_stats
    return {one.reason: one.count for one in stats.evictions} if stats is not None else {}


def starts(play: Play, job: str) -> int:
    """How often a job of one pod was started: each time it has another pod."""
    subject = f"{PODS.name} {job}-*"
    return sum((one.subject, one.what) == (subject, "created") for one in play.trace.seen)


async def at_rest(play: Play, *, runs: str, waits: str) -> None:
    """Wait until nothing moves. Then these jobs run, and these have no pod."""
    await play.settled(2)
    assert [name for name in runs.split() if not play.running(name)] == [], "all of these should run"
    assert [name for name in waits.split() if any_pod(play, name)] == [], "none of these should have pods"
