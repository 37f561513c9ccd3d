"""What a job wants and how far it is."""

from datetime import UTC, datetime

import msgspec
import pytest

from growth.api.meta import ObjectMeta
from growth.api.queue.job import STOPPING, QueuedJob, QueuedJobSpec, QueuedJobStatus, UncountedPods

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def a_job(
    parallelism: int | None = None, completions: int | None = None, *, suspend: bool = False, **status: object
) -> QueuedJob:
    spec = QueuedJobSpec(msgspec.Raw(b"{}"), parallelism, completions, suspend)
    return QueuedJob(ObjectMeta(name="one"), spec, msgspec.convert(status, QueuedJobStatus))


@pytest.mark.parametrize(
    ("parallelism", "completions", "pods"),
    [(None, None, 1), (3, None, 3), (3, 2, 2), (2, 3, 2), (None, 5, 1), (0, 5, 0)],
)
def test_as_many_pods_run_at_one_time(parallelism: int | None, completions: int | None, pods: int) -> None:
    assert a_job(parallelism, completions).spec.pods == pods


@pytest.mark.parametrize(
    ("parallelism", "completions", "succeeded", "pods"),
    [
        pytest.param(3, 6, 3, 3, id="all are replaced"),
        pytest.param(3, 6, 4, 2, id="the last ones run"),
        pytest.param(5, 3, 1, 2, id="never more than completions"),
        pytest.param(3, None, 1, 2, id="a work queue begins no new ones"),
        pytest.param(1, 1, 1, 1, id="a single one keeps its place until it has ended"),
        pytest.param(2, 2, 9, 0, id="never less than nothing"),
    ],
)
def test_pods_that_are_still_to_come(parallelism: int, completions: int | None, succeeded: int, pods: int) -> None:
    assert a_job(parallelism, completions, succeeded=succeeded).pods_to_come == pods


def test_pods_are_ready_if_as_many_run_or_have_succeeded_as_should() -> None:
    assert not a_job(3, ready=1, succeeded=1).are_pods_ready
    assert a_job(3, ready=2, succeeded=1).are_pods_ready
    job = a_job(3, ready=1, succeeded=1)
    status = msgspec.structs.replace(job.status, uncounted_terminated_pods=UncountedPods(("uid",)))
    assert msgspec.structs.replace(job, status=status).are_pods_ready


def test_a_job_is_stopped_if_it_is_marked_and_has_no_pods() -> None:
    marked = ObjectMeta(name="one", annotations={STOPPING: "true"})
    assert not a_job(suspend=True).is_stopped, "a start may be under way"
    assert msgspec.structs.replace(a_job(suspend=True), metadata=marked).is_stopped
    assert not msgspec.structs.replace(a_job(suspend=True, active=1), metadata=marked).is_stopped
    assert not msgspec.structs.replace(a_job(suspend=True, terminating=1), metadata=marked).is_stopped
    assert not msgspec.structs.replace(a_job(), metadata=marked).is_stopped
