"""The recipes of docs/hetzner.md: rendered, parsed, and everything arrives at the kubelet."""

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from growth.api.machine import MachineRequest
from growth.api.offering import Offering
from growth.api.quantity import nano_value
from growth.api.tolerations import NO_EXECUTE, NO_SCHEDULE, Taint
from growth.cloud.hetzner.user_data import MOST_BYTES, rendered, start_of
from growth_lab.hetzner_sandbox.kubelet_arguments import kubelet_arguments
from tests.cloud.hetzner.virtual_start import ROOT

RECIPES = ROOT / "docs" / "recipes"
TOKEN = "abcdef.0123456789abcdef"
REQUEST = MachineRequest(
    "default-0123456789",
    Offering("hetzner-cax11-fsn1", "hetzner", "cax11", "fsn1", 0.01, labels={"csi.hetzner.cloud/location": "fsn1"}),
    "default",
    labels={"disk": "ssd", "team": "", "version": "1.10", "on": "no"},
    taints=(Taint("dedicated", "shop", NO_EXECUTE), Taint("example.org/agent", "", NO_SCHEDULE)),
)
START = start_of(REQUEST, "shop")
LABELS = ",".join(f"{key}={value}" for key, value in START.labels.items())
TAINTS = "dedicated=shop:NoExecute,example.org/agent:NoSchedule,growth.dev/starting=default-0123456789:NoSchedule"


def told(recipe: str) -> str:
    start = msgspec.structs.replace(START, join_token=TOKEN)
    return rendered((RECIPES / f"{recipe}.yaml").read_text(encoding="utf-8"), start, recipe)


def files_of(cloud_config: str) -> dict[str, Any]:
    """What cloud-init writes, by path."""
    document = yaml.safe_load(cloud_config)
    return {file["path"]: file for file in document["write_files"]}


@pytest.mark.parametrize("recipe", sorted(path.stem for path in RECIPES.iterdir()))
def test_every_recipe_brings_all_labels_and_taints_to_the_kubelet(recipe: str) -> None:
    text = told(recipe)
    found = kubelet_arguments(text)
    assert found.labels == START.labels
    assert found.taints == START.taints
    assert found.taints[-1].key == "growth.dev/starting"
    assert nano_value(found.reserved["cpu"]) == nano_value("100m")
    assert nano_value(found.reserved["memory"]) == nano_value("250Mi")
    assert TOKEN in text
    assert len(text.encode()) < MOST_BYTES / 4


def test_kubeadm_joins_by_a_configuration_that_it_can_read() -> None:
    text = told("kubeadm")
    assert text.startswith("#cloud-config\n"), "cloud-init looks at the first line"
    file = files_of(text)["/etc/kubernetes/join.yaml"]
    assert file["permissions"] == "0600"
    join = yaml.safe_load(file["content"])
    assert (join["apiVersion"], join["kind"]) == ("kubeadm.k8s.io/v1beta4", "JoinConfiguration")
    assert join["discovery"]["bootstrapToken"]["token"] == TOKEN
    assert join["nodeRegistration"]["name"] == "default-0123456789"
    arguments = {one["name"]: one["value"] for one in join["nodeRegistration"]["kubeletExtraArgs"]}
    assert arguments == {
        "node-labels": LABELS,
        "register-with-taints": TAINTS,
        "system-reserved": "cpu=100m,memory=250Mi",
        "provider-id": "hcloud://SERVER_ID",
        "cloud-provider": "external",
    }


def test_k3s_reads_its_labels_and_taints_as_lists_of_texts() -> None:
    text = told("k3s")
    assert text.startswith("#cloud-config\n")
    file = files_of(text)["/etc/rancher/k3s/config.yaml"]
    assert file["permissions"] == "0600"
    config = yaml.safe_load(file["content"])
    assert config["token"] == f"K10CA_HASH::{TOKEN}"
    assert config["node-name"] == "default-0123456789"
    assert config["node-label"] == LABELS.split(",")
    assert config["node-taint"] == TAINTS.split(",")
    assert "provider-id=hcloud://SERVER_ID" in config["kubelet-arg"]


def test_talos_is_told_by_the_kubelets_own_flags() -> None:
    config = yaml.safe_load(told("talos"))
    assert config["version"] == "v1alpha1"
    assert config["machine"]["type"] == "worker"
    assert config["machine"]["kubelet"]["extraArgs"] == {
        "node-labels": LABELS,
        "register-with-taints": TAINTS,
        "system-reserved": "cpu=100m,memory=250Mi",
    }
    assert config["cluster"]["token"] == TOKEN
    assert "nodeTaints" not in config["machine"], "the node's kubelet may not take them away again"


@pytest.mark.parametrize("recipe", ["kubeadm", "k3s"])
def test_what_runs_at_the_first_boot_is_a_script_that_a_shell_can_read(recipe: str, tmp_path: Path) -> None:
    (script,) = yaml.safe_load(told(recipe))["runcmd"]
    file = tmp_path / "script"
    file.write_text(script, encoding="utf-8")
    assert script.startswith("set -eu\n"), "a step that fails must not be passed over"
    subprocess.run(["sh", "-n", str(file)], check=True)
