"""The verb that a request needs is the one that the API server's own RequestInfo would find."""

import pytest

from growth.api.kinds import JOBS, NODES, PODS
from growth.kube.transport import Method, Query, Request
from growth.kube.verbs import Permission, Target, permission_of, target_of

WATCH: Query = (("watch", "true"),)


@pytest.mark.parametrize(
    ("path", "target"),
    [
        pytest.param("/api/v1/nodes", Target("", "nodes"), id="all objects of a cluster-wide kind"),
        pytest.param("/api/v1/nodes/n1", Target("", "nodes", name="n1"), id="one of them"),
        pytest.param("/api/v1/nodes/n1/status", Target("", "nodes", "status", name="n1"), id="a subresource of one"),
        pytest.param("/api/v1/pods", Target("", "pods"), id="a namespaced kind in all namespaces"),
        pytest.param("/api/v1/namespaces/a/pods", Target("", "pods", namespace="a"), id="and in one namespace"),
        pytest.param(
            "/api/v1/namespaces/a/pods/p/eviction",
            Target("", "pods", "eviction", namespace="a", name="p"),
            id="a subresource in a namespace",
        ),
        pytest.param("/api/v1/namespaces", Target("", "namespaces"), id="namespaces themselves"),
        pytest.param("/api/v1/namespaces/a", Target("", "namespaces", name="a"), id="one namespace"),
        pytest.param(
            "/api/v1/namespaces/a/status", Target("", "namespaces", "status", name="a"), id="the status of a namespace"
        ),
        pytest.param(
            "/api/v1/namespaces/a/finalize",
            Target("", "namespaces", "finalize", name="a"),
            id="the finalizers of a namespace",
        ),
        pytest.param(
            "/apis/batch/v1/namespaces/a/jobs/j",
            Target("batch", "jobs", namespace="a", name="j"),
            id="an object of a named group",
        ),
        pytest.param("/apis/growth.dev/v1alpha1/nodepools", Target("growth.dev", "nodepools"), id="a kind of ours"),
        pytest.param("/version", None, id="a path outside the resource trees"),
        pytest.param("/apis", None, id="discovery of groups"),
        pytest.param("/api/v1", None, id="discovery of the core group"),
        pytest.param("/apis/apps/v1", None, id="discovery of a named group"),
        pytest.param("/", None, id="the root"),
    ],
)
def test_a_path_points_at(path: str, target: Target | None) -> None:
    assert target_of(path) == target


@pytest.mark.parametrize(
    ("request_", "permission"),
    [
        pytest.param(Request(Method.GET, NODES.path("n")), Permission("", "nodes", "get"), id="reading one is get"),
        pytest.param(
            Request(Method.GET, NODES.collection()), Permission("", "nodes", "list"), id="reading all is list"
        ),
        pytest.param(
            Request(Method.GET, PODS.collection(), WATCH), Permission("", "pods", "watch"), id="following all is watch"
        ),
        pytest.param(
            Request(Method.GET, PODS.collection(), (("watch", "false"),)),
            Permission("", "pods", "list"),
            id="not following is list",
        ),
        pytest.param(
            Request(Method.GET, NODES.path("n"), WATCH),
            Permission("", "nodes", "get"),
            id="the API server knows no watch of a named path",
        ),
        pytest.param(
            Request(Method.POST, JOBS.collection("a")), Permission("batch", "jobs", "create"), id="making is create"
        ),
        pytest.param(
            Request(Method.POST, PODS.path("p", "a", "eviction")),
            Permission("", "pods/eviction", "create"),
            id="evicting is to create an eviction",
        ),
        pytest.param(Request(Method.PUT, NODES.path("n")), Permission("", "nodes", "update"), id="replacing is update"),
        pytest.param(
            Request(Method.PATCH, NODES.path("n", "", "status")),
            Permission("", "nodes/status", "patch"),
            id="changing a status is a right of its own",
        ),
        pytest.param(
            Request(Method.DELETE, NODES.path("n")), Permission("", "nodes", "delete"), id="deleting one is delete"
        ),
        pytest.param(
            Request(Method.DELETE, NODES.collection()),
            Permission("", "nodes", "deletecollection"),
            id="deleting all is another verb",
        ),
        pytest.param(Request(Method.GET, "/version"), None, id="no rule about resources covers a bare path"),
    ],
)
def test_a_request_needs(request_: Request, permission: Permission | None) -> None:
    assert permission_of(request_) == permission


@pytest.mark.parametrize(
    ("permission", "words"),
    [
        pytest.param(Permission("", "nodes/status", "patch"), "patch nodes/status", id="the core group is not named"),
        pytest.param(Permission("batch", "jobs", "list"), "list jobs.batch", id="other groups are, as kubectl does"),
    ],
)
def test_a_permission_reads_as_kubectl_would_write_it(permission: Permission, words: str) -> None:
    assert str(permission) == words
