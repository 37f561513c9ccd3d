"""The demo's story: a shop has a sale, and Growth sees to it that there are machines, and no more than needed.

The story brings pods and trouble: a stock-out, and a machine whose node never comes; at night the customers go. What is
bought, where, what is given up and what goes is Growth's own decision; the settings are those of real life with seconds
for minutes.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.node_request import NodeRequest
from growth.api.offering import OFFERING
from growth.api.settings.model import ProvidersSettings, ProvisionSettings, Settings
from growth.cloud.kwok.catalog import Catalog, read_catalogue
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import Growth, a_pool, growing
from growth_lab.scenarios.workloads import DEPLOYMENTS

SETTINGS: Final = Settings(
    # Rarely enough that Growth learns of the stock-out by being refused; it also gives up only on the provider's word.
    providers=ProvidersSettings(enabled="kwok", read_every=timedelta(seconds=6)),
    provision=ProvisionSettings(machine_within=timedelta(seconds=9), ready_within=timedelta(seconds=9)),
)
SERVER_TYPES: Final = "cx23 cx33 cx43 cx53"
_CATALOGUE: Final = """
provider: kwok
extends: kwok
bootDelay: 3s
serverTypes:
  - name: cx53
"""
# The largest costs least for what it has, so Growth would like it most.
_SOLD_OUT: Final = f"{_CATALOGUE}    stock: {{fsn1: 0}}\n"
_CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane:NoSchedule"
_BREATH_SECONDS: Final = 2.5
_SCALE_DOWN: Final = {"emptyAfter": "4s", "delayAfterScaleUp": "4s"}


def prices() -> Catalog:
    """What the shop can buy when nothing is sold out."""
    return read_catalogue(_CATALOGUE)


async def a_sale(play: Play, evening: Callable[[], None] = lambda: None) -> None:
    """From a quiet morning to the night; ``evening`` is when everybody runs, before the machines go."""
    async with growing(play, settings=SETTINGS, catalogue=_CATALOGUE) as growth:
        await _morning(play)
        await _sale(play, growth)
        await _stock_out(play, growth)
        await _never_came(play)
        play.say("evening: everybody runs")
        await asyncio.sleep(_BREATH_SECONDS)
        evening()
        await _night(play)


async def _morning(play: Play) -> None:
    play.say("a quiet morning: the storefront opens, and there is no machine yet")
    await play.node("control-plane", taints=(_CONTROL_PLANE,))
    await a_pool(play, types=SERVER_TYPES, locations=["fsn1", "nbg1"], scaleDown=_SCALE_DOWN)
    await _deploy(play, "storefront", 9, cpu="600m", memory="1Gi")
    await _all_run(play, "storefront", 9)
    await asyncio.sleep(_BREATH_SECONDS)


async def _sale(play: Play, growth: Growth) -> None:
    play.say("a sale begins: 60 pods of checkout and search come at once")
    known = set(_requests(play))
    await _deploy(play, "checkout", 40, cpu="900m", memory="1500Mi")
    await _deploy(play, "search", 20, cpu="1200m", memory="3Gi")
    await play.until(lambda: _booting(play, known), "the provider has a machine")
    lost = min(_booting(play, known), key=lambda one: one.metadata.name)
    await growth.hurt(lost.metadata.name, "neverRegisters")
    play.say("the cheapest machines boot; the node of one of them will never come")
    await play.until(lambda: _waiting(play) <= len(lost.planned_for), "those run whose machines came")
    await asyncio.sleep(_BREATH_SECONDS)


async def _stock_out(play: Play, growth: Growth) -> None:
    play.say("more customers, and cx53 is sold out in fsn1: the next plan goes around it")
    growth.set_catalogue(_SOLD_OUT)
    waiting = _waiting(play)
    await play.change(DEPLOYMENTS, "checkout", {"spec": {"replicas": 70}})
    await play.until(lambda: len(play.trace.pods) == 99, "they are there")
    await play.until(lambda: _waiting(play) <= waiting, "they run")
    await asyncio.sleep(_BREATH_SECONDS)


async def _never_came(play: Play) -> None:
    play.say("one node has not come: its time runs out, and its pods get another machine")
    await _all_run(play, "checkout", 70)
    await _all_run(play, "search", 20)


async def _night(play: Play) -> None:
    play.say("night: the sale is over, and machines that nobody needs go, in their time")
    busy = {pod.node_name for pod in play.running("storefront")}
    for app in ("checkout", "search"):
        await play.change(DEPLOYMENTS, app, {"spec": {"replicas": 0}})
    await play.until(lambda: _bought(play) == busy, "only the storefront's machines are left")
    play.say("what is left is what the storefront needs")
    await asyncio.sleep(_BREATH_SECONDS)


def _bought(play: Play) -> set[str]:
    return {name for name, node in play.trace.nodes.items() if OFFERING in node.metadata.labels}


async def _all_run(play: Play, app: str, count: int) -> None:
    await play.until(lambda: len(play.running(app)) == count, f"{app} runs")


def _requests(play: Play) -> dict[str, NodeRequest]:
    return play.trace.objects[NODE_REQUESTS]


def _booting(play: Play, known: set[str]) -> list[NodeRequest]:
    """Requests that are new, and whose machines the provider has."""
    requests = _requests(play)
    return [one for name, one in requests.items() if name not in known and one.status.phase == "Provisioning"]


def _waiting(play: Play) -> int:
    return sum(not pod.node_name for pod in play.trace.pods.values())


async def _deploy(play: Play, app: str, replicas: int, *, cpu: str, memory: str) -> None:
    labels = {"app": app}
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    spec: dict[str, Any] = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    await play.create(DEPLOYMENTS, {"metadata": {"name": app}, "spec": spec})
