"""Failover of servers at Hetzner: off, gone, stopped in good order, and when nobody answers for a while."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec

from growth.api.kinds import PODS
from growth.api.offering import POOL
from growth.api.out_of_service import proof_on
from growth.api.settings.model import Settings
from growth_lab.hetzner_sandbox.faults import CutOff, PowerCut, Refuse, Vanish
from growth_lab.hetzner_sandbox.records import Server, Status
from growth_lab.hetzner_sandbox.timings import Timings
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.hetzner import QUICK_SERVERS, Project, a_project
from growth_lab.scenarios.replica import growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.cluster_life import storage
from tests.stories.failover_scene import (
    CHANCE,
    OUT,
    a_database,
    acting,
    attaching,
    on_one_node,
    out,
    until_cut,
    until_it_left,
    until_it_moved,
    until_noted,
    until_out,
    until_silent,
)
from tests.stories.registry import PATIENT
from tests.stories.shrinking import TAINTED, happened

STORIES = Stories("failover", alone=True)
# As long as a system takes that ends its pods one after the other.
SLOW_STOP = msgspec.structs.replace(QUICK_SERVERS, stop_seconds=4.0)
SLOW_RESET = msgspec.structs.replace(QUICK_SERVERS, other_seconds=6.0)
# Longer than two renewals take, shorter than Kubernetes waits before it gives nodes up.
OUTAGE_SECONDS = 3.0


@asynccontextmanager
async def servers(
    play: Play, count: int, *, settings: Settings | None = None, timings: Timings = QUICK_SERVERS
) -> AsyncGenerator[Project]:
    """Growth acts, and so many servers stay, whoever needs them."""
    await storage(play)
    on_one_node(play)
    async with (
        a_project(play, timings) as project,
        growing(play, settings=settings or acting(), others=project.others),
    ):
        await play.node("other", taints=TAINTED)
        await project.set_secrets()
        await project.pool(serverTypes=[{"name": "cx23", "min": count}])
        await attaching(play, count)
        yield project


@STORIES.story(ignores=CHANCE)
async def a_database_leaves_a_server_though_hetzner_was_down(play: Play) -> None:
    """The server loses its power while every call to Hetzner fails: nothing is proven, and nothing done. When Hetzner
    answers again, the database moves. The server is started, and works again."""
    async with servers(play, 2) as project:
        dies = await a_database(play)
        (heir,) = set(project.names) - {dies}
        project.sandbox.order(Refuse(code="server_error", times=100_000))
        project.sandbox.order(PowerCut(server=dies))
        await until_silent(play, dies)
        await until_noted(play, dies, "Silent", "Running", "Unknowable")
        assert not out(play)
        project.sandbox.clear_faults()
        await until_out(play, dies)
        await until_it_moved(play, heir)
        project.ask("POST", f"/servers/{server(project, dies).id}/actions/poweron")
        await play.until(lambda: not out(play), "it is back in service")


@STORIES.story(ignores=CHANCE)
async def a_server_that_is_gone_is_forgotten_when_its_volume_is_free(play: Play) -> None:
    """Hetzner does not know it any more. Its node is tainted, its volume comes off, and the Node object goes last; a
    deleted Node would keep the volume for six minutes. Another server is bought in its place."""
    async with servers(play, 2) as project:
        dies = await a_database(play)
        project.sandbox.order(Vanish(server=dies))
        steps = (f"Node .* {OUT}", "VolumeAttachment.* gone", "Node default.* gone")
        await play.until(lambda: happened(play, *steps) == list(steps), "it is tainted, free, and gone, in this order")
        await until_it_left(play, dies)
        await attaching(play, 2)


@STORIES.story(ignores=CHANCE, unless_stopped="who dies takes along that he saw it stop")
async def a_server_that_is_stopped_in_good_order_is_left_alone_until_it_is_off(play: Play) -> None:
    """While it stops, nothing is proven. Only what is left on it when it is off is released, not who has ended, and its
    story says that it was no accident."""
    async with servers(play, 2, timings=SLOW_STOP) as project:
        dies = await a_database(play)
        (heir,) = set(project.names) - {dies}
        spec = play.pod_spec(nodeSelector={}, nodeName=dies, restartPolicy="Never")
        soon = {"growth.dev/finish-after": "1s"}
        await play.create(PODS, {"metadata": {"name": "ended", "annotations": soon}, "spec": spec})
        await play.until(play.pod_is("ended", "Succeeded"), "a pod has ended in time")
        play.always(
            lambda: not out(play) or server(project, dies).status is Status.OFF, "that it is left alone while it stops"
        )
        project.ask("POST", f"/servers/{server(project, dies).id}/actions/poweroff")
        await until_noted(play, dies, "Changing-stopping")
        await until_it_moved(play, heir)
        proof = proof_on(play.trace.nodes[dies])
        assert proof is not None
        assert proof.was_graceful
        assert not happened(play, "Pod ended Failed")


@STORIES.story(ignores=CHANCE)
async def a_server_that_reboots_is_waited_for(play: Play) -> None:
    """Somebody resets it, and its node is silent until it has started. Hetzner says that something is being done to it,
    and then that it runs: nothing is proven. It is back with another boot id, and was never out of service."""
    async with servers(play, 2, timings=SLOW_RESET) as project:
        play.always(lambda: not out(play), "that nothing is out of service")
        await play.pod("app", nodeSelector={POOL: "default"}, tolerations=PATIENT)
        await play.until(play.pod_is("app"), "a pod runs")
        reboots = play.trace.pods["app"].node_name
        before = play.trace.nodes[reboots].status.node_info.boot_id
        project.sandbox.order(CutOff(server=reboots))
        project.ask("POST", f"/servers/{server(project, reboots).id}/actions/reset")
        await until_noted(play, reboots, "Changing-on")
        await until_silent(play, reboots)
        await until_told(play, reboots, "Unreachable")
        project.sandbox.clear_faults()
        await play.ready(reboots)
        assert play.trace.nodes[reboots].status.node_info.boot_id != before
        assert play.pod_is("app", node=reboots)()


@STORIES.story(ignores=CHANCE)
async def an_api_server_that_was_away_makes_nobody_dead(play: Play) -> None:
    """A server loses its power, and then the API server falls silent: no Lease is renewed, and all nodes look the same.
    When it is back, only the one goes whose machine is off."""
    async with servers(play, 3) as project:
        dies = await a_database(play)
        play.always(lambda: out(play) in ([], [dies]), "that only the dead one is out of service")
        project.sandbox.order(PowerCut(server=dies))
        await until_cut(play, dies)
        await play.backstage.outage(OUTAGE_SECONDS)
        await until_out(play, dies)
        await until_it_left(play, dies)
        assert len(project.names) == 3


def server(project: Project, name: str) -> Server:
    """The server of this name."""
    return next(one for one in project.sandbox.servers() if one.name == name)
