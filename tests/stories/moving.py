"""Growth makes the cluster cheaper: machines are bought first, then nodes are emptied, and all is undone in doubt."""

import re
from typing import Any

from growth.api.growth_kinds import NODE_MOVES
from growth.play.growing import CATALOGUE, a_pool, growing
from growth.play.play import Play
from growth.play.story import Stories
from growth.play.workloads import DEPLOYMENTS
from tests.stories.growing_nodes import machines
from tests.stories.shrinking import SOON, TAINTED, bought

STORIES = Stories("moving", alone=True)
ACT = {"mode": "act", "minNodeAge": "2s", "maxUnavailable": 3}
# Only the dear one can be had at first.
DEAR = re.sub(r"\{name: (small|medium),", r"{name: \1, stock: {fsn1: 0, nbg1: 0},", CATALOGUE)


def moves(play: Play) -> dict[str, str]:
    """Moves by name, and how far they are."""
    return {name: one.status.phase for name, one in play.trace.objects[NODE_MOVES].items()}


def offerings(play: Play) -> list[str]:
    """The types of the nodes of pools."""
    nodes = play.trace.nodes
    return sorted(nodes[name].metadata.labels["node.kubernetes.io/instance-type"] for name in bought(play))


async def a_deployment(play: Play, name: str, replicas: int, cpu: str) -> None:
    """Pods that somebody makes anew."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": play.pod_spec(cpu, nodeSelector={})}
    spec: dict[str, Any] = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    await play.create(DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec})


@STORIES.story(is_first=True, ignores="refused")
async def a_substitute_goes_back_to_what_is_cheaper_once_that_is_in_stock(play: Play) -> None:
    """Bought in a stock-out, it is replaced before anything is drained; its pod runs on."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=DEAR) as growth:
        await a_pool(play, scaleDown=SOON, disruption=ACT)
        await a_deployment(play, "web", 1, "1500m")
        await play.until(lambda: offerings(play) == ["large"], "only a large one can be had")
        growth.set_catalogue(CATALOGUE)
        await play.until(lambda: "Done" in moves(play).values(), "it is moved")
        await play.until(lambda: offerings(play) == ["small"], "the large one is gone")
        assert len(await machines(play)) == 1
