"""``growth plan --optimise --apply``: what is shown is what Growth then does; and all that keeps it from beginning."""

import asyncio
import io
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from growth.api.growth_kinds import NODE_MOVES
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS, PODS
from growth.api.node import NodeSpec
from growth.api.offering import INSTANCE_TYPE
from growth.api.settings.model import KwokSettings, Settings
from growth.api.taints import LEAVES, is_tainted
from growth.cli.errors import NotDone
from growth.cli.main import main
from growth.cli.move_progress import follow
from growth.cli.node_out_of_service import OperatorDialog
from growth.cli.plan import PlanOptions, propose
from growth.cli.plan_apply import agree, check_that_growth_runs, confirmed, write, written
from growth.cli.plan_consolidation import first_wave, optimising_report
from growth.cli.plan_inputs import read_world
from growth.kube.patches import MergePatch
from growth.run.logs import silent_logs
from growth.run.provider_poller import open_providers
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.scenarios.workloads import DEPLOYMENTS
from tests.cli.plan_scene import REFUSED, a_node, a_shop
from tests.cli.test_plan import an_app
from tests.cli.test_snapshot import is_one_sentence
from tests.decide.consolidation.seen import NOW
from tests.decide.stages import a_pod as a_waiting_pod

SETTINGS = Settings()


class Person:
    """Somebody who applies plans, with the settings that Growth has."""

    def __init__(self, play: Play, folder: Path) -> None:
        catalogue = folder / "catalogue.yaml"
        catalogue.write_text(CATALOGUE)
        self.play, self.said, self.questions = play, list[str](), list[str]()
        self.answer, self.screen = True, io.StringIO()
        self.settings = msgspec.structs.replace(QUICK, kwok=KwokSettings(catalogue=str(catalogue)))
        self._aside = Console(file=io.StringIO())

    @property
    def talk(self) -> OperatorDialog:
        def agrees(question: str) -> bool:
            self.questions.append(question)
            return self.answer

        return OperatorDialog(self.said.append, agrees, self.play.now)

    async def applies(self) -> list[str]:
        """As the command does it; gives the names of the moves."""
        client = self.play.client
        await check_that_growth_runs(client, self.settings, self.talk)
        openers = open_providers(self.settings, self.play.now, is_looking=True)
        world = await read_world(client, openers, self.play.now, self._aside)
        consoles = Console(file=self.screen, width=100, highlight=False), self._aside
        return await write(
            client, propose(world, self.settings, PlanOptions(optimise=True), self.talk, consoles), self.talk
        )

    async def follows(self, names: list[str]) -> None:
        await follow(self.play.client, self.settings, names, self.talk, self._aside)


async def _runs(play: Play, count: int) -> None:
    async def do_they() -> bool:
        pods = (await play.client.list(PODS)).items
        return len(pods) == count and all(pod.status.phase == "Running" and pod.node_name for pod in pods)

    await play.until_found(do_they, f"{count} pods run")


async def _types(play: Play) -> list[str]:
    return sorted(node.metadata.labels[INSTANCE_TYPE] for node in (await play.client.list(NODES)).items)


def with_a_large_node_too_many(tell: Callable[[Play], Coroutine[Any, Any, None]]) -> None:
    """One pod is left of four on a large node, in a pool that only observes; and Growth runs."""

    async def play_it(play: Play) -> None:
        await a_pool(play, disruption={"minNodeAge": "0s"})
        await an_app(play, "web", 4, "1500m")
        async with growing(play):
            await _runs(play, 4)
            await play.change(DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
            await _runs(play, 1)
            await asyncio.sleep(QUICK.provision.keep_ready.total_seconds())
            await tell(play)

    with silent_logs():
        play_virtually(play_it, alone=True)


def test_what_is_shown_is_asked_about_and_made_also_in_a_pool_that_only_observes(tmp_path: Path) -> None:
    async def tell(play: Play) -> None:
        person = Person(play, tmp_path)
        names = await person.applies()
        await person.follows(names)
        assert "replace" in person.screen.getvalue()
        assert person.questions == ["Make this move?"]
        (name,) = names
        words = [line.split("  ", 1)[1] for line in map(str.strip, person.said)]
        assert words[0] == f"{name}: buying: 0 of 1 machines work"
        assert words[-1] == f"{name}: done: all its nodes are empty, and go"
        (move,) = (await play.client.list(NODE_MOVES)).items
        assert (move.spec.reason, move.status.phase) == ("Cheaper", "Done")

        async def is_small() -> bool:
            return await _types(play) == ["small"]

        await play.until_found(is_small, "only the small one is left")

    with_a_large_node_too_many(tell)


def test_a_move_that_is_undone_is_told_with_its_reason_and_is_a_failure(tmp_path: Path) -> None:
    async def tell(play: Play) -> None:
        person = Person(play, tmp_path)
        names = await person.applies()
        following = asyncio.create_task(person.follows(names))
        (node,) = [one.metadata.name for one in (await play.client.list(NODES)).items]
        patch = MergePatch({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}})
        await play.client.patch(NODES, node, patch)
        with pytest.raises(NotDone, match=f"1 of 1 move did not come to its end: {names[0]}"):
            await following
        assert "bears karpenter.sh/do-not-disrupt" in person.said[-1]
        assert "large" in await _types(play)

    with_a_large_node_too_many(tell)


def test_a_move_that_somebody_deletes_is_undone(tmp_path: Path) -> None:
    """As people are told who stop watching."""

    async def tell(play: Play) -> None:
        budget = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 0}
        await play.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": "web"}, "spec": budget})
        (node,) = [one.metadata.name for one in (await play.client.list(NODES)).items]
        await play.client.create(NODE_MOVES, {"metadata": {"name": "move-1"}, "spec": {"nodes": [node]}})
        draining = MergePatch({"status": {"phase": "Draining"}})
        await play.client.patch(NODE_MOVES, "move-1", draining, subresource="status")

        async def is_closed() -> bool:
            return is_tainted(await play.client.get(NODES, node))

        async def is_open() -> bool:
            return not await is_closed()

        person = Person(play, tmp_path)
        following = asyncio.create_task(person.follows(["move-1"]))
        await play.until_found(is_closed, "it takes no new pods")
        await asyncio.sleep(2)
        await play.client.delete(NODE_MOVES, "move-1")
        with pytest.raises(NotDone, match="1 of 1 move did not come to its end: move-1"):
            await following
        assert f"move-1: emptying {node}: 1 pod to leave" in person.said[0]
        await play.until_found(is_open, "it takes pods again")

    with_a_large_node_too_many(tell)


def test_whoever_says_no_has_done_nothing(tmp_path: Path) -> None:
    async def tell(play: Play) -> None:
        person = Person(play, tmp_path)
        person.answer = False
        with pytest.raises(NotDone, match="nothing was done"):
            await person.applies()
        assert (await play.client.list(NODE_MOVES)).items == []

    with_a_large_node_too_many(tell)


def test_without_a_growth_that_runs_nothing_is_written(tmp_path: Path) -> None:
    async def tell(play: Play) -> None:
        with pytest.raises(NotDone, match="no Growth seems to run, so nobody would do it: there is no Lease"):
            await Person(play, tmp_path).applies()

    play_virtually(tell)


def test_while_other_moves_are_under_way_none_is_written_and_one_that_is_over_is_written_anew() -> None:
    async def tell(play: Play) -> None:
        talk = OperatorDialog(print, lambda _: True, play.now)
        moves = written(a_shop().snapshot(NOW), SETTINGS, first_wave(a_shop().snapshot(NOW), SETTINGS))
        names = await write(play.client, moves, talk)
        assert names == sorted(
            {move.metadata.name for move in (await play.client.list(NODE_MOVES)).items}, key=names.index
        )
        with pytest.raises(NotDone, match=f"moves are under way: .*{names[0]}"):
            await write(play.client, moves, talk)
        for name in names:
            for phase in ("Undoing", "Undone"):
                patch = MergePatch({"status": {"phase": phase, "message": "a test"}})
                await play.client.patch(NODE_MOVES, name, patch, subresource="status")
        assert await write(play.client, moves, talk) == names
        assert {move.status.phase for move in (await play.client.list(NODE_MOVES)).items} == {"Buying"}

    play_virtually(tell)


# What is proposed


def test_no_more_is_proposed_than_the_budgets_let_go_now() -> None:
    whole = optimising_report(a_shop(max_unavailable="1").snapshot(NOW), SETTINGS)
    wave = first_wave(a_shop(max_unavailable="1").snapshot(NOW), SETTINGS)
    assert len(whole.steps) > len(wave.moves) == len(wave.report.steps) == 1
    assert wave.moves[0].terminating == tuple(one.name for one in wave.report.steps[0].going)
    leaving = msgspec.structs.replace(a_node("default-9999", "cx23"), spec=NodeSpec(taints=(LEAVES,)))
    assert first_wave(a_shop(leaving, max_unavailable="1").snapshot(NOW), SETTINGS).moves == ()


def test_nodes_that_may_come_later_are_not_said_to_stay() -> None:
    wave = first_wave(a_shop(max_unavailable="1").snapshot(NOW), SETTINGS)
    assert [one.name for one in wave.report.staying] == ["default-91aa", "default-e7b8"]


def test_while_somebody_waits_for_a_place_nothing_is_written() -> None:
    waits = a_waiting_pod("batch", namespace="shop", requests={"cpu": "1"}, status=REFUSED)
    metadata = msgspec.structs.replace(waits.metadata, creation_timestamp=NOW - timedelta(minutes=1))
    snapshot = a_shop(msgspec.structs.replace(waits, metadata=metadata)).snapshot(NOW)
    with pytest.raises(NotDone, match="this is no time for moves: pod shop/batch waits for a place; nothing was done"):
        written(snapshot, SETTINGS, first_wave(snapshot, SETTINGS))


def test_a_plan_that_somebody_thought_about_for_long_is_not_made() -> None:
    snapshot = a_shop().snapshot(NOW)
    moves = written(snapshot, SETTINGS, first_wave(snapshot, SETTINGS))
    agree(moves, NOW, OperatorDialog(print, lambda _: True, lambda: NOW + timedelta(minutes=1)))
    with pytest.raises(NotDone, match="the plan is too old by now"):
        agree(moves, NOW, OperatorDialog(print, lambda _: True, lambda: NOW + timedelta(minutes=3)))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--apply", "--yes"), "--apply makes the moves of --optimise"),
        (("--optimise", "--apply", "--yes", "--json"), "leave out --json"),
        (("--optimise", "--apply"), "nobody can answer here: add --yes"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], why: str) -> None:
    assert is_one_sentence(CliRunner().invoke(main, ["plan", *arguments]), why)


@pytest.mark.parametrize(("typed", "answer"), [("y\n", "True"), ("\n", "False"), ("", "False")])
def test_whoever_leaves_at_the_question_said_no(typed: str, answer: str) -> None:
    """Ctrl-C, or the end of what is typed: that nothing was done is told then, as after a no."""

    @click.command()
    def ask() -> None:
        click.echo(confirmed("Make this move?"))

    result = CliRunner().invoke(ask, input=typed)
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, answer)
