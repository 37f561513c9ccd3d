"""Pods: what admission makes of them, how they are bound, evicted and deleted."""

from lab.tests.simulator.api.scripts.concurrency import OTHER_UID, options
from lab.tests.simulator.api.scripts.player import Ask, Script, delete, get, merge, post, watch
from lab.tests.simulator.api.scripts.reading import PODS, a_pod
from lab.tests.simulator.api.scripts.watching import FROM_FIRST

BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def asking(name: str, image: str = "example/app:1", **resources: object) -> dict[str, object]:
    return {"name": name, "image": image, "resources": resources}


def evict(name: str, **fields: object) -> Ask:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "{ns}"}, **fields}
    return post(f"{PODS}/{name}/eviction", body)


def run(name: str) -> tuple[Ask, Ask]:
    """A pod on a node, Ready."""
    conditions = [{"type": "Ready", "status": "True"}]
    return (
        post(PODS, a_pod(name, nodeName="some-node")),
        merge(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": conditions}}),
    )


def a_budget(name: str, **spec: object) -> Ask:
    body = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return post(
        BUDGETS, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": body}
    )


def counted(name: str, allowed: int, healthy: int = 2, desired: int = 1) -> Ask:
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": 2,
    }
    return merge(f"{BUDGETS}/{name}/status", {"status": status})


SCRIPTS: dict[str, Script] = {
    "a pod gets its defaults": (post(PODS, a_pod("one")),),
    "limits become requests": (
        post(
            PODS,
            a_pod(
                "one",
                containers=[
                    asking("a", "example/app", limits={"cpu": "2", "memory": "1Gi"}, requests={"cpu": "500m"}),
                    asking("b", "example/app:latest", limits={"memory": "1Gi", "example.org/gpu": "1"}),
                ],
                initContainers=[{**asking("i", limits={"cpu": "1"}), "restartPolicy": "Always"}],
            ),
        ),
    ),
    "the best and the least quality": (
        post(PODS, a_pod("one", containers=[asking("a", limits={"cpu": "2", "memory": "1Gi"})])),
        post(PODS, a_pod("two", containers=[asking("a")])),
        post(PODS, a_pod("three", containers=[asking("a", requests={"cpu": "1"})])),
    ),
    "tolerations of one's own are kept": (
        post(
            PODS,
            a_pod(
                "one",
                tolerations=[
                    {
                        "key": "node.kubernetes.io/not-ready",
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": 5,
                    }
                ],
            ),
        ),
        post(PODS, a_pod("two", tolerations=[{"operator": "Exists"}])),
        post(PODS, a_pod("three", tolerations=[{"key": "a", "value": "b", "effect": "NoSchedule"}])),
    ),
    "priority comes from its class": (
        post(
            CLASSES,
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "high-{id}"},
                "value": 1000,
                "preemptionPolicy": "Never",
            },
        ),
        post(PODS, a_pod("one", priorityClassName="high-{id}")),
        post(PODS, a_pod("two", priorityClassName="none-{id}")),
        post(PODS, a_pod("three", priority=5)),
        delete(CLASSES + "/high-{id}"),
    ),
    "a pod behind a gate": (
        post(PODS, a_pod("one", schedulingGates=[{"name": "example.org/wait"}])),
        merge(
            f"{PODS}/one",
            {"spec": {"schedulingGates": [{"name": "example.org/wait"}, {"name": "example.org/b"}]}},
            hides=("message",),
        ),
        merge(f"{PODS}/one", {"spec": {"nodeSelector": {"a": "b"}}}),
        merge(f"{PODS}/one", {"spec": {"schedulingGates": None}}),
        post(PODS, a_pod("two", nodeName="some-node", schedulingGates=[{"name": "example.org/wait"}])),
    ),
    "spread over what the pod's own label says": (
        post(
            PODS,
            a_pod(
                "one",
                labels={"app": "web", "tier": "front"},
                topologySpreadConstraints=[
                    {
                        "maxSkew": 1,
                        "topologyKey": "kubernetes.io/hostname",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                        "matchLabelKeys": ["tier"],
                    }
                ],
                affinity={
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "kubernetes.io/hostname",
                                "labelSelector": {"matchLabels": {"x": "y"}},
                                "matchLabelKeys": ["app"],
                                "mismatchLabelKeys": ["other"],
                            }
                        ]
                    }
                },
            ),
        ),
    ),
    "a pod without containers": (post(PODS, a_pod("one", containers=[])),),
    "a pod that asks for more than it may have": (
        post(PODS, a_pod("one", containers=[asking("a", requests={"cpu": "2"}, limits={"cpu": "1"})])),
        post(PODS, a_pod("one", containers=[asking("a", requests={"cpu": "wonder"})]), hides=("message",)),
    ),
    "a status of one's own is not taken": (
        post(PODS, {**a_pod("one"), "status": {"phase": "Running", "podIP": "10.0.0.1"}}),
        merge(f"{PODS}/one", {"status": {"phase": "Running"}, "metadata": {"labels": {"x": "y"}}}),
        merge(
            f"{PODS}/one/status",
            {
                "status": {"phase": "Running"},
                "metadata": {"labels": {"x": "z"}, "annotations": {"a": "b"}},
                "spec": {"nodeName": "x"},
            },
        ),
    ),
    "a pod is bound once": (
        post(PODS, a_pod("one")),
        merge(f"{PODS}/one/status", {"status": {"nominatedNodeName": "some-node"}}),
        post(
            f"{PODS}/one/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "one"},
                "target": {"kind": "Node", "name": "some-node"},
            },
        ),
        get(f"{PODS}/one", hides=("resourceVersion",)),
        merge(f"{PODS}/one/status", {"status": {"nominatedNodeName": "other-node"}}, hides=("message",)),
        post(
            f"{PODS}/one/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "one"},
                "target": {"kind": "Node", "name": "other-node"},
            },
        ),
    ),
    "a pod without a node goes at once": (
        post(PODS, a_pod("one")),
        delete(f"{PODS}/one"),
        get(f"{PODS}/one"),
        watch(PODS, FROM_FIRST),
    ),
    "a pod on a node is given time": (
        post(PODS, a_pod("one", nodeName="some-node", terminationGracePeriodSeconds=300)),
        delete(f"{PODS}/one"),
        delete(f"{PODS}/one", options(gracePeriodSeconds=200)),
        delete(f"{PODS}/one", options(gracePeriodSeconds=400)),
        merge(f"{PODS}/one/status", {"status": {"phase": "Succeeded"}}),
        delete(f"{PODS}/one"),
        delete(f"{PODS}/one", options(gracePeriodSeconds=0)),
        get(f"{PODS}/one"),
        watch(PODS, FROM_FIRST),
    ),
    "a pod that ended goes at once": (
        post(PODS, a_pod("one", nodeName="some-node")),
        merge(f"{PODS}/one/status", {"status": {"phase": "Failed"}}),
        delete(f"{PODS}/one", options(gracePeriodSeconds=50)),
        get(f"{PODS}/one"),
    ),
    "a held pod is marked and stays": (
        post(
            PODS,
            {**a_pod("one", nodeName="some-node"), "metadata": {"name": "one", "finalizers": ["example.org/hold"]}},
        ),
        delete(f"{PODS}/one", options(gracePeriodSeconds=0)),
        merge(f"{PODS}/one", {"metadata": {"finalizers": None}}),
        get(f"{PODS}/one"),
    ),
    "an eviction without a budget": (*run("one"), evict("one"), get(f"{PODS}/one")),
    "an eviction of nobody": (evict("none"),),
    "an eviction of another pod of the name": (
        *run("one"),
        evict("one", deleteOptions=options(preconditions={"uid": OTHER_UID})),
    ),
    "an eviction that the budget does not allow": (
        *run("one"),
        a_budget("web", minAvailable=1),
        evict("one"),
        counted("web", 0, healthy=1),
        evict("one"),
        get(f"{PODS}/one"),
    ),
    "two evictions where one is allowed": (
        *run("one"),
        *run("two"),
        a_budget("web", minAvailable=1),
        counted("web", 1),
        evict("one"),
        evict("two"),
        get(f"{BUDGETS}/web"),
        evict("one"),
    ),
    "an eviction of a pod that does not run": (
        post(PODS, a_pod("one", nodeName="some-node")),
        a_budget("web", minAvailable=1),
        counted("web", 0),
        evict("one"),
    ),
    "an eviction of a pod that is not ready": (
        *run("one"),
        merge(f"{PODS}/one/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
        a_budget("web", minAvailable=1),
        counted("web", 0, healthy=0),
        evict("one"),
        counted("web", 0, healthy=1),
        evict("one"),
        get(f"{BUDGETS}/web"),
    ),
    "an eviction of a pod that is not ready and may always go": (
        *run("one"),
        merge(f"{PODS}/one/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
        a_budget("web", minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow"),
        counted("web", 0, healthy=0),
        evict("one"),
    ),
    "an eviction under two budgets": (
        *run("one"),
        a_budget("a", minAvailable=1),
        a_budget("b", maxUnavailable=1),
        evict("one"),
    ),
}
