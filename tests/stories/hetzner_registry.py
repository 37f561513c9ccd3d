"""Stories of the cluster state registry on servers at Hetzner: what it makes of servers that fail in their own ways."""

from typing import Final

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import PODS
from growth.api.node_removal_request import RETRY
from growth_lab.hetzner_sandbox.faults import ActionFails, CutOff, PowerCut, Vanish
from growth_lab.hetzner_sandbox.records import Status
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.hetzner import Project, a_project
from growth_lab.scenarios.registry import cluster_status, until_status
from growth_lab.scenarios.replica import growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.growing_nodes import HASTY, phases, runs
from tests.stories.hetzner import CPU, a_shop, pods, requests_of, servers_by_location, until_all_run
from tests.stories.registry import (
    PATIENT,
    SCALE_DOWN,
    STRICT,
    TAINTED,
    TOLERANT,
    asked_for,
    count_of,
    healthy,
    pool,
    some_time,
    until_pool,
)
from tests.stories.shrinking import launched, removals

STORIES = Stories("hetzner registry", alone=True)
# As in the stories of the registry on other machines; and whether a status is written between two things that happen at
# once, such as how far a removal is.
CHANCE: Final = "node.kubernetes.io,unknown,refused,Coming,Deprovisioning"
FIRST: Final = "hetzner-cx23-fsn1"
TAKEN_ALONG: Final = "who dies between hearing why it failed and saying so takes that with him"


@STORIES.story(is_first=True, ignores=CHANCE, unless_stopped=TAKEN_ALONG)
async def a_server_that_never_joins_is_given_back(play: Play) -> None:
    """UC5: it runs, and nothing gets from its location to the cluster. Its time over, it is deleted, and the pod gets a
    server elsewhere."""
    async with a_shop(play, settings=HASTY) as project:
        project.sandbox.order(CutOff(location="fsn1"))
        await pods(play, 1)
        await until_all_run(play, 1)
        await play.until(lambda: not removals(play) and len(project.names) == 1, "the first server is gone")
        assert servers_by_location(project) == {"nbg1": 1}
        assert project.names == launched(play)


@STORIES.story(ignores=CHANCE, unless_stopped="it counts the lives of Growth")
async def a_server_that_is_coming_is_counted_and_bought_once(play: Play) -> None:
    """UC1, UC2, S3: it is ordered and boots, and its node is awaited. All that time it counts for its pods, also for
    one that comes later and for a Growth that was just started."""
    play.always(lambda: len(requests_of(play)) <= 1, "that nothing is bought twice")
    async with a_project(play) as project:
        project.sandbox.order(CutOff())
        async with growing(play, others=project.others):
            await play.node("other", taints=TAINTED)
            await project.set_secrets()
            await project.pool()
            await play.pod("app", cpu="900m", nodeSelector={})
            await until_pool(play, lambda said: count_of(said).coming == 1, "a server is coming")
        async with growing(play, others=project.others):
            await play.pod("late", cpu="800m", nodeSelector={})
            await until_pool(play, lambda said: count_of(said).coming == 1, "a server is still coming")
            project.sandbox.clear_faults()
            await play.until(lambda: runs(play, "app", "late"), "both pods run on it")
            await until_pool(play, lambda said: count_of(said).ready == 1, "it is ready")
        assert project.names == launched(play)


@STORIES.story(ignores=CHANCE, unless_stopped=TAKEN_ALONG)
async def a_server_that_vanishes_on_its_way_is_missing_and_then_given_up(play: Play) -> None:
    """UC4, S4: Hetzner has made two, and one of them is gone before it was a node. The pool says that it is missing;
    its time over, its request is Unmet and its pod gets a server elsewhere. The other one is not touched."""
    async with a_shop(play, settings=HASTY) as project:
        play.always(lambda: not removals(play), "that nothing is removed")
        await play.pod("first", cpu=CPU, nodeSelector={})
        await play.until(play.pod_is("first"), "the first pod runs")
        (kept,) = project.names
        project.sandbox.order(CutOff())
        await play.pod("second", cpu=CPU, nodeSelector={})
        await play.until(lambda: sorted(phases(play)) == ["Provisioning", "Ready"], "Hetzner has accepted the second")
        (lost,) = set(project.names) - {kept}
        await play.until_found(lambda: runs_at(project, lost), "the second server runs")
        project.sandbox.order(Vanish(server=lost))
        project.sandbox.clear_faults()
        await until_pool(play, lambda said: count_of(said).missing == 1, "a server is missing")
        await play.until(play.pod_is("second"), "the second pod runs")
        await until_pool(play, lambda said: said.missing_since is None, "nothing is missing any more")
        assert servers_by_location(project) == {"fsn1": 1, "nbg1": 1}
        assert kept in project.names


@STORIES.story(ignores=CHANCE, unless_stopped=TAKEN_ALONG)
async def a_create_that_fails_half_way_is_given_back_and_counted(play: Play) -> None:
    """S2: the order is accepted, and its action fails because there is no room. What is left of the server goes, the
    pool says what could not be had and why, and the pod gets a server elsewhere."""
    async with a_shop(play) as project:
        project.sandbox.order(ActionFails(command="create_server", code="placement_error", message="no host"))
        await pods(play, 1)
        await until_all_run(play, 1)
        assert servers_by_location(project) == {"nbg1": 1}
        (entry,) = [one for one in pool(play).status.offerings if one.offering == FIRST]
        assert (entry.level, entry.reason) == (1, "OutOfStock")
        assert "create_server failed: no host" in entry.message


@STORIES.story(ignores=CHANCE)
async def a_server_loses_its_power_and_comes_back(play: Play) -> None:
    """UC6: its node is NotReady and counts as that, nothing is bought or removed meanwhile, and when the power is back
    it is the same server, the same node and the same pod."""
    async with a_shop(play, settings=TOLERANT, scaleDown={**SCALE_DOWN, "unreadyAfter": "2m"}) as project:
        play.always(lambda: not removals(play), "that nothing is removed")
        await a_patient_pod(play, "app")
        (server,) = project.sandbox.servers()
        uid = play.trace.nodes[server.name].metadata.uid
        project.sandbox.order(PowerCut(server=server.name))
        await play.until(lambda: not play.trace.nodes[server.name].is_ready, "its node is silent")
        await until_pool(play, lambda said: count_of(said).unready == 1, "a node is unready")
        project.ask("POST", f"/servers/{server.id}/actions/poweron")
        await play.until(lambda: play.trace.nodes[server.name].is_ready, "it is back")
        await until_pool(play, lambda said: count_of(said).ready == 1, "it is ready")
        assert [one.id for one in project.sandbox.servers()] == [server.id]
        assert play.trace.nodes[server.name].metadata.uid == uid
        assert runs(play, "app")
    assert len(asked_for(play)) == 1


@STORIES.story(ignores=CHANCE)
async def a_server_that_is_off_for_long_goes_and_one_that_runs_stays(play: Play) -> None:
    """UC6: two nodes are silent. The server of the one is off: it is deleted. That of the other runs, so its pods may:
    it is only told of, and is there when it is connected again."""
    async with a_shop(play, settings=TOLERANT, scaleDown=SCALE_DOWN) as project:
        off, busy = [await a_patient_pod(play, name) for name in ("off", "busy")]
        project.sandbox.order(PowerCut(server=off))
        project.sandbox.order(CutOff(server=busy))
        await until_told(play, busy, "Unreachable")
        await play.until(lambda: off not in play.trace.nodes and not removals(play), "the one that is off is gone")
        await play.until(lambda: "off" not in play.trace.pods, "who cannot run any more is let go")
        project.sandbox.clear_faults()
        await play.ready(busy)
        assert project.names == launched(play) == [busy]
        assert runs(play, "busy")


@STORIES.story(ignores=CHANCE)
async def somebody_deletes_a_server_behind_our_back(play: Play) -> None:
    """Its node is silent and stays, because nobody else removes it. Growth asks Hetzner for the server by its number,
    hears that it is gone, and takes node and pod away. The other server is not touched."""
    async with a_shop(play, settings=TOLERANT, scaleDown=SCALE_DOWN) as project:
        kept, lost = [await a_patient_pod(play, name) for name in ("kept", "lost")]
        project.ask("DELETE", f"/servers/{number_of(project, lost)}")
        await play.until(lambda: lost not in play.trace.nodes and not removals(play), "its node is gone")
        await play.until(lambda: "lost" not in play.trace.pods, "its pod is gone, too")
        assert project.names == launched(play) == [kept]
        assert runs(play, "kept")


@STORIES.story(ignores=CHANCE)
async def a_server_that_may_not_be_deleted_holds_nobody_up(play: Play) -> None:
    """UC7: somebody protected it. Its removal fails, it loses its power, and where one unready node would halt
    everything, this one does not: the next pod gets its server. Without the protection it goes after all."""
    async with a_shop(play, settings=STRICT, scaleDown={**SCALE_DOWN, "emptyAfter": "1s"}) as project:
        play.always(lambda: healthy(play) in ("", "Healthy"), "that nobody speaks of an unhealthy cluster")
        name = await a_patient_pod(play, "early")
        protect(project, name, is_protected=True)
        await play.delete(PODS, "early", grace_seconds=0)
        await play.until(lambda: removals(play) == {name: "RemovalFailed"}, "its removal has failed")
        project.sandbox.order(PowerCut(server=name))
        await play.until(lambda: not play.trace.nodes[name].is_ready, "the node is silent")
        await until_status(play, lambda said: said.states.get("RemovalFailed") == 1, "it could not be removed")
        assert (await cluster_status(play)).unready == 0
        late = await a_patient_pod(play, "late")
        protect(project, name, is_protected=False)
        await play.change(NODE_REMOVAL_REQUESTS, name, {"metadata": {"annotations": {RETRY: "mended"}}})
        await play.until(lambda: name not in play.trace.nodes and not removals(play), "it is gone after all")
        assert project.names == [late]


# Of four nodes that fall silent at once, a pass may see two.
@STORIES.story(ignores=f"{CHANCE},OfferingUnhealthy")
async def most_servers_are_cut_off_and_everything_halts(play: Play) -> None:
    """UC8, S1: Hetzner says that all of them run, so it may be a partition. Nothing is bought for a new pod and nothing
    is deleted. When they are connected again, the pod gets its server, and nobody's is gone."""
    async with a_shop(play, scaleDown=SCALE_DOWN) as project:
        play.always(lambda: not removals(play), "that nothing is removed")
        silent = [await a_patient_pod(play, f"app-{number}") for number in range(4)]
        project.sandbox.order(CutOff())
        await until_status(play, lambda said: said.is_halted and said.unready == 4, "everything halts")
        await play.until(lambda: healthy(play) == "ClusterUnhealthy", "the pool says so, too")
        await play.pod("new", cpu=CPU, nodeSelector={})
        await some_time(play, "8s")
        assert project.names == sorted(silent)
        project.sandbox.clear_faults()
        await play.ready(*silent)
        await play.until(play.pod_is("new"), "the new pod runs")
        await play.until(lambda: healthy(play) == "Healthy", "the pool is healthy")
        assert len(project.names) == 5
        assert set(silent) < set(project.names)


async def a_patient_pod(play: Play, name: str) -> str:
    """A pod that fills a server and stays whatever happens to it; gives the server's name when it runs."""
    await play.pod(name, cpu=CPU, nodeSelector={}, tolerations=PATIENT)
    await play.until(play.pod_is(name), f"pod {name} runs")
    return play.trace.pods[name].node_name


async def runs_at(project: Project, name: str) -> bool:
    """Whether Hetzner says so."""
    return any(server.name == name and server.status is Status.RUNNING for server in project.sandbox.servers())


def number_of(project: Project, name: str) -> int:
    return next(server.id for server in project.sandbox.servers() if server.name == name)


def protect(project: Project, name: str, *, is_protected: bool) -> None:
    """Somebody lets nobody delete a server, or lets them again."""
    body = {"delete": is_protected, "rebuild": is_protected}
    project.ask("POST", f"/servers/{number_of(project, name)}/actions/change_protection", body)
