"""Growth makes the cluster cheaper: machines are bought first, then nodes are emptied, and all is undone in doubt."""

import asyncio
import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

import msgspec

from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS
from growth.api.offering import INSTANCE_TYPE, POOL
from growth.cli.explain_disruption import read_moving
from growth.decide.consolidation.savings_events import ROOM_KEPT
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, QUICK, a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories
from growth_lab.scenarios.workloads import DEPLOYMENTS
from tests.stories.growing_nodes import machines, where_small
from tests.stories.shrinking import SOON, TAINTED, launched, marked, removals

STORIES = Stories("moving", alone=True)
ACT = {"mode": "act", "minNodeAge": "2s", "maxUnavailable": 3}
FORGETFUL = msgspec.structs.replace(
    QUICK, consolidate=msgspec.structs.replace(QUICK.consolidate, kept_for=timedelta(seconds=3))
)
# Long enough for some pods to come one after the other on a busy machine.
MINDFUL = msgspec.structs.replace(
    QUICK, consolidate=msgspec.structs.replace(QUICK.consolidate, window=timedelta(seconds=24))
)
# Who did not leave, or found no place, is named in the reason.
NAMED = "its move was undone"
LEAVE_ME = {"growth.dev/do-not-disrupt": "true"}


def only(*types: str) -> str:
    """What is sold when nothing but this is in stock."""
    others = "|".join({"small", "medium", "large"} - {*types})
    return re.sub(rf"\{{name: ({others}),", r"{name: \1, stock: {fsn1: 0, nbg1: 0},", CATALOGUE)


def moves(play: Play) -> dict[str, str]:
    """Moves by name, and how far they are."""
    return {name: one.status.phase for name, one in play.trace.objects[NODE_MOVES].items()}


def is_done(play: Play) -> bool:
    """Whether a move has come to its end."""
    return "Done" in moves(play).values()


def offerings(play: Play, pool: str = "") -> list[str]:
    """The types of the nodes of pools, or of one."""
    labels = [play.trace.nodes[name].metadata.labels for name in launched(play)]
    return sorted(one[INSTANCE_TYPE] for one in labels if pool in ("", one[POOL]))


def are_open(play: Play, count: int) -> bool:
    """Whether so many nodes of pools take pods."""
    nodes = [play.trace.nodes[name] for name in launched(play)]
    return [node.is_ready and not node.spec.taints for node in nodes] == [True] * count


def bears(play: Play, name: str) -> bool:
    """Whether somebody says that this node is not to be disturbed."""
    return LEAVE_ME.items() <= play.trace.nodes[name].metadata.annotations.items()


async def a_deployment(
    play: Play,
    name: str,
    replicas: int,
    cpu: str,
    pool: str = "",
    *,
    annotations: Mapping[str, str] | None = None,
    grace_seconds: int = 0,
) -> None:
    """Pods that somebody makes anew."""
    labels, where = {"app": name}, {POOL: pool} if pool else {}
    pod = play.pod_spec(cpu, nodeSelector=where, terminationGracePeriodSeconds=grace_seconds)
    template = {"metadata": {"labels": labels, "annotations": dict(annotations or {})}, "spec": pod}
    spec: dict[str, Any] = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    await play.create(DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec})


async def scale(play: Play, name: str, replicas: int) -> None:
    """So many of these pods are wanted from now on."""
    await play.change(DEPLOYMENTS, name, {"spec": {"replicas": replicas}})


def foreseen(play: Play) -> list[str]:
    """What was bought for those, too, who follow."""
    return [name for name, one in play.trace.objects[NODE_REQUESTS].items() if one.foresees]


async def says_why(play: Play, names: Collection[str]) -> bool:
    """Whether ``growth explain`` tells of each of these nodes for whom room is kept."""
    found = [await read_moving(play.client, MINDFUL, name, play.now) for name in names]
    return all(one is not None and [told.reason for told in one.told] == [ROOM_KEPT] for one in found)


async def a_budget(play: Play, app: str, missing: int) -> None:
    """So many pods of an app may be missing."""
    spec = {"maxUnavailable": missing, "selector": {"matchLabels": {"app": app}}}
    await play.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": app}, "spec": spec})


async def until_only(play: Play, *types: str) -> None:
    """Wait until exactly these nodes are left, and no machine beside theirs."""
    await play.until(lambda: offerings(play) == [*types], f"{', '.join(types)} are left")
    await play.until(lambda: not removals(play), "nothing is left of the others")
    assert await machines(play) == launched(play)
    assert not marked(play)


@STORIES.story(is_first=True, ignores="refused")
async def a_substitute_goes_back_to_what_is_cheaper_once_that_is_in_stock(play: Play) -> None:
    """Bought in a stock-out, it is replaced before anything is drained; its pod runs on."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("large")) as growth:
        await a_pool(play, scaleDown=SOON, disruption=ACT)
        await a_deployment(play, "web", 1, "1500m")
        await play.until(lambda: offerings(play) == ["large"], "only a large one can be had")
        growth.set_catalogue(CATALOGUE)
        await play.until(lambda: is_done(play), "it is moved")
        await until_only(play, "small")


@STORIES.story(ignores="refused", any_node=True)
async def pods_fold_into_the_room_there_is(play: Play) -> None:
    """A pool keeps two nodes, and then need not any more: their pods have room on one, and nothing is bought. After a
    while the move is forgotten."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=FORGETFUL):
        await a_pool(play, serverTypes=[{"name": "small", "min": 2}], scaleDown=SOON, disruption=ACT)
        await play.until(lambda: are_open(play, 2), "two nodes are kept ready")
        await a_deployment(play, "web", 2, "800m")
        await play.until(lambda: len({pod.node_name for pod in play.running("web")}) == 2, "one works on each")
        play.always(lambda: len(launched(play)) <= 2, "that nothing is bought")
        await play.change(NODE_POOLS, "default", {"spec": {"serverTypes": [{"name": "small"}]}})
        await play.until(lambda: is_done(play), "one of them is moved")
        await until_only(play, "small")
        await play.until(lambda: len(play.running("web")) == 2, "both pods run")
        await play.until(lambda: not moves(play), "nobody speaks of it any more")


@STORIES.story(ignores="refused", any_node=True)
async def two_nodes_merge_into_one_that_costs_less(play: Play) -> None:
    """A larger one gets cheaper than two small ones: it is bought, and both of them go in one move."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("small")) as growth:
        await a_pool(play, scaleDown=SOON, disruption=ACT)
        await a_deployment(play, "web", 2, "1500m")
        await play.until(lambda: len(play.running("web")) == 2, "both pods run")
        assert offerings(play) == ["small", "small"]
        growth.set_catalogue(CATALOGUE.replace("fsn1: 0.019", "fsn1: 0.012"))
        await play.until(lambda: is_done(play), "they are moved")
        await until_only(play, "medium")
        assert len(moves(play)) == 1


@STORIES.story(ignores="refused", any_node=True)
async def a_large_node_is_split_as_a_budget_allows(play: Play) -> None:
    """Two small ones do for two pods. Their budget lets one go at a time, and that is kept at every instant."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("large")) as growth:
        await a_pool(play, scaleDown=SOON, disruption=ACT)
        await a_deployment(play, "web", 2, "1500m")
        await play.until(lambda: len(play.running("web")) == 2, "both pods run")
        await a_budget(play, "web", 1)
        play.always(lambda: play.running("web"), "that one of them runs")
        growth.set_catalogue(only("small"))
        await play.until(lambda: is_done(play), "it is moved")
        await until_only(play, "small", "small")
        await play.until(lambda: len(play.running("web")) == 2, "both pods run")


@STORIES.story(ignores=f"refused,{NAMED}", any_node=True)
async def a_move_is_undone_when_a_budget_lets_nobody_go(play: Play) -> None:
    """The budget came after the move was decided. The node takes pods again, and what was bought for it goes."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("large")) as growth:
        await a_pool(play, scaleDown=SOON, disruption=ACT)
        await a_deployment(play, "web", 1, "1500m")
        await play.until(lambda: len(play.running("web")) == 1, "the pod runs")
        (name,) = launched(play)
        growth.set_catalogue(CATALOGUE)
        await play.until(lambda: moves(play), "a move is decided")
        play.always(lambda: len(play.running("web")) == 1, "that the pod runs")
        await a_budget(play, "web", 0)
        await play.until(lambda: marked(play) == [name], "the node is to be emptied")
        await play.until(lambda: "Undone" in moves(play).values(), "that is undone")
        await until_only(play, "large")


@STORIES.story(ignores=f"refused,{NAMED}", any_node=True)
async def a_move_is_undone_for_somebody_who_finds_no_place(play: Play) -> None:
    """A pod comes that has room only on the node that is being emptied: it gets it."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("large")) as growth:
        await a_pool(play, scaleDown=SOON, disruption=ACT)
        # So patient is the move with somebody who may take so long to end.
        await a_deployment(play, "web", 1, "1500m", grace_seconds=60)
        await play.until(lambda: len(play.running("web")) == 1, "the pod runs")
        (name,) = launched(play)
        growth.set_catalogue(only("small"))
        await play.until(lambda: moves(play), "a move is decided")
        await a_budget(play, "web", 0)
        await play.until(lambda: marked(play) == [name], "the node is to be emptied")
        await play.pod("late", cpu="3", nodeSelector={})
        await play.until(play.pod_is("late", node=name), "somebody else works there")
        await play.until(lambda: "Undone" in moves(play).values(), "all of it is undone")
        told = [one.status.message for one in play.trace.objects[NODE_MOVES].values()]
        assert [one.endswith("late finds no place") for one in told] == [True], told
        await until_only(play, "large")


@STORIES.story(ignores="refused", any_node=True)
async def a_move_is_undone_when_its_machine_never_works(play: Play) -> None:
    """What is bought never becomes ready. The node that it should replace is not touched, and its machine goes."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("large")) as growth:
        await a_pool(play, types="small large", scaleDown=SOON, disruption=ACT)
        await a_deployment(play, "web", 1, "1500m")
        await play.until(lambda: len(play.running("web")) == 1, "the pod runs")
        (name,) = launched(play)
        play.always(lambda: name not in marked(play), "that the node is not touched")
        growth.set_catalogue(where_small("neverReady"))
        await play.until(lambda: "Undone" in moves(play).values(), "a move is undone")
        growth.set_catalogue(only("large"))
        await until_only(play, "large")
        await play.until(lambda: not play.trace.objects[NODE_REQUESTS], "nobody speaks of purchases any more")


@STORIES.story(ignores="refused", any_node=True)
async def who_must_not_be_disturbed_is_not_moved(play: Play) -> None:
    """Of three dear nodes one bears do-not-disrupt, on another one a pod does: only the third goes, until that is
    over."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("large")) as growth:
        for pool in ("free", "still", "calm"):
            await a_pool(play, pool, scaleDown=SOON, disruption=ACT)
            await a_deployment(play, pool, 1, "1500m", pool, annotations=LEAVE_ME if pool == "calm" else None)
        await play.until(lambda: all(map(play.running, ("free", "still", "calm"))), "all pods run")
        (still,) = (play.node_of(pod) for pod in play.running("still"))
        await play.change(NODES, still, {"metadata": {"annotations": LEAVE_ME}})
        play.always(lambda: "large" in offerings(play, "calm"), "that the pod is left alone")
        play.always(lambda: not any(bears(play, name) for name in marked(play)), "that the node is left alone")
        growth.set_catalogue(only("small"))
        await play.until(lambda: offerings(play) == ["large", "large", "small"], "the third is replaced")
        assert not marked(play)
        await play.change(NODES, still, {"metadata": {"annotations": dict.fromkeys(LEAVE_ME)}})
        await until_only(play, "large", "small", "small")


@STORIES.story(ignores="refused")
async def a_pool_that_only_observes_says_what_could_be_saved(play: Play) -> None:
    """Which is what a pool does that says nothing about it. Nothing moves, until it may."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("large")) as growth:
        await a_pool(play, scaleDown=SOON, disruption={"minNodeAge": "2s"})
        await a_deployment(play, "web", 1, "1500m")
        await play.until(lambda: len(play.running("web")) == 1, "the pod runs")
        growth.set_catalogue(CATALOGUE)
        await until_told(play, "default", "CouldSave")
        assert (moves(play), offerings(play)) == ({}, ["large"])
        await play.change(NODE_POOLS, "default", {"spec": {"disruption": {"mode": "act"}}})
        await until_only(play, "small")


@STORIES.story(ignores="refused", any_node=True, unless_stopped="who dies takes along what was wanted lately")
async def while_more_and_more_is_wanted_there_is_room_for_those_who_follow(play: Play) -> None:
    """Pods come one by one, and small machines are dear. When it is seen that they do, a large one is bought: those who
    follow find room there, and of every node it is told for whom room is kept."""
    await play.node("other", taints=TAINTED)
    dear = CATALOGUE.replace("{fsn1: 0.01, nbg1: 0.011}", "{fsn1: 0.02}")
    async with growing(play, settings=MINDFUL, catalogue=dear):
        await a_pool(play, types="small large", scaleDown=SOON, disruption=ACT)
        await asyncio.sleep((MINDFUL.consolidate.window + timedelta(seconds=1)).total_seconds())
        await a_deployment(play, "web", 1, "1500m")
        await play.until(lambda: len(play.running("web")) == 1, "one pod runs")
        await asyncio.sleep(9)  # one comes in each half of the window, or it is no rise that goes on
        await scale(play, "web", 2)
        await play.until(lambda: len(play.running("web")) == 2, "another one runs")
        assert offerings(play) == ["small", "small"]
        await asyncio.sleep(9)
        await scale(play, "web", 3)
        await play.until(lambda: foreseen(play), "room is bought for those who follow")
        await scale(play, "web", 7)
        await play.until(lambda: len(play.running("web")) == 7, "they have come")
        assert offerings(play) == ["large", "small", "small"]
        await until_told(play, "default", ROOM_KEPT)
        await play.until_found(lambda: says_why(play, launched(play)), "it is told why they stay")
        assert not moves(play)


@STORIES.story(ignores="refused")
async def a_disruption_budget_of_a_pool_keeps_its_nodes(play: Play) -> None:
    """One pool lets none of its nodes go for money: the other one's goes, and this one's when it may."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=only("large")) as growth:
        always = {"nodes": "0", "reasons": ["Cheaper"], "schedule": "* * * * *", "duration": "1h"}
        await a_pool(play, "kept", scaleDown=SOON, disruption={**ACT, "budgets": [always]})
        await a_pool(play, "free", scaleDown=SOON, disruption=ACT)
        for pool in ("kept", "free"):
            await a_deployment(play, pool, 1, "1500m", pool)
        await play.until(lambda: all(map(play.running, ("kept", "free"))), "both pods run")
        growth.set_catalogue(only("small"))
        await play.until(lambda: offerings(play) == ["large", "small"], "one of them is replaced")
        assert offerings(play, "kept") == ["large"]
        await play.change(NODE_POOLS, "kept", {"spec": {"disruption": {"budgets": None}}})
        await until_only(play, "small", "small")
