"""Scenarios of machines that are paid for and never work, and of what is launched instead: docs/failed-launches.md."""

from typing import Final

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS
from growth.api.node_pool import NodePool
from growth.api.offering import OFFERING
from growth.api.status import condition_of
from growth_lab.hetzner_sandbox.faults import CutOff
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.hetzner import a_project
from growth_lab.scenarios.replica import a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.growing_nodes import HASTY, requests, runs

STORIES: Final = Stories("launches", alone=True)

# With no node at all the real scheduler looks again only every ten seconds; nothing in these scenarios fits this one.
TAINTED: Final = ("dedicated=other:NoSchedule",)
# Counts that a pool shows, how often a pod is tried, and taints of silent nodes are left to chance.
CHANCE: Final = "node.kubernetes.io,unknown,refused,Coming"
# A cheap type in three locations, and a dearer one of the same size: each pod needs a machine of its own.
CATALOG: Final = """
provider: kwok
bootDelay: 1s
locations: {fsn1: {}, nbg1: {}, hel1: {}}
reserved: {cpu: 100m, memory: 256Mi}
serverTypes:
  - {name: cheap, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.01, nbg1: 0.011, hel1: 0.012}, faults: [FAULT]}
  - {name: dear, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.02, nbg1: 0.021, hel1: 0.022}, faults: [OTHER]}
"""


def catalog(fault: str = "", other: str = "") -> str:
    """What is offered, with what is wrong with each type."""
    return CATALOG.replace("FAULT", fault).replace("OTHER", other)


def pool(play: Play) -> NodePool:
    return play.trace.objects[NODE_POOLS]["default"]


def launched(play: Play) -> list[str]:
    """Every offering that was requested, in order."""
    made = [one.what for one in play.trace.seen if one.what.startswith("asks for ")]
    return [what.removeprefix("asks for ") for what in made]


def offering_of(play: Play, pod: str) -> str:
    return play.trace.nodes[play.trace.pods[pod].node_name].metadata.labels[OFFERING]


async def works_around(play: Play, fault: str) -> None:
    """One pod, then another one: the cheap type is launched once, and never instead of the dear one."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=HASTY, catalogue=catalog(fault)):
        await a_pool(play, types="cheap dear", scaleDown={"enabled": False})
        await play.pod("first", cpu="1500m", nodeSelector={})
        await play.until(lambda: runs(play, "first"), "the pod runs on the type that works")
        await until_told(play, "first", "LaunchFailed")
        assert launched(play) == ["kwok-cheap-fsn1", "kwok-dear-fsn1"]
        await play.until(lambda: pool(play).status.wasted.machines == 1, "the pool counts the machine in vain")
        await play.pod("second", cpu="1500m", nodeSelector={})
        await play.until(lambda: runs(play, "second"), "so does the next pod, at once")
        assert [offering_of(play, name) for name in ("first", "second")] == ["kwok-dear-fsn1"] * 2
        await play.until(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "nothing is left of the failed machine")


@STORIES.story(is_first=True, ignores=CHANCE, unless_stopped="a machine that is gone is counted by who gave it up")
async def a_type_whose_machines_never_register_is_launched_once(play: Play) -> None:
    """Machines of the cheap type never register, in any location: after one failure the dear type is launched."""
    await works_around(play, "neverRegisters")


@STORIES.story(ignores=CHANCE, unless_stopped="a machine that is gone is counted by who gave it up")
async def a_type_whose_nodes_never_become_ready_is_launched_once(play: Play) -> None:
    """Nodes of the cheap type register and never become ready (UC3): no more of the type is launched."""
    await works_around(play, "neverReady")


@STORIES.story(ignores=CHANCE, unless_stopped="a list that is read while Growth is stopped is missed")
async def a_machine_that_vanishes_while_it_boots_is_replaced_at_once(play: Play) -> None:
    """Its provider listed it, and two lists are without it: its time is not waited for."""
    slow = catalog("vanishes=3s").replace("bootDelay: 1s", "bootDelay: 60s", 1).replace("dear,", "dear, bootDelay: 1s,")
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=slow):
        await a_pool(play, types="cheap dear", scaleDown={"enabled": False})
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(lambda: [one.status.phase for one in requests(play)] == ["Provisioning"], "a machine boots")
        await play.until(lambda: runs(play, "app"), "the pod runs on another machine")
    given_up = next(one.at for one in play.trace.seen if one.what == "Unmet")
    asked = next(one.at for one in play.trace.seen if one.what.startswith("asks for "))
    assert given_up - asked < 7.5, "before its time to register (8 s) is over"


@STORIES.story(ignores=CHANCE, unless_stopped="a probe that is stopped half-way is seen as any other machine")
async def every_type_is_broken_and_one_heals(play: Play) -> None:
    """Nothing works: offerings are tested one after the other, and the pool says what fails. When the dear
    type heals, a probe finds that, and the pod runs."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=HASTY, catalogue=catalog("neverRegisters", "neverRegisters")) as growth:
        await a_pool(play, types="cheap dear", scaleDown={"enabled": False})
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(lambda: pool(play).status.wasted.machines >= 2, "two machines never worked")
        await play.until(lambda: healthy(play) == "LaunchesFail", "the pool says so")
        growth.set_catalogue(catalog("neverRegisters"))
        await play.until(lambda: runs(play, "app"), "the pod runs")
        assert offering_of(play, "app").startswith("kwok-dear-")


def healthy(play: Play) -> str:
    """The reason of the pool's condition Healthy."""
    condition = condition_of(pool(play).status.conditions, "Healthy")
    return condition.reason if condition is not None else ""


@STORIES.story(ignores=f"{CHANCE},gone", unless_stopped="a machine that is gone is counted by who gave it up")
async def servers_of_a_type_that_does_not_boot_this_image(play: Play) -> None:
    """Servers of the cheaper type run and never join, in both locations: the dearer type is launched after one."""
    async with a_project(play) as project, growing(play, settings=HASTY, others=project.others):
        await play.node("other", taints=TAINTED)
        await project.set_secrets()
        project.sandbox.order(CutOff(server_type="cx23"))
        await project.pool(types="cx23 cx33")
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(lambda: runs(play, "app"), "the pod runs")
        assert [one.rsplit("-", 1)[0] for one in launched(play)] == ["hetzner-cx23", "hetzner-cx33"]
