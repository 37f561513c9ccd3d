"""Creating, changing and deleting plain objects."""

from growth.kube.transport import Method
from lab.tests.simulator.api.scripts.player import APPLY, Ask, Script, apply, delete, get, json_patch, merge, post, put
from lab.tests.simulator.api.scripts.reading import MAPS, OURS, a_map

NODES = "/api/v1/nodes"
SPACES = "/api/v1/namespaces"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"


def applied(**data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": data}


def a_node(**spec: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-{id}"}, "spec": spec}


SCRIPTS: dict[str, Script] = {
    "a map is made and read": (post(MAPS, a_map("one", x="1")), get(f"{MAPS}/one")),
    "a name that is taken": (post(MAPS, a_map("one")), post(MAPS, a_map("one"))),
    "a name that is none": (post(MAPS, a_map("Not_A_Name")),),
    "no name at all": (post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}),),
    "a label that is none": (
        post(MAPS, a_map("one", {"a b": "c"})),
        post(MAPS, a_map("one", {"a": "b c"})),
    ),
    "a namespace that is not there": (post("/api/v1/namespaces/none-{id}/configmaps", a_map("one")),),
    "another namespace than the path's": (
        post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "namespace": "other"}}),
    ),
    "another kind than the path's": (
        post(MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}, hides=("message",)),
    ),
    "a body that is none": (post(MAPS, "{not json", hides=("message",)),),
    "a version on something new": (
        post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one", "resourceVersion": "5"}}),
    ),
    "a merge patch": (
        post(MAPS, a_map("one", x="1", y="2")),
        merge(f"{MAPS}/one", {"data": {"x": None, "z": "3"}, "metadata": {"annotations": {"note": "n"}}}),
    ),
    "a merge patch that changes nothing": (
        post(MAPS, a_map("one", x="1")),
        merge(f"{MAPS}/one", {"data": {"x": "1"}}),
        merge(f"{MAPS}/one", {}),
    ),
    "a merge patch of what is not there": (merge(f"{MAPS}/none", {"data": {"x": "1"}}),),
    "a merge patch of the name": (
        post(MAPS, a_map("one")),
        merge(f"{MAPS}/one", {"metadata": {"name": "two"}}),
        merge(f"{MAPS}/one", {"metadata": {"namespace": "two"}}),
    ),
    "a patch that is no patch": (post(MAPS, a_map("one")), merge(f"{MAPS}/one", "[1]", hides=("message",))),
    "a patch of a form that nobody knows": (
        post(MAPS, a_map("one")),
        Ask(Method.PATCH, f"{MAPS}/one", {}, content_type="application/wonder", hides=("message",)),
    ),
    "operations of a JSON patch": (
        post(MAPS, a_map("one", x="1", y="2")),
        json_patch(
            f"{MAPS}/one",
            {"op": "test", "path": "/data/x", "value": "1"},
            {"op": "replace", "path": "/data/x", "value": "5"},
            {"op": "add", "path": "/data/a~1b", "value": "slash"},
            {"op": "copy", "from": "/data/x", "path": "/data/copied"},
            {"op": "move", "from": "/data/y", "path": "/data/moved"},
            {"op": "remove", "path": "/metadata/labels"},
        ),
        json_patch(
            f"{MAPS}/one",
            {"op": "add", "path": "/metadata/finalizers", "value": ["example.org/a"]},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "example.org/b"},
            {"op": "add", "path": "/metadata/finalizers/0", "value": "example.org/c"},
        ),
        json_patch(f"{MAPS}/one", {"op": "remove", "path": "/metadata/finalizers"}),
    ),
    "a JSON patch whose test fails": (
        post(MAPS, a_map("one", x="1")),
        json_patch(f"{MAPS}/one", {"op": "test", "path": "/data/x", "value": "2"}, hides=("message",)),
        json_patch(f"{MAPS}/one", {"op": "remove", "path": "/data/none"}, hides=("message",)),
        json_patch(f"{MAPS}/one", {"op": "replace", "path": "/data/none", "value": "1"}, hides=("message",)),
        get(f"{MAPS}/one"),
    ),
    "apply makes, changes, and removes what it no longer says": (
        apply(f"{MAPS}/one", applied(x="1", y="2")),
        apply(f"{MAPS}/one", applied(x="3")),
        apply(f"{MAPS}/one", applied(x="3")),
        apply(f"{MAPS}/one", applied(z="4"), manager="two"),
        apply(f"{MAPS}/one", applied(), manager="one"),
    ),
    "apply keeps what two managers say": (
        apply(f"{MAPS}/one", applied(x="1")),
        apply(f"{MAPS}/one", applied(x="1"), manager="two"),
        apply(f"{MAPS}/one", applied()),
        apply(f"{MAPS}/one", applied(), manager="two"),
    ),
    "apply does not take what is another's": (
        apply(f"{MAPS}/one", applied(x="1")),
        apply(f"{MAPS}/one", applied(x="2"), manager="two", hides=("message",)),
        apply(f"{MAPS}/one", applied(x="2"), manager="two", force=True),
        apply(f"{MAPS}/one", applied()),
    ),
    "apply does not take what was written without apply": (
        post(MAPS, a_map("one", x="1"), ("fieldManager", "maker")),
        apply(f"{MAPS}/one", applied(x="2"), hides=("message",)),
        apply(f"{MAPS}/one", applied(x="1", y="2")),
        apply(f"{MAPS}/one", applied()),
    ),
    "apply loses what others change": (
        apply(f"{MAPS}/one", applied(x="1")),
        merge(f"{MAPS}/one", {"data": {"x": "2"}}),
        apply(f"{MAPS}/one", applied(x="1"), hides=("message",)),
        apply(f"{MAPS}/one", applied()),
    ),
    "apply without a name for whom": (apply(f"{MAPS}/one", applied(x="1"), manager="", hides=("message",)),),
    "apply with the wrong name": (
        Ask(
            Method.PATCH,
            f"{MAPS}/two",
            applied(),
            (("fieldManager", "one"),),
            APPLY,
            hides=("message",),
        ),
    ),
    "apply on a version": (
        post(MAPS, a_map("one", x="1")),
        merge(f"{MAPS}/one", {"data": {"y": "1"}}),
        apply(
            f"{MAPS}/one",
            {**applied(z="2"), "metadata": {"name": "one", "resourceVersion": "{0:metadata.resourceVersion}"}},
        ),
    ),
    "a lease is made and changed": (
        post(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "one"}}),
        merge(f"{LEASES}/one", {"spec": {"holderIdentity": "me", "renewTime": "2026-03-02T09:00:00.000001Z"}}),
        merge(f"{LEASES}/one", {"spec": {"holderIdentity": None, "leaseDurationSeconds": 1}}),
    ),
    "a new node is not ready": (
        post(NODES, a_node()),
        merge(f"{NODES}/node-{{id}}", {"spec": {"taints": None}}),
        merge(f"{NODES}/node-{{id}}", {"spec": {"unschedulable": True, "providerID": "kwok://1"}}),
        merge(f"{NODES}/node-{{id}}", {"spec": {"providerID": "kwok://2"}}, hides=("message",)),
        delete(f"{NODES}/node-{{id}}"),
    ),
    "a new node keeps the taints that it brings": (
        post(NODES, a_node(taints=[{"key": "growth.dev/starting", "effect": "NoSchedule"}])),
        delete(f"{NODES}/node-{{id}}"),
    ),
    "a node's status is apart": (
        post(NODES, {**a_node(), "status": {"capacity": {"cpu": "4"}}}),
        merge(f"{NODES}/node-{{id}}", {"status": {"capacity": {"cpu": "8"}}, "spec": {"taints": None}}),
        merge(
            f"{NODES}/node-{{id}}/status",
            {"status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "8"}}, "spec": {"unschedulable": True}},
        ),
        delete(f"{NODES}/node-{{id}}"),
    ),
    "a namespace that ends takes nothing new": (
        post(SPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "more-{id}"}}),
        post(
            SPACES + "/more-{id}/configmaps",
            {**a_map("held"), "metadata": {"name": "held", "finalizers": ["example.org/hold"]}},
        ),
        delete(SPACES + "/more-{id}", hides=("conditions",)),
        post(SPACES + "/more-{id}/configmaps", a_map("late")),
        get(SPACES + "/more-{id}", hides=("conditions", "resourceVersion")),
        merge(
            SPACES + "/more-{id}/configmaps/held",
            {"metadata": {"finalizers": None}},
            hides=("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "data", "labels"),
        ),
    ),
    "all of a selection are deleted": (
        post(MAPS, a_map("a", {"app": "web"})),
        post(MAPS, a_map("b", {"app": "db"})),
        delete(MAPS, None, ("labelSelector", "app=web"), hides=("resourceVersion",)),
        get(MAPS, OURS),
    ),
    "an object is replaced": (
        post(MAPS, a_map("one", x="1")),
        put(f"{MAPS}/one", a_map("one", y="2")),
        put(f"{MAPS}/none", a_map("none", y="2")),
        put(f"{MAPS}/one", a_map("two", y="2")),
    ),
}
