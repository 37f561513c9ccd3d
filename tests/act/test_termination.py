"""A machine is given back only if nobody works on its node in the instant before."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from growth.act.action_runner import carry_out
from growth.api.actions import DeleteMachine, Result
from growth.api.kinds import PODS
from growth.kube.errors import Forbidden, KubeError, ServerTrouble, Unreachable
from growth.kube.transport import Request
from tests.act.workshop import REQUEST, Workshop, a_purchase
from tests.builders import Json, a_list, a_pod
from tests.kube.replica import virtual

GIVING_BACK = DeleteMachine(
    subject=REQUEST, why="nobody needs it", provider="kwok", machine_id="id-default-1", empty_node="default-1"
)


async def a_workshop_with(*pods: Json) -> Workshop:
    """One machine is bought, and these are the pods that the server lists of its node."""
    workshop = Workshop()
    await carry_out(a_purchase(), workshop.doors)
    workshop.api.objects[PODS.collection()] = a_list(pods)
    return workshop


def a_daemon() -> Json:
    pod: dict[str, Any] = a_pod("daemon", node="default-1")
    pod["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet"
    return pod


@virtual
async def test_an_empty_node_loses_its_machine() -> None:
    workshop = await a_workshop_with(a_daemon(), a_pod("done", node="default-1", phase="Succeeded"))
    assert (await carry_out(GIVING_BACK, workshop.doors)).result is Result.DONE
    assert workshop.shop.machines == {}
    (asked,) = [request for request in workshop.send.sent if request.path == PODS.collection()]
    assert dict(asked.query)["fieldSelector"] == "spec.nodeName=default-1"


@virtual
async def test_a_pod_that_moved_in_unseen_keeps_it_and_the_provider_is_not_asked() -> None:
    workshop = await a_workshop_with(a_daemon(), a_pod("late", node="default-1"))
    outcome = await carry_out(GIVING_BACK, workshop.doors)
    assert outcome.result is Result.STALE
    assert "pod default/late works on node default-1" in outcome.message
    assert workshop.shop.calls == ["create default-1"]


@virtual
async def test_of_a_node_that_seemed_never_to_be_ready_only_those_count_that_run() -> None:
    dead = msgspec.structs.replace(GIVING_BACK, ignores_unstarted=True)
    workshop = await a_workshop_with(a_pod("bound", node="default-1", phase="Pending"))
    assert (await carry_out(dead, workshop.doors)).result is Result.DONE
    workshop = await a_workshop_with(a_pod("late", node="default-1"))
    assert (await carry_out(dead, workshop.doors)).result is Result.STALE


TROUBLE: list[KubeError] = [
    ServerTrouble("oh", status=500, reason="InternalError"),
    Unreachable("no answer", sent=True),
    Forbidden("no", status=403, reason="Forbidden"),
]


@virtual
async def test_where_nobody_says_who_works_there_it_is_kept_and_was_no_attempt() -> None:
    for error in TROUBLE:
        workshop = await a_workshop_with()
        workshop.send.before = _failing(error)
        outcome = await carry_out(GIVING_BACK, workshop.doors)
        assert outcome.result is Result.STALE
        assert "nobody says whether a pod works on node default-1" in outcome.message
        assert workshop.shop.calls == ["create default-1"]


def _failing(error: KubeError) -> Callable[[Request], Awaitable[None]]:
    async def fail(_: Request) -> None:
        raise error

    return fail


@virtual
async def test_a_leader_without_its_lease_gives_nothing_back() -> None:
    workshop = await a_workshop_with()
    workshop.fence = -1
    assert (await carry_out(GIVING_BACK, workshop.doors)).result is Result.FENCED
    assert workshop.shop.calls == ["create default-1"]


@virtual
async def test_a_machine_without_a_node_is_given_back_without_a_look() -> None:
    workshop = await a_workshop_with(a_pod("late", node="default-1"))
    blind = DeleteMachine(subject=REQUEST, why="", provider="kwok", machine_id="id-default-1")
    assert (await carry_out(blind, workshop.doors)).result is Result.DONE
    assert all(request.path != PODS.collection() for request in workshop.send.sent)
