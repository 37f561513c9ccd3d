"""Reasons to move: load that comes and shrinks, people who want nodes to go, templates that change, what is in stock.

Drawn apart from everything else, and lived beside it, so that lives without moves stay as they were.
"""

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.annotations import DRAIN
from growth.api.growth_kinds import NODE_MOVES
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS, PODS
from growth.api.settings.model import ConsolidateSettings
from growth_lab.scenarios.replica import CATALOGUE, QUICK
from growth_lab.scenarios.workloads import DEPLOYMENTS
from tests.trust.chaos.stage import Stage
from tests.trust.chaos.worlds import Json
from tests.trust.picture import is_work

MOVABLE: Final = ("web", "api")
"""Deployments whose pods go wherever they are sent; budgets of the same names are about them."""

_SIZES: Final = ("300m", "800m", "1500m", "2500m")
_PAUSES: Final = (0.3, 1.0, 3.0, 6.0)
_TYPES: Final = ("small", "medium", "large")

Act = Callable[[Stage, random.Random], Awaitable[None]]


@dataclass(frozen=True)
class Movement:
    """How a life with moves is lived."""

    settings: ConsolidateSettings
    slowness: float
    """So much longer all lasts: moves are made only when nothing else happens for a while."""


def drawn_movement_of(seed: int) -> Movement | None:
    """That of this run; None if no pool lets nodes go that work."""
    chance = random.Random(f"{seed}/optimising")  # noqa: S311 - a seed, no secret
    if chance.random() >= 0.4:
        return None
    settings = msgspec.structs.replace(
        QUICK.consolidate,
        every=timedelta(seconds=chance.choice([1, 2])),
        window=timedelta(seconds=chance.choice([1, 1, 6])),
        drain_within=timedelta(seconds=chance.choice([3, 8])),
        kept_for=timedelta(seconds=chance.choice([3, 10, 40])),
    )
    return Movement(settings, slowness=chance.choice([1.0, 2.0, 4.0]))


@asynccontextmanager
async def moving(stage: Stage, seed: int) -> AsyncGenerator[None]:
    """As long as this lasts, there is a reason every few seconds."""
    chance = random.Random(f"{seed}/movers")  # noqa: S311 - a seed, no secret
    for name in stage.pools():
        await stage.change_pool(name, {"disruption": _drawn_disruption(chance)})
    life = asyncio.create_task(_live(stage, chance))
    try:
        yield
    finally:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)


async def _live(stage: Stage, chance: random.Random) -> None:
    acts, weights = list(_ACTS), list(_ACTS.values())
    while True:
        await chance.choices(acts, weights)[0](stage, chance)
        await asyncio.sleep(chance.choice(_PAUSES))


async def make_calm(stage: Stage) -> None:
    """When all trouble is over: nothing must go any more but what people asked for, and everything is in stock."""
    stage.fleet.stock(CATALOGUE)
    for name in MOVABLE:
        await stage.delete(POD_DISRUPTION_BUDGETS, name)
    for name in stage.pools():
        await stage.change_pool(name, {"disruption": {"expireAfter": None, "budgets": None}})
    await _who_waits_gives_up(stage, stage.chance)


def _drawn_disruption(chance: random.Random) -> Json:
    return {
        "mode": chance.choice(["act", "act", "act", "observe"]),
        "minNodeAge": chance.choice(["0s", "2s", "5s"]),
        "minSaving": chance.choice(["0%", "5%"]),
        "maxUnavailable": chance.choice([1, 2, "50%", "100%"]),
    }


async def _load_changes(stage: Stage, chance: random.Random) -> None:
    name, replicas = chance.choice(MOVABLE), chance.choice([0, 1, 2, 3, 5])
    if any(pod.metadata.labels.get("deployment") == name for pod in stage.picture.pods.values()):
        await stage.change(DEPLOYMENTS, name, {"spec": {"replicas": replicas}})
        return
    requests = {"cpu": chance.choice(_SIZES), "memory": "64Mi"}
    pod: dict[str, Any] = {
        "containers": [{"name": "main", "image": "main", "resources": {"requests": requests}}],
        "terminationGracePeriodSeconds": chance.choice([0, 0, 1, 5]),
    }
    labels = {"deployment": name}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": max(1, replicas), "selector": {"matchLabels": labels}, "template": template}
    await stage.create(DEPLOYMENTS, name, {"spec": spec})


async def _load_is_replaced(stage: Stage, chance: random.Random) -> None:
    """It goes, and what comes next may ask for something else."""
    await stage.delete(DEPLOYMENTS, chance.choice(MOVABLE))


async def _a_node_is_to_go_or_not(stage: Stage, chance: random.Random) -> None:
    """As ``growth drain`` says it."""
    if names := stage.launched():
        name = chance.choice(names)
        value = None if DRAIN in stage.picture.nodes[name].metadata.annotations else chance.choice(["", "slow"])
        await stage.change(NODES, name, {"metadata": {"annotations": {DRAIN: value}}})


async def _a_template_changes(stage: Stage, chance: random.Random) -> None:
    if names := stage.pools():
        await stage.change_pool(chance.choice(names), {"labels": {"example.com/made": chance.choice("abc")}})


async def _a_pool_says_something_else(stage: Stage, chance: random.Random) -> None:
    if names := stage.pools():
        nothing = [{"nodes": 0, "reasons": ["Cheaper"]}]
        said = chance.choice(
            [
                _drawn_disruption(chance),
                {"mode": chance.choice(["off", "observe"])},
                {"mode": "act"},
                {"expireAfter": chance.choice(["8s", "20s"])},
                {"expireAfter": None},
                {"budgets": chance.choice([nothing, [{"nodes": 1}], None])},
            ]
        )
        await stage.change_pool(chance.choice(names), {"disruption": said})


async def _stock_changes(stage: Stage, chance: random.Random) -> None:
    """Some types cannot be had for a while, or are not sold at all any more."""
    match chance.choice(["all", "all", "only", "only", "withdrawn"]):
        case "only":
            left = chance.choice(_TYPES)
            stage.say(f"only {left} is in stock")
            others = "|".join(one for one in _TYPES if one != left)
            stage.fleet.stock(re.sub(rf"\{{name: ({others}),", r"{name: \1, stock: {fsn1: 0, nbg1: 0},", CATALOGUE))
        case "withdrawn":
            gone = chance.choice(_TYPES)
            stage.has_withdrawn = True
            stage.say(f"{gone} is not sold any more")
            stage.fleet.stock("".join(line for line in CATALOGUE.splitlines(keepends=True) if gone not in line))
        case _:
            stage.say("all is in stock")
            stage.fleet.stock(CATALOGUE)


async def _a_budget_comes_or_goes(stage: Stage, chance: random.Random) -> None:
    name = chance.choice(MOVABLE)
    if chance.random() < 0.5:
        await stage.delete(POD_DISRUPTION_BUDGETS, name)
        return
    spec = {"selector": {"matchLabels": {"deployment": name}}, "maxUnavailable": chance.choice([0, 1])}
    await stage.create(POD_DISRUPTION_BUDGETS, name, {"spec": spec})


async def _a_pod_is_protected_or_not(stage: Stage, chance: random.Random) -> None:
    pods = [one for one in stage.picture.pods.values() if one.metadata.labels.get("deployment") in MOVABLE]
    if pods:
        name = chance.choice(sorted(pod.metadata.name for pod in pods))
        value = chance.choice(["true", None])
        await stage.change(PODS, name, {"metadata": {"annotations": {"growth.dev/do-not-disrupt": value}}})


async def _a_move_is_deleted(stage: Stage, chance: random.Random) -> None:
    """By somebody who does not want it."""
    if names := sorted(stage.picture.moves):
        await stage.delete(NODE_MOVES, chance.choice(names))


async def _who_waits_gives_up(stage: Stage, _: random.Random) -> None:
    """Nothing is moved while somebody waits, and some wait for what nobody sells."""
    waiting = [pod for pod in stage.picture.pods.values() if not pod.node_name and is_work(pod)]
    for pod in sorted(waiting, key=lambda one: one.metadata.name):
        if not pod.metadata.owner_references:
            await stage.delete(PODS, pod.metadata.name, 0)
    for name in sorted({pod.metadata.labels.get("deployment", "") for pod in waiting} - {""}):
        await stage.delete(DEPLOYMENTS, name)


async def _bare_pods_end(stage: Stage, chance: random.Random) -> None:
    """Nodes with pods that nobody would make anew stay, so on one of them those end."""
    if names := stage.launched():
        for pod in stage.picture.work_on(chance.choice(names)):
            if not pod.metadata.owner_references:
                await stage.delete(PODS, pod.metadata.name, 0)


_ACTS: Final[dict[Act, int]] = {
    _load_changes: 12,
    _load_is_replaced: 2,
    _a_node_is_to_go_or_not: 4,
    _a_template_changes: 2,
    _a_pool_says_something_else: 3,
    _stock_changes: 5,
    _a_budget_comes_or_goes: 3,
    _a_pod_is_protected_or_not: 1,
    _a_move_is_deleted: 1,
    _who_waits_gives_up: 4,
    _bare_pods_end: 5,
}
