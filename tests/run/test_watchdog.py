"""Signs of life: silence is told by name, and only where progress was owed."""

import asyncio

import pytest

from growth.kube.client import Client
from growth.kube.errors import Unreachable
from growth.kube.transport import Method, Request
from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth.run.watchdog import BeatingSend, Heartbeats, MissedHeartbeat
from growth_lab.simulator.virtual_loop import run_virtually
from tests.kube.scripted import Scripted, ok
from tests.run.quiet_server import QuietServer

READ = Request(Method.GET, "/version")


class Hands:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def test_who_is_silent_for_longer_than_allowed_is_named() -> None:
    heartbeats = Heartbeats(clock := Hands())
    heartbeats.register("a", 10)
    heartbeats.register("b", 60)
    clock.at = 10
    assert heartbeats.silences() == []
    clock.at = 11
    assert heartbeats.silences() == [MissedHeartbeat("a", 11, 10)]
    assert str(heartbeats.silences()[0]) == "a has made no progress for 11 s (10 s are allowed)"


def test_a_beat_ends_the_silence() -> None:
    heartbeats = Heartbeats(clock := Hands())
    heartbeat = heartbeats.register("a", 10)
    clock.at = 20
    heartbeat.beat()
    assert heartbeats.silences() == []


def test_who_rests_or_has_ended_owes_nothing() -> None:
    heartbeats = Heartbeats(clock := Hands())
    resting, ended = heartbeats.register("resting", 10), heartbeats.register("ended", 10)
    resting.rest()
    heartbeats.end(ended)
    clock.at = 1_000
    assert heartbeats.silences() == []
    resting.beat()
    clock.at = 1_011
    assert [silence.name for silence in heartbeats.silences()] == ["resting"]


def test_an_exchange_that_fails_is_a_sign_of_life_and_one_that_hangs_is_none() -> None:
    async def story() -> None:
        beats: list[float] = []
        send = Scripted(ok({}), Unreachable("no", sent=False))
        beating = BeatingSend(send, lambda: beats.append(send.clock()))
        await beating.send(READ)
        with pytest.raises(Unreachable):
            await beating.send(READ)
        assert len(beats) == 2

    run_virtually(story())


def test_a_stuck_informer_is_named_and_the_others_are_not() -> None:
    async def story() -> None:
        heartbeats = Heartbeats(asyncio.get_running_loop().time)
        server = QuietServer(bookmark_seconds=60, stuck="/pods")
        async with watching(Client(server), ClusterCache(), heartbeats=heartbeats, spare=lambda: None):
            await asyncio.sleep(299)
            assert heartbeats.silences() == []
            await asyncio.sleep(100)
            assert [silence.name for silence in heartbeats.silences()] == ["the informer of pods"]

    run_virtually(story())


def test_whoever_wants_to_know_is_told_after_the_world_was() -> None:
    async def story() -> None:
        world, seen = ClusterCache(), list[int]()
        server = QuietServer(nodes=3)
        async with watching(
            Client(server), world, observed=lambda: seen.append(len(world.nodes)), spare=lambda: None
        ) as informers:
            assert seen == [3]
            assert len(informers) == len(world.listeners())

    run_virtually(story())
