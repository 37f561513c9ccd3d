"""Whatever fails between memory and the API server: every node is what it was, and stays what people make of it."""

import asyncio
import itertools
import random

import msgspec
import pytest

from growth.api.kinds import NODES
from growth.api.node_memory import SHARD_LEASES, shard_name, shard_of
from growth.api.settings.model import LeaderElectionSettings
from growth.kube.patches import MergePatch
from growth_lab.simulator.faults import Fault
from tests.trust.chaos.replicas import SETTINGS
from tests.trust.chaos.troubles import drawn_rates
from tests.trust.interruption import Side
from tests.trust.memory.cast import Cast
from tests.trust.memory.troupe import GROWTH, Troupe, played

pytestmark = pytest.mark.long

LONGER_THAN_THE_LEASE = 5.0
WRITES = [("create", "configmaps"), ("patch", "configmaps"), ("delete", "configmaps"), ("patch", "nodes")]


def order(troupe: Troupe, fault: Fault, times: int = 3, seconds: float | None = None) -> None:
    """The next few writes of each kind fail."""
    for verb, resource in WRITES:
        troupe.faults.order(fault, verb=verb, resource=resource, user=GROWTH, times=times, seconds=seconds)


FAILING = [
    Fault.CONFLICT,
    Fault.INTERNAL,
    Fault.INTERNAL_AFTER,
    Fault.TOO_MANY,
    Fault.LOST,
    Fault.TIMEOUT,
    Fault.LATE,
]


@pytest.mark.parametrize("fault", FAILING, ids=lambda fault: fault.value)
def test_writes_may_fail(fault: Fault) -> None:
    assert played(lambda troupe: order(troupe, fault)) == []


def test_answers_may_come_after_half_a_minute() -> None:
    assert played(lambda troupe: order(troupe, Fault.SLOW, seconds=30.0)) == []


@pytest.mark.parametrize("resource", ["nodes", "configmaps", "leases"])
@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_watches_may_lag_each_by_another_time(resource: str, which: int) -> None:
    """Of several watches of one kind only some lag: that of memories and not that of transactions, of one replica."""

    def slow_from_the_start(troupe: Troupe) -> None:
        for replica in troupe.replicas:
            replica.kill(0.0)  # so that it opens its watches anew
        order = troupe.faults.order
        order(Fault.SLOW_WATCH, verb="watch", resource=resource, user=GROWTH, skip=which, times=3, seconds=3.0)

    assert played(slow_from_the_start, is_held=True) == []


@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.4])
def test_watches_may_break_and_be_too_old_to_go_on(seconds: float) -> None:
    """Then everything is read anew, and who left meanwhile is missing; so nodes are held."""

    def break_all(troupe: Troupe) -> None:
        for resource in ("nodes", "configmaps"):
            order = troupe.faults.order
            order(Fault.CUT, verb="watch", resource=resource, user=GROWTH, times=9, seconds=seconds)
            order(Fault.GONE, verb="watch", resource=resource, user=GROWTH, times=9)
        for replica in troupe.replicas:
            replica.kill(0.0)

    assert played(break_all, is_held=True) == []


@pytest.mark.parametrize("skip", [0, 3, 9, 20])
def test_the_server_may_be_restarted(skip: int) -> None:
    def restart(troupe: Troupe) -> None:
        troupe.faults.order(Fault.RESTART, user=GROWTH, skip=skip, seconds=8.0)

    assert played(restart, is_held=True) == []


@pytest.mark.parametrize("writes", range(1, 13, 2))
def test_leases_may_run_out_between_a_decision_and_its_write(writes: int) -> None:
    """Each replica in turn stands still there; what it was about to write leaves when others have gone on."""
    for number in range(3):
        assert played(lambda troupe, at=number: troupe.replicas[at].pause_at(writes, LONGER_THAN_THE_LEASE)) == []


@pytest.mark.parametrize("writes", range(1, 10, 2))
def test_two_replicas_may_be_paused_and_woken(writes: int) -> None:
    def pause_two(troupe: Troupe) -> None:
        for replica, more in zip(troupe.replicas, (0, 2), strict=False):
            replica.pause_at(writes + more, LONGER_THAN_THE_LEASE + more)

    assert played(pause_two) == []


def test_a_node_that_others_change_all_the_time_is_given_back_soon() -> None:
    """Twenty times a second: each time the version is another one, and whoever writes by the last one is refused."""
    waited: list[float] = []

    async def in_a_storm(cast: Cast) -> None:
        await cast.register("a", team="blue")
        await cast.until_noted("a")
        await cast.unregister("a")
        await cast.register("a")
        began = asyncio.get_running_loop().time()
        storm = asyncio.create_task(change_for_ever(cast))
        await cast.until_marked("a")
        waited.append(asyncio.get_running_loop().time() - began)
        await cast.label("a", team="red")
        await asyncio.sleep(5)
        storm.cancel()

    async def change_for_ever(cast: Cast) -> None:
        for number in itertools.count():
            patch = MergePatch({"metadata": {"annotations": {"example.com/beat": str(number)}}})
            await cast.client.patch(NODES, "a", patch)
            await asyncio.sleep(0.05)

    assert played(lambda _: None, telling=in_a_storm) == []
    assert waited[0] < 2


def test_a_holder_whose_stream_of_nodes_is_silent_loses_the_shard_to_one_that_sees_the_node() -> None:
    """It must not take the node for gone again and again, for the minutes until it notices that its stream is dead.
    The other one has just started, so that for it the Lease, old as it is, has yet to run out."""
    troupes, waited = list[Troupe](), list[float]()

    def silence_one(troupe: Troupe) -> None:
        troupe.faults.order(Fault.SILENT, verb="watch", resource="nodes", user=GROWTH, seconds=20.0)
        fleet = troupe.fleet  # with Leases as long as they are by default
        fleet.settings = msgspec.structs.replace(fleet.settings, leader_election=LeaderElectionSettings())
        troupe.replicas[0].kill(0.0)  # so that it opens its watches again
        troupe.replicas[1].kill(1.0)
        troupes.append(troupe)

    async def while_it_holds_the_shard(cast: Cast) -> None:
        await cast.register("a", team="blue")
        await cast.until_noted("a")
        await cast.unregister("a")
        await cast.until_done()
        await asyncio.sleep(25)
        lease = shard_name(shard_of("a", SETTINGS.memory.shards), SETTINGS.memory.shards)
        held = {"holderIdentity": troupes[0].replicas[0].name, "leaseDurationSeconds": 15}
        await cast.client.patch(SHARD_LEASES, lease, MergePatch({"spec": held}), SETTINGS.namespace)
        troupes[0].replicas[1].kill(0.0)
        await asyncio.sleep(5)
        began = asyncio.get_running_loop().time()
        await cast.register("a")
        await cast.until_marked("a")
        waited.append(asyncio.get_running_loop().time() - began)

    assert played(silence_one, replicas=2, telling=while_it_holds_the_shard) == []
    assert 10 < waited[0] < 25, "until the Lease of the silent one has run out, and no longer"


def be_well(troupe: Troupe) -> None:
    """Nothing fails any more."""
    troupe.faults.rates = {}


def drawn_trouble(seed: int) -> list[str]:
    """What is wrong in the end if for a minute a share of all requests fails in a drawn way, and replicas are killed
    and paused at drawn writes."""
    chance = random.Random(f"{seed}/memory faults")  # noqa: S311 - a seed, no secret

    def trouble(troupe: Troupe) -> None:
        troupe.faults.rates = drawn_rates(chance)
        asyncio.get_running_loop().call_later(60, be_well, troupe)
        for replica in troupe.replicas:
            if chance.random() < 0.5:
                replica.pause_at(chance.randint(1, 15), chance.choice([1.0, 3.0, 8.0]))
            elif chance.random() < 0.7:
                replica.kill_at(chance.randint(1, 15), chance.choice(list(Side)))

    return played(trouble, seed=seed, replicas=chance.choice([1, 2, 3]), is_held=True)


def test_whatever_fails_nodes_are_what_they_were() -> None:
    base = random.Random().randrange(10**9)  # noqa: S311 - drawn anew each time
    for seed in range(base, base + 10):
        assert drawn_trouble(seed) == [], f"drawn_trouble({seed})"
