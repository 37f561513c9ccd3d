"""``growth queue explain``: one workload's story, what it lacks and what happens next, and which one is meant."""

from datetime import timedelta

import pytest
from rich.console import Console

from bench.queue_scene import NOW, SETTINGS, an_afternoon, world_of
from growth.api.kinds import NAMESPACES, PODS
from growth.api.meta import Condition, ObjectMeta
from growth.api.pod import Pod, PodSpec, PodStatus
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from growth.api.queue.workload import QUEUE_NAME
from growth.api.settings.model import Settings
from growth.cli.errors import UsageError
from growth.cli.queue_entry import WorkloadPhase, entry_of
from growth.cli.queue_explain_report import PodView, WorkloadReport, explained
from growth.cli.queue_explain_view import view
from growth.cli.queue_names import check_namespace, check_queue, workload_meant
from growth.cli.queue_reader import QueueView, see
from tests.decide.queue.stage import Stage, a_stage, read, settings, snapshot_of
from tests.decide.queue.test_pods_ready import a_job_without_a_node

MINUTE = 60
READY = Condition("Ready", "True")


def seen_on(stage: Stage, terms: Settings | None = None) -> QueueView:
    return see(snapshot_of(stage.objects, stage.now), terms or stage.settings)


def story(stage: Stage, job: str, terms: Settings | None = None) -> WorkloadReport:
    seen = seen_on(stage, terms)
    return explained(seen, workload_meant(seen.context, job, ""), ())


def in_the_afternoon(job: str) -> WorkloadReport:
    seen = see(world_of(an_afternoon()).snapshot(NOW), SETTINGS)
    return explained(seen, workload_meant(seen.context, job, ""), ())


def shown(told: WorkloadReport, width: int = 120) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(view(told, width))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_its_story_goes_from_its_making_to_what_will_happen() -> None:
    stage = a_stage()
    stage.a_job("a")
    stage.settle()
    stage.wait(5 * MINUTE + 1)
    told = story(stage, "a")
    assert [step.words for step in told.steps if not step.is_to_come][:2] == [
        "Job a was made",
        "it was queued in default/door",
    ]
    assert [step.at for step in told.steps] == sorted(step.at for step in told.steps)
    evicted = next(step for step in told.steps if step.what == "Evicted")
    assert evicted.words.startswith("it was evicted after it was tried once (PodsReadyTimeout): not ready in time")
    assert (told.steps[-1].words, told.steps[-1].is_to_come) == ("it is queued again", True)
    assert told.next_at == told.steps[-1].at
    assert told.next.endswith("it is queued again.")


def test_eviction_after_recovery_timeout_is_explained_as_such() -> None:
    stage = a_stage()
    stage.a_job("a")
    stage.settle()
    stage.play_jobs(ready=["a"])
    stage.settle()
    stage.change(QUEUED_JOBS, "a", {"status": {"ready": 0}})
    stage.settle()
    stage.wait(5 * MINUTE + 1)
    evicted = next(step for step in story(stage, "a").steps if step.what == "Evicted")
    assert "(PodsReadyTimeout): it ran and did not recover in time (recoveryTimeout)" in evicted.words


def test_who_starts_knows_what_follows_if_it_does_not() -> None:
    stage = a_stage(settings(backoff_limit_count=1))
    stage.a_job("a")
    stage.settle()
    assert story(stage, "a").next.endswith("its pods must be ready, or it is put back, and waits for 1m.")
    stage.wait(5 * MINUTE + 1)
    stage.wait(2 * MINUTE)
    words = "it is deactivated: it was tried once already, and that is the limit."
    assert story(stage, "a").next.endswith(words)
    assert "is in Growth's settings (--settings)" in story(stage, "a", Settings()).next


def test_who_waits_for_a_machine_has_the_time_that_growth_gives_it() -> None:
    stage = a_stage(settings(extend=True))
    a_job_without_a_node(stage)
    seen = seen_on(stage)
    key = workload_meant(seen.context, "job", "")
    assert entry_of(seen, key).until is None
    assert "waits for a machine, expected by 09:15 UTC" in entry_of(seen, key).why
    told = explained(seen, key, [read(PODS, stage.objects[PODS, "default", "job-1"])])
    assert told.next_at == stage.wake_at
    assert told.next.startswith("By 09:15 UTC (in 14m59s) its pods must be ready, or it is put back")


def test_who_waits_knows_its_place_who_is_ahead_and_who_holds_what_it_lacks() -> None:
    stage = a_stage(settings(wait=False), cpu="4")
    for name, cpu in (("runs", "3"), ("first", "2"), ("second", "3")):
        stage.a_job(name, cpu=cpu)
        stage.settle()
    told = story(stage, "second")
    assert (told.entry.position, told.line, told.ahead) == (2, 2, ("default/first",))
    (offer,) = told.offers
    assert (offer.flavor, offer.asked, offer.left, offer.lacks) == ("any", {"cpu": 3000}, {"cpu": 1000}, {"cpu": 2000})
    assert told.holders == ("flavor any: default/runs (3 cpu)",)
    assert told.changes == ("2 cpu more of flavor any: somebody who holds it ends, or its nominalQuota is raised",)
    assert told.next.startswith("It is tried again as soon as something in its queue changes")


def test_what_never_fits_says_what_to_raise() -> None:
    stage = a_stage(settings(wait=False), cpu="4")
    stage.a_job("big", cpu="8")
    stage.settle()
    told = story(stage, "big")
    assert told.changes == ("flavor any has 4 cpu at most: raise its nominalQuota to 8 cpu, or ask for less",)
    assert told.holders == ()


def test_what_the_queue_has_no_quota_for_is_named() -> None:
    stage = a_stage(settings(wait=False))
    requests = {"cpu": "1", "nvidia.com/gpu": "1"}
    stage.a_job("gpu", pods={"containers": [{"name": "main", "resources": {"requests": requests}}]})
    stage.settle()
    assert story(stage, "gpu").changes == ("give ClusterQueue all quota for nvidia.com/gpu, or ask for none",)


def test_each_flavor_tells_its_own_reason() -> None:
    stage = Stage(settings(wait=False))
    stage.a_flavor("small", nodeLabels={"size": "small"})
    stage.a_flavor("tainted", nodeTaints=[{"key": "team", "value": "b", "effect": "NoSchedule"}])
    stage.a_queue(flavors={"small": "1", "tainted": "8"})
    stage.a_door()
    stage.a_job("a", cpu="2")
    stage.settle()
    small, tainted = story(stage, "a").offers
    assert "never has more than 1 cpu" in small.why
    assert "has the taint team=b:NoSchedule, not tolerated" in tainted.why
    lines = shown(story(stage, "a"))
    assert any("never enough" in line for line in lines)
    assert any("✕ flavor tainted has the taint" in line for line in lines)


def test_behind_a_strict_head_there_may_be_enough_and_still_it_waits() -> None:
    told = in_the_afternoon("mails-3")
    assert told.ahead == ("shop/year-end", "shop/mails-1", "shop/mails-2")
    assert all(not offer.why for offer in told.offers)
    assert told.next == "It is tried when the one before it was admitted; it is number 4 in the line."


def test_who_has_quota_tells_what_it_holds() -> None:
    told = in_the_afternoon("train-llm")
    assert (told.holds, told.offers) == ({"gpu": "64 cpu, 256Gi, 8 gpu"}, ())
    assert told.job == "Job train-llm is running; of 8 pods at one time it has 8, 8 of them ready"
    assert told.next == "When its job has ended, its quota is free for others."


def test_who_was_put_aside_waits_for_a_person() -> None:
    told = in_the_afternoon("old-cuda")
    assert told.next == "Nothing, until somebody activates it."
    assert told.changes == (f"mend what kept it from starting, then: {told.entry.remedy}",)


@pytest.mark.parametrize(
    ("kind", "name", "command"),
    [
        (CLUSTER_QUEUES, "all", "open its ClusterQueue: kubectl patch clusterqueues all --type merge"),
        (LOCAL_QUEUES, "door", "open its LocalQueue: kubectl -n default patch localqueues door --type merge"),
    ],
    ids=["ClusterQueue", "LocalQueue"],
)
def test_a_stopped_queue_can_be_opened(kind: object, name: str, command: str) -> None:
    stage = a_stage(settings(wait=False))
    stage.change(CLUSTER_QUEUES if kind is CLUSTER_QUEUES else LOCAL_QUEUES, name, {"spec": {"stopPolicy": "Hold"}})
    stage.a_job("a")
    stage.settle()
    told = story(stage, "a")
    assert told.entry.standing is WorkloadPhase.HELD
    assert [change.startswith(command) for change in told.changes] == [True]


def test_one_that_has_finished_has_no_future() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("a")
    stage.settle()
    stage.end("a")
    stage.settle()
    told = story(stage, "a")
    assert (told.entry.standing, told.next) == (WorkloadPhase.FINISHED, "Nothing: it has finished.")
    assert "FINISHED" in shown(told)[0]


def test_pods_are_told_with_what_keeps_them_the_troubled_first() -> None:
    seen = see(world_of(an_afternoon()).snapshot(NOW), SETTINGS)
    key = workload_meant(seen.context, "sweep-7", "")
    fine = Pod(ObjectMeta(name="fine"), PodSpec(), "worker", PodStatus("Running", conditions=(READY,)))
    stuck = Pod(ObjectMeta(name="stuck"), PodSpec(), "worker", PodStatus("Pending", trouble="there is no such image"))
    told = explained(seen, key, [fine, stuck])
    assert told.pods == (
        PodView("fine", "Running", "worker", is_ready=True, why=""),
        PodView("stuck", "Pending", "worker", is_ready=False, why="there is no such image"),
    )
    lines = shown(told)
    assert next(line.split()[0] for line in lines[lines.index("Its pods") + 2 :]) == "stuck"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("job", ["label-images", "distill", "sweep-7", "mails-3", "old-cuda"])
def test_it_fits_the_terminal(job: str, width: int) -> None:
    lines = shown(in_the_afternoon(job), width)
    assert max(map(len, lines)) <= width
    assert lines[-1].strip()


# Who is meant


def test_a_job_is_as_good_as_its_workload_with_or_without_the_namespace() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("a")
    stage.settle()
    scene, name = seen_on(stage).context, stage.workload("a").metadata.name
    for text in ("a", "default/a", name, f"default/{name}"):
        assert workload_meant(scene, text, "") == ("default", name)
    assert workload_meant(scene, "a", "default") == ("default", name)


def test_a_name_that_nobody_bears_is_refused_with_the_closest() -> None:
    scene = see(world_of(an_afternoon()).snapshot(NOW), SETTINGS).context
    with pytest.raises(UsageError, match=r"no workload 'distil'.* close to it is distill"):
        workload_meant(scene, "distil", "")
    with pytest.raises(UsageError, match=r"no workload 'ml/distil'.* close to it .*ml/distill"):
        workload_meant(scene, "ml/distil", "")
    with pytest.raises(UsageError, match="there are 30: kubectl get workloads"):
        workload_meant(scene, "zzz", "")
    with pytest.raises(UsageError, match="no workload 'distill' in namespace shop"):
        workload_meant(scene, "distill", "shop")
    with pytest.raises(UsageError, match="is in namespace ml, and --namespace says shop"):
        workload_meant(scene, "ml/distill", "shop")


def test_a_name_that_several_bear_needs_its_namespace() -> None:
    stage = a_stage(settings(wait=False))
    stage.put(NAMESPACES, {"metadata": {"name": "other"}})
    for namespace in ("default", "other"):
        name = {"name": "job-a-12345", "namespace": namespace, "uid": f"uid-{namespace}"}
        stage.put(WORKLOADS, {"metadata": name, "spec": {"queueName": "door"}})
    scene = seen_on(stage).context
    with pytest.raises(UsageError, match="any of 2: default/job-a-12345, other/job-a-12345; write the namespace"):
        workload_meant(scene, "job-a-12345", "")
    assert workload_meant(scene, "other/job-a-12345", "") == ("other", "job-a-12345")


def test_a_job_without_a_workload_says_that_nobody_looked_at_it() -> None:
    stage = a_stage()
    stage.a_job("a")
    with pytest.raises(UsageError, match=r"Job default/a .* has no Workload yet: does growth run, with queue.enabled"):
        workload_meant(seen_on(stage).context, "a", "")


def test_of_two_jobs_of_one_name_the_one_that_lives_is_meant() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("a")
    stage.settle()
    stage.end("a")
    stage.settle()
    stage.drop(QUEUED_JOBS, "a")
    stage.now += timedelta(minutes=1)
    stage.put(
        QUEUED_JOBS,
        {
            "metadata": {"name": "a", "uid": "another", "labels": {QUEUE_NAME: "door"}},
            "spec": {"suspend": True, "template": {"metadata": {}, "spec": {"containers": [{"name": "main"}]}}},
        },
    )
    stage.settle()
    scene = seen_on(stage).context
    assert not scene.drafts[workload_meant(scene, "a", "")].before.is_finished


def test_a_queue_or_namespace_that_is_not_there_is_refused() -> None:
    scene = see(world_of(an_afternoon()).snapshot(NOW), SETTINGS).context
    with pytest.raises(UsageError, match="--queue reserch: there is no such ClusterQueue; close to it is research"):
        check_queue(scene, "reserch")
    with pytest.raises(UsageError, match="--queue train: that is a LocalQueue; expected its ClusterQueue, research"):
        check_queue(scene, "train")
    with pytest.raises(UsageError, match="--namespace shp: there is no such namespace; close to it is shop"):
        check_namespace(scene, "shp")
