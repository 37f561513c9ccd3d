"""Stories of nodes: machines that come late, smaller, twice or not at all, and what becomes of them and their pods."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from growth.act.effect_hooks import EffectHooks, EffectPoint
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import (
    CONFIG_MAPS,
    CSI_DRIVERS,
    CSI_NODES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
)
from growth.api.machine import MachineRequest
from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.settings.model import Settings
from growth.api.taints import STARTING
from growth.cloud.kwok.catalog import MachineBehavior, read_catalogue
from growth.cloud.kwok.machine_record import SELECTOR, manifest
from growth.cloud.kwok.node_manifest import owner_reference
from growth.run.runtime import Runtime
from growth_lab.scenarios.context import Json, Play
from growth_lab.scenarios.replica import CATALOGUE, QUICK, a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("provision", alone=True)

# With no node at all the real scheduler looks again only every ten seconds; nobody in these stories may use this one.
TAINTED = ("dedicated=other:NoSchedule",)
HOUR = timedelta(hours=1)
_MADE = "created: "
HASTY: Settings = msgspec.structs.replace(
    QUICK,
    provision=msgspec.structs.replace(
        QUICK.provision, machine_within=timedelta(seconds=4), ready_within=timedelta(seconds=3)
    ),
)


def where_small(faults: str, *, boot_seconds: int = 1) -> str:
    """What is sold, small machines in one place only, where this goes wrong with them."""
    text = CATALOGUE.replace("{fsn1: 0.01, nbg1: 0.011}", f"{{fsn1: 0.01}}, faults: [{faults}]")
    return text.replace("bootDelay: 1s", f"bootDelay: {boot_seconds}s")


@STORIES.story(is_first=True, ignores="refused")
async def a_node_never_registers(play: Play) -> None:
    """Its machine runs and nothing comes of it (UC5): it is given back, and the pod gets one of another offering."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=HASTY, catalogue=where_small("neverRegisters")):
        await a_pool(play)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        await play.until(lambda: "kwok-small-fsn1" not in offerings(play), "the request that failed is gone")
        await play.until(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "its machine is given back")
        await play.until(lambda: set(phases(play)) <= {"Ready"}, "all that was launched works")
        assert set(await machines(play)) <= nodes_of_pools(play)
    assert reasons(play) == ["its machine is there, but no node registered in time"]


# Whether a node whose kubelet is silent from the start is noticed, or tainted once more, before it is given up is left
# to chance.
@STORIES.story(ignores="node.kubernetes.io,unknown")
async def a_node_never_becomes_ready(play: Play) -> None:
    """It registers and its kubelet is silent: it stays closed, is given back, and another offering takes its place."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=HASTY, catalogue=where_small("neverReady")):
        await a_pool(play)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        await play.until(lambda: "kwok-small-fsn1" not in offerings(play), "the request that failed is gone")
        await play.until(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "its machine is given back")
        assert not any(map(is_closed, play.trace.nodes.values()))
    assert reasons(play) == ["its node is not ready in time: not ready"]


@STORIES.story(ignores="refused")
async def a_machine_never_boots(play: Play) -> None:
    """The provider has it and it starts for ever: it must be given back, too."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=HASTY, catalogue=where_small("neverBoots")):
        await a_pool(play)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        await play.until(lambda: "kwok-small-fsn1" not in offerings(play), "the request that failed is gone")
        await play.until(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "its machine is given back")
        await play.until(lambda: set(phases(play)) <= {"Ready"}, "all that was launched works")
        assert set(await machines(play)) <= nodes_of_pools(play)
    assert len(reasons(play)) == 1


@STORIES.story(ignores="refused")
async def a_machine_vanishes_before_its_node_comes(play: Play) -> None:
    """The provider says that there is none: nothing is left to give back, and the request is Unmet."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=HASTY, catalogue=where_small("vanishes=1s", boot_seconds=2)):
        await a_pool(play)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        await play.until(lambda: "kwok-small-fsn1" not in offerings(play), "the request that failed is gone")
    assert reasons(play) == []


@STORIES.story(ignores="refused")
async def a_provider_falls_silent_while_a_machine_boots(play: Play) -> None:
    """Its time is over, and nobody says whether it is there: nothing is concluded, and the node comes all the same."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=HASTY, catalogue=where_small("slowBoot=5s")) as growth:
        play.always(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "that nothing is given back")
        await a_pool(play)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(lambda: phases(play) == ["Provisioning"], "a machine is coming")
        growth.set_catalogue(where_small("listFails"))
        await play.until(play.pod_is("app"), "the pod runs")
    assert offerings(play) == ["kwok-small-fsn1"]


@STORIES.story(ignores="refused", unless_stopped="who comes next sees the machine, and misses no answer")
async def a_providers_answer_is_lost(play: Play) -> None:
    """The machine was made and nobody heard of it: it is asked for again, and there is one machine, not two."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=where_small("createTimesOut")):
        await a_pool(play)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        await play.until(lambda: phases(play) == ["Ready"], "the request is Ready")
        (request,) = requests(play)
        assert [event.name for event in request.status.events[:2]] == ["nodeRequested", "nodeRequestFailed"]
        assert await machines(play) == [request.metadata.name]


class Stopped(BaseException):
    """Growth ends here, whatever it was about to do."""


@STORIES.story(ignores="refused", unless_stopped="it stops Growth itself, at a purchase that was then made before")
async def growth_is_stopped_right_after_a_purchase(play: Play) -> None:
    """The machine is bought, and nobody wrote that down. Who comes next finds it, and buys no second one."""

    def stop(point: EffectPoint, _: ObjectReference) -> None:
        if point is EffectPoint.CREATE_MACHINE:
            raise Stopped

    await play.node("other", taints=TAINTED)
    with suppress(Stopped):
        async with growing(play, points=EffectHooks(after=stop)):
            await a_pool(play)
            await play.pod("app", cpu="1500m", nodeSelector={})
            await play.until(play.pod_is("app"), "the pod runs, which cannot be")
    assert phases(play) == ["Pending"]
    (launched,) = await machines(play)
    async with growing(play):
        await play.until(play.pod_is("app"), "the pod runs")
        await play.until(lambda: phases(play) == ["Ready"], "the request is Ready")
        assert await machines(play) == [launched] == [one.metadata.name for one in requests(play)]


@STORIES.story(ignores="refused", unless_stopped="a machine whose node came meanwhile needs no request")
async def machines_that_nobody_knows(play: Play) -> None:
    """One matches a pool and is adopted; one is of a pool that does not exist, and is told of and left alone."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play)
        await leak(play, "default-0123456789", "default")
        await leak(play, "lost-0123456789", "lost")
        await play.until(lambda: phases(play) == ["Ready"], "the one that matches is adopted")
        await until_told(play, "lost", "LeakedMachine")
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app", node="default-0123456789"), "the pod runs on what was lost")
        await play.ready("lost-0123456789")
        assert await machines(play) == ["default-0123456789", "lost-0123456789"]


@STORIES.story(ignores="refused")
async def a_node_arrives_smaller_than_planned_and_then_smaller_once_more(play: Play) -> None:
    """The first surprise is believed, and the plan is made again; after the second the offering is not bought."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=where_small("smaller=50%")) as growth:
        await a_pool(play, types="small medium")
        await play.pod("app-0", cpu="900m", nodeSelector={})
        await play.pod("app-1", cpu="900m", nodeSelector={})
        await play.until(lambda: runs(play, "app-0", "app-1"), "both pods run")
        assert set(offerings(play)) == {"kwok-small-fsn1"}
        assert len(offerings(play)) == 2
        growth.set_catalogue(where_small("smaller=25%"))
        await play.pod("app-2", cpu="900m", nodeSelector={})
        await play.until(lambda: runs(play, "app-2"), "the third runs, too")
        assert sorted(offerings(play)) == ["kwok-medium-fsn1", *["kwok-small-fsn1"] * 3]
        await play.until(lambda: "not bought any more" in learnt(play), "the pool says so")


@STORIES.story(ignores="refused")
async def four_pods_fill_two_machines_to_the_last(play: Play) -> None:
    """There is one way to place them on the two machines that the pool may have, and that is how it comes."""
    await play.node("other", taints=TAINTED)
    four = {"big-0": "1100m", "big-1": "1000m", "little-0": "800m", "little-1": "900m"}
    async with growing(play):
        for name, cpu in four.items():
            await play.pod(name, cpu=cpu, nodeSelector={})
        await a_pool(play, serverTypes=[{"name": "small", "max": 2}])
        await play.until(lambda: runs(play, *four), "the four run")
        await play.until(lambda: not any(map(is_closed, play.trace.nodes.values())), "both nodes are open")
    assert offerings(play) == ["kwok-small-fsn1"] * 2


@STORIES.story(ignores="refused", unless_stopped="a plan that is made in two parts needs fewer keys")
async def a_tight_plan_comes_true_although_somebody_else_waits(play: Play) -> None:
    """Four pods fill two machines to the last; a fifth would fit one of them, if it were let in before them."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await play.pod("big-0", cpu="1100m", nodeSelector={})
        await play.pod("big-1", cpu="1000m", nodeSelector={})
        await play.pod("little-0", cpu="800m", nodeSelector={})
        await play.pod("little-1", cpu="900m", nodeSelector={})
        await a_pool(play, serverTypes=[{"name": "small", "max": 2}])
        await play.until(lambda: phases(play) == ["Provisioning"] * 2, "two machines are coming")
        await play.pod("intruder", cpu="1800m", nodeSelector={})
        four = ("big-0", "big-1", "little-0", "little-1")
        await play.until(lambda: runs(play, *four), "the four run")
        await play.until(lambda: not any(map(is_closed, play.trace.nodes.values())), "both nodes are open")
        assert not play.trace.pods["intruder"].node_name
        assert all(play.trace.pods[name].keys for name in four)
    assert offerings(play) == ["kwok-small-fsn1"] * 2


@STORIES.story()
async def a_pod_that_only_others_keep_away_is_woken(play: Play) -> None:
    """No hint of the scheduler's wakes a pod that only the anti-affinity of others keeps away; a label of ours does.

    A real scheduler was seen to look at it again when the node registers; then our label is not needed.
    """
    await play.node("taken", labels={"kubernetes.io/hostname": play.full("taken")})
    await play.ready("taken")
    away = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [away]}}
    await play.pod("loner", affinity=affinity)
    await play.until(play.pod_is("loner", node="taken"), "the loner runs")
    async with growing(play):
        await a_pool(play)
        await play.pod("web", labels={"app": "web"}, nodeSelector={})
        await play.until(play.pod_is("web"), "the pod runs")
    assert offerings(play) == ["kwok-small-fsn1"]


@STORIES.story()
async def a_pod_that_only_volume_limits_keep_away_gets_its_node(play: Play) -> None:
    """The node has room, but no more volumes. What wakes the pod is the CSINode of the new node."""
    await play.node("full")
    await play.ready("full")
    await disks(play, count=2, limit_on="full")
    await play.pod("first", nodeSelector={}, volumes=[disk(0)])
    await play.until(play.pod_is("first", node="full"), "the first pod runs")
    async with growing(play):
        await a_pool(play)
        await play.pod("second", nodeSelector={}, volumes=[disk(1)])
        await play.until(play.pod_is("second"), "the second pod runs")
    assert offerings(play) == ["kwok-small-fsn1"]


@STORIES.story(ignores="refused")
async def a_node_is_closed_until_others_have_prepared_it(play: Play) -> None:
    """Start-up taints of the pool are awaited: whoever sets them must take them away first."""
    network = {"key": "example.org/network", "value": "missing", "effect": "NoSchedule"}
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small", startupTaints=[network])
        play.always(lambda: all(map(is_not_half_open, play.trace.nodes.values())), "that it opens last")
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(lambda: any(is_prepared(play, name) for name in play.trace.nodes), "its node is ready")
        assert phases(play) == ["Provisioning"]
        name = next(name for name in play.trace.nodes if is_prepared(play, name))
        await remove_taint(play, name, "example.org/network")
        await play.until(play.pod_is("app"), "the pod runs")


@STORIES.story(ignores="refused", unless_stopped="who starts after a jump takes it for time that has passed")
async def the_clock_jumps_while_machines_boot(play: Play) -> None:
    """An hour ahead, and later back again: no machine is given up, none is bought twice, and pods run."""
    ahead = [timedelta(0)]
    host = play.backstage.host

    def jumping(identity: str) -> Runtime:
        lent = host(identity)
        return msgspec.structs.replace(lent, now=later(lent.now, ahead))

    play.backstage = replace(play.backstage, host=jumping)
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=where_small("slowBoot=3s")):
        play.always(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "that nothing is removed")
        await a_pool(play, types="small")
        for name, jump in (("app-0", HOUR), ("app-1", timedelta(0))):
            await play.pod(name, cpu="1500m", nodeSelector={})
            await play.until(lambda: "Provisioning" in phases(play), "its machine boots")
            ahead[0] = jump
            await play.until(play.pod_is(name), "the pod runs")
            await play.until(lambda: "Provisioning" not in phases(play), "the request is Ready")
        assert len(await machines(play)) == 2


def later(now: Callable[[], datetime], by: list[timedelta]) -> Callable[[], datetime]:
    """A clock that is so much ahead."""
    return lambda: now() + by[0]


def requests(play: Play) -> list[NodeRequest]:
    """All that there are, in the order of their names."""
    return [request for _, request in sorted(play.trace.objects[NODE_REQUESTS].items())]


def phases(play: Play) -> list[str]:
    return [request.status.phase for request in requests(play)]


def offerings(play: Play) -> list[str]:
    return [request.spec.target_offering for request in requests(play)]


def reasons(play: Play) -> list[str]:
    """Why machines are given back."""
    made = [one.what for one in play.trace.seen if one.subject.startswith("NodeRemovalRequest")]
    return [what.removeprefix(_MADE) for what in made if what.startswith(_MADE)]


def runs(play: Play, *names: str) -> bool:
    return all(play.pod_is(name)() for name in names)


def learnt(play: Play) -> str:
    """What the pool says about its offerings."""
    pool: NodePool = play.trace.objects[NODE_POOLS]["default"]
    return "; ".join(entry.message for entry in pool.status.offerings)


def is_closed(node: Any) -> bool:  # noqa: ANN401
    return any(taint.key == STARTING for taint in node.spec.taints)


def is_not_half_open(node: Any) -> bool:  # noqa: ANN401
    """Whether a node that waits for somebody else is closed."""
    keys = {taint.key for taint in node.spec.taints}
    return "example.org/network" not in keys or STARTING in keys


def is_prepared(play: Play, name: str) -> bool:
    """Whether a node of ours is ready and has the taints left that it was bought with."""
    node = play.trace.nodes[name]
    return is_closed(node) and node.is_ready and not any("not-ready" in taint.key for taint in node.spec.taints)


def nodes_of_pools(play: Play) -> set[str]:
    """Names of all nodes of pools: a probe may have come beside what the pod needs, if Growth was stopped for long."""
    return {name for name, node in play.trace.nodes.items() if POOL in node.metadata.labels}


async def machines(play: Play) -> list[str]:
    """Names of all that the provider has, whether it lists them or not."""
    found = await play.client.list(CONFIG_MAPS, QUICK.namespace, label_selector=SELECTOR)
    return sorted(one.metadata.name.removeprefix("kwok-machine-") for one in found.items)


async def leak(play: Play, name: str, pool: str) -> None:
    """A machine that was bought for a pool, and of which nobody knows."""
    small = next(one for one in read_catalogue(CATALOGUE).offerings if one.id == "kwok-small-fsn1")
    body = manifest(MachineRequest(name, small, pool), MachineBehavior(timedelta(seconds=4)), play.now())
    await play.client.create(CONFIG_MAPS, body, QUICK.namespace)


async def remove_taint(play: Play, name: str, key: str) -> None:
    """Somebody has prepared the node."""
    node = play.trace.nodes[name]
    taints = [msgspec.to_builtins(taint) for taint in node.spec.taints if taint.key != key]
    version = {"resourceVersion": str(node.metadata.resource_version)}
    await play.change(NODES, node.metadata.name, {"metadata": version, "spec": {"taints": taints}})


def disk(number: int) -> Json:
    """A pod's volume: the claim of this number."""
    return {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{number}"}}


async def disks(play: Play, *, count: int, limit_on: str) -> None:
    """Claims with their volumes, of a driver that can have one of them on this node."""
    driver, size = f"{play.namespace}.growth.dev", {"storage": "1Gi"}
    await play.create(STORAGE_CLASSES, {"metadata": {"name": driver}, "provisioner": "kubernetes.io/no-provisioner"})
    await play.create(CSI_DRIVERS, {"metadata": {"name": driver}, "spec": {"attachRequired": False}})
    node = play.trace.nodes[limit_on]
    drivers = [{"name": driver, "nodeID": node.metadata.name, "allocatable": {"count": 1}}]
    owners = [owner_reference(node)]
    await play.create(
        CSI_NODES,
        {"metadata": {"name": node.metadata.name, "ownerReferences": owners}, "spec": {"drivers": drivers}},
    )
    shared = {"accessModes": ["ReadWriteOnce"], "storageClassName": driver}
    for number in range(count):
        name = play.full(f"disk-{number}")
        source = {"csi": {"driver": driver, "volumeHandle": name}, "capacity": size}
        await play.create(PERSISTENT_VOLUMES, {"metadata": {"name": name}, "spec": {**shared, **source}})
        claim = {**shared, "resources": {"requests": size}}
        await play.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": f"data-{number}"}, "spec": claim})
    claims = play.trace.objects[PERSISTENT_VOLUME_CLAIMS]
    await play.until(lambda: sum(bool(one.spec.volume_name) for one in claims.values()) == count, "all are bound")
