"""Asking for objects: one, all, some, by pages, and in ways that make no sense."""

from growth.kube.transport import Method
from lab.tests.simulator.api.scripts.player import Ask, Script, delete, get, post

MAPS = "/api/v1/namespaces/{ns}/configmaps"
PODS = "/api/v1/namespaces/{ns}/pods"
OURS = ("labelSelector", "ours=yes")


def a_map(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, object]:
    meta = {"name": name, "labels": {"ours": "yes", **(labels or {})}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def a_pod(name: str, labels: dict[str, str] | None = None, **spec: object) -> dict[str, object]:
    container = {"name": "main", "image": "example/app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {"app": "web"}},
        "spec": {"schedulerName": "nobody", "containers": [container], **spec},
    }


SCRIPTS: dict[str, Script] = {
    "an object that is not there": (get(f"{MAPS}/none"),),
    "an object of a namespace that is not there": (get("/api/v1/namespaces/none-{id}/configmaps/none"),),
    "a kind that is not there": (get("/api/v1/namespaces/{ns}/wonders"),),
    "a group that is not there": (get("/apis/wonders.example.org/v1/wonders"),),
    "a version that is not there": (get("/apis/apps/v7/deployments"),),
    "a subresource that is not there": (post(MAPS, a_map("one")), get(f"{MAPS}/one/status")),
    "all of a namespace that is not there": (get("/api/v1/namespaces/none-{id}/configmaps"),),
    "a list in the order of names": (
        post(MAPS, a_map("b", x="1")),
        post(MAPS, a_map("a", x="2")),
        get(MAPS, OURS),
    ),
    "label selectors": (
        post(MAPS, a_map("a", {"app": "web", "tier": "front"})),
        post(MAPS, a_map("b", {"app": "web"})),
        post(MAPS, a_map("c", {"app": "db"})),
        get(MAPS, ("labelSelector", "app=web,!tier")),
        get(MAPS, ("labelSelector", "app in (db,queue)")),
        get(MAPS, ("labelSelector", "app notin (db),ours")),
        get(MAPS, ("labelSelector", "app!=web,ours=yes")),
    ),
    "a label selector that is none": (get(MAPS, ("labelSelector", "app=("), hides=("message",)),),
    "field selectors of any kind": (
        post(MAPS, a_map("a")),
        post(MAPS, a_map("b")),
        get(MAPS, ("fieldSelector", "metadata.name=a"), OURS),
        get(MAPS, ("fieldSelector", "metadata.name!=a"), OURS),
        get(MAPS, ("fieldSelector", "metadata.namespace={ns},metadata.name==b"), OURS),
    ),
    "field selectors of pods": (
        post(PODS, a_pod("a", nodeName="some-node")),
        post(PODS, a_pod("b")),
        get(PODS, ("fieldSelector", "spec.nodeName=some-node")),
        get(PODS, ("fieldSelector", "spec.nodeName=")),
        get(PODS, ("fieldSelector", "status.phase!=Pending")),
        get(PODS, ("fieldSelector", "spec.schedulerName=nobody,status.phase=Pending,metadata.name=b")),
    ),
    "a field selector that nobody knows": (get(MAPS, ("fieldSelector", "data.x=1")),),
    "a field selector that is none": (get(MAPS, ("fieldSelector", "nothing")),),
    "pages of one picture": (
        *(post(MAPS, a_map(name)) for name in ("a", "b", "c", "d", "e")),
        get(MAPS, ("limit", "2"), ("fieldSelector", "metadata.name!=kube-root-ca.crt")),
        delete(f"{MAPS}/d"),
        post(MAPS, a_map("da")),
        get(
            MAPS,
            ("limit", "2"),
            ("continue", "{5:metadata.continue}"),
            ("fieldSelector", "metadata.name!=kube-root-ca.crt"),
        ),
        get(
            MAPS,
            ("limit", "2"),
            ("continue", "{8:metadata.continue}"),
            ("fieldSelector", "metadata.name!=kube-root-ca.crt"),
        ),
    ),
    "a page token that is none": (get(MAPS, ("limit", "2"), ("continue", "wonder"), hides=("message",)),),
    "a list from the future": (get(MAPS, ("resourceVersion", "999999999"), hides=("message",)),),
    "a list not older than a version": (
        post(MAPS, a_map("a")),
        get(MAPS, OURS, ("resourceVersion", "{0:metadata.resourceVersion}"), ("resourceVersionMatch", "NotOlderThan")),
    ),
    "a list of exactly a version": (
        post(MAPS, a_map("a")),
        post(MAPS, a_map("b")),
        get(MAPS, OURS, ("resourceVersion", "{0:metadata.resourceVersion}"), ("resourceVersionMatch", "Exact")),
    ),
    "a list that matches no version": (get(MAPS, ("resourceVersionMatch", "Exact")),),
    "a version that is none": (get(MAPS, ("resourceVersion", "wonder")),),
    "a verb that a collection does not have": (Ask(Method.PUT, MAPS, a_map("a")),),
    "a verb that an object does not have": (Ask(Method.POST, f"{MAPS}/a", a_map("a")),),
}
