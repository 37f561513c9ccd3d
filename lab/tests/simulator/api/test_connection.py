"""The way to the server and back: time, fences, broken connections, and what a stopped product leaves behind."""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing

import pytest

from growth.kube.errors import Fenced, Unreachable
from growth.kube.transport import Method, Request, Send
from growth_lab.simulator.api.rbac import ADMIN
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.served_kinds import CONFIG_MAPS, LEASES
from lab.tests.simulator.api.worlds import World, in_a_world

MAPS = "/api/v1/namespaces/default/configmaps"
BODY = b'{"metadata":{"name":"one"},"data":{"x":"1"}}'


def a_create(**fields: float) -> Request:
    return Request(Method.POST, MAPS, body=BODY, **fields)  # pyright: ignore[reportArgumentType]


def a_watch(*query: tuple[str, str], patience: float = 190.0) -> Request:
    return Request(Method.GET, MAPS, (("watch", "true"), *query), timeout_seconds=patience)


def is_made(world: World) -> bool:
    return world.store.get(CONFIG_MAPS, "one", "default") is not None


async def lines_of(send: Send, request: Request) -> list[bytes]:
    async with send.stream(request) as stream, aclosing(stream.batches()) as batches:
        return [line async for batch in batches for line in batch]


def test_a_request_takes_its_time_there_and_back() -> None:
    async def play(world: World) -> None:
        sending = asyncio.create_task(world.server.connect(ADMIN).send(a_create()))
        await asyncio.sleep(0.4 * world.timings.api_latency)
        assert not is_made(world)
        await asyncio.sleep(0.2 * world.timings.api_latency)
        assert is_made(world)
        assert not sending.done()
        assert (await sending).status == 201
        assert world.clock.seconds() == pytest.approx(world.timings.api_latency)

    in_a_world(play)


def test_a_write_does_not_leave_after_its_fence() -> None:
    async def play(world: World) -> None:
        send = world.server.connect(ADMIN)
        await asyncio.sleep(10)
        with pytest.raises(Fenced, match=r"POST .* was not sent"):
            await send.send(a_create(not_after=10.0))
        assert not is_made(world)
        assert (await send.send(Request(Method.GET, MAPS, not_after=10.0))).status == 200
        assert (await send.send(a_create(not_after=10.1))).status == 201

    in_a_world(play)


@pytest.mark.parametrize(
    ("fault", "status", "is_done"),
    [
        (Fault.TOO_MANY, 429, False),
        (Fault.CONFLICT, 409, False),
        (Fault.INTERNAL, 500, False),
        (Fault.UNAVAILABLE, 503, False),
        (Fault.GATEWAY, 504, False),
        (Fault.INTERNAL_AFTER, 500, True),
        (Fault.SLOW, 201, True),
    ],
)
def test_a_server_in_trouble_answers(fault: Fault, status: int, is_done: bool) -> None:  # noqa: FBT001 - a table
    async def play(world: World) -> None:
        world.faults.order(fault)
        response = await world.server.connect(ADMIN).send(a_create())
        assert (response.status, is_made(world)) == (status, is_done)
        assert response.headers.get("retry-after") == ("1" if fault is Fault.TOO_MANY else None)

    in_a_world(play)


@pytest.mark.parametrize(
    ("fault", "was_sent", "is_done", "seconds"),
    [
        (Fault.REFUSED, False, False, 0),
        (Fault.TIMEOUT, True, False, 30),
        (Fault.LOST, True, True, 0.0005),
        (Fault.LATE, True, False, 30),
        (Fault.RESTART, False, False, 0),
    ],
)
def test_there_may_be_no_answer_at_all(fault: Fault, was_sent: bool, is_done: bool, seconds: float) -> None:  # noqa: FBT001 - a table
    async def play(world: World) -> None:
        world.faults.order(fault)
        with pytest.raises(Unreachable) as error:
            await world.server.connect(ADMIN).send(a_create(timeout_seconds=30.0))
        assert (error.value.sent, is_made(world)) == (was_sent, is_done)
        assert world.clock.seconds() == pytest.approx(seconds)
        await asyncio.sleep(60)
        assert is_made(world) is (is_done or fault is Fault.LATE)

    in_a_world(play)


def test_an_answer_that_is_slower_than_the_clients_patience_is_none() -> None:
    async def play(world: World) -> None:
        world.faults.order(Fault.SLOW, seconds=31)
        with pytest.raises(Unreachable, match="did not answer in time") as error:
            await world.server.connect(ADMIN).send(a_create(timeout_seconds=30.0))
        assert error.value.sent
        assert is_made(world)

    in_a_world(play)


def test_a_restart_breaks_what_is_under_way_and_refuses_what_comes_for_a_while() -> None:
    async def play(world: World) -> None:
        send = world.server.connect(ADMIN)
        before = world.store.version
        world.store.create(CONFIG_MAPS, {"metadata": {"name": "zero", "namespace": "default"}})
        watching = asyncio.create_task(lines_of(send, a_watch()))
        sending = asyncio.create_task(send.send(Request(Method.GET, MAPS, timeout_seconds=30)))
        await asyncio.sleep(0.0002)
        world.server.restart(5)
        for task in (watching, sending):
            with pytest.raises(Unreachable) as error:
                await task
            assert error.value.sent
        with pytest.raises(Unreachable) as error:
            await send.send(a_create())
        assert not error.value.sent
        await asyncio.sleep(5)
        assert (await send.send(a_create())).status == 201
        (line,) = await lines_of(send, a_watch(("resourceVersion", str(before))))
        assert b'"reason":"Expired"' in line

    in_a_world(play)


def test_a_watch_ends_in_time_and_says_how_far_it_came() -> None:
    async def play(world: World) -> None:
        query = (("resourceVersion", str(world.store.version)), ("allowWatchBookmarks", "true"))
        lines = await lines_of(world.server.connect(ADMIN), a_watch(*query, ("timeoutSeconds", "300")))
        assert world.clock.seconds() == pytest.approx(300, abs=0.01)
        assert [line[:18] for line in lines] == [b'{"type":"BOOKMARK"'] * 5
        assert f'"resourceVersion":"{world.store.version}"'.encode() in lines[0]

    in_a_world(play)


def test_a_watch_that_falls_silent_is_noticed_by_its_reader_only() -> None:
    async def play(world: World) -> None:
        world.faults.order(Fault.SILENT, verb="watch", seconds=100)
        with pytest.raises(Unreachable, match="did not answer in time"):
            await lines_of(world.server.connect(ADMIN), a_watch(("allowWatchBookmarks", "true")))
        assert world.clock.seconds() == pytest.approx(60 + 190, abs=0.01)

    in_a_world(play)


def test_closing_the_sender_breaks_its_streams() -> None:
    async def play(world: World) -> None:
        send = world.server.connect(ADMIN)
        watching = asyncio.create_task(lines_of(send, a_watch()))
        await asyncio.sleep(1)
        await send.close()
        with pytest.raises(Unreachable):
            await watching

    in_a_world(play)


def test_watchers_are_told_one_line_and_lag_together() -> None:
    async def play(world: World) -> None:
        world.faults.order(Fault.SLOW_WATCH, verb="watch", seconds=3)
        send, got = world.server.connect(ADMIN), list[tuple[float, bytes]]()

        async def read() -> None:
            async with send.stream(a_watch(("timeoutSeconds", "10"))) as stream, aclosing(stream.batches()) as batches:
                async for batch in batches:
                    got.extend((world.clock.seconds(), line) for line in batch)

        readers = [asyncio.create_task(read()) for _ in range(2)]
        await asyncio.sleep(1)
        world.store.create(CONFIG_MAPS, {"metadata": {"name": "one", "namespace": "default"}})
        await asyncio.gather(*readers)
        (first, line), (second, same) = sorted(got)
        assert (first, second) == (pytest.approx(1.001), pytest.approx(4.001))
        assert line is same

    in_a_world(play)


def test_a_watch_that_was_drawn_to_lag_does_so_until_faults_are_off() -> None:
    async def play(world: World) -> None:
        world.faults.rates = {Fault.SLOW_WATCH: 1.0}
        told: list[float] = []

        async def read() -> None:
            request = a_watch(("timeoutSeconds", "20"))
            async with world.server.connect(ADMIN).stream(request) as stream, aclosing(stream.batches()) as batches:
                told.extend([world.clock.seconds() async for _ in batches])

        reader = asyncio.create_task(read())
        await asyncio.sleep(1)
        world.store.create(CONFIG_MAPS, {"metadata": {"name": "one", "namespace": "default"}})
        await asyncio.sleep(9)
        world.faults.is_on = False
        world.store.create(CONFIG_MAPS, {"metadata": {"name": "two", "namespace": "default"}})
        await reader
        assert told == [pytest.approx(4.001), pytest.approx(10.001)]

    in_a_world(play)


@pytest.mark.parametrize(("side", "is_done"), [("before", False), ("after", True)])
def test_the_product_is_stopped_at_its_nth_send(side: str, is_done: bool) -> None:  # noqa: FBT001 - a table
    class Stopped(BaseException):
        pass

    def stop() -> None:
        raise Stopped

    async def play(world: World) -> None:
        send = world.server.connect("growth")
        world.faults.stop(2, "before" if side == "before" else "after", stop, user=ADMIN)
        other = world.server.connect(ADMIN)
        await send.send(Request(Method.GET, "/version"))
        await other.send(Request(Method.GET, MAPS))
        with pytest.raises(Stopped):
            await other.send(a_create())
        assert is_made(world) is is_done
        assert world.faults.sends == {"growth": 1, ADMIN: 2}

    in_a_world(play)


def test_a_product_that_is_stopped_at_a_watch_leaves_no_watcher_behind() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    async def play(world: World) -> None:
        told: list[bool] = []
        world.server.computed.when_watched(CONFIG_MAPS, told.append)
        world.faults.stop(1, "after", stop)
        with pytest.raises(KeyboardInterrupt):
            await lines_of(world.server.connect(ADMIN), a_watch())
        assert told == [True, False]

    in_a_world(play)


def test_a_page_token_has_its_day() -> None:
    async def play(world: World) -> None:
        for name in ("a", "b", "c"):
            world.store.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
        send = world.server.connect(ADMIN)
        first = json.loads((await send.send(Request(Method.GET, MAPS, (("limit", "1"),)))).body)
        rest = Request(Method.GET, MAPS, (("limit", "1"), ("continue", first["metadata"]["continue"])))
        await asyncio.sleep(world.timings.page_token_life - 1)
        second = await send.send(rest)
        assert [item["metadata"]["name"] for item in json.loads(second.body)["items"]] == ["b"]
        await asyncio.sleep(2)
        late = await send.send(rest)
        assert (late.status, json.loads(late.body)["reason"]) == (410, "Expired")

    in_a_world(play)


def test_a_trial_run_is_refused_because_it_would_be_none() -> None:
    async def play(world: World) -> None:
        response = await world.server.connect(ADMIN).send(Request(Method.POST, MAPS, (("dryRun", "All"),), BODY))
        assert response.status == 400
        assert not is_made(world)

    in_a_world(play)


def test_what_is_computed_is_worked_out_when_it_is_read_and_told_who_watches() -> None:
    async def play(world: World) -> None:
        told: list[tuple[float, bool]] = []
        computed = world.server.computed
        computed.shown_as(LEASES, lambda lease: {**lease, "spec": {"renewTime": world.clock.stamp()}})
        computed.when_watched(LEASES, lambda is_watched: told.append((round(world.clock.seconds()), is_watched)))
        world.store.create(LEASES, {"metadata": {"name": "one", "namespace": "default"}})
        send = world.server.connect(ADMIN)
        path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        await asyncio.sleep(60)
        for address in (path, f"{path}/one"):
            assert b'"renewTime":"2026-03-02T09:01:00Z"' in (await send.send(Request(Method.GET, address))).body
        watch = Request(Method.GET, path, (("watch", "true"), ("timeoutSeconds", "30")))
        (line,) = await lines_of(send, watch)
        assert b'"renewTime":"2026-03-02T09:01:00Z"' in line
        assert told == [(60, True), (90, False)]

    in_a_world(play)


def test_a_namespace_is_emptied_before_it_goes() -> None:
    async def play(world: World) -> None:
        send = world.server.connect(ADMIN)
        spaces = "/api/v1/namespaces"
        await send.send(Request(Method.POST, spaces, body=b'{"metadata":{"name":"shop"}}'))
        held = b'{"metadata":{"name":"held","finalizers":["example.org/hold"]}}'
        await send.send(Request(Method.POST, f"{spaces}/shop/configmaps", body=held))
        await send.send(Request(Method.POST, f"{spaces}/shop/configmaps", body=BODY))
        await send.send(Request(Method.DELETE, f"{spaces}/shop"))
        await asyncio.sleep(20)
        status_of: Callable[[str], Request] = lambda path: Request(Method.GET, f"{spaces}/{path}")  # noqa: E731
        answers = [await send.send(status_of(path)) for path in ("shop", "shop/configmaps/held", "shop/configmaps/one")]
        assert [answer.status for answer in answers] == [200, 200, 404]
        world.store.patch(CONFIG_MAPS, "held", "shop", {"metadata": {"finalizers": None}})
        await asyncio.sleep(10)
        assert (await send.send(status_of("shop"))).status == 404

    in_a_world(play)
