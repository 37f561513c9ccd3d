"""Stories of pools: what a provider cannot sell, what pools may not have, and what is wrong with them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import EVENTS, PODS
from growth.api.node import Node
from growth.api.node_memory import MARKER
from growth.api.node_pool import NodePool, OfferingStatus
from growth.api.node_request import NodeRequest
from growth.api.offering import INSTANCE_TYPE, POOL
from growth.api.settings.model import ProvidersSettings
from growth.api.status import condition_of
from growth.cloud.kwok.plugin import open_kwok
from growth.cloud.plugins import ProviderEnvironment
from growth.cloud.provider import Provider
from growth.decide.pool_status.conditions import VALID
from growth.kube.client import Client
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, QUICK, a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("pools", alone=True)

# With no node at all the real scheduler looks again only every ten seconds; nobody in these stories may use this one.
TAINTED = ("dedicated=other:NoSchedule",)
# What is sold is read once, at the start: what changes later is a surprise.
READS_ONCE = msgspec.structs.replace(QUICK, providers=ProvidersSettings("kwok", timedelta(minutes=10)))
SOLD_OUT_IN_FSN1 = CATALOGUE.replace("nbg1: 0.011}", "nbg1: 0.011}, stock: {fsn1: 0}")
ONE_MACHINE_ONLY = f"faults: [quota=1]\n{CATALOGUE}"


@STORIES.story(is_first=True, ignores="refused", unless_stopped="who starts anew reads the stock, and is not surprised")
async def a_stock_out_is_planned_around(play: Play) -> None:
    """One location is sold out when it is asked: the very next plan goes to the other one. That stands in the pool's
    status longer than in the request. When the time is over one machine is tried, in vain: next time it is longer."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=READS_ONCE) as growth:
        await a_pool(play, types="small")
        await _usable(play, "default")
        growth.set_catalogue(SOLD_OUT_IN_FSN1)
        await play.pod("first", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("first"), "the pod runs")
        assert _asked_for(play) == ["kwok-small-fsn1 Unmet", "kwok-small-nbg1 Ready"]
        await play.until(lambda: _asked_for(play) == ["kwok-small-nbg1 Ready"], "the request is forgotten")
        assert [(one.offering, one.reason, one.level) for one in _learnt(play)] == [
            ("kwok-small-fsn1", "OutOfStock", 1)
        ]
        await play.pod("second", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("second"), "the second pod runs, too")
        await _until_learnt(play, lambda entries: [one.level for one in entries] == [2], "the level is raised")
    assert _machines(play) == ["kwok-small-nbg1", "kwok-small-nbg1"]


@STORIES.story(ignores="refused", unless_stopped="who starts anew reads the stock, and is not surprised")
async def a_location_is_used_again_when_it_can_be_had(play: Play) -> None:
    """A location is sold out, and then it is not: the one machine that is tried comes, and the location is open."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=READS_ONCE, catalogue=CATALOGUE) as growth:
        await a_pool(play, types="small", locations=["fsn1"])
        await _usable(play, "default")
        growth.set_catalogue(SOLD_OUT_IN_FSN1)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(lambda: _asked_for(play) == ["kwok-small-fsn1 Unmet"], "it is sold out")
        growth.set_catalogue(CATALOGUE)
        await play.until(play.pod_is("app"), "the pod runs")
        await _until_learnt(play, lambda entries: all(one.available_since for one in entries), "it is open again")
    assert [(one.offering, one.level) for one in _learnt(play)] == [("kwok-small-fsn1", 1)]


@STORIES.story(ignores="refused")
async def a_quota_leaves_the_provider_alone_until_it_is_lifted(play: Play) -> None:
    """The account may have one machine. Whatever else is wanted is not bought anywhere; when the quota is lifted, one
    machine is tried first, then all are bought, and nobody had to do anything."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=ONE_MACHINE_ONLY) as growth:
        await a_pool(play, types="small")
        await play.pod("first", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("first"), "the first pod runs")
        await play.pod("second", cpu="1500m", nodeSelector={})
        await play.until(lambda: "kwok-small-fsn1 Unmet" in _asked_for(play), "the quota is exceeded")
        await _until_learnt(play, lambda entries: [one.offering for one in entries] == ["kwok"], "the provider rests")
        await play.pod("third", cpu="1500m", nodeSelector={})
        await until_told(play, "third", "NoPlacement")
        growth.set_catalogue(CATALOGUE)
        await play.until(lambda: all(play.pod_is(name)() for name in ("second", "third")), "all pods run")
        await _until_learnt(play, lambda entries: all(one.available_since for one in entries), "it is open again")
    assert [(one.offering, one.reason, one.level) for one in _learnt(play)] == [("kwok", "QuotaExceeded", 1)]
    assert _machines(play) == ["kwok-small-fsn1"] * 3


@STORIES.story(ignores="refused")
async def a_minimum_is_kept_warm(play: Play) -> None:
    """A pool wants one medium machine even without load: it is there before any pod is, the first pod uses it, and
    nothing else is bought."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, serverTypes=[{"name": "small"}, {"name": "medium", "min": 1, "max": 2}])
        await play.until(lambda: _asked_for(play) == ["kwok-medium-fsn1 Ready"], "a machine is kept warm")
        (warm,) = play.trace.objects[NODE_REQUESTS]
        await play.until(lambda: not play.trace.nodes[warm].spec.taints, "its node is open")
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app", node=warm), "the pod runs there")
    assert _machines(play) == ["kwok-medium-fsn1"]


LIMITS: dict[str, dict[str, Any]] = {
    "by-nodes": {"limits": {"nodes": 1}},
    "by-cpu": {"limits": {"cpu": "3"}},
    "by-memory": {"limits": {"memory": "7Gi"}},
    "by-cost": {"limits": {"costPerHour": "0.015"}},
    "by-max": {"serverTypes": [{"name": "small", "max": 1}]},
}
REASONS = {
    "by-nodes": "pool by-nodes may have 1 nodes",
    "by-cpu": "pool by-cpu may have 3 CPU",
    "by-memory": "pool by-memory may have 7Gi memory",
    "by-cost": "pool by-cost may cost 0.015 an hour",
    "by-max": "pool by-max may have 1 of small",
}


@STORIES.story(ignores="refused")
async def limits_hold_and_are_given_as_the_reason(play: Play) -> None:
    """Five pools, each with room for one machine by another limit. A second pod in each waits, and is told why."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        for name, spec in LIMITS.items():
            await a_pool(play, name, **{"types": "small", **spec})
            await play.pod(f"{name}-1", cpu="1500m", nodeSelector={POOL: name})
        await play.until(lambda: all(play.pod_is(f"{name}-1")() for name in LIMITS), "the first pods run")
        for name in LIMITS:
            await play.pod(f"{name}-2", cpu="1500m", nodeSelector={POOL: name})
        for name, reason in REASONS.items():
            await play.until_found(lambda name=name, why=reason: _is_told(play, f"{name}-2", why), f"{reason}, told")
    assert sorted(one.spec.pool for one in _requests(play)) == sorted(LIMITS)


@STORIES.story(ignores="refused")
async def what_is_preferred_is_bought_first(play: Play) -> None:
    """A pod may use either of two pools. It gets the one of higher priority, and there the type of higher priority,
    although both cost more."""
    await play.node("other", taints=TAINTED)
    either = {"key": POOL, "operator": "In", "values": ["plain", "preferred"]}
    required = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [either]}]}
    }
    async with growing(play):
        await a_pool(play, "plain", "small")
        types = [{"name": "small"}, {"name": "large", "priority": 5}]
        await a_pool(play, "preferred", priority=10, serverTypes=types)
        await _usable(play, "plain", "preferred")
        await play.pod("app", cpu="1500m", nodeSelector={}, affinity={"nodeAffinity": required})
        await play.until(play.pod_is("app"), "the pod runs")
    assert [(one.spec.pool, one.spec.target_offering) for one in _requests(play)] == [("preferred", "kwok-large-fsn1")]


@STORIES.story(ignores="refused")
async def a_pool_with_typos_says_so_and_the_rest_goes_on(play: Play) -> None:
    """A pool names a server type and a location that do not exist. Its condition and its events say so; what is right
    about it is bought all the same, and other pools do not notice."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, "typos", types="smal medium", locations=["mars", "nbg1"])
        await a_pool(play, "right", types="small")
        await until_told(play, "typos", "UnknownServerType")
        await until_told(play, "typos", "UnknownLocation")
        await play.pod("one", cpu="1500m", nodeSelector={POOL: "typos"})
        await play.pod("two", cpu="1500m", nodeSelector={POOL: "right"})
        await play.until(lambda: play.pod_is("one")() and play.pod_is("two")(), "both pods run")
    condition = condition_of(_pool(play, "typos").status.conditions, VALID)
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == (
        "False",
        "UnknownServerType",
        (
            "spec.serverTypes[0].name is 'smal', which kwok does not sell; the closest is small; "
            "spec.locations[0] is 'mars', which kwok does not have; it has fsn1, nbg1"
        ),
    )
    assert _machines(play) == ["kwok-medium-nbg1", "kwok-small-fsn1"]


@STORIES.story(ignores="refused")
async def a_pool_that_is_deleted_is_held_by_its_machines(play: Play) -> None:
    """A pool is deleted while its machine runs: it stays, nothing is bought for it any more, and pods that ask for it
    are told. When its machine is gone, it goes."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, "going", types="small")
        kept = {"growth.dev/do-not-disrupt": "true"}
        await play.create(
            PODS,
            {
                "metadata": {"name": "app", "annotations": kept},
                "spec": play.pod_spec("1500m", nodeSelector={POOL: "going"}),
            },
        )
        await play.until(play.pod_is("app"), "the pod runs")
        await play.delete(NODE_POOLS, "going")
        await play.until(lambda: _pool(play, "going").status.conditions[0].reason == "Deleting", "the pool is leaving")
        await play.pod("late", cpu="1500m", nodeSelector={POOL: "going"})
        await until_told(play, "late", "NoSuchPool")
        assert play.pod_is("app")()
        await play.delete(PODS, "app", grace_seconds=0)
        await play.until(lambda: "going" not in play.trace.objects[NODE_POOLS], "the pool is gone")
    assert not _requests(play)


@STORIES.story(ignores="refused")
async def a_node_that_only_looks_like_ours_is_reported_and_never_touched(play: Play) -> None:
    """Somebody labels a node as if it belonged to a pool that may have one. It is told, and counts for nothing:
    the pool still buys its machine, and the node stays as it is."""
    await play.node("stranger", labels={POOL: "lonely", INSTANCE_TYPE: "small"}, taints=TAINTED)
    await play.ready("stranger")
    before = _what_growth_could_touch(play.trace.nodes["stranger"])
    async with growing(play):
        await a_pool(play, "lonely", serverTypes=[{"name": "small", "max": 1}])
        await until_told(play, play.full("stranger"), "NotOurs")
        await play.pod("app", cpu="1500m", nodeSelector={POOL: "lonely"})
        await play.until(play.pod_is("app"), "the pod runs")
        await _until_counted(play, "lonely", ready=1)
    assert _what_growth_could_touch(play.trace.nodes["stranger"]) == before
    assert _machines(play) == ["kwok-small-fsn1"]


@STORIES.story(ignores="refused")
async def a_catalogue_that_cannot_be_read_stops_only_its_own_pools(play: Play) -> None:
    """One of two providers has a catalogue that is not there. Its pool says so in one sentence, and is tried again and
    again; the pool of the other provider grows."""
    await play.node("other", taints=TAINTED)
    async with growing(play, others={"attic": _without_a_catalogue}):
        await a_pool(play, "upstairs", types="small", provider="attic")
        await a_pool(play, "downstairs", types="small", provider="kwok")
        await until_told(play, "upstairs", "ProviderSilent")
        await play.pod("app", cpu="1500m", nodeSelector={POOL: "downstairs"})
        await play.until(play.pod_is("app"), "the pod runs")
    condition = condition_of(_pool(play, "upstairs").status.conditions, VALID)
    assert condition is not None
    assert condition.message == (
        "attic has not said yet what it sells: "
        "the catalogue nowhere/attic.yaml cannot be read: No such file or directory"
    )
    assert _pool(play, "downstairs").status.conditions[0].status == "True"


@asynccontextmanager
async def _without_a_catalogue(client: Client) -> AsyncGenerator[Provider]:
    surroundings = ProviderEnvironment(
        client, QUICK.namespace, lambda: datetime.now(UTC), {"catalogue": "nowhere/attic.yaml"}
    )
    async with open_kwok(surroundings) as provider:
        yield provider


def _requests(play: Play) -> list[NodeRequest]:
    return list(play.trace.objects[NODE_REQUESTS].values())


def _asked_for(play: Play) -> list[str]:
    return sorted(f"{one.spec.target_offering} {one.status.phase}" for one in _requests(play))


def _machines(play: Play) -> list[str]:
    """What was asked for and could be had."""
    return sorted(one.spec.target_offering for one in _requests(play) if one.status.phase in ("Provisioning", "Ready"))


def _pool(play: Play, name: str) -> NodePool:
    return play.trace.objects[NODE_POOLS][name]


def _learnt(play: Play, pool: str = "default") -> tuple[OfferingStatus, ...]:
    return _pool(play, pool).status.offerings


def _what_growth_could_touch(node: Node) -> object:
    """Not all of a node: Kubernetes' own controllers add labels for older clients when they come round, and memory has
    a mark on everybody's nodes."""
    ours = ("growth.dev/", INSTANCE_TYPE)
    labels = {key: text for key, text in node.metadata.labels.items() if key.startswith(ours) and key != MARKER}
    return labels, node.spec.taints, node.spec.unschedulable


async def _usable(play: Play, *pools: str) -> None:
    known = play.trace.objects[NODE_POOLS]

    def are() -> bool:
        return all(
            name in known and any(one.status == "True" for one in known[name].status.conditions) for name in pools
        )

    await play.until(are, f"{', '.join(pools)} can be used")


async def _until_learnt(play: Play, is_so: Callable[[tuple[OfferingStatus, ...]], bool], what: str) -> None:
    async def look() -> bool:
        return bool(_learnt(play)) and is_so(_learnt(play))

    await play.until_found(look, what)


async def _until_counted(play: Play, pool: str, **counts: int) -> None:
    async def look() -> bool:
        nodes = _pool(play, pool).status.nodes
        return (
            nodes is not None
            and {name: number for name, number in msgspec.to_builtins(nodes).items() if number} == counts
        )

    await play.until_found(look, f"the pool counts {counts}")


async def _is_told(play: Play, pod: str, why: str) -> bool:
    events = (await play.client.list(EVENTS, play.namespace)).items
    return any(event.regarding.name == pod and why in event.note for event in events)
