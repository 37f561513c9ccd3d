"""Recipes of three kinds tell the kubelet the same, and the sandbox reads it."""

import pytest

from growth.api.tolerations import Taint
from growth_lab.hetzner_sandbox.kubelet_arguments import kubelet_arguments

STARTING = Taint("growth.dev/starting", "web-1", "NoSchedule")
LABELS = {"growth.dev/pool": "default", "disk": "ssd"}
RECIPES = {
    "arguments in a shell": """#!/bin/sh
echo 'KUBELET_EXTRA_ARGS="--node-labels=growth.dev/pool=default,disk=ssd \\
  --register-with-taints=growth.dev/starting=web-1:NoSchedule"' > /etc/default/kubelet
kubeadm join 10.0.0.1:6443 --token abc --discovery-token-ca-cert-hash sha256:1234
""",
    "kubeadm, v1beta3": """
nodeRegistration:
  kubeletExtraArgs:
    node-labels: "growth.dev/pool=default,disk=ssd"
    register-with-taints: growth.dev/starting=web-1:NoSchedule
""",
    "kubeadm, v1beta4": """
nodeRegistration:
  kubeletExtraArgs:
    - name: node-labels
      value: growth.dev/pool=default,disk=ssd
    - name: register-with-taints
      value: "growth.dev/starting=web-1:NoSchedule"
""",
    "k3s, arguments": """
curl -sfL https://get.k3s.io | sh -s - agent --node-label growth.dev/pool=default --node-label=disk=ssd \\
  --node-taint growth.dev/starting=web-1:NoSchedule
""",
    "k3s, a file": """
node-label:
  - "growth.dev/pool=default"
  - disk=ssd
node-taint:
  - growth.dev/starting=web-1:NoSchedule
server: https://10.0.0.1:6443
""",
    "k3s, a file with lists as in JSON": """
node-label: ["growth.dev/pool=default", "disk=ssd"]
node-taint: ["growth.dev/starting=web-1:NoSchedule"]
kubelet-arg: ["max-pods=100"]
""",
    "JSON": '{"kubelet": {"extraArgs": {"node-labels": "growth.dev/pool=default,disk=ssd",'
    ' "register-with-taints": "growth.dev/starting=web-1:NoSchedule"}}}',
}


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_spelling_says_the_same(recipe: str) -> None:
    found = kubelet_arguments(RECIPES[recipe])
    assert (found.labels, found.taints) == (LABELS, (STARTING,))


def test_several_taints_with_and_without_a_value() -> None:
    found = kubelet_arguments("--register-with-taints=a=b:NoExecute,c:PreferNoSchedule")
    assert found.taints == (Taint("a", "b", "NoExecute"), Taint("c", "", "PreferNoSchedule"))


def test_what_is_kept_for_the_system_and_the_kubelet_adds_up() -> None:
    found = kubelet_arguments("--kube-reserved=cpu=100m,memory=256Mi --system-reserved=memory=256Mi")
    assert found.reserved == {"cpu": "100m", "memory": "536870912"}


@pytest.mark.parametrize("text", ["", "#cloud-config\n", "my-node-labels-are: here", "--node-labels", "node-labels: "])
def test_nothing_is_read_where_nothing_is_said(text: str) -> None:
    found = kubelet_arguments(text)
    assert (found.labels, found.taints, found.reserved) == ({}, (), {})


def test_what_follows_in_a_list_of_arguments_is_another_argument() -> None:
    found = kubelet_arguments('kubelet-arg:\n  - "system-reserved=cpu=100m"\n  - "provider-id=hcloud://4711"\n')
    assert found.reserved == {"cpu": "100m"}
