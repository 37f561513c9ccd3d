"""What is counted, told and shown of workloads, once."""

from growth.api.actions import Action, Hold, RecordEvent
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES
from growth.api.queue.workload import EvictionCount
from growth.decide.queue.carry import QueueCarry
from tests.decide.queue.stage import Stage, a_stage, settings


def memory(stage: Stage) -> QueueCarry:
    assert isinstance(stage.memory, QueueCarry)
    return stage.memory


def events(said: tuple[Action | Hold, ...]) -> list[tuple[str, str]]:
    return [(one.subject.kind, one.reason) for one in said if isinstance(one, RecordEvent)]


def story(stage: Stage, passes: int = 12) -> list[tuple[str, str]]:
    """All that is told until nothing happens any more."""
    reported: list[tuple[str, str]] = []
    for _ in range(passes):
        said = stage.look().said
        reported += events(said)
        for one in said:
            stage.take(one)
        stage.play_jobs()
    return reported


def test_what_becomes_of_a_job_is_told_once_on_it_and_on_its_workload() -> None:
    stage = a_stage(settings(backoff_limit_count=1))
    stage.a_job("one")
    assert story(stage) == [("Workload", "Admitted"), ("Job", "Admitted")]
    stage.wait(0)
    stage.now = stage.wake_at or stage.now
    evicted = "EvictedDueToPodsReadyTimeout"
    assert story(stage) == [("Workload", evicted), ("Job", evicted)]
    stage.now = stage.wake_at or stage.now
    assert [reason for _, reason in story(stage)] == ["Admitted", "Admitted", "Requeued", "Requeued"]
    stage.now = stage.wake_at or stage.now
    gone = "EvictedDueToWorkloadInactive"
    assert [reason for _, reason in story(stage)] == ["Deactivated", "Deactivated", gone, gone]
    stats = stage.workload("one").status.scheduling_stats
    assert stats is not None
    assert stats.evictions == (
        EvictionCount("PodsReadyTimeout", "WaitForStart", 1),
        EvictionCount("WorkloadInactive", "RequeuingLimitExceeded", 1),
    )


def test_event_of_an_eviction_after_recovery_timeout_says_that_it_ran() -> None:
    stage = a_stage()
    stage.a_job("one")
    stage.settle()
    stage.play_jobs(ready=["one"])
    stage.settle()
    stage.change(QUEUED_JOBS, "one", {"status": {"ready": 0}})
    stage.settle()
    stage.now = stage.wake_at or stage.now
    notes = {one.why for one in stage.look().said if isinstance(one, RecordEvent)}
    assert notes == {"it ran and did not recover in time (recoveryTimeout): 0 of 1 pods are ready or have succeeded"}


def test_what_is_decided_again_because_it_is_not_seen_yet_is_neither_told_nor_counted_again() -> None:
    stage = a_stage()
    stage.a_job("one")
    for said in stage.look().said:
        stage.take(said)
    seen = dict(stage.objects)
    first, second = stage.look(seen), stage.look(seen)
    assert events(first.said) == [("Workload", "Admitted"), ("Job", "Admitted")]
    assert isinstance(first.carry, QueueCarry)
    assert len(first.carry.news.admitted) == 1
    assert isinstance(second.carry, QueueCarry)
    assert (events(second.said), second.carry.news.admitted) == ([], ())


def test_who_is_deactivated_during_its_backoff_is_not_evicted_once_more() -> None:
    stage = a_stage(settings(backoff_limit_timeout=330))
    stage.a_job("one")
    stage.settle()
    stage.wait(300)
    stage.now = stage.wake_at or stage.now
    assert [reason for _, reason in story(stage)] == ["Deactivated", "Deactivated"]
    stats = stage.workload("one").status.scheduling_stats
    assert stats is not None
    assert stats.evictions == (EvictionCount("PodsReadyTimeout", "WaitForStart", 1),)


def test_a_restart_tells_nothing_that_is_old() -> None:
    stage = a_stage()
    stage.a_job("one")
    stage.settle()
    stage.memory = None
    assert events(stage.look().said) == []
    assert memory(stage).news.admitted == ()


def test_how_long_it_waited_counts_from_its_creation_or_from_when_it_was_put_back() -> None:
    stage = a_stage()
    stage.a_job("one")
    stage.a_job("two")
    stage.settle()
    stage.now += (stage.now - stage.now).resolution * 40_000_000
    stage.end("one")
    waits: list[tuple[str, float]] = []
    for _ in range(6):
        for said in stage.look().said:
            stage.take(said)
        waits += memory(stage).news.admitted
    ((queue, seconds),) = waits
    assert queue == "all"
    assert 40 <= seconds < 41
    stage.wait(301)
    waits.clear()
    stage.now = stage.wake_at or stage.now
    for _ in range(6):
        for said in stage.look().said:
            stage.take(said)
        waits += memory(stage).news.admitted
    assert waits == [("all", 0.0)], "its backoff is no wait for quota"


def test_the_figures_say_who_waits_for_its_turn_and_who_for_something_else() -> None:
    stage = a_stage(cpu="2")
    for name, cpu in (("one", "2"), ("two", "1"), ("large", "3")):
        stage.a_job(name, cpu=cpu)
    stage.settle()
    figures = memory(stage).figures["all"]
    assert (figures.active, figures.inadmissible, figures.reserving, figures.admitted) == (1, 1, 1, 1)
    assert (figures.used, figures.nominal) == ({("any", "cpu"): 2000}, {("any", "cpu"): 2000})
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "Hold"}})
    stage.settle()
    figures = memory(stage).figures["all"]
    assert (figures.active, figures.inadmissible) == (0, 2), "nobody's turn comes"


def test_what_it_asks_for_is_said_while_it_waits_and_no_longer() -> None:
    stage = a_stage(cpu="2")
    stage.a_job("one", cpu="2")
    stage.a_job("two", parallelism=2, cpu="500m")
    stage.settle()
    (asked,) = stage.workload("two").status.resource_requests
    assert (asked.name, asked.resources) == ("main", {"cpu": "1", "pods": "2"})
    stage.end("one")
    stage.settle()
    assert stage.workload("two").status.resource_requests == ()
