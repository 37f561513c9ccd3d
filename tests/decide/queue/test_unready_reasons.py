"""What is said of pods that do not start."""

from typing import Any, Final

from growth.api.kinds import NODES, PERSISTENT_VOLUME_CLAIMS, PODS
from growth.api.queue.workload import EVICTED, PODS_READY
from tests.builders import Json, a_node, a_pod
from tests.decide.queue.stage import Stage, a_stage, settings

GPU: Final = "nvidia.com/gpu"
REFUSED: Final = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes, sorry"}


def a_job_of(stage: Stage, **pod: Any) -> None:  # noqa: ANN401
    """A job that was admitted, and its one pod."""
    stage.a_job("job")
    stage.settle()
    put_pod(stage, "job-1", **pod)


def put_pod(
    stage: Stage,
    name: str,
    *,
    node: str = "",
    asks: Json | None = None,
    waits_for: Json | None = None,
    spec: Json | None = None,
) -> None:
    containers = [{"name": "main", "image": "example.com/sum:1", "resources": {"requests": asks or {"cpu": "1"}}}]
    conditions = [] if node else [REFUSED]
    container = {"name": "main", "image": "example.com/sum:1", "state": {"waiting": waits_for or {}}}
    status = {"phase": "Pending", "conditions": conditions, "containerStatuses": [container] if waits_for else []}
    body = a_pod(name, node=node, status=status, spec={"containers": containers, "volumes": [], **(spec or {})})
    uid = stage.job("job").metadata.uid
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": uid, "controller": True}
    stage.put(PODS, {**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}})


def put_node(stage: Stage, name: str, **allocatable: str) -> None:
    has = {"cpu": "8", "memory": "16Gi", "pods": "10", **{key.replace("_", "/"): v for key, v in allocatable.items()}}
    made = a_node(name)
    made["status"] |= {"allocatable": has, "capacity": has}
    stage.put(NODES, made)


def words(stage: Stage, kind: str = EVICTED) -> str:
    condition = stage.workload("job").condition(kind)
    assert condition is not None
    return condition.message


def evicted(stage: Stage) -> str:
    stage.wait(301)
    assert stage.says("job", EVICTED) == ("True", "PodsReadyTimeout")
    return words(stage)


def test_what_is_free_in_pieces_is_named_with_the_largest_piece() -> None:
    stage = a_stage()
    for name in ("n1", "n2"):
        put_node(stage, name, **{GPU: "2"})
    a_job_of(stage, asks={"cpu": "1", GPU: "2"})
    for name in ("n1", "n2"):
        put_pod(stage, f"other-{name}", node=name, asks={GPU: "1"})
    for name in ("n1", "n2"):
        stage.change(PODS, f"other-{name}", {"metadata": {"ownerReferences": None}})
    assert evicted(stage) == (
        "not ready in time: 0 of 1 pods are ready or have succeeded; "
        "pod job-1: 2 nvidia.com/gpu asked, largest free node has 1"
    )


def test_each_resource_that_is_short_is_named() -> None:
    stage = a_stage()
    put_node(stage, "n1", cpu="1", memory="1Gi")
    a_job_of(stage, asks={"cpu": "1500m", "memory": "2Gi"})
    assert evicted(stage).endswith(
        "pod job-1: 1.5 CPU asked, largest free node has 1; 2Gi memory asked, largest free node has 1Gi"
    )


def test_enough_of_each_but_never_together_is_said() -> None:
    stage = a_stage()
    put_node(stage, "wide", cpu="8", memory="1Gi")
    put_node(stage, "deep", cpu="1", memory="16Gi")
    a_job_of(stage, asks={"cpu": "4", "memory": "8Gi"})
    assert "4 CPU, 8Gi memory, 1 pods asked, and no node has all of it free" in evicted(stage)


def test_nodes_that_it_may_not_use_are_no_room() -> None:
    stage = a_stage()
    put_node(stage, "n1", **{GPU: "8"})
    stage.change(NODES, "n1", {"spec": {"taints": [{"key": "team", "value": "b", "effect": "NoSchedule"}]}})
    put_node(stage, "n2", **{GPU: "1"})
    a_job_of(stage, asks={GPU: "2"})
    assert "2 nvidia.com/gpu asked, largest free node has 1" in evicted(stage)


def test_if_it_may_use_no_node_at_all_that_is_said() -> None:
    stage = a_stage()
    put_node(stage, "n1")
    stage.change(NODES, "n1", {"spec": {"taints": [{"key": "team", "value": "b", "effect": "NoSchedule"}]}})
    put_node(stage, "n2")
    a_job_of(stage, spec={"nodeSelector": {"disk": "fast"}})
    said = evicted(stage)
    assert "fits none of 2 nodes" in said
    assert "team=b" in said
    assert "disk" in said


def test_a_cluster_without_nodes_is_named_as_such() -> None:
    stage = a_stage()
    a_job_of(stage)
    assert evicted(stage).endswith("pod job-1: there is no node")


def test_where_a_node_has_room_the_scheduler_knows_better() -> None:
    stage = a_stage()
    put_node(stage, "n1")
    a_job_of(stage)
    assert evicted(stage).endswith("pod job-1: 0/2 nodes, sorry")


def test_a_bad_image_is_named_while_it_waits_and_when_it_is_put_back() -> None:
    stage = a_stage()
    put_node(stage, "n1")
    a_job_of(stage, node="n1", waits_for={"reason": "ErrImagePull"})
    stage.wait(10)
    why = (
        "0 of 1 pods are ready or have succeeded; pod job-1: container main: ImagePullBackOff, image example.com/sum:1"
    )
    assert words(stage, PODS_READY) == why
    assert evicted(stage) == f"not ready in time: {why}"


def test_a_claim_that_is_missing_is_named_until_it_is_there() -> None:
    stage = a_stage()
    put_node(stage, "n1")
    a_job_of(stage, spec={"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "rows"}}]})
    stage.wait(10)
    assert words(stage, PODS_READY).endswith("; pod job-1: PersistentVolumeClaim rows does not exist")
    stage.put(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "rows"}, "spec": {}})
    stage.wait(10)
    assert words(stage, PODS_READY).endswith("; no node was found for a pod")


def test_a_claim_that_is_made_for_the_pod_itself_is_not_missed() -> None:
    stage = a_stage()
    put_node(stage, "n1")
    a_job_of(stage, spec={"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]})
    assert evicted(stage).endswith("pod job-1: 0/2 nodes, sorry")


def test_a_gate_of_somebody_else_is_named() -> None:
    stage = a_stage()
    put_node(stage, "n1")
    a_job_of(stage, spec={"schedulingGates": [{"name": "example.com/licence"}]})
    assert evicted(stage).endswith("pod job-1: it is held back by the scheduling gate example.com/licence")


def test_pods_that_are_on_their_way_out_are_not_asked() -> None:
    stage = a_stage()
    put_node(stage, "n1")
    a_job_of(stage, node="n1")
    put_pod(stage, "job-0")
    stage.change(PODS, "job-0", {"metadata": {"deletionTimestamp": "2026-03-02T09:00:01Z"}})
    assert evicted(stage).endswith("pod job-1: it is on node n1, and does not get ready")


def test_while_it_waits_nothing_is_said_that_changes_with_every_other_pod() -> None:
    stage = a_stage()
    put_node(stage, "n1", **{GPU: "1"})
    a_job_of(stage, asks={GPU: "2"})
    put_pod(stage, "job-2", asks={GPU: "2"})
    stage.wait(10)
    assert words(stage, PODS_READY) == "0 of 1 pods are ready or have succeeded; no node was found for 2 pods"
    before = stage.workload("job")
    put_node(stage, "n2", **{GPU: "1"})
    stage.settle()
    assert stage.workload("job") == before


def test_a_pod_that_is_placed_and_never_ready_is_named_with_its_node() -> None:
    stage = a_stage()
    put_node(stage, "n1")
    a_job_of(stage, node="n1")
    assert evicted(stage).endswith("pod job-1: it is on node n1, and does not get ready")


def test_at_the_limit_the_same_is_said_for_good() -> None:
    stage = a_stage(settings(backoff_limit_count=0))
    a_job_of(stage)
    stage.wait(301)
    assert stage.says("job", EVICTED) == ("True", "WorkloadInactive")
    assert "pod job-1: there is no node, and it was put back 0 times already" in words(stage)
