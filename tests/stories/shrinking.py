"""Growth gives machines back: nodes that nobody needs are marked, wait, and go."""

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import PODS
from growth.api.offering import POOL
from growth.api.scale_down import is_tainted
from growth.play.growing import a_pool, growing
from growth.play.play import Play
from growth.play.story import Stories

STORIES = Stories("shrinking", alone=True)
TAINTED = ("dedicated=other:NoSchedule",)
SOON = {"emptyAfter": "3s", "unreadyAfter": "6s", "delayAfterScaleUp": "0s"}


def bought(play: Play) -> list[str]:
    """Nodes of pools, by name."""
    return sorted(name for name, node in play.trace.nodes.items() if POOL in node.metadata.labels)


@STORIES.story(is_first=True, ignores="refused")
async def a_node_that_nobody_needs_goes(play: Play) -> None:
    """Its pod ends; it is marked, waits, and its machine is given back before its Node object goes."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, scaleDown=SOON)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        (name,) = bought(play)
        await play.delete(PODS, "app", grace_seconds=0)
        await play.until(lambda: is_tainted(play.trace.nodes[name]), "the node is marked")
        await play.until(lambda: play.trace.objects[NODE_REMOVAL_REQUESTS], "its removal is asked for")
        await play.until(lambda: not bought(play), "the node is gone")
        await play.until(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "nothing is left of it")
