"""What Kueue left behind and is being deleted goes when Kueue would have let it go, and not before."""

from typing import Any

import msgspec
import pytest

from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import PODS, Kind
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.kueue_installation import IN_USE
from growth.api.queue.pod import MANAGED
from growth.decide.queue.kueue_coexistence import let_go
from growth.observe.cache import ClusterCache
from tests.builders import Json, a_pod
from tests.decide.queue.stage import NOW, Stage, a_stage, snapshot_of

DELETED = "2026-03-02T09:00:01Z"


def begin_to_delete(stage: Stage, kind: Kind[Any], name: str, *others: str) -> None:
    """Somebody deletes what Kueue has put its finalizer on."""
    stage.change(kind, name, {"metadata": {"deletionTimestamp": DELETED, "finalizers": [*others, IN_USE]}})


def is_there(stage: Stage, kind: Kind[Any], name: str) -> bool:
    """Whether something still keeps it; what nobody keeps is gone, as the server has it."""
    for key, manifest in list(stage.objects.items()):
        meta = manifest["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            del stage.objects[key]
    return any(one == kind and called == name for one, _, called in stage.objects)


def admitted(cpu: str = "1") -> Stage:
    stage = a_stage(cpu=cpu)
    stage.a_job("first")
    stage.settle()
    assert stage.admitted() == ["first"]
    return stage


def test_a_flavor_goes_when_no_queue_names_it() -> None:
    stage = a_stage()
    begin_to_delete(stage, RESOURCE_FLAVORS, "any")
    stage.settle()
    assert is_there(stage, RESOURCE_FLAVORS, "any")
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"resourceGroups": []}})
    stage.settle()
    assert not is_there(stage, RESOURCE_FLAVORS, "any")


def test_a_queue_goes_when_nobody_holds_quota_of_it() -> None:
    stage = admitted()
    begin_to_delete(stage, CLUSTER_QUEUES, "all")
    stage.settle()
    assert is_there(stage, CLUSTER_QUEUES, "all")
    stage.end("first")
    stage.settle()
    assert not is_there(stage, CLUSTER_QUEUES, "all")


def test_a_queue_stays_while_somebody_is_given_its_quota() -> None:
    stage = a_stage()
    begin_to_delete(stage, CLUSTER_QUEUES, "all")
    seen = snapshot_of(stage.objects, stage.now)
    assert not list(let_go(seen, [], {"all"}, is_sure=True))
    assert [one.subject.name for one in let_go(seen, [], set(), is_sure=True)] == ["all"]


def test_a_workload_that_has_ended_goes() -> None:
    stage = admitted()
    stage.end("first")
    stage.settle()
    name = stage.workload("first").metadata.name
    begin_to_delete(stage, WORKLOADS, name)
    stage.settle()
    assert not is_there(stage, WORKLOADS, name)


def test_a_workload_whose_job_is_gone_goes() -> None:
    stage = admitted()
    name = stage.workload("first").metadata.name
    stage.drop(QUEUED_JOBS, "first")
    begin_to_delete(stage, WORKLOADS, name)
    stage.settle()
    assert not is_there(stage, WORKLOADS, name)


def test_a_workload_whose_job_runs_stops_it_first_and_makes_it_what_it_was() -> None:
    stage = admitted()
    before = stage.workload("first").metadata
    # As Kueue starts a job: what it was stands in its workload only.
    stage.change(
        QUEUED_JOBS,
        "first",
        {
            "metadata": {"annotations": {"growth.dev/template-was": None}},
            "spec": {"template": {"spec": {"nodeSelector": {"kueue": "put-it-there"}}}},
        },
    )
    begin_to_delete(stage, WORKLOADS, before.name)
    for said in stage.look().said:
        stage.take(said)
    assert is_there(stage, WORKLOADS, before.name), "its pods run"
    stage.settle()
    assert not is_there(stage, WORKLOADS, before.name)
    template = msgspec.json.decode(stage.job("first").spec.template)
    assert not template["spec"].get("nodeSelector")
    stage.settle()
    assert stage.running() == ["first"], "it is queued anew"


def test_what_others_keep_it_for_stays() -> None:
    stage = Stage()
    stage.a_flavor()
    begin_to_delete(stage, RESOURCE_FLAVORS, "any", "example.com/mine")
    stage.settle()
    assert is_there(stage, RESOURCE_FLAVORS, "any")
    assert stage.objects[RESOURCE_FLAVORS, "", "any"]["metadata"]["finalizers"] == ["example.com/mine"]


def test_what_nobody_deletes_keeps_its_finalizer() -> None:
    stage = Stage()
    stage.a_flavor()
    stage.change(RESOURCE_FLAVORS, "any", {"metadata": {"finalizers": [IN_USE]}})
    stage.settle()
    assert stage.objects[RESOURCE_FLAVORS, "", "any"]["metadata"]["finalizers"] == [IN_USE]


@pytest.mark.parametrize(
    ("node", "phase", "goes"),
    [("", "Pending", True), ("worker", "Succeeded", True), ("worker", "Failed", True), ("worker", "Running", False)],
)
def test_a_pod_goes_when_it_has_ended_or_never_began(node: str, phase: str, goes: bool) -> None:  # noqa: FBT001
    world, manifest = ClusterCache(), a_pod("one", node=node)
    meta: Json = {**manifest["metadata"], "finalizers": [MANAGED], "deletionTimestamp": DELETED}
    pod = Reader(PODS, InternTables()).object(
        msgspec.json.encode({**manifest, "metadata": meta, "status": {**manifest["status"], "phase": phase}})
    )
    world.hear_of_pods([Change(ChangeType.ADDED, pod, None)])
    found = [one.subject.name for one in let_go(world.snapshot(NOW), [], set(), is_sure=True)]
    assert found == (["one"] if goes else [])
