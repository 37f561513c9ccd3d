"""How a term of leadership ends: handed over at once if that is safe, left to run out if it is not."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from growth.kube.client import Client
from growth.kube.errors import Fenced, TooManyRequests, Unreachable
from growth.kube.transport import Request
from tests.kube.replica import LEDGER, Replica, an_api, spec_of, virtual, write


async def a_leader(lead: Callable[[Client], Coroutine[Any, Any, None]] | None = None) -> tuple[Replica, Replica]:
    """One that leads, and one that waits."""
    leader, other = Replica(api := an_api(), "a"), Replica(api, "b")
    leader.start(lead)
    await asyncio.sleep(0.01)
    other.start()
    await asyncio.sleep(5)
    return leader, other


async def stop(replica: Replica) -> None:
    assert replica.task is not None
    replica.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await replica.task


@virtual
async def test_a_clean_stop_hands_the_lease_over_within_a_retry_period() -> None:
    leader, other = await a_leader()
    await stop(leader)
    assert not leader.leads.is_set()
    assert await other.leads_within(2.5)


@virtual
async def test_the_lease_is_renewed_until_the_work_has_ended_and_only_then_released() -> None:
    async def take_a_minute_to_stop(client: Client) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(60)
            await write(client, "last words")

    leader, other = await a_leader(take_a_minute_to_stop)
    assert leader.task is not None
    leader.task.cancel()
    assert not await other.leads_within(59.9)
    assert await other.leads_within(3)
    assert leader.send.api.objects[LEDGER]["data"] == {"value": "last words"}


@virtual
async def test_who_cancels_twice_does_not_wait_and_the_lease_runs_out() -> None:
    async def hardly_stop(_: Client) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()  # it gives in when the test ends, well or not

    leader, other = await a_leader(hardly_stop)
    assert leader.task is not None
    leader.task.cancel()
    await asyncio.sleep(1)
    await stop(leader)
    assert not await other.leads_within(10)
    # The other one looks every 2.4 s at most, so it saw the last renewal so much later, and waits 15 s from then.
    assert await other.leads_within(8)


@virtual
async def test_a_cancelled_write_is_answered_before_the_lease_is_released() -> None:
    async def write_slowly(client: Client) -> None:
        leader.send.before = slowly
        await write(client, "on the wire")

    async def slowly(request: Request) -> None:
        if request.path == LEDGER:
            await asyncio.sleep(3)

    leader = Replica(api := an_api(), "a")
    leader.start(write_slowly)
    await asyncio.sleep(1)
    await stop(leader)
    assert leader.clock() == pytest.approx(3, abs=0.1)
    assert api.objects[LEDGER]["data"] == {"value": "on the wire"}
    assert "holderIdentity" not in spec_of(api)


@virtual
async def test_a_lease_is_not_released_while_a_write_without_answer_may_still_happen() -> None:
    async def lose_answer(request: Request) -> None:
        if request.path == LEDGER:
            raise Unreachable("reset", sent=True)

    async def write_into_the_dark(client: Client) -> None:
        leader.send.after = lose_answer
        await write(client)

    leader = Replica(api := an_api(), "a")
    with pytest.raises(Unreachable):
        await leader.start(write_into_the_dark)
    assert spec_of(api)["holderIdentity"] == "a"


@virtual
async def test_work_that_is_done_ends_the_run_and_releases_the_lease() -> None:
    replica = Replica(api := an_api())
    await replica.start(write)
    assert "holderIdentity" not in spec_of(api)


@virtual
async def test_work_that_fails_ends_the_run_with_its_error_and_releases_the_lease() -> None:
    async def fail(_: Client) -> None:
        raise ZeroDivisionError

    replica = Replica(api := an_api())
    with pytest.raises(ZeroDivisionError):
        await replica.start(fail)
    assert "holderIdentity" not in spec_of(api)


@virtual
async def test_being_locked_out_by_the_fence_is_no_error_but_a_lost_lease() -> None:
    attempts = 0

    async def notice_first(_: Client) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise ExceptionGroup("tasks", [Fenced("locked out"), ExceptionGroup("more", [Fenced("me too")])])

    await Replica(an_api()).start(notice_first)
    assert attempts == 2


@virtual
async def test_a_task_that_outlives_its_term_cannot_write() -> None:
    forgotten: list[asyncio.Task[None]] = []

    async def write_later(client: Client) -> None:
        await asyncio.sleep(1)
        await write(client, "too late")

    async def forget(client: Client) -> None:
        forgotten.append(asyncio.create_task(write_later(client)))

    replica = Replica(api := an_api())
    await replica.start(forget)
    with pytest.raises(Fenced):
        await forgotten[0]
    assert "data" not in api.objects[LEDGER]


@virtual
async def test_a_retry_of_a_write_does_not_outlive_the_term_in_which_it_was_decided() -> None:
    forgotten: list[asyncio.Task[None]] = []
    asked: list[Request] = []

    async def not_now(request: Request) -> None:
        asked.append(request)
        if request.path == LEDGER:
            raise TooManyRequests("busy", status=429, reason="", retry_after=3)

    async def forget(client: Client) -> None:
        replica.send.before = not_now
        forgotten.append(asyncio.create_task(write(client, "too late")))
        await asyncio.sleep(1)

    replica = Replica(an_api())
    await replica.start(forget)
    with pytest.raises(Fenced):
        await forgotten[0]
    assert [request.path for request in asked].count(LEDGER) == 1
