"""Stories of machines: what a provider does, what it fails to do, and what becomes of the nodes."""

from growth_lab.scenarios.context import Play
from growth_lab.scenarios.machines import machines
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("machines")
OFFERING = "kwok-cx33-fsn1"


@STORIES.story(is_first=True, ignores="refused")
async def a_provider_loses_an_answer(play: Play) -> None:
    """The machine was made and nobody heard of it; whoever asks again gets the same one, and one node comes of it."""
    async with machines(play) as cloud:
        cloud.set_catalogue(boot_seconds=1, faults="createTimesOut")
        machine = await cloud.order("lost", OFFERING)
        assert cloud.orders == 2
        assert [one.id for one in await cloud.all()] == [machine.id]
        await cloud.open("lost")
        await play.pod("app")
        await play.until(play.pod_is("app", node="lost"), "the pod runs on the machine")


@STORIES.story()
async def a_machine_loses_its_power_and_gets_it_back(play: Play) -> None:
    """Its node falls silent, its pods are let go, and it comes back as a node that booted anew."""
    async with machines(play) as cloud:
        cloud.set_catalogue(boot_seconds=1)
        await cloud.order("steady", OFFERING)
        await cloud.order("weak", OFFERING)
        await cloud.open("steady", "weak")
        await play.pod("app", nodeName=play.full("weak"))
        await play.until(play.pod_is("app"), "the pod runs")
        await cloud.hurt("weak", "powerOff")
        await play.until(lambda: _is_leaving(play, "app"), "the pod is let go")
        await cloud.hurt("weak", "")
        await play.until(lambda: "app" not in play.trace.pods, "the pod is gone")
        await play.until(lambda: not play.trace.nodes["weak"].spec.taints, "the node can be used again")


# The node may be removed before or after it was tainted.
@STORIES.story(ignores="unreachable")
async def a_machine_is_given_back(play: Play) -> None:
    """Its node falls silent first, and is removed because its machine is gone."""
    async with machines(play) as cloud:
        cloud.set_catalogue(boot_seconds=1)
        machine = await cloud.order("spare", OFFERING)
        await cloud.order("steady", OFFERING)
        await cloud.open("spare", "steady")
        await cloud.give_back(machine)
        await play.until(lambda: "spare" not in play.trace.nodes, "the node is gone")


def _is_leaving(play: Play, name: str) -> bool:
    pod = play.trace.pods.get(name)
    return pod is None or pod.metadata.deletion_timestamp is not None
