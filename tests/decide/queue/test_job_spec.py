"""What a job wants of its workload, and when that counts."""

from growth.api.actions import Hold, PatchObject
from growth.api.kinds import PRIORITY_CLASSES
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from growth.api.queue.workload import PRIORITY_CLASS
from tests.decide.queue.stage import Stage, a_stage


def with_classes(**values: int) -> Stage:
    stage = a_stage()
    for name, value in values.items():
        stage.put(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
    return stage


def priority(stage: Stage, job: str = "one") -> tuple[str, int | None]:
    spec = stage.workload(job).spec
    return spec.priority_class_ref.name if spec.priority_class_ref is not None else "", spec.priority


def label(stage: Stage, job: str, name: str | None) -> None:
    stage.change(QUEUED_JOBS, job, {"metadata": {"labels": {PRIORITY_CLASS: name}}})
    stage.settle()


def test_another_class_counts_at_once_also_while_the_job_runs() -> None:
    stage = with_classes(low=1, high=9)
    stage.a_job("one", labels={PRIORITY_CLASS: "low"})
    stage.settle()
    assert (stage.running(), priority(stage)) == (["one"], ("low", 1))
    label(stage, "one", "high")
    assert (stage.running(), priority(stage)) == (["one"], ("high", 9))


def test_the_new_value_of_a_class_is_pushed_to_all_its_workloads() -> None:
    stage = with_classes(low=1)
    stage.a_job("one", labels={PRIORITY_CLASS: "low"})
    stage.a_job("two", labels={PRIORITY_CLASS: "low"})
    stage.a_job("three")
    stage.settle()
    stage.change(WORKLOAD_PRIORITY_CLASSES, "low", {"value": 7})
    stage.settle()
    assert [priority(stage, job) for job in ("one", "two", "three")] == [("low", 7), ("low", 7), ("", 0)]
    stage.end("one")
    stage.settle()
    assert stage.admitted() == ["two"], "it is before the others now"


def test_a_class_that_is_taken_away_while_the_job_waits_leaves_the_priority_of_its_pods() -> None:
    stage = with_classes(high=9)
    stage.put(PRIORITY_CLASSES, {"metadata": {"name": "pods"}, "value": 3})
    stage.a_job("first")
    stage.settle()
    stage.a_job("one", labels={PRIORITY_CLASS: "high"}, pods={"priorityClassName": "pods"})
    stage.settle()
    assert priority(stage) == ("high", 9)
    label(stage, "one", None)
    assert priority(stage) == ("pods", 3)


def test_while_it_runs_a_class_is_neither_added_nor_taken_away() -> None:
    """Where a priority comes from is fixed as long as quota is held: Kueue's definitions refuse anything else."""
    stage = with_classes(high=9)
    stage.a_job("one")
    stage.settle()
    label(stage, "one", "high")
    assert priority(stage) == ("", 0)
    stage.end("one")
    stage.a_job("two", labels={PRIORITY_CLASS: "high"})
    stage.settle()
    label(stage, "two", None)
    assert (stage.admitted(), priority(stage, "two")) == (["two"], ("high", 9))


def test_a_priority_that_a_person_wrote_on_the_workload_stays_if_no_label_says_otherwise() -> None:
    stage = a_stage()
    stage.a_job("first")
    stage.a_job("one")
    stage.settle()
    stage.change(WORKLOADS, stage.workload("one").metadata.name, {"spec": {"priority": 5}})
    stage.settle()
    assert priority(stage) == ("", 5)


def test_a_class_that_is_not_there_is_said_and_holds_up_nobody() -> None:
    stage = a_stage()
    stage.a_job("one", labels={PRIORITY_CLASS: "nope"})
    stage.settle()
    assert stage.running() == ["one"]
    (hold,) = [one for one in stage.look().said if isinstance(one, Hold)]
    assert "there is no WorkloadPriorityClass nope" in hold.why


def test_a_job_that_nobody_edits_costs_no_write() -> None:
    stage = with_classes(low=1)
    stage.a_job("one", labels={PRIORITY_CLASS: "low"})
    stage.a_job("two")
    stage.settle()
    assert [one for one in stage.look().said if isinstance(one, PatchObject)] == []
