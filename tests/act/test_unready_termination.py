"""A machine whose node is unready is given back only if the node is still so in the instant before."""

from collections.abc import Awaitable, Callable

import msgspec

from growth.act.action_runner import carry_out
from growth.api.actions import DeleteMachine, Result
from growth.api.kinds import NODES, PODS
from growth.kube.errors import Forbidden, KubeError, ServerTrouble, Unreachable
from growth.kube.transport import Request
from tests.act.workshop import REQUEST, Workshop, a_purchase
from tests.builders import Json, a_list, a_node, a_pod
from tests.kube.replica import virtual

NAME = "default-1"
UNREADY = DeleteMachine(
    subject=REQUEST, why="it was unready for 20m", provider="kwok", machine_id="id-default-1", unready_node=NAME
)
EMPTY_TOO = msgspec.structs.replace(UNREADY, empty_node=NAME)


def a_silent_node() -> Json:
    node = a_node(NAME)
    return {**node, "status": {**node["status"], "conditions": [{"type": "Ready", "status": "Unknown"}]}}


def a_nameless_silence() -> Json:
    """A kubelet that has not said anything yet."""
    node = a_node(NAME)
    return {**node, "status": {**node["status"], "conditions": []}}


async def a_workshop_with(*nodes: Json, pods: tuple[Json, ...] = ()) -> Workshop:
    """One machine is bought, and this is what the server lists."""
    workshop = Workshop()
    await carry_out(a_purchase(), workshop.doors)
    workshop.api.objects[NODES.collection()] = a_list(nodes)
    workshop.api.objects[PODS.collection()] = a_list(pods)
    return workshop


@virtual
async def test_a_node_that_is_still_unready_or_gone_loses_its_machine() -> None:
    for nodes in ([a_silent_node()], [a_nameless_silence()], []):
        workshop = await a_workshop_with(*nodes)
        assert (await carry_out(UNREADY, workshop.doors)).result is Result.DONE
        assert workshop.shop.machines == {}
        (asked,) = [request for request in workshop.send.sent if request.path == NODES.collection()]
        assert dict(asked.query)["fieldSelector"] == f"metadata.name={NAME}"


@virtual
async def test_a_node_that_came_back_unseen_stays_and_the_provider_is_not_asked() -> None:
    workshop = await a_workshop_with(a_node(NAME))
    outcome = await carry_out(UNREADY, workshop.doors)
    assert outcome.result is Result.STALE
    assert outcome.message == f"node {NAME} is ready again: its machine is not given back"
    assert workshop.shop.calls == [f"create {NAME}"]


@virtual
async def test_pods_on_it_do_not_keep_it_unless_that_was_asked() -> None:
    pods = (a_pod("stuck", node=NAME),)
    workshop = await a_workshop_with(a_silent_node(), pods=pods)
    assert (await carry_out(UNREADY, workshop.doors)).result is Result.DONE
    workshop = await a_workshop_with(a_silent_node(), pods=pods)
    assert (await carry_out(EMPTY_TOO, workshop.doors)).result is Result.STALE
    assert workshop.shop.calls == [f"create {NAME}"]


@virtual
async def test_both_are_looked_at_if_both_were_asked() -> None:
    workshop = await a_workshop_with(a_node(NAME))
    assert (await carry_out(EMPTY_TOO, workshop.doors)).result is Result.STALE
    workshop = await a_workshop_with(a_silent_node())
    assert (await carry_out(EMPTY_TOO, workshop.doors)).result is Result.DONE


TROUBLE: list[KubeError] = [
    ServerTrouble("oh", status=500, reason="InternalError"),
    Unreachable("no answer", sent=True),
    Forbidden("no", status=403, reason="Forbidden"),
]


@virtual
async def test_where_nobody_says_how_the_node_is_it_is_kept_and_was_no_attempt() -> None:
    for error in TROUBLE:
        workshop = await a_workshop_with(a_silent_node())
        workshop.send.before = _failing(error)
        outcome = await carry_out(UNREADY, workshop.doors)
        assert outcome.result is Result.STALE
        assert f"nobody says whether node {NAME} is ready" in outcome.message
        assert workshop.shop.calls == [f"create {NAME}"]


@virtual
async def test_a_leader_without_its_lease_gives_nothing_back() -> None:
    workshop = await a_workshop_with(a_silent_node())
    workshop.fence = -1
    assert (await carry_out(UNREADY, workshop.doors)).result is Result.FENCED
    assert workshop.shop.calls == [f"create {NAME}"]


def _failing(error: KubeError) -> Callable[[Request], Awaitable[None]]:
    async def fail(_: Request) -> None:
        raise error

    return fail
