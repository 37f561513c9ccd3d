"""Held back from the first instant: jobs and plain pods under the admission policy of the chart."""

from typing import Final

from growth.api.kinds import EVENTS, JOBS, PODS
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOADS
from growth.api.queue.workload import QUEUE_NAME
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing, until_told
from growth_lab.scenarios.scenario import Stories
from lab.tests.simulator.api.policy_scenes import install, is_in_force
from tests.stories.queue_scene import any_pod, remove, requeuing, some_quota, until_running, until_stopped

STORIES = Stories("queue", alone=True)
ELSEWHERE: Final = "default"
"""A namespace in which nobody looks: whether the policy is in force is tried out there."""


@STORIES.story()
async def a_job_under_the_policy_has_no_pod_before_it_is_admitted(play: Play) -> None:
    """Two jobs that nobody suspended. As long as nobody runs the queue, the first one has no pod; then it runs, and the
    second one has none until the first one is gone."""
    await under_the_policy(play)
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    await a_running_job(play, "first")
    await play.settled(2)
    assert not any_pod(play, "first")
    play.always(lambda: not (any_pod(play, "first") and any_pod(play, "second")), "one job at a time has pods")
    async with growing(play, settings=requeuing(timeout=60)):
        await until_running(play, "first")
        await a_running_job(play, "second")
        await play.settled(2)
        assert not any_pod(play, "second")
        await remove(play, "first")
        await until_running(play, "second")


@STORIES.story()
async def a_plain_pod_waits_gated_and_then_runs(play: Play) -> None:
    """Quota for one: the second pod waits, untried by any scheduler, until the first one is gone."""
    await under_the_policy(play)
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=requeuing(timeout=60)):
        await a_plain_pod(play, "first")
        await play.until(play.pod_is("first"), "the first pod runs")
        await a_plain_pod(play, "second")
        await play.settled(2)
        assert play.trace.pods["second"].spec.scheduling_gates
        await play.delete(PODS, "first")
        await play.until(play.pod_is("second"), "the second pod runs")
        assert play.trace.pods["second"].metadata.labels["kueue.x-k8s.io/cluster-queue-name"] == "all"
        (workload,) = await workloads(play)
        assert workload.startswith("pod-second-")


@STORIES.story()
async def a_plain_pod_without_the_policy_is_told_so_and_runs_as_usual(play: Play) -> None:
    """Nothing gated it when it was created, so there is nothing to wait with: an event says what to do."""
    await play.node("worker")
    await play.ready("worker")
    await some_quota(play, {"cpu": "0"})
    async with growing(play, settings=requeuing(timeout=60)):
        await a_plain_pod(play, "plain")
        await until_told(play, "plain", "NotHeldBack")
        await play.until(play.pod_is("plain"), "it runs all the same")
        await play.settled(2)
        told = [one for one in (await play.client.list(EVENTS)).items if one.reason == "NotHeldBack"]
        assert len(told) == 1
        assert not await workloads(play)


@STORIES.story(ignores="leaving")
async def an_evicted_plain_pod_ends_and_does_not_come_back(play: Play) -> None:
    """Its queue is drained: the pod is deleted, and its workload with it. A new one waits until the queue is open."""
    await under_the_policy(play)
    await play.node("worker")
    await some_quota(play, {"cpu": "1"})
    async with growing(play, settings=requeuing(timeout=60)):
        await a_plain_pod(play, "first")
        await play.until(play.pod_is("first"), "the first pod runs")
        await play.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})
        await until_stopped(play, "first")

        async def are_gone() -> bool:
            return not await workloads(play)

        await play.until_found(are_gone, "its workload is gone")
        await a_plain_pod(play, "second")
        await play.settled(2)
        assert play.trace.pods["second"].spec.scheduling_gates
        await play.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "None"}})
        await play.until(play.pod_is("second"), "the second pod runs")


async def under_the_policy(play: Play) -> None:
    """The policy of the chart is installed, and in force."""
    await install(play.client)
    await play.until_found(lambda: is_in_force(play.client, ELSEWHERE), "the policy is in force")


async def a_running_job(play: Play, name: str) -> None:
    """A job that names a queue, and nobody thought of suspending it."""
    template = {"metadata": {"labels": {"app": name}}, "spec": play.pod_spec("1", restartPolicy="Never")}
    metadata = {"name": name, "labels": {QUEUE_NAME: "door"}}
    await play.create(JOBS, {"metadata": metadata, "spec": {"template": template}})


async def a_plain_pod(play: Play, name: str) -> None:
    """A pod that names a queue."""
    await play.pod(name, cpu="1", labels={QUEUE_NAME: "door", "app": name}, terminationGracePeriodSeconds=0)


async def workloads(play: Play) -> list[str]:
    """The names of all workloads."""
    return [one.metadata.name for one in (await play.client.list(WORKLOADS, play.namespace)).items]
