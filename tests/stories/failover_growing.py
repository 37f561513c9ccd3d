"""Work leaves a dead machine and nobody has room for it: the machine it needs is asked for before it is gone."""

from growth.api.growth_kinds import NODE_REQUESTS
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.cluster_life import storage
from tests.stories.failover_scene import CHANCE, a_database, acting, attached_to, some_nodes, until_out
from tests.stories.shrinking import TAINTED

STORIES = Stories("failover", alone=True)


@STORIES.story(ignores=CHANCE)
async def a_machine_is_asked_for_before_the_pods_of_a_dead_one_are_gone(play: Play) -> None:
    """Kubernetes ends the database of a dead machine in its own time. The next machine boots meanwhile, and is the
    only one that is bought for it."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    requests = play.trace.objects[NODE_REQUESTS]
    async with growing(play, settings=acting(speed="standard")) as growth:
        await some_nodes(play, 1)
        dies = await a_database(play)
        old = play.trace.pods["db-0"].metadata.uid
        await growth.hurt(dies, "powerOff")
        await until_out(play, dies)
        await play.until(lambda: requests.keys() - {dies}, "another machine is asked for")
        assert play.trace.pods["db-0"].metadata.uid == old, "it was asked for too late"
        (heir,) = requests.keys() - {dies}
        await play.until(play.pod_is("db-0", node=heir), "the database runs on the new machine")
        assert play.trace.pods["db-0"].metadata.uid != old
        await play.until(lambda: dies not in attached_to(play), "its volume has come off the dead one")
        assert sum(one.what.startswith("asks for") for one in play.trace.seen) == 2, "one machine for the lost one"
