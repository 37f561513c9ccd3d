"""Command lines, stages and manifests: pure values."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from growth_lab.local_cluster.components import COMPONENTS, STAGES, Plan, command, health
from growth_lab.local_cluster.layout import Layout
from growth_lab.local_cluster.nodes import KWOK_LABEL, KWOK_VALUE, kwok_node, taint
from growth_lab.local_cluster.pinned_modules import CONTROL_PLANE, PROGRAMS
from growth_lab.local_cluster.ports import Ports
from growth_lab.local_cluster.timings import Timings

PORTS = Ports(etcd=11, etcd_peer=12, apiserver=13, controller_manager=14, scheduler=15, kwok=16)


def a_plan(timings: Timings | None = None, flags: dict[str, tuple[str, ...]] | None = None) -> Plan:
    return Plan(
        layout=Layout(Path("/clusters/one")),
        ports=PORTS,
        timings=timings or Timings(),
        binaries={component: Path("/cache") / component for component in COMPONENTS},
        flags=flags or {},
    )


def flags_of(component: str, plan: Plan) -> dict[str, str]:
    program, *arguments = command(component, plan)
    assert program == f"/cache/{component}"
    assert all(argument.startswith("--") for argument in arguments)
    return {name: value for name, _, value in (argument.removeprefix("--").partition("=") for argument in arguments)}


def test_nothing_listens_beyond_this_machine() -> None:
    plan = a_plan()
    for component in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        assert flags_of(component, plan)["bind-address"] == "127.0.0.1"
    etcd = flags_of("etcd", plan)
    assert etcd["listen-client-urls"] == "https://127.0.0.1:11"
    assert etcd["listen-peer-urls"] == "https://127.0.0.1:12"
    assert flags_of("kwok", plan)["server-address"] == "127.0.0.1:16"


def test_every_listener_asks_for_proof() -> None:
    etcd, apiserver = flags_of("etcd", a_plan()), flags_of("kube-apiserver", a_plan())
    assert (etcd["client-cert-auth"], etcd["peer-client-cert-auth"]) == ("true", "true")
    assert apiserver["authorization-mode"] == "RBAC"
    assert apiserver["client-ca-file"] == "/clusters/one/pki/ca.crt"


def test_timings_reach_whoever_keeps_them() -> None:
    plan = a_plan(
        Timings(
            node_monitor_period_seconds=0.5,
            node_monitor_grace_seconds=4,
            node_startup_grace_seconds=6,
            node_lease_seconds=3,
            toleration_seconds=2,
            node_evictions_per_second=10,
            terminated_pods_kept=7,
        )
    )
    manager = flags_of("kube-controller-manager", plan)
    assert manager["node-monitor-period"] == "0.5s"
    assert manager["node-monitor-grace-period"] == "4s"
    assert manager["node-startup-grace-period"] == "6s"
    assert manager["node-eviction-rate"] == "10"
    assert manager["terminated-pod-gc-threshold"] == "7"
    assert flags_of("kwok", plan)["node-lease-duration-seconds"] == "3"
    apiserver = flags_of("kube-apiserver", plan)
    assert apiserver["default-not-ready-toleration-seconds"] == "2"
    assert apiserver["default-unreachable-toleration-seconds"] == "2"


def test_a_lease_that_outlives_the_grace_period_is_refused() -> None:
    with pytest.raises(ValueError, match=r"node_lease_seconds \(40\) must be shorter than .* \(4\)"):
        Timings(node_monitor_grace_seconds=4)


def test_flags_of_the_user_come_last_and_win() -> None:
    plan = a_plan(flags={"kube-apiserver": ("--authorization-mode=AlwaysAllow",)})
    assert command("kube-apiserver", plan)[-1] == "--authorization-mode=AlwaysAllow"
    assert flags_of("kube-scheduler", plan) == flags_of("kube-scheduler", a_plan())


def test_every_component_can_be_asked_how_it_is_on_a_port_of_its_own() -> None:
    assert len({health(component, PORTS).port for component in COMPONENTS}) == len(COMPONENTS)


def test_every_component_is_one_of_the_pinned_programs() -> None:
    assert {*COMPONENTS, "kubectl"} == {program.name for program in PROGRAMS}


def test_nothing_that_ships_names_a_registry_or_a_folder_of_somebodys_machine() -> None:
    shipped = CONTROL_PLANE.rglob("*")
    texts = {str(path.relative_to(CONTROL_PLANE)): path.read_text() for path in shipped if path.is_file()}
    assert {"1.36/go.mod", "1.36/go.sum", "stages/pod-ready.yaml"} <= set(texts)
    foreign = re.compile(r"https?://|(?<![\w.:/}])/(?:home|root|tmp|work|usr|var|opt)/")
    assert [name for name, text in texts.items() if foreign.search(text)] == []


def test_kwok_plays_our_stages_on_labelled_nodes_only() -> None:
    arguments = command("kwok", a_plan())
    files = [Path(argument.removeprefix("--config=")) for argument in arguments if argument.startswith("--config=")]
    assert files[0] == CONTROL_PLANE / "kwok.yaml"
    stages = files[1:]
    assert stages == sorted(STAGES.glob("*.yaml"))
    documents: list[dict[str, Any]] = [yaml.safe_load(stage.read_text()) for stage in stages]
    assert [document["metadata"]["name"] for document in documents] == [stage.stem for stage in stages]
    assert f"--manage-nodes-with-label-selector={KWOK_LABEL}={KWOK_VALUE}" in arguments


def test_a_node_manifest_says_what_a_kubelet_would() -> None:
    node = kwok_node("n", cpu="2", memory="4Gi", pods=9, labels={"a": "b"}, provider_id="kwok://n")
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "n",
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        KWOK_LABEL: KWOK_VALUE,
        "a": "b",
    }
    assert node["spec"] == {"taints": [], "providerID": "kwok://n"}
    assert node["status"]["capacity"] == node["status"]["allocatable"] == {"cpu": "2", "memory": "4Gi", "pods": "9"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dedicated=gpu:NoSchedule", {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}),
        ("growth.dev/starting:NoExecute", {"key": "growth.dev/starting", "effect": "NoExecute"}),
    ],
)
def test_taints_are_written_as_people_write_them(text: str, value: dict[str, str]) -> None:
    assert taint(text) == value


@pytest.mark.parametrize("text", ["dedicated", "a=b", "a=b:Never", ":NoSchedule"])
def test_what_is_no_taint_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no taint; expected key=value:NoSchedule"):
        taint(text)
