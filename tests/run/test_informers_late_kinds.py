"""Kinds that nobody waits for: what the server says instead is known, and the rest is at work meanwhile."""

import asyncio

import msgspec

from growth.api.actions import Hold
from growth.api.kinds import NODES
from growth.api.queue.kinds import CLUSTER_QUEUES
from growth.api.settings.model import Settings
from growth.decide.queue.decider import CAPABILITY
from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth_lab.simulator.faults import Fault
from lab.tests.simulator.api.worlds import World as Server
from lab.tests.simulator.api.worlds import in_a_world
from tests.decide.passes import Given, deciding
from tests.decide.queue.stage import NOW
from tests.virtual_time import wait_until

decide = deciding(CAPABILITY)


def test_the_world_is_entered_without_them_and_says_when_they_are_read() -> None:
    async def story(server: Server) -> None:
        world, wakes = ClusterCache(queues=True), list[int]()
        trouble = server.faults.order(Fault.INTERNAL, resource="clusterqueues", times=10_000)
        async with watching(
            server.client(),
            world,
            [NODES, CLUSTER_QUEUES],
            late=[CLUSTER_QUEUES],
            observed=lambda: wakes.append(1),
            spare=lambda: None,
        ):
            await wait_until(lambda: "etcdserver" in world.unread().get(CLUSTER_QUEUES, ""))
            assert NODES not in world.unread()
            assert not wakes
            trouble.times = 0
            await wait_until(lambda: not world.unread())
            await asyncio.sleep(0.1)
            assert wakes, "an empty kind says nothing of itself"

    in_a_world(story)


def test_the_queue_decides_nothing_before_its_kinds_are_read_and_says_what_is_in_the_way() -> None:
    words = 'conversion webhook for kueue.x-k8s.io/v1beta1, Kind=Workload failed: Post "https://kueue-webhook-service"'
    seen = msgspec.structs.replace(ClusterCache(queues=True).snapshot(NOW), unread={CLUSTER_QUEUES: words})
    decision = decide(seen, Given(), Settings())
    hold, _ = decision.said
    assert isinstance(hold, Hold)
    assert hold.reason == "NotRead"
    assert "clusterqueues.kueue.x-k8s.io cannot be read: conversion webhook" in hold.why
    assert "take the conversion out of Kueue's definitions" in hold.why
    assert decision.requeue_at is not None
    quiet = msgspec.structs.replace(seen, unread={CLUSTER_QUEUES: ""})
    assert decide(quiet, Given(), Settings()).said == (), "it is being read"
