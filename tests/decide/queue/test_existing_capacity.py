"""Nothing more can be bought, and nodes stand: who fits there runs there."""

from typing import Any

import pytest

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import NODES, PODS
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import WORKLOAD_PRIORITY_CLASSES
from growth.api.queue.workload import EVICTED, ON_STANDING_NODES, PRIORITY_CLASS, QUOTA_RESERVED
from growth.decide.queue.failed_flavors import FAILED_FLAVORS
from tests.builders import Json, a_node, a_pod
from tests.decide.queue.stage import Stage
from tests.decide.queue.test_flavor_migration import TYPE, flavor_of, in_stock
from tests.decide.queue.test_flavor_migration import a_stage as a_stage_with_a_shop

SMALL = {TYPE: "small"}


def a_stage(**cpu: str) -> Stage:
    """No machine of the first flavor can be had; the second one has no quota."""
    stage = a_stage_with_a_shop(**(cpu or {"small": "100", "large": "0"}))
    in_stock(stage, small=0)
    return stage


def a_place(stage: Stage, name: str = "node", cpu: str = "4", **node: Any) -> None:  # noqa: ANN401
    stage.put(NODES, a_node(name, labels={**SMALL, **node.pop("labels", {})}, allocatable={"cpu": cpu}, **node))


def a_stranger(stage: Stage, name: str, cpu: str, *, node: str = "", **spec: Any) -> None:  # noqa: ANN401
    """A pod that no queue knows."""
    container = {"name": "app", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    stage.put(PODS, a_pod(name, node=node, spec={"containers": [container], "volumes": [], **spec}))


def make_pods(stage: Stage, job: str, *nodes: str) -> None:
    """Pods of a job that was started, one for each node; the empty name stands for none."""
    manifest = stage.objects[QUEUED_JOBS, "default", job]
    uid, spec = manifest["metadata"]["uid"], manifest["spec"]["template"]["spec"]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid, "controller": True}
    for number, node in enumerate(nodes):
        pod: Json = a_pod(f"{job}-{number}", node=node, spec={"volumes": [], **spec})
        stage.put(PODS, {**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}})


def unmake_pods(stage: Stage, job: str) -> None:
    for _, _, name in [one for one in stage.objects if one[0] is PODS and one[2].startswith(f"{job}-")]:
        stage.drop(PODS, name)


def settle_workloads(stage: Stage) -> None:
    """What is decided about workloads comes true, and nothing about whom they stand for."""
    for _ in range(5):
        for said in stage.look().said:
            if said.subject.kind == "Workload":
                stage.take(said)


def words(stage: Stage, job: str = "job", kind: str = QUOTA_RESERVED) -> str:
    condition = stage.workload(job).condition(kind)
    assert condition is not None
    return condition.message


def test_who_fits_on_a_node_that_stands_runs_there() -> None:
    stage = a_stage()
    a_place(stage)
    stage.a_job("job", cpu="4")
    stage.settle()
    assert (flavor_of(stage, "job"), stage.running()) == ("small", ["job"])
    assert stage.says("job", ON_STANDING_NODES) == ("True", "FlavorOutOfStock")


def test_who_does_not_waits_and_hears_why() -> None:
    stage = a_stage()
    a_place(stage)
    stage.a_job("job", cpu="5")
    stage.settle()
    assert stage.says("job", QUOTA_RESERVED) == ("False", "FlavorOutOfStock")
    assert "the provider lists none, and the nodes that stand have not enough room" in words(stage)


def test_while_machines_can_be_had_nobody_asks_for_nodes() -> None:
    stage = a_stage_with_a_shop()
    stage.a_job("job")
    stage.settle()
    assert (flavor_of(stage, "job"), stage.says("job", ON_STANDING_NODES)) == ("small", ("", ""))


def test_a_node_that_stands_comes_before_a_machine_of_another_flavor() -> None:
    stage = a_stage(small="1", large="1")
    a_place(stage)
    stage.a_job("job")
    stage.settle()
    assert flavor_of(stage, "job") == "small"


@pytest.mark.parametrize(
    "node",
    [
        pytest.param({"labels": {TYPE: "large"}}, id="of another flavor"),
        pytest.param({"ready": False}, id="not ready"),
        pytest.param({"spec": {"unschedulable": True}}, id="cordoned"),
        pytest.param({"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}, id="tainted"),
        pytest.param({"annotations": {"growth.dev/scale-down-at": "2026-03-02T10:00:00Z"}}, id="marked to go"),
        pytest.param(
            {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]}, id="out of service"
        ),
        pytest.param({"allocatable_pods": "0"}, id="without a place for one more pod"),
    ],
)
def test_no_room_is_on_a_node(node: dict[str, Any]) -> None:
    stage = a_stage()
    if places := node.pop("allocatable_pods", ""):
        made = a_node("node", labels=SMALL, allocatable={"pods": places})
        stage.put(NODES, made)
    else:
        a_place(stage, **node)
    stage.a_job("job", pods={"tolerations": [{"key": "node.kubernetes.io/out-of-service", "operator": "Exists"}]})
    stage.settle()
    assert stage.admitted() == []


def test_no_room_is_on_a_node_that_somebody_wants_to_be_rid_of() -> None:
    stage = a_stage()
    a_place(stage)
    spec = {"pool": "p", "nodeName": "node", "providerID": "kwok://node", "reason": "it is empty"}
    stage.put(NODE_REMOVAL_REQUESTS, {"metadata": {"name": "node"}, "spec": spec})
    stage.a_job("job")
    stage.settle()
    assert stage.admitted() == []


@pytest.mark.parametrize("tolerates", [False, True])
def test_the_flavors_tolerations_count(*, tolerates: bool) -> None:
    stage = a_stage()
    stage.a_flavor("small", nodeLabels=SMALL, tolerations=[{"key": "batch", "operator": "Exists"}] if tolerates else [])
    a_place(stage, taints=[{"key": "batch", "effect": "NoSchedule"}])
    stage.a_job("job")
    stage.settle()
    assert stage.admitted() == (["job"] if tolerates else [])


@pytest.mark.parametrize(("pods", "fits"), [(4, True), (5, False)])
def test_all_pods_or_none(pods: int, *, fits: bool) -> None:
    """Five cpus in pieces of one would fit twice; pieces of two do not."""
    stage = a_stage()
    for name in ("n1", "n2"):
        a_place(stage, name, cpu="5")
    stage.a_job("job", cpu="2", parallelism=pods, completions=pods)
    stage.settle()
    assert stage.admitted() == (["job"] if fits else [])


@pytest.mark.parametrize(
    "pods",
    [
        {"volumes": [{"name": "rows", "persistentVolumeClaim": {"claimName": "rows"}}]},
        {
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]
                }
            }
        },
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
            ]
        },
        {
            "containers": [
                {
                    "name": "main",
                    "image": "main",
                    "resources": {"requests": {"cpu": "1"}},
                    "ports": [{"containerPort": 80, "hostPort": 80}],
                }
            ]
        },
    ],
    ids=["volumes", "affinity", "spread", "ports"],
)
def test_whom_other_rules_bind_waits_for_machines(pods: Json) -> None:
    stage = a_stage()
    a_place(stage)
    stage.a_job("job", pods=pods)
    stage.settle()
    assert stage.admitted() == []
    assert "nobody knows whether the nodes that stand have room" in words(stage)


@pytest.mark.parametrize(
    ("spec", "comes_first"),
    [
        pytest.param({"nodeSelector": SMALL}, True, id="it waits for this flavor"),
        pytest.param({}, True, id="it may go anywhere"),
        pytest.param({"nodeSelector": {TYPE: "large"}}, False, id="it waits for another flavor"),
        pytest.param({"schedulingGates": [{"name": "example.com/later"}]}, False, id="it is held back"),
    ],
)
def test_pods_that_wait_come_first(spec: Json, *, comes_first: bool) -> None:
    stage = a_stage()
    a_place(stage)
    a_stranger(stage, "stranger", "1", **spec)
    stage.a_job("job", cpu="4")
    stage.settle()
    assert stage.admitted() == ([] if comes_first else ["job"])


def test_those_who_wait_are_laid_out_as_a_scheduler_does_it() -> None:
    """Two pods of one cpu go to two nodes: then no node is empty."""
    stage = a_stage()
    for name in ("n1", "n2"):
        a_place(stage, name)
    for name in ("s1", "s2"):
        a_stranger(stage, name, "1")
    stage.a_job("wide", cpu="4")
    stage.a_job("narrow", cpu="3")
    stage.settle()
    assert stage.admitted() == ["narrow"]


def test_room_is_given_once_in_a_pass_and_in_those_after_it() -> None:
    """Also across queues that share nothing but the flavor, and as long as no pod is made."""
    stage = a_stage()
    stage.a_queue("other", flavors={"small": "100"})
    stage.a_door("second", "other")
    a_place(stage)
    for number in range(3):
        stage.a_job(f"a{number}", cpu="1500m")
        stage.a_job(f"b{number}", cpu="1500m", local_queue="second")
    stage.settle()
    assert len(stage.admitted()) == 2
    stage.wait(50)
    assert len(stage.admitted()) == 2


def test_what_pods_hold_is_not_counted_twice() -> None:
    stage = a_stage()
    a_place(stage)
    stage.a_job("first", cpu="2")
    stage.settle()
    make_pods(stage, "first", "node")
    stage.play_jobs(ready=["first"])
    stage.a_job("second", cpu="2")
    stage.settle()
    assert stage.admitted() == ["first", "second"]
    assert stage.says("first", ON_STANDING_NODES) == ("", "")


def test_a_plain_pod_has_its_room_before_it_is_let_go() -> None:
    stage = a_stage()
    a_place(stage)
    stage.a_pod("plain", cpu="3")
    settle_workloads(stage)
    stage.a_job("job", cpu="2")
    settle_workloads(stage)
    assert stage.pod("plain").is_gated
    assert stage.admitted() == ["plain"]


def test_when_a_pod_ends_whoever_waits_is_let_in() -> None:
    stage = a_stage()
    a_place(stage)
    a_stranger(stage, "stranger", "4", node="node")
    stage.a_job("job", cpu="4")
    stage.settle()
    assert stage.admitted() == []
    stage.drop(PODS, "stranger")
    stage.settle()
    assert stage.admitted() == ["job"]


def test_when_a_node_comes_whoever_waits_is_let_in() -> None:
    stage = a_stage()
    stage.a_job("job", cpu="4")
    stage.settle()
    assert stage.admitted() == []
    a_place(stage)
    stage.settle()
    assert stage.admitted() == ["job"]


def test_who_was_let_in_has_a_minute_to_be_placed() -> None:
    stage = a_stage()
    a_place(stage)
    stage.a_job("job", cpu="4")
    stage.settle()
    make_pods(stage, "job", "")
    stage.wait(50)
    assert stage.says("job", EVICTED) == ("", "")
    unmake_pods(stage, "job")
    make_pods(stage, "job", "node")
    stage.play_jobs(ready=["job"])
    stage.wait(600)
    assert (stage.says("job", EVICTED), stage.running()) == (("", ""), ["job"])


def test_who_waited_for_a_machine_when_the_last_was_sold_moves_to_a_node_that_has_room() -> None:
    """It may: that it found no machine says nothing about nodes."""
    stage = a_stage_with_a_shop(small="100", large="0")
    stage.a_job("job", cpu="4")
    stage.settle()
    make_pods(stage, "job", "")
    in_stock(stage, small=0)
    stage.settle()
    assert stage.admitted() == []
    unmake_pods(stage, "job")
    a_place(stage)
    stage.settle()
    assert stage.admitted() == ["job"]


def test_who_finds_no_place_moves_once_and_not_in_circles() -> None:
    """The scheduler does not think that it fits, for ever so long. When machines can be had, it is tried again."""
    stage = a_stage()
    a_place(stage)
    stage.a_job("job", cpu="4")
    stage.settle()
    make_pods(stage, "job", "")
    stage.now = stage.wake_at or stage.now
    stage.wait(1)
    unmake_pods(stage, "job")
    stage.settle()
    assert stage.workload("job").metadata.annotations[FAILED_FLAVORS] == "small=NoRoomOnNodes"
    assert "its pods found no place on the nodes that stand" in words(stage, kind=EVICTED)
    for _ in range(100):
        stage.wait(60)
        assert stage.admitted() == []
    assert stage.workload("job").status.requeue_state is None
    assert "the provider lists none, and it found no place on the nodes that stand" in words(stage)
    stage.a_job("other", cpu="4")
    stage.settle()
    assert stage.admitted() == ["other"]
    in_stock(stage)
    stage.settle()
    assert stage.admitted() == ["job", "other"]
    assert FAILED_FLAVORS not in stage.workload("job").metadata.annotations


def test_who_finds_no_place_goes_to_another_flavor() -> None:
    stage = a_stage(small="100", large="100")
    a_place(stage)
    stage.a_job("job", cpu="4")
    stage.settle()
    make_pods(stage, "job", "")
    stage.wait(61)
    unmake_pods(stage, "job")
    stage.settle()
    assert flavor_of(stage, "job") == "large"
    assert stage.says("job", ON_STANDING_NODES) == ("", "")


def test_who_was_let_in_waits_like_all_others_when_machines_can_be_had() -> None:
    stage = a_stage()
    a_place(stage)
    stage.a_job("job", cpu="4")
    stage.settle()
    make_pods(stage, "job", "")
    in_stock(stage)
    stage.settle()
    assert stage.says("job", ON_STANDING_NODES) == ("", "")
    stage.wait(120)
    assert stage.says("job", EVICTED) == ("", "")


def test_who_is_more_important_needs_room_of_its_own() -> None:
    """It may have another one's quota, if all its pods fit now: nobody goes for room that is not there."""
    stage = a_stage_with_a_shop()
    in_stock(stage, small=0)
    stage.put(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100})
    stage.a_queue("tight", flavors={"small": "4"}, preemption={"withinClusterQueue": "LowerPriority"})
    stage.a_door("second", "tight")
    a_place(stage)
    stage.a_job("low", cpu="4", local_queue="second")
    stage.settle()
    make_pods(stage, "low", "node")
    stage.play_jobs(ready=["low"])
    stage.a_job("high", cpu="4", local_queue="second", labels={PRIORITY_CLASS: "high"})
    stage.settle()
    assert stage.admitted() == ["low"]
    a_place(stage, "new")
    stage.settle()
    assert (stage.says("low", EVICTED), stage.admitted()) == (("True", "Preempted"), ["high"])
