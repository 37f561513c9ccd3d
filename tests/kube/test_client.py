"""Kubernetes' verbs as methods: what they send, what they make of the answer."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from growth.api.interning import InternTables
from growth.api.kinds import CSI_NODES, JOBS, NODES, PODS
from growth.api.node import Node
from growth.kube.client import PAGE_SIZE, Client, ListResult
from growth.kube.errors import AlreadyExists, Conflict, Gone, ServerTrouble, TooManyRequests, Unreachable
from growth.kube.patches import ApplyPatch, JsonPatch, MergePatch
from growth.kube.transport import Method, Request, Response
from growth_lab.simulator.virtual_loop import run_virtually
from tests.builders import Json, a_list, a_node, a_pod
from tests.kube.scripted import Answer, Scripted, dice, no, ok

Use = Callable[[Client], Awaitable[Any]]
PATH = "/api/v1/nodes/n1"


def run(use: Use, *answers: Answer) -> tuple[Any, Scripted]:
    """What comes of using a client once, and what it sent for that."""

    async def using() -> Any:  # noqa: ANN401
        async with Client(send, jitter=dice(3)) as client:
            return await use(client)

    send = Scripted(*answers)
    return run_virtually(using()), send


def sends(use: Use, request: Request, *, id: str) -> Any:  # noqa: A002, ANN401 - a row, as pytest names it
    return pytest.param(use, request, id=id)


@pytest.mark.parametrize(
    ("use", "request_"),
    [
        sends(lambda client: client.get(NODES, "n1"), Request(Method.GET, PATH), id="get one"),
        sends(
            lambda client: client.get(PODS, "p", "shop"),
            Request(Method.GET, "/api/v1/namespaces/shop/pods/p"),
            id="get one of a namespace",
        ),
        sends(
            lambda client: client.patch(NODES, "n1", MergePatch({"spec": {"unschedulable": True}})),
            Request(
                Method.PATCH,
                PATH,
                body=b'{"spec":{"unschedulable":true}}',
                content_type="application/merge-patch+json",
            ),
            id="patch by merge",
        ),
        sends(
            lambda client: client.patch(NODES, "n1", JsonPatch([{"op": "remove", "path": "/x"}])),
            Request(
                Method.PATCH,
                PATH,
                body=b'[{"op":"remove","path":"/x"}]',
                content_type="application/json-patch+json",
            ),
            id="patch by steps",
        ),
        sends(
            lambda client: client.patch(NODES, "n1", ApplyPatch({"a": 1}), subresource="status"),
            Request(
                Method.PATCH,
                f"{PATH}/status",
                (("fieldManager", "growth"), ("force", "true")),
                b'{"a":1}',
                "application/apply-patch+yaml",
            ),
            id="apply to a status",
        ),
    ],
)
def test_a_verb_sends(use: Use, request_: Request) -> None:
    answer, send = run(use, ok(a_node("n1") if request_.path.startswith(PATH) else a_pod("p")))
    assert send.requests == [request_]
    assert answer.metadata.name in ("n1", "p")


def test_what_is_created_carries_its_kind_and_version() -> None:
    body = {"metadata": {"name": "j"}, "spec": {"suspend": True}}
    job, send = run(lambda client: client.create(JOBS, body, "shop"), ok({"metadata": {"name": "j"}}))
    assert job.metadata.name == "j"
    assert send.requests[0].path == "/apis/batch/v1/namespaces/shop/jobs"
    assert send.bodies == [{"apiVersion": "batch/v1", "kind": "Job", **body}]


def test_a_kind_whose_name_is_no_python_name_is_sent_as_the_server_spells_it() -> None:
    _, send = run(lambda client: client.create(CSI_NODES, {"metadata": {"name": "n"}}), ok({"metadata": {"name": "n"}}))
    assert send.bodies == [{"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n"}}]


@pytest.mark.parametrize(
    ("wishes", "options"),
    [
        pytest.param({}, {}, id="whatever it is"),
        pytest.param(
            {"uid": "u"},
            {"preconditions": {"uid": "u"}},
            id="if it is still this one",
        ),
        pytest.param(
            {"uid": "u", "resource_version": 12},
            {"preconditions": {"uid": "u", "resourceVersion": "12"}},
            id="if it is still this version of this one",
        ),
        pytest.param(
            {"resource_version": 0},
            {"preconditions": {"resourceVersion": "0"}},
            id="a version of zero is a condition, too",
        ),
        pytest.param(
            {"grace_seconds": 0},
            {"gracePeriodSeconds": 0},
            id="at once, which is not the same as no wish",
        ),
    ],
)
def test_delete_sends_its_preconditions(wishes: Json, options: Json) -> None:
    _, send = run(lambda client: client.delete(NODES, "n1", **wishes), ok({"kind": "Status", "status": "Success"}))
    assert (send.requests[0].method, send.requests[0].path) == (Method.DELETE, PATH)
    assert send.bodies == [{"apiVersion": "v1", "kind": "DeleteOptions", **options}]


def test_an_eviction_is_a_wish_with_preconditions() -> None:
    _, send = run(lambda client: client.evict("p", "shop", uid="u", grace_seconds=5), Response(201, b"{}"))
    assert send.requests[0].path == "/api/v1/namespaces/shop/pods/p/eviction"
    assert send.bodies == [
        {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": "p", "namespace": "shop"},
            "deleteOptions": {
                "apiVersion": "v1",
                "kind": "DeleteOptions",
                "preconditions": {"uid": "u"},
                "gracePeriodSeconds": 5,
            },
        }
    ]


def test_a_disruption_budget_is_asked_once() -> None:
    send = Scripted(no(429, "TooManyRequests", "would violate the budget", retry_after=10))

    async def evicting() -> float:
        with pytest.raises(TooManyRequests, match="budget"):
            await Client(send).evict("p", "shop")
        return send.clock()

    assert run_virtually(evicting()) == 0
    assert len(send.requests) == 1


def test_a_created_object_that_was_there_already_is_told_from_a_conflict() -> None:
    with pytest.raises(AlreadyExists):
        run(lambda client: client.create(NODES, a_node()), no(409, "AlreadyExists"))
    with pytest.raises(Conflict):
        run(lambda client: client.delete(NODES, "n1", uid="other"), no(409, "Conflict"))


def pages(*names: str, version: int = 5) -> list[Response]:
    """A list of one node per page."""
    last = len(names) - 1
    return [
        ok(a_list([a_node(name)], version=version, next_page="" if number == last else f"after {name}"))
        for number, name in enumerate(names)
    ]


def names(listing: ListResult[Node]) -> list[str]:
    return [node.metadata.name for node in listing.items]


def test_a_list_is_read_page_by_page() -> None:
    listing, send = run(lambda client: client.list(NODES, label_selector="a=b"), *pages("n1", "n2", "n3"))
    assert (names(listing), listing.resource_version) == (["n1", "n2", "n3"], "5")
    page = {"limit": str(PAGE_SIZE), "labelSelector": "a=b"}
    assert send.queries == [page, {**page, "continue": "after n1"}, {**page, "continue": "after n2"}]


def test_a_list_whose_page_token_expired_starts_over_and_mixes_nothing() -> None:
    torn = pages("old1", "old2", "old3")[:2]
    listing, send = run(lambda client: client.list(NODES), *torn, no(410, "Expired"), *pages("n1", "n2", version=9))
    assert (names(listing), listing.resource_version) == (["n1", "n2"], "9")
    assert [query.get("continue") for query in send.queries] == [None, "after old1", "after old2", None, "after n1"]


def test_a_list_whose_tokens_always_expire_gives_up() -> None:
    torn = [pages("n1", "n2")[0], no(410, "Expired")]
    with pytest.raises(Gone):
        run(lambda client: client.list(NODES), *torn, *torn, *torn)


def test_a_page_that_fails_is_asked_for_again() -> None:
    first, second = pages("n1", "n2")
    listing, _ = run(
        lambda client: client.list(NODES), first, no(503), Unreachable("reset", sent=True), no(429), second
    )
    assert names(listing) == ["n1", "n2"]


def test_writes_carry_the_fence_and_reads_do_not() -> None:
    deadlines = iter((100.0, 200.0, 300.0))

    async def using(client: Client) -> None:
        leader = client.fenced(lambda: next(deadlines))
        await leader.get(NODES, "n1")
        await leader.patch(NODES, "n1", MergePatch({}))
        await leader.delete(NODES, "n1")
        await leader.evict("p", "shop")
        await client.delete(NODES, "n1")

    _, send = run(using, ok(a_node()), ok(a_node()), ok({}), ok({}), ok({}))
    assert [request.not_after for request in send.requests] == [None, 100.0, 200.0, 300.0, None]


def test_a_repeated_write_keeps_the_fence_that_it_began_with() -> None:
    deadlines = iter((100.0, 200.0))
    _, send = run(lambda client: client.fenced(lambda: next(deadlines)).delete(NODES, "n1"), no(429), ok({}))
    assert [request.not_after for request in send.requests] == [100.0, 100.0]


def test_all_views_of_a_client_share_one_table() -> None:
    sharing = InternTables()
    client = Client(Scripted(), sharing=sharing)
    assert client.sharing is sharing
    assert client.fenced(lambda: 0.0).sharing is sharing
    one, other = (view.reader(PODS) for view in (client, client.fenced(lambda: 0.0)))
    raw = json.dumps(a_pod()).encode()
    assert one.object(raw).spec is other.object(raw).spec


def test_a_stream_that_is_refused_raises_the_typed_error() -> None:
    async def using(client: Client) -> None:
        async with client.stream(Request(Method.GET, NODES.collection(), (("watch", "true"),))):
            raise AssertionError("there is nothing to read")

    with pytest.raises(ServerTrouble, match="etcd is gone"):
        run(using, no(500, "InternalError", "etcd is gone"))


def test_a_client_that_is_left_gives_back_its_sockets() -> None:
    _, send = run(lambda client: client.get(NODES, "n1"), ok(a_node()))
    assert send.is_closed
