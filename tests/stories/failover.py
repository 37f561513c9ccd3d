"""Work leaves a dead machine by itself, and never a living one."""

from typing import Any

import msgspec

from growth.api.kinds import NODES, PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS
from growth.api.offering import POOL
from growth.api.out_of_service import out_of_service_taint, proof_on
from growth.api.settings import FailoverSettings, Settings
from growth.play.growing import QUICK, a_pool, growing, until_told
from growth.play.play import Play
from growth.play.story import Stories
from growth.play.workloads import STATEFUL_SETS
from tests.stories.cluster_life import claim, driver, storage
from tests.stories.shrinking import TAINTED, bought

STORIES = Stories("failover", alone=True)
MANAGED = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
# Two machines that stay, whoever needs them.
TWO = [{"name": "small", "min": 2}]


def acting(**terms: Any) -> Settings:  # noqa: ANN401
    """The settings of a story in which Growth acts."""
    quick: FailoverSettings = msgspec.structs.replace(QUICK.failover, mode="act", **terms)
    return msgspec.structs.replace(QUICK, failover=quick)


async def two_nodes(play: Play) -> list[str]:
    """A pool with two machines whose nodes attach volumes; their names."""
    await a_pool(play, serverTypes=TWO)
    await play.until(lambda: len(bought(play)) == 2, "two machines are bought")
    names = bought(play)
    await play.ready(*names)
    for name in names:
        await play.change(NODES, name, {"metadata": {"annotations": MANAGED}})
    return names


async def a_database(play: Play) -> str:
    """A StatefulSet of one pod with a volume that its node says is in use; the node's name."""
    await play.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "data-db-0"}, "spec": claim(play)})
    spec = play.pod_spec("500m", nodeSelector={POOL: "default"})
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]
    labels = {"app": "db"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": 1, "serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    await play.create(STATEFUL_SETS, {"metadata": {"name": "db"}, "spec": body})
    await play.until(play.pod_is("db-0"), "the database runs")
    attachments = play.trace.objects[VOLUME_ATTACHMENTS]
    await play.until(lambda: any(one.status.attached for one in attachments.values()), "its volume is attached")
    node = play.trace.pods["db-0"].node_name
    in_use = [f"kubernetes.io/csi/{driver(play)}^handle-0"]
    await play.change(NODES, node, {"status": {"volumesInUse": in_use}}, subresource="status")
    return node


@STORIES.story(is_first=True, ignores="refused")
async def a_database_leaves_a_machine_that_lost_its_power(play: Play) -> None:
    """Nobody says anything to anybody: Growth proves it, taints the node, and the volume is on one node at a time."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    play.always(lambda: len(play.trace.objects[VOLUME_ATTACHMENTS]) <= 1, "that the volume is attached to one node")
    async with growing(play, settings=acting()) as growth:
        names = await two_nodes(play)
        dies = await a_database(play)
        (heir,) = set(names) - {dies}
        await growth.hurt(dies, "powerOff")
        await play.until(lambda: out_of_service_taint(play.trace.nodes[dies]), "its node is out of service")
        await play.until(play.pod_is("db-0", node=heir), "the database runs on the other node")
        await play.until(lambda: sum(one.what == "attached" for one in play.trace.seen) == 2, "so does its volume")
        assert proof_on(play.trace.nodes[dies]) is not None
        await until_told(play, dies, "OutOfService")
