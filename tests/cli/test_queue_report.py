"""What ``growth queue`` says about queues that the real decider has settled."""

from datetime import timedelta

import pytest

from bench.queue_scene import NOW, SETTINGS, an_afternoon, world_of
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from growth.api.settings.model import Settings
from growth.cli.queue_entry import WorkloadPhase, WorkloadRow
from growth.cli.queue_reader import see
from growth.cli.queue_report import QueueReport, report_of
from growth.cli.queue_shares import QuotaShare
from tests.decide.queue.stage import Stage, a_stage, settings, snapshot_of

MINUTE = 60


def reported(stage: Stage, terms: Settings | None = None, queue: str = "", namespace: str = "") -> QueueReport:
    return report_of(see(snapshot_of(stage.objects, stage.now), terms or stage.settings), queue, namespace)


def entry(report: QueueReport, job: str) -> WorkloadRow:
    (found,) = [one for one in report.entries if one.owner == f"Job {job}"]
    return found


def line(report: QueueReport) -> list[str]:
    """Who waits in the only queue, in order."""
    (queue,) = report.queues
    assert [one.position for one in queue.pending if one.position] == [
        at + 1 for at in range(sum(bool(one.position) for one in queue.pending))
    ]
    return [one.title.partition("/")[2] for one in queue.pending if one.position]


def test_the_line_is_the_order_in_which_they_are_served() -> None:
    stage = a_stage(settings(wait=False))
    for name in ("a", "b", "c", "d"):
        stage.a_job(name)
    stage.settle()
    workload = stage.workload("d").metadata.name
    stage.change(WORKLOADS, workload, {"spec": {"priority": 10}})
    stage.settle()
    told, served = line(reported(stage)), list[str]()
    for _ in told:
        (running,) = stage.running()
        stage.end(running)
        stage.settle()
        served += [one for one in stage.running() if one != running]
        stage.drop(next(key[0] for key in stage.objects if key[2] == running), running)
    assert told == served == ["d", "b", "c"]


def test_bars_tell_what_is_held_of_what_there_is() -> None:
    stage = a_stage(settings(wait=False), cpu="4")
    stage.a_job("a", cpu="1500m")
    stage.settle()
    (queue,) = reported(stage).queues
    assert queue.shares == (QuotaShare("any", "cpu", 1500, 4000, 0, 4000),)
    assert (queue.strategy, queue.is_active, queue.is_reported) == ("BestEffortFIFO", True, True)


def test_who_was_admitted_is_running_where_nobody_waits_for_its_pods() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("a")
    stage.settle()
    found = entry(reported(stage), "a")
    assert (found.standing, found.pods, found.asks) == (WorkloadPhase.RUNNING, 1, {"cpu": 1000})


def test_who_starts_tells_by_when_its_pods_must_be_ready() -> None:
    stage = a_stage()
    stage.a_job("a")
    stage.settle()
    admitted = stage.workload("a").condition("Admitted")
    assert admitted is not None
    assert admitted.last_transition_time is not None
    found = entry(reported(stage), "a")
    assert found.standing is WorkloadPhase.STARTING
    assert found.until == admitted.last_transition_time + timedelta(minutes=5)
    assert "0 of 1 pods are ready" in found.why
    unknown = entry(reported(stage, Settings()), "a")
    assert (unknown.standing, unknown.until) == (WorkloadPhase.STARTING, None)


def test_who_is_ready_is_ready() -> None:
    stage = a_stage()
    stage.a_job("a")
    stage.settle()
    stage.play_jobs(ready=["a"])
    stage.settle()
    assert entry(reported(stage), "a").standing is WorkloadPhase.READY


def test_who_backs_off_has_no_place_and_tells_when_it_comes_back() -> None:
    stage = a_stage()
    stage.a_job("a")
    stage.settle()
    stage.wait(5 * MINUTE + 1)
    state = stage.workload("a").status.requeue_state
    assert state is not None
    found = entry(reported(stage), "a")
    assert (found.standing, found.position, found.attempts) == (WorkloadPhase.BACKOFF, 0, 1)
    assert found.until == state.requeue_at
    assert "not ready in time" in found.why


def test_when_its_time_has_come_it_has_a_place_even_before_that_is_written() -> None:
    stage = a_stage()
    stage.a_job("a")
    stage.settle()
    stage.wait(5 * MINUTE + 1)
    stage.now += timedelta(minutes=2)
    found = entry(reported(stage), "a")
    assert (found.standing, found.position, found.why) == (WorkloadPhase.QUEUED, 1, "there is quota for it now")


def test_at_the_limit_it_tells_why_and_how_to_let_it_in_again() -> None:
    stage = a_stage(settings(backoff_limit_count=0))
    stage.a_job("a")
    stage.settle()
    stage.wait(5 * MINUTE + 1)
    found = entry(reported(stage), "a")
    assert found.standing is WorkloadPhase.INACTIVE
    assert "put back 0 times already" in found.why
    name = stage.workload("a").metadata.name
    assert found.remedy == (
        f'kubectl -n default patch workloads.kueue.x-k8s.io {name} --type merge -p \'{{"spec":{{"active":true}}}}\''
    )


def test_whom_a_person_deactivated_says_so() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("a")
    stage.a_job("b")
    stage.settle()
    stage.change(WORKLOADS, stage.workload("b").metadata.name, {"spec": {"active": False}})
    stage.settle()
    found = entry(reported(stage), "b")
    assert (found.standing, found.why) == (WorkloadPhase.INACTIVE, "somebody deactivated it (spec.active)")


def test_in_a_strict_queue_they_are_behind_the_first_that_cannot_be_served() -> None:
    stage = a_stage(settings(wait=False), cpu="2", queueingStrategy="StrictFIFO")
    for name, cpu in (("runs", "1"), ("big", "2"), ("small", "1")):
        stage.a_job(name, cpu=cpu)
        stage.settle()
    report = reported(stage)
    assert line(report) == ["big", "small"]
    assert entry(report, "big").why == "2 cpu are asked for, and of flavor any are left 1 cpu"
    assert entry(report, "small").why == "behind default/big: the queue is StrictFIFO"


def test_who_leaves_still_holds_its_quota() -> None:
    stage = a_stage()
    stage.a_job("a")
    stage.settle()
    stage.now += timedelta(minutes=6)
    stage.settle(jobs=False)
    report = reported(stage)
    assert entry(report, "a").standing is WorkloadPhase.LEAVING
    assert report.queues[0].shares[0].used == 1000


def test_a_stopped_queue_tells_so_and_holds_those_in_it() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("a")
    stage.settle()
    stage.a_job("b")
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})
    stage.settle()
    report = reported(stage)
    assert (report.queues[0].is_active, report.queues[0].why) == (False, "its stopPolicy is HoldAndDrain")
    assert entry(report, "a").standing is WorkloadPhase.HELD
    assert entry(report, "a").why == "ClusterQueue all is being drained: it comes back when that is over"
    assert "its stopPolicy is HoldAndDrain" in entry(report, "b").why


def test_a_stopped_local_queue_is_a_warning() -> None:
    stage = a_stage(settings(wait=False))
    stage.change(LOCAL_QUEUES, "door", {"spec": {"stopPolicy": "Hold"}})
    stage.settle()
    assert reported(stage).queues[0].warnings == ("LocalQueue default/door: its stopPolicy is Hold",)


def test_what_a_queue_warns_of_is_told() -> None:
    stage = a_stage(settings(timestamp="Creation"), queueingStrategy="StrictFIFO")
    stage.settle()
    (warning,) = reported(stage).queues[0].warnings
    assert "returns to the front of this StrictFIFO queue again and again" in warning


def test_who_has_no_queue_is_homeless() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("a", local_queue="nowhere")
    stage.settle()
    (found,) = reported(stage).homeless
    assert (found.title, found.standing) == ("default/a", WorkloadPhase.HELD)
    assert "there is no LocalQueue default/nowhere" in found.why
    assert reported(stage, queue="all").homeless == ()


def test_where_nobody_runs_the_queue_that_shows() -> None:
    stage = a_stage()
    stage.a_job("a")
    report = reported(stage)
    assert report.is_unattended
    assert report.unmade == ("default/a",)
    stage.settle()
    assert not reported(stage).is_unattended
    assert reported(stage).unmade == ()


def test_who_has_finished_is_counted() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("a")
    stage.settle()
    stage.end("a")
    stage.settle()
    report = reported(stage)
    assert (report.finished, list(report.entries)) == (1, [])


def afternoon(queue: str = "", namespace: str = "") -> QueueReport:
    return report_of(see(world_of(an_afternoon()).snapshot(NOW), SETTINGS), queue, namespace)


def test_one_namespace_or_queue_can_be_looked_at_alone() -> None:
    assert [queue.name for queue in afternoon().queues] == ["research", "shop"]
    assert [queue.name for queue in afternoon(namespace="shop").queues] == ["shop"]
    assert [queue.name for queue in afternoon(queue="research").queues] == ["research"]
    assert {one.namespace for one in afternoon(namespace="ml").entries} == {"ml"}


def test_they_stand_in_the_order_in_which_people_ask_for_them() -> None:
    research = afternoon().queues[0]
    assert [one.standing for one in (*research.admitted, *research.pending)] == [
        *(WorkloadPhase.READY, WorkloadPhase.READY, WorkloadPhase.STARTING),
        *(WorkloadPhase.QUEUED, WorkloadPhase.QUEUED, WorkloadPhase.BACKOFF, WorkloadPhase.INACTIVE),
    ]


@pytest.mark.parametrize("job", ["distill", "sweep-8", "year-end"])
def test_the_picture_tells_what_the_decider_says(job: str) -> None:
    seen = see(world_of(an_afternoon()).snapshot(NOW), SETTINGS)
    found = entry(report_of(seen), job)
    assert seen.words[found.namespace, found.name].removeprefix("main: ") == found.why
