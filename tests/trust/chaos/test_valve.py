"""A process that is stopped for good, at a write, or for a while: what leaves it, and when."""

import asyncio

import pytest

from growth.kube.errors import Fenced, Unreachable
from growth.kube.transport import Method, Request
from growth_lab.simulator.api.rbac import ADMIN
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.served_kinds import NAMESPACES
from growth_lab.simulator.virtual_loop import run_virtually
from tests.trust.chaos.valve import Valve
from tests.trust.interruption import Side

MADE = Request(Method.POST, "/api/v1/namespaces", body=b'{"metadata": {"name": "made"}}')
READ = Request(Method.GET, "/api/v1/namespaces")


def is_made(cluster: VirtualCluster) -> bool:
    return cluster.store.get(NAMESPACES, "made") is not None


@pytest.mark.parametrize(("side", "made"), [(Side.BEFORE, False), (Side.AFTER, True)])
def test_who_is_killed_at_a_write_never_hears_of_it(side: Side, made: bool) -> None:  # noqa: FBT001
    async def play() -> None:
        cluster, told = VirtualCluster(), list[str]()
        valve = Valve(cluster.api.connect(ADMIN), told.append)
        valve.kill_at(1, side)
        await valve.send(READ)
        with pytest.raises(Unreachable):
            await valve.send(MADE)
        assert (is_made(cluster), valve.killed.is_set(), len(told)) == (made, True, 1)
        with pytest.raises(Unreachable):
            await valve.send(READ)

    run_virtually(play())


@pytest.mark.parametrize("fence", [None, 3.0], ids=["without a fence it is done", "the fence holds it"])
def test_what_a_process_was_about_to_send_leaves_when_it_wakes_up(fence: float | None) -> None:
    async def play() -> None:
        cluster = VirtualCluster()
        valve = Valve(cluster.api.connect(ADMIN), print)
        valve.pause()
        request = Request(MADE.method, MADE.path, body=MADE.body, not_after=fence)
        sending = asyncio.ensure_future(valve.send(request))
        await asyncio.sleep(5)
        assert not sending.done()
        assert not is_made(cluster)
        valve.resume()
        if fence is not None:
            with pytest.raises(Fenced):
                await sending
        else:
            assert (await sending).status == 201
        assert is_made(cluster) is (fence is None)

    run_virtually(play())
