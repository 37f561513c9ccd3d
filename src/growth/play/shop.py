"""The demo's story: a shop has a sale. Machines are bought, an answer is lost, one dies, and all of it passes.

The decisions that Growth will make by itself (what to buy, when to let pods in, what to give back) are made by the
story here; everything that follows from them is the cluster's own doing.
"""

import asyncio
from typing import Any, Final

from growth.api.kinds import NODES
from growth.play.machines import Machines, machines
from growth.play.play import Play
from growth.play.workloads import DEPLOYMENTS

SMALL: Final = "kwok-cx33-fsn1"
LARGE: Final = "kwok-cx43-fsn1"
_BREATH_SECONDS: Final = 2.0


async def a_sale(play: Play) -> None:
    """From a quiet morning to the evening."""
    async with machines(play) as cloud:
        play.say("a quiet morning: two small machines, a storefront of eight pods")
        cloud.set_catalogue(boot_seconds=1)
        await cloud.order("small-1", SMALL)
        await cloud.order("small-2", SMALL)
        await cloud.open("small-1", "small-2")
        await _deploy(play, "storefront", 8, "500m")
        await play.until(lambda: len(play.running("storefront")) == 8, "the storefront is open")
        await asyncio.sleep(_BREATH_SECONDS)
        await _grow(play, cloud)
        await _lose_a_machine(play, cloud)
        await _shrink(play, cloud)


async def _grow(play: Play, cloud: Machines) -> None:
    play.say("a sale begins: sixteen pods of checkout, and no room for most of them")
    await _deploy(play, "checkout", 16, "900m")
    await play.until(lambda: _refused(play) >= 8, "pods wait")
    await asyncio.sleep(_BREATH_SECONDS)
    play.say("three large machines are ordered; the answer to the first order is lost, so it is asked for again")
    cloud.set_catalogue(boot_seconds=4, faults="createTimesOut")
    for number in (1, 2, 3):
        await cloud.order(f"large-{number}", LARGE)
    play.say("they boot; each stays closed until it is what was planned")
    await cloud.open("large-1", "large-2", "large-3")
    play.say("open: the scheduler fills them")
    await play.until(lambda: len(play.running("checkout")) == 16, "checkout runs")
    await asyncio.sleep(_BREATH_SECONDS)


async def _lose_a_machine(play: Play, cloud: Machines) -> None:
    play.say("a large machine loses its power: its node falls silent, after a while its pods are let go")
    await cloud.hurt("large-2", "powerOff")
    await play.until(lambda: not play.trace.nodes["large-2"].is_ready, "the node is called NotReady")
    play.say("their replacements go where there is room, the rest wait for a machine that is ordered now")
    await cloud.order("large-4", LARGE)
    await cloud.open("large-4")
    await play.until(lambda: len(play.running("checkout")) == 16, "checkout is whole again")
    play.say("the power returns: its kubelet ends what it still holds")
    await cloud.hurt("large-2", "")
    await play.until(lambda: play.trace.nodes["large-2"].is_ready, "the node is back")
    await asyncio.sleep(_BREATH_SECONDS)


async def _shrink(play: Play, cloud: Machines) -> None:
    play.say("the sale is over: checkout shrinks to two pods, the large machines are drained and given back")
    await play.change(DEPLOYMENTS, "checkout", {"spec": {"replicas": 2}})
    await play.until(lambda: len(play.running("checkout")) == 2, "checkout is small")
    bought = {play.trace.short(machine.name): machine for machine in await cloud.all()}
    for name in [name for name in bought if name.startswith("large") and name != "large-1"]:
        await play.change(NODES, play.full(name), {"spec": {"unschedulable": True}})
        for pod in [pod for pod in play.trace.pods.values() if play.node_of(pod) == name]:
            await play.until_allowed(pod.metadata.name)
        await cloud.give_back(bought[name])
    await play.until(lambda: not any(name in play.trace.nodes for name in ("large-2", "large-3", "large-4")), "they go")
    play.say("evening: three machines are left")
    await play.until(lambda: len(play.running("checkout")) == 2, "checkout runs")
    await asyncio.sleep(_BREATH_SECONDS)


def _refused(play: Play) -> int:
    return sum(not pod.node_name for pod in play.trace.pods.values())


async def _deploy(play: Play, app: str, replicas: int, cpu: str) -> None:
    labels = {"app": app}
    spec: dict[str, Any] = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": play.pod_spec(cpu)},
    }
    await play.create(DEPLOYMENTS, {"metadata": {"name": app}, "spec": spec})
