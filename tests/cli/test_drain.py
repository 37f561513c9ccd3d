"""``growth drain``: a wish on a node, what becomes of it, and how it is taken back."""

import asyncio
import io
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from growth.api.annotations import DRAIN
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS, PODS
from growth.api.taints import is_tainted
from growth.cli.drain import take_back, wish_for
from growth.cli.errors import NotDone, UsageError
from growth.cli.main import main
from growth.cli.move_progress import follow_wish
from growth.cli.node_out_of_service import OperatorDialog
from growth.kube.patches import MergePatch
from growth.run.logs import silent_logs
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.cli.node_scene import DEAD, Desk, at_a_desk
from tests.cli.test_plan import an_app
from tests.cli.test_snapshot import is_one_sentence

ANYWHERE = Console(file=io.StringIO())


class Person:
    """Somebody who wants the only node of a pool to go."""

    def __init__(self, play: Play, name: str) -> None:
        self._play, self.name, self.said = play, name, list[str]()
        self.talk = OperatorDialog(self.said.append, lambda _: True, play.now)

    async def wishes(self) -> None:
        await wish_for(self._play.client, QUICK, self.name, "its disk is slow", self.talk)

    async def follows(self) -> None:
        await follow_wish(self._play.client, QUICK, self.name, self.talk, ANYWHERE)

    async def takes_back(self) -> None:
        await take_back(self._play.client, self.name, self.talk)

    @property
    def words(self) -> str:
        return "\n".join(self.said)


async def _nodes(play: Play) -> list[str]:
    return [node.metadata.name for node in (await play.client.list(NODES)).items]


def with_one_node(tell: Callable[[Play, Person], Coroutine[Any, Any, None]]) -> None:
    """A pool whose moves are off, with one node and one pod; and Growth runs."""

    async def play_it(play: Play) -> None:
        await a_pool(play, disruption={"mode": "off"})
        await an_app(play, "web", 1, "1500m")
        async with growing(play):

            async def is_running() -> bool:
                pods = (await play.client.list(PODS)).items
                return len(pods) == 1 and pods[0].status.phase == "Running"

            await play.until_found(is_running, "the pod runs")
            (node,) = await _nodes(play)
            await tell(play, Person(play, node))

    with silent_logs():
        play_virtually(play_it, alone=True)


def test_a_node_that_a_person_wants_to_go_is_replaced_first_and_goes() -> None:
    async def tell(play: Play, person: Person) -> None:
        await person.wishes()
        await person.follows()
        assert person.said[0] == f"node {person.name} is to go: its disk is slow"
        assert "buying: 0 of 1 machines work" in person.words
        assert person.said[-1].strip().endswith((f"node {person.name} is empty, and goes", "is gone"))
        (move,) = (await play.client.list(NODE_MOVES)).items
        assert (move.spec.reason, move.spec.nodes, len(move.spec.buys)) == ("Requested", (person.name,), 1)

        async def is_replaced() -> bool:
            return await _nodes(play) == [move.spec.buys[0].name]

        await play.until_found(is_replaced, "only the new one is left")

    with_one_node(tell)


def test_a_budget_that_keeps_a_pod_is_told_and_the_wish_can_be_taken_back() -> None:
    async def tell(play: Play, person: Person) -> None:
        budget = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
        await play.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": "web"}, "spec": budget})
        await person.wishes()
        following = asyncio.create_task(person.follows())
        await asyncio.sleep(30)
        told = [line for line in person.said if "it stays for now: pod story/web-" in line]
        assert len(told) == 1
        assert told[0].endswith("on it must stay: disruption budget web allows no disruption now")
        await person.takes_back()
        with pytest.raises(NotDone, match="somebody has taken the wish back"):
            await following
        assert DRAIN not in (await play.client.get(NODES, person.name)).metadata.annotations
        assert person.said[-1] == f"node {person.name} may stay"

    with_one_node(tell)


def test_a_pool_that_lets_no_node_go_is_named() -> None:
    async def tell(play: Play, person: Person) -> None:
        budgets = {"spec": {"disruption": {"budgets": [{"nodes": 0, "reasons": ["Requested"]}]}}}
        await play.client.patch(NODE_POOLS, "default", MergePatch(budgets))
        await person.wishes()
        following = asyncio.create_task(person.follows())
        await asyncio.sleep(90)
        told = [line.strip() for line in person.said[1:]]
        assert len(told) == 1
        assert told[0].endswith("it stays for now: disruption.budgets[0] of its pool lets 0 nodes go at one time")
        following.cancel()
        await asyncio.wait({following})

    with_one_node(tell)


def test_taking_the_wish_back_undoes_its_move() -> None:
    async def tell(play: Play, person: Person) -> None:
        await person.wishes()

        async def is_begun() -> bool:
            return bool((await play.client.list(NODE_MOVES)).items)

        await play.until_found(is_begun, "the move is made")
        await person.takes_back()
        (move,) = (await play.client.list(NODE_MOVES)).items
        assert person.said[-1] == f"node {person.name} may stay; Growth undoes its move {move.metadata.name}"

        async def is_undone() -> bool:
            return (await play.client.get(NODE_MOVES, move.metadata.name)).status.phase == "Undone"

        await play.until_found(is_undone, "it is undone")
        assert not is_tainted(await play.client.get(NODES, person.name))

    with_one_node(tell)


def test_what_was_undone_before_is_tried_again() -> None:
    async def tell(play: Play, person: Person) -> None:
        body = {"metadata": {"name": "move-old"}, "spec": {"reason": "Requested", "nodes": [person.name]}}
        await play.client.create(NODE_MOVES, body)
        undoing = MergePatch({"status": {"phase": "Undoing", "message": "it was too late"}})
        await play.client.patch(NODE_MOVES, "move-old", undoing, subresource="status")

        async def is_over() -> bool:
            return (await play.client.get(NODE_MOVES, "move-old")).status.phase == "Undone"

        await play.until_found(is_over, "it is undone")
        with pytest.raises(NotDone, match="its move was undone, it was too late"):
            await person.follows()
        await person.wishes()
        await person.follows()
        assert "move-old" not in {move.metadata.name for move in (await play.client.list(NODE_MOVES)).items}

    with_one_node(tell)


# What is refused


def test_a_node_that_is_not_growths_is_left_to_kubectl() -> None:
    async def tell(desk: Desk) -> None:
        with pytest.raises(UsageError, match=f"its pool default does not exist. Use kubectl drain {DEAD}"):
            await wish_for(desk.client, desk.settings, DEAD, "old", desk.talk)
        with pytest.raises(UsageError, match="there is no node 'default-3'; close to it are default-"):
            await wish_for(desk.client, desk.settings, "default-3", "old", desk.talk)
        await take_back(desk.client, DEAD, desk.talk)
        assert desk.said == [f"nobody has asked for node {DEAD} to go: nothing was done"]

    at_a_desk(tell)


def test_without_a_growth_that_runs_nobody_is_asked() -> None:
    async def tell(play: Play) -> None:
        await a_pool(play)
        await play.node("one", labels={"growth.dev/pool": "default"})
        name = play.full("one")
        with pytest.raises(NotDone, match="no Growth seems to run"):
            await wish_for(play.client, QUICK, name, "old", OperatorDialog(print, lambda _: True, play.now))
        assert DRAIN not in (await play.client.get(NODES, name)).metadata.annotations

    play_virtually(tell)


@pytest.mark.parametrize("arguments", [(), ("--reason", "old", "--undo"), ("--reason", " ")])
def test_either_a_reason_or_undo(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["drain", "one", *arguments])
    assert is_one_sentence(result, "give either --reason TEXT")
