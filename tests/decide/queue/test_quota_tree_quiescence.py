"""Where nothing has changed nobody is asked; and whatever changes is noticed.

Each look of a Stage is compared with one that looks at everything, so what is left out wrongly fails here.
"""

from typing import Any

import pytest

from growth.api.actions import PatchObject
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOADS
from growth.api.queue.workload import QUOTA_RESERVED
from growth.decide.queue import decider
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.index import QueueIndex
from tests.decide.passes import Given
from tests.decide.queue.stage import Stage, a_stage, decide, settings, snapshot_of


def memory_of(stage: Stage) -> QueueCarry:
    assert isinstance(stage.memory, QueueCarry)
    return stage.memory


def is_settled(stage: Stage) -> bool:
    backlog = memory_of(stage).backlog
    return backlog is not None and bool(backlog.settled)


def a_full_stage(**spec: Any) -> Stage:  # noqa: ANN401 - of a ClusterQueue
    """One runs, one waits, and nothing happens any more."""
    stage = a_stage(settings(wait=False), **spec)
    stage.a_job("first")
    stage.a_job("second")
    stage.settle()
    stage.look()
    assert stage.admitted() == ["first"]
    assert is_settled(stage)
    return stage


def test_who_waits_is_served_when_somebody_ends() -> None:
    stage = a_full_stage()
    stage.end("first")
    stage.settle()
    assert stage.admitted() == ["second"]


def test_who_comes_is_asked() -> None:
    stage = a_full_stage()
    stage.a_job("none", cpu="0")
    stage.settle()
    assert stage.admitted() == ["first", "none"]


def test_more_quota_is_noticed() -> None:
    stage = a_full_stage()
    quota = {"name": "cpu", "nominalQuota": "2"}
    (known,) = stage.objects[CLUSTER_QUEUES, "", "all"]["spec"]["resourceGroups"]
    group = {**known, "flavors": [{**known["flavors"][0], "resources": [quota]}]}
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"resourceGroups": [group]}})
    stage.settle()
    assert stage.admitted() == ["first", "second"]


def test_who_held_up_a_strict_queue_and_is_gone_holds_up_nobody() -> None:
    stage = a_stage(
        settings(wait=False), cpu="2", queueingStrategy="StrictFIFO", preemption={"reclaimWithinCohort": "Any"}
    )
    stage.a_job("large", cpu="3")
    stage.a_job("small")
    stage.settle()
    stage.look()
    assert stage.admitted() == []
    assert is_settled(stage)
    name = stage.workload("large").metadata.name
    stage.change(WORKLOADS, name, {"spec": {"active": False}})
    stage.settle()
    assert stage.admitted() == ["small"]


def test_a_pass_that_broke_off_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = a_stage(settings(wait=False), cpu="2")
    stage.a_job("first")
    for _ in range(2):
        for said in stage.look().said:
            if not (isinstance(said, PatchObject) and said.subresource == "status"):
                stage.take(said)

    def breaks(*_: object) -> None:
        raise RuntimeError

    seen = snapshot_of(stage.objects, stage.now)
    with monkeypatch.context() as patched:
        patched.setattr(decider, "rest", breaks)
        with pytest.raises(RuntimeError):
            decide(seen, Given(carry=stage.memory, index=stage.index), stage.settings)
    stage.index = QueueIndex()  # as the loop has it after a failure
    stage.a_job("second")
    stage.settle()
    assert stage.admitted() == ["first", "second"]


def test_what_was_given_and_is_not_seen_yet_does_not_wait_for_who_came_later_and_is_older() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("young")
    for said in stage.look().said:
        stage.take(said)
    given = stage.look()  # its admission is said, and not written
    assert any(isinstance(said, PatchObject) and said.subresource == "status" for said in given.said)
    stage.a_job("older")
    for said in stage.look().said:
        if not (isinstance(said, PatchObject) and said.subresource == "status"):
            stage.take(said)
    older = stage.workload("older").metadata.name
    stage.change(WORKLOADS, older, {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}})
    conditions = [
        {one["type"]: one["status"] for one in said.body["status"].get("conditions", [])}
        for said in stage.look().said
        if isinstance(said, PatchObject) and said.subresource == "status" and "young" in said.subject.name
    ]
    assert [one[QUOTA_RESERVED] for one in conditions] == ["True"]
