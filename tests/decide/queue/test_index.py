"""The index of the queue equals one built anew, whatever happened; and a pass changes neither it nor its carry."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from growth.api.queue.kinds import WORKLOADS
from growth.api.settings.model import Settings
from growth.decide.contract import Decision, Inputs
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.decider import CAPABILITY
from growth.decide.queue.index import QueueIndex, index_of
from growth.observe.snapshot import Snapshot
from tests.decide.passes import Given
from tests.decide.queue import cohort_lives, test_properties
from tests.decide.queue.cohort_lives import Cohorts
from tests.decide.queue.stage import Stage, a_stage, snapshot_of
from tests.decide.queue.test_properties import OneQueue
from tests.drawing import examples

STEPS = 60


def contents(index: QueueIndex) -> dict[str, object]:
    """All that can be read from it, but for what changed last."""
    slots = {slot for here in index.holders.values() for holder in here.values() for slot in holder.usage}
    return {
        "workloads": index.workloads,
        "holders": index.holders,
        "by key": {key: index.holder(key) for key in index.workloads},
        "used": {name: {slot: member.used(slot) for slot in slots} for name, member in index.members.items()},
        "terminating": index.terminating,
        "unknown usage": index.unknown_usage,
        "refusals": index.refusals.by_key,
        "jobs": index.jobs.by_uid,
        "pods": index.pods.by_uid,
        "owners": {uid: index.key_of(uid) for uid in (*index.jobs.by_uid, *index.pods.by_uid)},
    }


class Watched(Stage):
    """A stage that compares the index with one that is built anew, and decides twice."""

    looks = 0

    def decided(self, seen: Snapshot, settings: Settings) -> Decision[Any]:
        type(self).looks += 1
        self.index.advance(seen, settings)
        assert contents(self.index) == contents(index_of(seen, settings))
        carry = self.memory if isinstance(self.memory, QueueCarry) else QueueCarry()
        inputs: Inputs[Any, Any, Any] = Given(carry=carry, index=self.index, facts=self.facts).inputs(seen, settings)
        before = contents(self.index)
        first, second = CAPABILITY.decide(inputs), CAPABILITY.decide(inputs)
        assert contents(self.index) == before
        assert (first.said, first.facts, first.requeue_at) == (second.said, second.facts, second.requeue_at)
        return second


@profile(max_examples=examples(40))
@given(st.integers(0, 2**32), st.sampled_from(["Eviction", "Creation"]))
def test_index_equals_a_rebuild_and_a_pass_changes_nothing_of_its_inputs(seed: int, timestamp: str) -> None:
    looks = Watched.looks
    with pytest.MonkeyPatch.context() as patched:
        for module in (cohort_lives, test_properties):
            patched.setattr(module, "Stage", Watched)
        lives = (Cohorts(seed, timestamp, is_shrinking=True), OneQueue(seed, "BestEffortFIFO", timestamp))
        for life in lives:
            life.live(STEPS)
    assert Watched.looks > looks


def test_two_workloads_of_one_job_and_one_of_them_goes() -> None:
    stage, index = a_stage(), QueueIndex()
    stage.a_job("first")
    stage.settle()
    (workload,) = stage.workloads()
    job = workload.metadata.controller
    assert job is not None
    copy = deepcopy(stage.objects[WORKLOADS, "default", workload.metadata.name])
    stage.put(WORKLOADS, {**copy, "metadata": {**copy["metadata"], "name": "another", "uid": "another"}})
    index.advance(snapshot_of(stage.objects, stage.now), stage.settings)
    assert index.key_of(job.uid) == ("default", "another")
    stage.drop(WORKLOADS, "another")
    index.advance(snapshot_of(stage.objects, stage.now), stage.settings)
    assert index.key_of(job.uid) == ("default", workload.metadata.name)
    assert index.changes.gone == {("default", "another")}
