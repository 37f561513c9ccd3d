"""Jobs: as the real controller was seen to count, wait, suspend and end."""

from typing import Any

from growth_lab.simulator.json_parts import parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import JOBS, PODS, RESOURCE_QUOTAS
from growth_lab.simulator.workloads import Workloads
from growth_lab.simulator.workloads.pod_state import state_of
from lab.tests.simulator.rehearsal import Rehearsal, a_template, rehearse


def start(scene: Rehearsal, **spec: Any) -> Json:  # noqa: ANN401
    Workloads(scene.clock, scene.store, scene.timings)
    template = a_template("batch", restartPolicy="Never")
    spec = {"parallelism": 2, "completions": 3, "template": template, **spec}
    return scene.store.create(JOBS, {"metadata": {"name": "batch", "namespace": "default"}, "spec": spec})


def status(scene: Rehearsal) -> Json:
    return scene.status(JOBS, "batch")


def true_conditions(scene: Rehearsal) -> list[tuple[str, str]]:
    return [(c["type"], c["reason"]) for c in parts(status(scene), "conditions") if c["status"] == "True"]


def active(scene: Rehearsal) -> list[Json]:
    return [pod for pod in scene.pods() if state_of(pod).is_active]


async def end(scene: Rehearsal, phase: str, seconds: float = 1.0) -> None:
    """Let the first active pod end."""
    scene.set_phase(active(scene)[0], phase)
    await scene.wait(seconds)


def test_pods_carry_the_job_and_wait_to_be_counted() -> None:
    async def play(scene: Rehearsal) -> None:
        job = start(scene)
        await scene.wait()
        pods = scene.pods()
        assert len(pods) == 2
        uid = job["metadata"]["uid"]
        assert pods[0]["metadata"]["labels"] == {
            "app": "batch",
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": "batch",
            "controller-uid": uid,
            "job-name": "batch",
        }
        assert pods[0]["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
        assert status(scene) == {
            "active": 2,
            "ready": 0,
            "terminating": 0,
            "startTime": scene.clock.stamp_after(-1),
            "uncountedTerminatedPods": {},
        }

    rehearse(play)


def test_it_completes_when_enough_pods_ended_well() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait()
        await end(scene, "Succeeded")
        assert (status(scene)["active"], status(scene)["succeeded"]) == (2, 1)
        await end(scene, "Succeeded")
        assert (status(scene)["active"], status(scene)["succeeded"]) == (1, 2)
        await end(scene, "Succeeded")
        assert "active" not in status(scene)
        assert true_conditions(scene) == [
            ("SuccessCriteriaMet", "CompletionsReached"),
            ("Complete", "CompletionsReached"),
        ]
        assert status(scene)["completionTime"]
        assert [pod["metadata"].get("finalizers") for pod in scene.pods()] == [None] * 3

    rehearse(play)


def test_without_completions_the_first_success_ends_the_making_of_pods() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, completions=None)
        await scene.wait()
        await end(scene, "Succeeded")
        assert (status(scene)["active"], true_conditions(scene)) == (1, [])
        await end(scene, "Succeeded")
        assert true_conditions(scene)[-1] == ("Complete", "CompletionsReached")

    rehearse(play)


def test_a_failure_is_waited_out_doubling() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, parallelism=1, completions=1)
        await scene.wait()
        for pause in (10, 20, 40):
            await end(scene, "Failed", pause - 1)
            assert active(scene) == []
            await scene.wait(2)
            assert len(active(scene)) == 1

    rehearse(play)


def test_it_fails_when_the_backoff_limit_is_passed() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, backoffLimit=1)
        await scene.wait()
        for pod in active(scene):
            scene.run(pod)
        await end(scene, "Failed", 30)
        assert true_conditions(scene) == []
        scene.run_all()
        await end(scene, "Failed")
        # The other pod is deleted, and the last word waits for it.
        assert true_conditions(scene) == [("FailureTarget", "BackoffLimitExceeded")]
        (leaving,) = (pod for pod in scene.pods() if state_of(pod).is_terminating)
        scene.delete(leaving, 0)
        await scene.wait()
        assert true_conditions(scene)[1:] == [("Failed", "BackoffLimitExceeded")]
        assert status(scene)["failed"] == 3
        assert active(scene) == []

    rehearse(play)


def test_a_deleted_pod_counts_as_failed_at_once() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait()
        pod = scene.run(scene.pods()[0])
        scene.delete(pod)
        await scene.wait()
        assert (status(scene)["failed"], status(scene)["terminating"], status(scene)["active"]) == (1, 1, 1)
        assert "finalizers" not in scene.pod(pod["metadata"]["name"])["metadata"]

    rehearse(play)


def test_where_only_failed_pods_are_replaced_a_terminating_one_is_waited_for() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, podReplacementPolicy="Failed")
        await scene.wait()
        pod = scene.delete(scene.run(scene.pods()[0]))
        await scene.wait(60)
        assert "failed" not in status(scene)
        assert len(active(scene)) == 1
        scene.set_phase(pod, "Failed")
        await scene.wait(60)
        assert status(scene)["failed"] == 1
        assert len(active(scene)) == 2

    rehearse(play)


def test_a_job_out_of_time_fails() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, activeDeadlineSeconds=60)
        await scene.wait(59)
        assert true_conditions(scene) == []
        await scene.wait(2)
        assert true_conditions(scene) == [("FailureTarget", "DeadlineExceeded"), ("Failed", "DeadlineExceeded")]
        assert scene.pods() == []

    rehearse(play)


def test_a_suspended_job_loses_its_pods_without_blame_and_begins_again() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait()
        scene.run_all()
        scene.store.patch(JOBS, "batch", "default", {"spec": {"suspend": True}})
        await scene.wait()
        assert active(scene) == []
        for pod in scene.pods():
            scene.delete(pod, 0)
        await scene.wait()
        assert true_conditions(scene) == [("Suspended", "JobSuspended")]
        assert not {"failed", "startTime", "active"} & status(scene).keys()
        scene.store.patch(JOBS, "batch", "default", {"spec": {"suspend": False}})
        await scene.wait()
        assert len(active(scene)) == 2
        assert true_conditions(scene) == []
        assert status(scene)["startTime"] == scene.clock.stamp_after(-1)

    rehearse(play)


def test_a_job_born_suspended_makes_no_pods() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, suspend=True)
        await scene.wait()
        assert scene.pods() == []
        assert true_conditions(scene) == [("Suspended", "JobSuspended")]

    rehearse(play)


def test_less_parallelism_deletes_pods_without_blame() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait()
        scene.store.patch(JOBS, "batch", "default", {"spec": {"parallelism": 1}})
        await scene.wait()
        assert len(scene.pods()) == 1
        assert "failed" not in status(scene)

    rehearse(play)


def test_a_finished_job_is_forgotten_after_its_pods() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, completions=1, parallelism=1, ttlSecondsAfterFinished=100)
        await scene.wait()
        await end(scene, "Succeeded")
        await scene.wait(90)
        job = scene.store.get(JOBS, "batch", "default")
        assert job is not None
        assert "deletionTimestamp" not in job["metadata"]
        await scene.wait(15)
        job = scene.store.get(JOBS, "batch", "default")
        assert job is not None
        assert job["metadata"]["finalizers"] == ["foregroundDeletion"]
        assert "deletionTimestamp" in job["metadata"]

    rehearse(play)


def test_pods_of_a_job_that_is_gone_are_let_go() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait()
        orphan, other = scene.pods()
        scene.store.patch(PODS, orphan["metadata"]["name"], "default", {"metadata": {"ownerReferences": None}})
        await scene.wait()
        assert "finalizers" not in scene.pod(orphan["metadata"]["name"])["metadata"]
        scene.store.delete(JOBS, "batch", "default")
        await scene.wait()
        assert "finalizers" not in scene.pod(other["metadata"]["name"])["metadata"]

    rehearse(play)


def test_pods_that_a_quota_refuses_are_tried_again_doubling() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait(1)
        assert len(active(scene)) == 2
        scene.store.create(
            RESOURCE_QUOTAS, {"metadata": {"name": "few", "namespace": "default"}, "spec": {"hard": {"pods": "1"}}}
        )
        await scene.wait(0.1)
        await end(scene, "Succeeded")
        await scene.wait(20)
        assert len(active(scene)) == 1
        scene.store.delete(RESOURCE_QUOTAS, "few", "default")
        # It was refused at 0, 1, 3, 7 and 15 seconds.
        await scene.wait(8)
        assert len(active(scene)) == 1
        await scene.wait(4)
        assert len(active(scene)) == 2

    rehearse(play)
