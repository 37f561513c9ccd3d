"""A node as it will be when it is bought."""

from typing import Any

import msgspec
import pytest

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.decide.fit.template_node import TemplateNodes, node_from, settled
from tests.decide.fit.asking import where, why
from tests.decide.fit.volumes import a_claim, a_class, limits, using
from tests.decide.stages import a_node, a_pod, a_stage, an_object

OFFERING = Offering(
    id="hetzner-cax11-fsn1",
    provider="hetzner",
    server_type="cax11",
    location="fsn1",
    price_per_hour=0.006,
    resources={"cpu": "2", "memory": "4Gi", "pods": "110", "example.com/gpu": "1"},
    reserved={"cpu": "100m", "memory": "512Mi"},
    labels={"disk": "nvme"},
    zone="fsn1",
    region="eu-central",
    arch="arm64",
)


def a_pool(**spec: Any) -> NodePool:  # noqa: ANN401
    body = {"metadata": {"name": "default"}, "spec": {"serverTypes": [{"name": "cax11"}], **spec}}
    return msgspec.convert(body, NodePool)


def test_it_carries_the_labels_of_pool_and_offering() -> None:
    pool = a_pool(labels={"team": "web", "topology.kubernetes.io/zone": "wishful"})
    labels = node_from("default-1", pool, OFFERING).metadata.labels
    assert labels == {
        "team": "web",
        "disk": "nvme",
        "beta.kubernetes.io/arch": "arm64",
        "beta.kubernetes.io/os": "linux",
        "growth.dev/pool": "default",
        "growth.dev/offering": "hetzner-cax11-fsn1",
        "growth.dev/capacity-type": "on-demand",
        "kubernetes.io/hostname": "default-1",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "arm64",
        "node.kubernetes.io/instance-type": "cax11",
        "topology.kubernetes.io/zone": "fsn1",
        "topology.kubernetes.io/region": "eu-central",
    }


@pytest.mark.parametrize(
    ("reserved", "allocatable"),
    [
        pytest.param({}, {"cpu": "1900m", "memory": "3758096384"}, id="the offering's share"),
        pytest.param({"cpu": "500m"}, {"cpu": "1500m", "memory": "3758096384"}, id="the pool knows better"),
        pytest.param({"memory": "9Gi"}, {"cpu": "1900m", "memory": "0"}, id="never less than nothing"),
    ],
)
def test_the_system_takes_its_share(reserved: dict[str, str], allocatable: dict[str, str]) -> None:
    node = node_from("default-1", a_pool(machine={"reserved": reserved}), OFFERING)
    assert node.status.allocatable == {**allocatable, "pods": "110", "example.com/gpu": "1"}


def test_taints_stay_and_start_up_taints_do_not() -> None:
    pool = a_pool(
        taints=[{"key": "dedicated", "effect": "NoSchedule"}],
        startupTaints=[{"key": "example.com/warming", "effect": "NoSchedule"}],
    )
    stage = a_stage()
    TemplateNodes(stage).make("default-1", pool, OFFERING).enter(stage)
    assert (
        why(stage, a_pod(), "default-1") == "TaintToleration!: does not tolerate the node's taint dedicated:NoSchedule"
    )
    assert where(stage, a_pod(tolerations=[{"key": "dedicated", "operator": "Exists"}])) == ["default-1"]


def test_a_node_that_is_starting_is_seen_as_it_will_be() -> None:
    passing = ("growth.dev/starting", "node.kubernetes.io/not-ready", "example.com/warming")
    taints = [{"key": key, "effect": "NoSchedule"} for key in (*passing, "dedicated")]
    pool = a_pool(startupTaints=[{"key": "example.com/warming", "effect": "NoSchedule"}])
    assert [str(taint) for taint in settled(a_node(taints=taints), pool).spec.taints] == ["dedicated:NoSchedule"]


def a_daemon_set(name: str, cpu: str, **spec: Any) -> Any:  # noqa: ANN401
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container], **spec}}
    return an_object("DaemonSet", name, "kube-system", spec={"template": template})


def test_it_brings_the_daemons_that_will_run_on_it() -> None:
    daemons = [
        a_daemon_set("everywhere", "200m"),
        a_daemon_set("on-arm", "300m", nodeSelector={"kubernetes.io/arch": "arm64"}),
        a_daemon_set("on-amd", "1", nodeSelector={"kubernetes.io/arch": "amd64"}),
    ]
    stage = a_stage([], [], daemons)
    new = TemplateNodes(stage).make("default-1", a_pool(), OFFERING)
    assert [pod.metadata.labels["app"] for pod in new.daemon_pods] == ["everywhere", "on-arm"]
    new.enter(stage)
    assert why(stage, a_pod(requests={"cpu": "1.4"}), "default-1") == ""
    assert why(stage, a_pod(requests={"cpu": "1.5"}), "default-1").startswith("NodeResourcesFit:")


@pytest.mark.parametrize(
    "label", ["growth.dev/offering", "node.kubernetes.io/instance-type"], ids=["same offering", "same type"]
)
def test_it_has_the_volume_limits_of_its_siblings(label: str) -> None:
    value = {"growth.dev/offering": OFFERING.id, "node.kubernetes.io/instance-type": OFFERING.server_type}[label]
    sibling = a_node("sibling", labels={label: value})
    stage = a_stage([sibling], [], [limits("sibling", 1), a_class(), a_claim("one"), a_claim("two")])
    TemplateNodes(stage).make("default-1", a_pool(), OFFERING).enter(stage)
    stage.place(using("one"), "default-1")
    assert why(stage, using("two"), "default-1").startswith("NodeVolumeLimits: needs a volume of driver.example.com")


def test_a_node_of_a_new_kind_has_no_limit_that_we_know_of() -> None:
    stage = a_stage([a_node("other", labels={"node.kubernetes.io/instance-type": "cx22"})], [], [limits("other", 1)])
    assert TemplateNodes(stage).make("default-1", a_pool(), OFFERING).csi_node is None
