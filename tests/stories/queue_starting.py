"""Machines that take longer to come than pods are given to get ready."""

from typing import Any, Final

import msgspec

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import JOBS
from growth.api.queue.workload import EVICTED, PODS_READY, PODS_READY_TIMEOUT, QUEUE_NAME, Workload
from growth.api.settings.model import Settings
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, a_pool, growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.queue_scene import (
    CHANCE,
    GPU,
    queued,
    requeuing,
    some_quota,
    the_workload,
    times,
    until_running,
    until_said,
    until_workload,
)

STORIES = Stories("queue", alone=True)
# A scheduler may leave a pod alone for two seconds after its node was opened. Machines take longer than pods may.
TIMEOUT_SECONDS: Final = 5
SLOW: Final = CATALOGUE.replace("bootDelay: 1s", "bootDelay: 7s")
BASE_SECONDS: Final = 9
# Who was put back may be tried again only when its machine has long been there; a pool would have given it back.
IMPATIENT: Final = {"emptyAfter": "1s", "delayAfterScaleUp": "0s"}


@STORIES.story(any_node=True)
async def a_job_is_not_put_back_while_its_machine_comes(play: Play) -> None:
    """It says what it waits for and until when, and runs as soon as the machine is there."""
    await some_quota(play, {"cpu": "2"})
    async with growing(play, settings=requeuing(timeout=TIMEOUT_SECONDS, base=1), catalogue=SLOW):
        await a_pool(play, types="small")
        await _job(play, "patient")
        waiting = await until_workload(play, "patient", _waits_for_a_machine, "it waits for a machine")
        assert "0 of 1 pods are ready" in _words(waiting)
        await until_running(play, "patient")
        await until_said(play, "patient", PODS_READY, "Started")
        assert (await the_workload(play, "patient")).condition(EVICTED) is None


@STORIES.story(any_node=True, ignores=CHANCE)
async def a_machine_that_came_too_late_serves_who_was_put_back(play: Play) -> None:
    """Nobody waits for machines here: the job is put back, its machine comes, is kept for as long as the job may not be
    tried again, and then the job runs there. One machine is bought, and none is given back."""
    await some_quota(play, {"cpu": "2"})
    async with growing(play, settings=_by_the_letter(), catalogue=SLOW):
        await a_pool(play, types="small", scaleDown=IMPATIENT)
        await _job(play, "late")
        await play.until(lambda: play.trace.objects[NODE_REQUESTS], "a machine is asked for")
        (machine,) = (one.metadata.name for one in play.trace.objects[NODE_REQUESTS].values())
        play.always(lambda: {one.metadata.name for one in _asked_for(play)} <= {machine}, "no other machine is bought")
        play.always(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "no machine is given back")
        evicted = await until_said(play, "late", EVICTED, PODS_READY_TIMEOUT)
        assert "waits for a machine, expected by" in _words(evicted, EVICTED)
        await until_running(play, "late")
        (pod,) = play.running("late")
        assert pod.node_name == machine
        assert times(await the_workload(play, "late")) == 1


@STORIES.story(any_node=True, ignores=CHANCE)
async def a_job_that_cannot_start_says_what_is_missing(play: Play) -> None:
    """Two GPUs are free, on two nodes; a claim was never made. Both are said when the jobs are put back, by name and
    number, and the claim already while its job waits."""
    for name in ("one", "two"):
        await play.node(name, resources={GPU: "1"})
    await some_quota(play, {"cpu": "8", GPU: "8"})
    async with growing(play, settings=requeuing(timeout=3, base=60)):
        await queued(play, "wide", gpus=2)
        await _job(play, "claiming", volumes=[{"name": "rows", "persistentVolumeClaim": {"claimName": "rows"}}])
        missing = "PersistentVolumeClaim rows does not exist"
        await until_workload(play, "claiming", lambda one: _words(one).endswith(missing), "it misses a claim")
        wide = await until_said(play, "wide", EVICTED, PODS_READY_TIMEOUT)
        assert _words(wide, EVICTED).endswith(": 2 nvidia.com/gpu asked, largest free node has 1")
        claiming = await until_said(play, "claiming", EVICTED, PODS_READY_TIMEOUT)
        assert _words(claiming, EVICTED).endswith(missing)


def _by_the_letter() -> Settings:
    settings = requeuing(timeout=TIMEOUT_SECONDS, base=BASE_SECONDS)
    queue = msgspec.structs.replace(settings.queue, extend_while_provisioning=False)
    return msgspec.structs.replace(settings, queue=queue)


def _asked_for(play: Play) -> list[Any]:
    return list(play.trace.objects[NODE_REQUESTS].values())


def _words(workload: Workload, kind: str = PODS_READY) -> str:
    condition = workload.condition(kind)
    return condition.message if condition is not None else ""


def _waits_for_a_machine(workload: Workload) -> bool:
    return "waits for a machine, expected by" in _words(workload)


async def _job(play: Play, name: str, **spec: Any) -> None:  # noqa: ANN401
    """A job for which there is no node yet; ``spec`` is laid over that of its pod."""
    pods = play.pod_spec("1500m", restartPolicy="Never", terminationGracePeriodSeconds=0, **spec)
    del pods["nodeSelector"]
    template = {"metadata": {"labels": {"app": name}}, "spec": pods}
    metadata = {"name": name, "labels": {QUEUE_NAME: "door"}}
    await play.create(JOBS, {"metadata": metadata, "spec": {"suspend": True, "template": template}})
