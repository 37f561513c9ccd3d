"""What a story sees of the cluster state registry: the object ``growth-status``, as everybody reads it."""

from collections.abc import Callable

from growth.api.growth_status import GROWTH_STATUS, ClusterStatus, status_in
from growth.api.kinds import CONFIG_MAPS
from growth.kube.errors import NotFound
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK


async def cluster_status(play: Play) -> ClusterStatus:
    """How the cluster is said to be; one of which nobody has said anything is well."""
    try:
        found = await play.client.get(CONFIG_MAPS, GROWTH_STATUS, QUICK.namespace)
    except NotFound:
        return ClusterStatus()
    return status_in(found) or ClusterStatus()


async def until_status(play: Play, condition: Callable[[ClusterStatus], bool], what: str) -> None:
    """Wait until the cluster is said to be so."""

    async def is_said() -> bool:
        return condition(await cluster_status(play))

    await play.until_found(is_said, f"growth-status says that {what}")
