"""Corners of patches, apply and status, where lists have keys and parts of an object have rules of their own."""

from typing import Any

from lab.tests.simulator.api.scripts.concurrency import OTHER_UID, options
from lab.tests.simulator.api.scripts.player import Script, apply, delete, get, json_patch, merge, post, put, watch
from lab.tests.simulator.api.scripts.pod_life import BUDGETS, a_budget, evict, run
from lab.tests.simulator.api.scripts.reading import MAPS, PODS, a_map, a_pod
from lab.tests.simulator.api.scripts.watching import FROM_FIRST
from lab.tests.simulator.api.scripts.writing import NODES, a_node

NODE = f"{NODES}/node-{{id}}"
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "fine"}
PRESSURE = {"type": "MemoryPressure", "status": "False", "reason": "Enough", "message": "fine"}
TAINT = {"key": "growth.dev/starting", "effect": "NoSchedule"}
OTHER_TAINT = {"key": "example.org/other", "value": "x", "effect": "NoExecute"}


def node_with(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-{id}"}, **fields}


def pod_with(*containers: dict[str, Any]) -> dict[str, Any]:
    meta = {"name": "one"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": list(containers)}}


def finalized(*finalizers: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "finalizers": list(finalizers)}}


SCRIPTS: dict[str, Script] = {
    "apply merges conditions by their type": (
        post(NODES, a_node()),
        apply(f"{NODE}/status", node_with(status={"conditions": [READY]}), manager="kubelet"),
        apply(f"{NODE}/status", node_with(status={"conditions": [PRESSURE]}), manager="other"),
        apply(f"{NODE}/status", node_with(status={"conditions": []}), manager="kubelet"),
        delete(NODE),
    ),
    "apply takes taints as one list": (
        post(NODES, a_node(taints=[TAINT])),
        apply(NODE, node_with(spec={"taints": [OTHER_TAINT]}), hides=("message",)),
        apply(NODE, node_with(spec={"taints": [OTHER_TAINT]}), force=True),
        apply(NODE, node_with(metadata={"name": "node-{id}", "labels": {"a": "b"}})),
        delete(NODE),
    ),
    "apply adds and removes single finalizers": (
        apply(f"{MAPS}/one", finalized("example.org/a")),
        apply(f"{MAPS}/one", finalized("example.org/b"), manager="two"),
        apply(f"{MAPS}/one", finalized()),
        merge(f"{MAPS}/one", {"metadata": {"finalizers": None}}),
    ),
    "apply merges containers by their name": (
        post(PODS, a_pod("one", schedulingGates=[{"name": "example.org/wait"}])),
        apply(f"{PODS}/one", pod_with({"name": "main", "image": "example/app:2"}), force=True),
        apply(f"{PODS}/one", pod_with({"name": "more", "image": "x"}), force=True, hides=("message", "causes")),
    ),
    "apply labels and takes them back": (
        post(MAPS, a_map("one", {"kept": "yes"})),
        apply(f"{MAPS}/one", {**finalized(), "metadata": {"name": "one", "labels": {"a": "1", "b": "2"}}}),
        apply(f"{MAPS}/one", {**finalized(), "metadata": {"name": "one", "labels": {"b": "3"}}}),
        apply(f"{MAPS}/one", {**finalized(), "metadata": {"name": "one"}}),
    ),
    "apply makes what is not there, in a namespace that is": (
        apply("/api/v1/namespaces/none-{id}/configmaps/one", finalized()),
        apply(f"{MAPS}/one", {**finalized(), "metadata": {"name": "one", "uid": OTHER_UID}}, hides=("message",)),
        apply(f"{MAPS}/one", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}),
    ),
    "taints are patched one by one, if nobody else did": (
        post(NODES, a_node(taints=[TAINT])),
        json_patch(
            NODE,
            {"op": "test", "path": "/spec/taints", "value": [TAINT, {"key": "x", "effect": "NoSchedule"}]},
            hides=("message",),
        ),
        json_patch(
            NODE,
            {"op": "test", "path": "/metadata/uid", "value": "{0:metadata.uid}"},
            {"op": "add", "path": "/spec/taints/-", "value": OTHER_TAINT},
            {"op": "remove", "path": "/spec/taints/0"},
        ),
        json_patch(NODE, {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}),
        json_patch(NODE, {"op": "add", "path": "/metadata/annotations/example.org~1c", "value": "d"}),
        json_patch(NODE, {"op": "wonder", "path": "/spec"}, hides=("message",)),
        json_patch(NODE, {"op": "add", "path": "/spec/taints/9", "value": OTHER_TAINT}, hides=("message",)),
        delete(NODE),
    ),
    "a patch of a version that is current": (
        post(NODES, a_node()),
        merge(
            f"{NODE}/status",
            {"metadata": {"resourceVersion": "{0:metadata.resourceVersion}"}, "status": {"conditions": [READY]}},
        ),
        merge(
            f"{NODE}/status",
            {"metadata": {"resourceVersion": "{0:metadata.resourceVersion}"}, "status": {"conditions": [PRESSURE]}},
        ),
        merge(NODE, {"metadata": {"uid": OTHER_UID, "resourceVersion": "{0:metadata.resourceVersion}"}}),
        merge(NODE, {"metadata": {"uid": OTHER_UID, "labels": {"a": "b"}}}, hides=("message",)),
        delete(NODE),
    ),
    "a status is replaced whole": (
        post(NODES, {**a_node(), "status": {"capacity": {"cpu": "4"}}}),
        put(f"{NODE}/status", {**a_node(unschedulable=True), "status": {"conditions": [READY]}}),
        get(f"{NODE}/status"),
        delete(NODE),
    ),
    "a pod's status is merged, its conditions replaced": (
        *run("one"),
        merge(f"{PODS}/one/status", {"status": {"conditions": [PRESSURE], "podIP": "10.0.0.1"}}, hides=("podIPs",)),
        merge(f"{PODS}/one/status", {"status": {"phase": None, "conditions": None}}, hides=("podIPs",)),
    ),
    "all pods of a node are deleted": (
        post(PODS, a_pod("a", nodeName="some-node")),
        post(PODS, a_pod("b", nodeName="some-node")),
        post(PODS, a_pod("c", nodeName="other-node")),
        delete(
            PODS,
            options(gracePeriodSeconds=0),
            ("fieldSelector", "spec.nodeName=some-node"),
            hides=("resourceVersion", "generation", "deletionTimestamp", "deletionGracePeriodSeconds"),
        ),
        get(PODS),
    ),
    "pods enter a node's selection when they are bound": (
        post(PODS, a_pod("one")),
        post(
            f"{PODS}/one/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "one"},
                "target": {"kind": "Node", "name": "some-node"},
            },
        ),
        merge(f"{PODS}/one/status", {"status": {"phase": "Running"}}),
        delete(f"{PODS}/one", options(gracePeriodSeconds=0)),
        watch(PODS, FROM_FIRST, ("fieldSelector", "spec.nodeName=some-node")),
        watch(PODS, FROM_FIRST, ("fieldSelector", "status.phase=Pending")),
    ),
    "a pod that is gated or on its way out is not bound": (
        post(PODS, a_pod("one", schedulingGates=[{"name": "example.org/wait"}])),
        post(f"{PODS}/one/binding", {"metadata": {"name": "one"}, "target": {"kind": "Node", "name": "some-node"}}),
        post(f"{PODS}/none/binding", {"metadata": {"name": "none"}, "target": {"kind": "Node", "name": "some-node"}}),
    ),
    "an eviction with time of its own": (
        *run("one"),
        evict("one", deleteOptions=options(gracePeriodSeconds=5)),
        get(f"{PODS}/one"),
        evict("one", deleteOptions=options(gracePeriodSeconds=0)),
        get(f"{PODS}/one"),
    ),
    "a budget that selects everything and one that selects nothing": (
        *run("one"),
        post(
            BUDGETS,
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "none"},
                "spec": {"minAvailable": 1},
            },
        ),
        evict("one"),
        *run("two"),
        a_budget("all", minAvailable=1, selector={}),
        evict("two"),
    ),
    "a budget's spec starts a new generation": (
        a_budget("web", minAvailable=1),
        merge(f"{BUDGETS}/web", {"spec": {"minAvailable": 2}}),
        merge(f"{BUDGETS}/web", {"metadata": {"labels": {"a": "b"}}}),
    ),
    "names that the server makes": (
        post(MAPS, {"metadata": {"generateName": "made-"}, "data": {"a": "b"}}, hides=("name",)),
    ),
    "an object that changes hands": (
        post(MAPS, a_map("one")),
        merge(
            f"{MAPS}/one",
            {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": OTHER_UID}]}},
        ),
        merge(f"{MAPS}/one", {"metadata": {"ownerReferences": None}}),
    ),
}
