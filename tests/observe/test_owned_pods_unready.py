from datetime import UTC, datetime

from growth.observe.cache import ClusterCache
from tests.builders import Json, a_pod
from tests.observe.telling import Teller

NOW = datetime(2026, 11, 15, tzinfo=UTC)
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
STARTING = {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]}


def of_a_job(name: str, status: Json, job: str = "job", node: str = "worker") -> Json:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}", "controller": True}
    pod = a_pod(name, status=status, node=node)
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}}


def names(world: ClusterCache, uid: str = "uid-job") -> list[str]:
    return sorted(pod.metadata.name for pod in world.snapshot(NOW).unready.of(uid).values())


def test_pods_are_found_by_their_owner_until_they_are_ready() -> None:
    world = ClusterCache(queues=True)
    tell = Teller(world)
    tell.pod(of_a_job("a", STARTING))
    tell.pod(of_a_job("b", {"phase": "Pending", "conditions": []}, node=""))
    tell.pod(of_a_job("other", STARTING, "another"))
    assert names(world) == ["a", "b"]
    tell.pod(of_a_job("a", READY))
    assert names(world) == ["b"]
    tell.pod(of_a_job("a", STARTING))
    assert names(world) == ["a", "b"]


def test_pods_that_have_ended_or_gone_are_not_awaited() -> None:
    world = ClusterCache(queues=True)
    tell = Teller(world)
    first, second = tell.pod(of_a_job("a", STARTING)), tell.pod(of_a_job("b", STARTING))
    tell.pod(of_a_job("a", {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}))
    assert names(world) == ["b"]
    tell.pod_gone(second.metadata.uid)
    tell.pod_gone(first.metadata.uid)
    assert names(world) == []


def test_a_pod_that_nobody_controls_stands_for_itself() -> None:
    world = ClusterCache(queues=True)
    pod = Teller(world).pod({**a_pod("alone", status=STARTING), "metadata": {"name": "alone", "uid": "own"}})
    assert names(world, pod.metadata.uid) == ["alone"]


def test_a_pod_that_gets_an_owner_is_found_there() -> None:
    world = ClusterCache(queues=True)
    tell = Teller(world)
    orphan = of_a_job("a", STARTING)
    uid = tell.pod({**orphan, "metadata": {**orphan["metadata"], "ownerReferences": []}}).metadata.uid
    assert names(world, uid) == ["a"]
    tell.pod(orphan)
    assert (names(world, uid), names(world)) == ([], ["a"])


def test_without_a_queue_nobody_keeps_them() -> None:
    world = ClusterCache()
    Teller(world).pod(of_a_job("a", STARTING))
    assert names(world) == []
