"""Nodes that go for another reason than money: a person wants it, they are too old, made from another template, or of a
type that nobody sells any more."""

import re

from growth.api.annotations import DRAIN
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.moving import ACT, a_budget, a_deployment, is_done, moves, offerings, until_only
from tests.stories.shrinking import SOON, TAINTED, launched, marked

STORIES = Stories("moving reasons", alone=True)

WITHOUT_SMALL = re.sub(r"  - \{name: small,.*\n", "", CATALOGUE)


def reasons(play: Play) -> set[str]:
    """Why moves are made."""
    return {one.spec.reason for one in play.trace.objects[NODE_MOVES].values()}


def teams(play: Play) -> list[str]:
    """A label of the nodes of pools."""
    return sorted(play.trace.nodes[name].metadata.labels.get("team", "") for name in launched(play))


@STORIES.story(is_first=True, any_node=True)
async def a_node_that_a_person_wants_to_go_is_replaced_although_its_pool_is_off(play: Play) -> None:
    """However young it is. A pod that must stay keeps it, and that is told on the node."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small", scaleDown=SOON, disruption={"mode": "off"})
        await a_deployment(play, "web", 1, "1500m")
        await play.until(lambda: len(play.running("web")) == 1, "the pod runs")
        (old,) = launched(play)
        await a_budget(play, "web", 0)
        await play.change(NODES, old, {"metadata": {"annotations": {DRAIN: "its disk is slow"}}})
        await until_told(play, old, "NotEmptied")
        assert (moves(play), marked(play)) == ({}, [])
        await play.change(POD_DISRUPTION_BUDGETS, "web", {"spec": {"maxUnavailable": 1}})
        await play.until(lambda: is_done(play), "it is moved")
        await until_only(play, "small")
        assert (reasons(play), old in launched(play)) == ({"Requested"}, False)


@STORIES.story(any_node=True)
async def nodes_of_an_old_template_are_replaced_one_by_one(play: Play) -> None:
    """A label of the pool changes. Each node gets a successor that has it, and only one is emptied at a time."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        terms = {**ACT, "budgets": [{"nodes": "1", "reasons": ["Drifted"]}]}
        await a_pool(play, types="small", scaleDown=SOON, disruption=terms, labels={"team": "blue"})
        await a_deployment(play, "web", 2, "1500m")
        await play.until(lambda: len(play.running("web")) == 2, "both pods run")
        await a_budget(play, "web", 1)
        play.always(lambda: play.running("web"), "that one of them runs")
        play.always(lambda: len(marked(play)) <= 1, "that one node is emptied at a time")
        await play.change(NODE_POOLS, "default", {"spec": {"labels": {"team": "red"}}})
        await play.until(lambda: teams(play) == ["red", "red"], "both are replaced")
        await until_only(play, "small", "small")
        assert reasons(play) == {"Drifted"}


@STORIES.story(any_node=True)
async def a_node_that_is_too_old_is_replaced(play: Play) -> None:
    """Its pool says later how old nodes may become."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small", scaleDown=SOON, disruption=ACT)
        await a_deployment(play, "web", 1, "1500m")
        await play.until(lambda: len(play.running("web")) == 1, "the pod runs")
        (old,) = launched(play)
        await play.change(NODE_POOLS, "default", {"spec": {"disruption": {"expireAfter": "3s"}}})
        await play.until(lambda: moves(play), "a move is decided")
        await play.change(NODE_POOLS, "default", {"spec": {"disruption": {"expireAfter": "24h"}}})
        await play.until(lambda: is_done(play), "it is moved")
        await until_only(play, "small")
        assert (reasons(play), old in launched(play)) == ({"Expired"}, False)


@STORIES.story(ignores="refused", any_node=True)
async def a_node_of_a_type_that_is_not_sold_any_more_is_replaced(play: Play) -> None:
    """It is dearer, and yet the next type takes its place, before anybody has to leave. A pool that only observes keeps
    such nodes."""
    await play.node("other", taints=TAINTED)
    async with growing(play) as growth:
        await a_pool(play, types="small medium", scaleDown=SOON, disruption=ACT)
        await a_pool(play, "kept", types="small medium", scaleDown=SOON, disruption={**ACT, "mode": "observe"})
        for name in ("default", "kept"):
            await a_deployment(play, name, 1, "1500m", name)
        await play.until(lambda: play.running("default") and play.running("kept"), "both pods run")
        assert offerings(play) == ["small", "small"]
        growth.set_catalogue(WITHOUT_SMALL)
        await play.until(lambda: is_done(play), "one of them is moved")
        await until_only(play, "medium", "small")
        assert (reasons(play), offerings(play, "kept")) == ({"Deprecated"}, ["small"])


@STORIES.story(any_node=True)
async def a_node_that_is_too_old_is_emptied_as_a_budget_allows(play: Play) -> None:
    """First it lets nobody go, and whoever is asked to leave is refused; then one at a time. The move waits for it, and
    one of them works at every instant."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small", scaleDown=SOON, disruption=ACT)
        # So patient is the move with somebody who may take so long to end.
        await a_deployment(play, "web", 2, "800m", grace_seconds=60)
        await play.until(lambda: len(play.running("web")) == 2, "both pods run")
        (old,) = launched(play)
        await a_budget(play, "web", 1)
        play.always(lambda: play.running("web"), "that one of them runs")
        await play.change(NODE_POOLS, "default", {"spec": {"disruption": {"expireAfter": "3s"}}})
        await play.until(lambda: moves(play), "a move is decided")
        await play.change(POD_DISRUPTION_BUDGETS, "web", {"spec": {"maxUnavailable": 0}})
        await play.change(NODE_POOLS, "default", {"spec": {"disruption": {"expireAfter": "24h"}}})
        await play.until(lambda: marked(play) == [old], "the node is to be emptied")
        await play.settled(1)
        assert {play.node_of(pod) for pod in play.running("web")} == {old}
        await play.change(POD_DISRUPTION_BUDGETS, "web", {"spec": {"maxUnavailable": 1}})
        await play.until(lambda: is_done(play), "it is moved")
        await until_only(play, "small")
        await play.until(lambda: len(play.running("web")) == 2, "both pods run")
        assert (reasons(play), old in launched(play)) == ({"Expired"}, False)
