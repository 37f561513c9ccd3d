"""A machine dies, and the one that is bought in its place is what it was: people's labels go with the work."""

from growth.api.growth_kinds import NODE_REQUESTS
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.cluster_life import storage
from tests.stories.failover_scene import CHANCE, a_database, acting, attached_to, some_nodes, until_out
from tests.stories.memory_scene import RACK, label, labels_of, memory_of, remembering, until_saved
from tests.stories.shrinking import TAINTED

STORIES = Stories("memory", alone=True)


@STORIES.story(ignores=f"{CHANCE},ready")
async def who_replaces_a_dead_machine_has_its_labels(play: Play) -> None:
    """A person labelled it. Its machine loses its power, Growth proves that and buys another one for its database:
    that one bears the label before anything runs there, and the memory is its own from then on."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    async with growing(play, settings=acting(remembering(), speed="standard")) as growth:
        await some_nodes(play, 1)
        dies = await a_database(play)
        await label(play, dies, {RACK: "r7"})
        await until_saved(play, dies, {RACK: "r7"})
        requests = play.trace.objects[NODE_REQUESTS]
        await growth.hurt(dies, "powerOff")
        await until_out(play, dies)
        await play.until(lambda: requests.keys() - {dies}, "another machine is asked for")
        (heir,) = requests.keys() - {dies}
        assert requests[heir].spec.replaces == dies
        play.always(lambda: not _runs_on(play, heir) or _has_label(play, heir), "that nothing runs there before")
        await play.until(play.pod_is("db-0", node=heir), "the database runs on the new machine")
        assert (await labels_of(play, heir))[RACK] == "r7"
        memory = await memory_of(play, dies)
        assert memory is not None
        assert memory.claimed_by == f"{heir}/{play.trace.nodes[heir].metadata.uid}"
        await play.until(lambda: dies not in attached_to(play), "its volume has come off the dead one")


def _runs_on(play: Play, name: str) -> bool:
    return any(pod.node_name == name for pod in play.trace.pods.values())


def _has_label(play: Play, name: str) -> bool:
    node = play.trace.nodes.get(name)
    return node is not None and node.metadata.labels.get(RACK) == "r7"
