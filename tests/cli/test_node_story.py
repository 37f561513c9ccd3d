"""A database by hand: Growth looks on, a person takes the dead node out, and in again when it is back."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from growth.api.machine import Power
from growth.api.out_of_service import out_of_service_taint, proof_on
from growth.cli.explain import read_report
from growth.cli.explain_failover import FailoverPhase, NodeReport
from growth.cli.node_in_service import follow, take_in
from growth.cli.node_out_of_service import NodeDrain, NodeNote, OperatorDialog
from growth.cloud.kwok.catalog import read_catalogue
from growth.cloud.kwok.provider import KwokProvider
from growth.kube.client import Client
from growth.run.logs import silent_logs
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, QUICK, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.cluster_life import storage
from tests.stories.failover_scene import a_database, on_one_node, some_nodes, until_it_moved
from tests.stories.shrinking import TAINTED


def test_a_database_moves_by_hand_and_its_node_comes_back() -> None:
    said: list[str] = []
    reports: dict[str, NodeReport] = {}

    async def tell(play: Play) -> None:
        @asynccontextmanager
        async def open_kwok(client: Client) -> AsyncGenerator[KwokProvider]:
            yield KwokProvider(client, QUICK.namespace, read_catalogue(CATALOGUE), play.now)

        async def explain(when: str, name: str) -> None:
            reports[when] = await read_report(play.client, QUICK, name, play.now)

        await play.node("other", taints=TAINTED)
        await storage(play)
        on_one_node(play)
        async with growing(play) as growth:
            names = await some_nodes(play, 2)
            dies = await a_database(play)
            (heir,) = set(names) - {dies}
            await growth.hurt(dies, "powerOff")
            leaving = NodeDrain(
                play.client, QUICK, NodeNote(dies, "anna@desk"), OperatorDialog(said.append, lambda _: False, play.now)
            )
            await leaving.run({"kwok": open_kwok})
            await explain("out", dies)
            await follow(play.client, dies, play.now, said.append)
            await until_it_moved(play, heir)

            async def is_noticed() -> bool:
                await explain("free", dies)
                return any(step.what == "Released" for step in reports["free"].steps)

            await play.until_found(is_noticed, "Growth wrote down that the node is free")
            await growth.hurt(dies, "")
            await play.until(lambda: play.trace.nodes[dies].is_ready, "the node is ready again")

            async def is_back() -> bool:
                await explain("back", dies)
                return any(step.what == "BackAgain" for step in reports["back"].steps)

            await play.until_found(is_back, "Growth wrote down that the node is back")
            assert out_of_service_taint(play.trace.nodes[dies]) is not None
            said.append(await take_in(play.client, dies, play.now, force=False))
            await play.until(lambda: proof_on(play.trace.nodes[dies]) is None, "its note is gone")
            await explain("in", dies)

    with silent_logs():
        play_virtually(tell, alone=True)
    proof = reports["out"].proof
    assert proof is not None
    assert (proof.by, proof.power) == ("anna@desk", Power.OFF)
    assert reports["out"].standing is FailoverPhase.LEAVING
    assert reports["free"].standing is FailoverPhase.FREE
    assert reports["back"].standing is FailoverPhase.BACK
    assert reports["in"].standing is FailoverPhase.IN_SERVICE
    assert any(step.words.startswith("anna@desk took it out of service") for step in reports["free"].steps)
    assert said[-1].endswith("is in service: taint and note are gone")
