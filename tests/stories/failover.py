"""Work leaves a dead machine by itself: the machine is off, broken, and what runs there is a database or a Job."""

from growth.api.kinds import JOBS, PERSISTENT_VOLUME_CLAIMS, PODS
from growth.api.out_of_service import HARDWARE, out_of_service_taint, proof_on
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.cluster_life import claim, storage
from tests.stories.failover_scene import (
    CHANCE,
    HELD,
    a_database,
    acting,
    attached_to,
    in_use,
    on_one_node,
    out,
    some_nodes,
    until_it_moved,
    until_noted,
    until_out,
    with_disk,
)
from tests.stories.shrinking import ANYWHERE, TAINTED

STORIES = Stories("failover", alone=True)


@STORIES.story(is_first=True, ignores=CHANCE)
async def a_database_leaves_a_machine_that_lost_its_power(play: Play) -> None:
    """Nobody says anything to anybody: Growth proves it, taints the node, and the volume is on one node at a time."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    on_one_node(play)
    async with growing(play, settings=acting()) as growth:
        names = await some_nodes(play, 2)
        dies = await a_database(play)
        (heir,) = set(names) - {dies}
        await growth.hurt(dies, "powerOff")
        await until_out(play, dies)
        await until_it_moved(play, heir)
        assert proof_on(play.trace.nodes[dies]) is not None
        assert out(play) == [dies]
        await until_told(play, dies, "OutOfService")
        await until_told(play, "db-0", "FailedOver")
        await until_noted(play, dies, "Released")


# The pod collector looks every 20 s.
@STORIES.story(ignores=CHANCE)
async def broken_hardware_is_called_so_and_its_pods_are_left_to_kubernetes(play: Play) -> None:
    """The provider says that the machine failed, and so does the taint. With ``speed: standard`` Kubernetes itself
    deletes the pods in its own time, as the seed has it, and the database moves all the same."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    on_one_node(play)
    async with growing(play, settings=acting(speed="standard")) as growth:
        names = await some_nodes(play, 2)
        dies = await a_database(play)
        (heir,) = set(names) - {dies}
        await growth.hurt(dies, "hardwareFails")
        await until_out(play, dies)
        assert out_of_service_taint(play.trace.nodes[dies]) == HARDWARE
        await until_it_moved(play, heir)


@STORIES.story(ignores=CHANCE)
async def a_finalizer_holds_no_volume_and_who_tolerates_stays(play: Play) -> None:
    """A Job's pod bears a finalizer, as all of them do, and its volume comes off at once: the next one runs elsewhere.
    A pod that somebody else's finalizer keeps is said to have failed. One that tolerates everything is not touched."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    on_one_node(play)
    async with growing(play, settings=acting()) as growth:
        names = await some_nodes(play, 2)
        await play.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "sums"}, "spec": claim(play)})
        template = {"metadata": {"labels": {"app": "sum"}}, "spec": with_disk(play, "sums", restartPolicy="Never")}
        await play.create(JOBS, {"metadata": {"name": "sum"}, "spec": {"template": template}})
        await play.until(lambda: play.running("sum"), "the Job's pod runs")
        (pod,) = play.running("sum")
        dies = pod.node_name
        (heir,) = set(names) - {dies}
        await in_use(play, dies)
        spec = play.pod_spec(nodeSelector={}, nodeName=dies)
        await play.create(PODS, {"metadata": {"name": "kept", "finalizers": [HELD]}, "spec": spec})
        await play.pod("tough", nodeSelector={}, nodeName=dies, tolerations=ANYWHERE)
        await play.until(lambda: play.pod_is("kept")() and play.pod_is("tough")(), "both others run there, too")
        await growth.hurt(dies, "powerOff")
        await until_out(play, dies)
        await play.until(lambda: attached_to(play) == [heir], "the volume is on the other node")
        await play.until(lambda: [one.node_name for one in play.running("sum")] == [heir], "so is the Job's next pod")
        await play.until(play.pod_is("kept", "Failed"), "who is kept has failed")
        tough = play.trace.pods["tough"]
        assert (tough.status.phase, tough.metadata.deletion_timestamp) == ("Running", None)
        await play.change(PODS, "kept", {"metadata": {"finalizers": None}})
        await play.until(lambda: "kept" not in play.trace.pods, "and goes when it may")
