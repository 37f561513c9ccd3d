"""Machines that come back, people who set the taint themselves, and switches in the middle of it all."""

from growth.api.out_of_service import OUT_OF_SERVICE, SHUTDOWN, proof_on
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, events_of, growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.cluster_life import storage
from tests.stories.failover_scene import (
    CHANCE,
    a_database,
    acting,
    attachments,
    hold_volume,
    is_out,
    let_go,
    on_one_node,
    out,
    some_nodes,
    until_cut,
    until_it_moved,
    until_noted,
    until_out,
    until_silent,
)
from tests.stories.shrinking import TAINTED

STORIES = Stories("failover", alone=True)
# A node that Growth itself took out of service would be back by then.
RETURNED = 2 * QUICK.failover.return_after.total_seconds()


@STORIES.story(is_first=True, ignores=CHANCE)
async def who_comes_back_is_taken_into_service_when_nothing_of_the_old_life_is_left(play: Play) -> None:
    """The volume's driver does not let go. The machine boots again and its node is ready, but it stays out of service
    and its story says why. Then the driver answers: the volume moves, and the node is used again."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    on_one_node(play)
    async with growing(play, settings=acting()) as growth:
        names = await some_nodes(play, 2)
        dies = await a_database(play)
        (heir,) = set(names) - {dies}
        attachment = await hold_volume(play)
        await growth.hurt(dies, "powerOff")
        await until_out(play, dies)
        await play.until(play.pod_is("db-0", node=heir), "the database waits for its volume on the other node")
        await until_silent(play, dies)
        await growth.hurt(dies, "")
        await play.ready(dies)
        play.always(
            lambda: is_out(play, dies) or not _hangs_on(play, dies), "that it is out while a volume hangs there"
        )
        await until_noted(play, dies, "OldLifeLeft")
        await let_go(play, attachment)
        await until_it_moved(play, heir)
        await play.until(lambda: not is_out(play, dies), "the node is in service")
        assert proof_on(play.trace.nodes[dies]) is None
        await until_told(play, dies, "InService")
        await play.pod("next", nodeSelector={"kubernetes.io/hostname": dies})
        await play.until(play.pod_is("next", node=dies), "the next pod runs there")


@STORIES.story(ignores=CHANCE)
async def a_taint_that_a_person_set_is_followed_and_theirs_to_remove(play: Play) -> None:
    """One machine runs, and people are warned at once that they may lose data. The other one is off: its pods are let
    go as always. It boots again, and is ready for long; the taint stays until the person takes it off."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    on_one_node(play)
    async with growing(play, settings=acting()) as growth:
        names = await some_nodes(play, 3)
        dies = await a_database(play)
        runs, heir = sorted(set(names) - {dies})
        await _taint(play, runs)
        await until_told(play, runs, "OutOfServiceRunning")
        await growth.hurt(dies, "powerOff")
        await until_cut(play, dies)
        await _taint(play, dies)
        await until_it_moved(play, heir)
        await until_silent(play, dies)
        await growth.hurt(dies, "")
        await play.ready(dies)
        await until_told(play, dies, "OutOfServiceRunning")
        await play.settled(quiet=RETURNED)
        assert set(out(play)) == {dies, runs}
        assert "InService" not in await events_of(play, dies)
        for name in (dies, runs):
            await _untaint(play, name)
        await play.pod("next", nodeSelector={"kubernetes.io/hostname": dies})
        await play.until(play.pod_is("next", node=dies), "the next pod runs there")


@STORIES.story(ignores=CHANCE)
async def every_switch_in_the_middle_of_a_failover(play: Play) -> None:
    """While it observes, Growth says what it would do. Acting, it does it. Switched off before the volume is free, it
    leaves its taint and says so, though the machine is back; acting again, it takes up where it stopped."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    on_one_node(play)
    async with growing(play, settings=acting(mode="observe")) as growth:
        names = await some_nodes(play, 2)
        dies = await a_database(play)
        (heir,) = set(names) - {dies}
        attachment = await hold_volume(play)
        await growth.hurt(dies, "powerOff")
        await until_told(play, dies, "Observing")
        assert not out(play)
    async with growing(play, settings=acting()):
        await until_out(play, dies)
        proof = proof_on(play.trace.nodes[dies])
        await play.until(play.pod_is("db-0", node=heir), "the database waits for its volume on the other node")
    async with growing(play, settings=acting(mode="off")) as growth:
        await until_told(play, dies, "OurTaintStays")
        await until_silent(play, dies)
        await growth.hurt(dies, "")
        await play.ready(dies)
        assert proof_on(play.trace.nodes[dies]) == proof
    async with growing(play, settings=acting()):
        await until_noted(play, dies, "OldLifeLeft")
        assert out(play) == [dies]
        await let_go(play, attachment)
        await until_it_moved(play, heir)
        await play.until(lambda: not is_out(play, dies), "the node is in service")


def _hangs_on(play: Play, node: str) -> bool:
    return any(one.spec.node_name == node for one in attachments(play))


async def _taint(play: Play, node: str) -> None:
    await play.change_taints(node, lambda taints: [*taints, SHUTDOWN])


async def _untaint(play: Play, node: str) -> None:
    await play.change_taints(node, lambda taints: [one for one in taints if one.key != OUT_OF_SERVICE])
